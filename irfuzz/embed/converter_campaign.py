"""Compares a user's converter with independent runtimes and stores its first fault, made small."""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import onnx
import onnx.printer

from irfuzz.choices import Choices
from irfuzz.embed.inprocess_runner import OWN, WITNESSES, Convert, InProcessRunner
from irfuzz.embed.single_call_model import OPSET, single_call
from irfuzz.errors import InvalidProgram, Unsupported, UsageError
from irfuzz.execute.run_types import Exit, RunResult, Target, Value
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.fault_predicate import FaultPredicate
from irfuzz.findings.finding import Finding
from irfuzz.findings.pipeline import DroppedFinding, FindingReproducer, pass_through, steps
from irfuzz.findings.witness_distrust import wrong_here
from irfuzz.generate.input_values import make_inputs
from irfuzz.generate.one_node_programs import sprouts, sprouts_up_to
from irfuzz.ir.program import Program
from irfuzz.mutate.model_interface.convert_opset import newest_for
from irfuzz.mutate.mutation_engine import Engine
from irfuzz.mutate.mutator_protocol import Relation
from irfuzz.mutate.traced_mutant_generation import load
from irfuzz.oracle import MeasuringJudge
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.reduce import reduce_case
from irfuzz.spec import load_specs
from irfuzz.spec.operator_spec import OpSpec
from irfuzz.store.npz_tensors import pack, unpack

CALLS = 2
"""Of each operator, before it counts as one that the converter lacks; the first leaves out what may be left out."""

HOPELESS = 1000

MAX_NODES = 32

SHOWN = 400
"""Characters of an array that are printed."""

Seed = onnx.ModelProto | bytes | Program


@dataclass(frozen=True, slots=True)
class ConverterOptions:
    """How to look for faults.

    Attributes:
        seeds: models to start from; without any, calls of single operators and programs of one node.
        operators: names of operators to draw those calls of; all if empty.
        seconds: when to end without a finding; ``None`` for no such limit.
        programs: how many programs the converter is to take at most; ``None`` for no such limit.
        edits: most edits of each program.
        seed: decides about the programs, with their number alone.
        tolerance: see ``InProcessRunner``.
        targets: names of the witnesses.
        reduce: seconds for making a finding small.
    """

    seeds: Sequence[Seed] = ()
    operators: Sequence[str] = ()
    seconds: float | None = 20.0
    programs: int | None = None
    edits: int = 4
    seed: int = 0
    tolerance: float | None = None
    targets: Sequence[str] = WITNESSES
    reduce: float = 20.0


@dataclass(frozen=True, slots=True)
class ConverterFault:
    """A fault of the converter.

    Attributes:
        finding: with the results of everybody.
        origin: one line: where it comes from.
        folder: where it is stored.
    """

    finding: Finding
    origin: str
    folder: Path

    def text(self) -> str:
        """What a reader needs to see it, in some lines.

        Returns:
            Title and origin, the model as ONNX text, its inputs, what was expected and what the converter gave, the
            distance if there is one, the converter's traceback, the witnesses, and the folder.
        """
        verdict, results, case = self.finding.verdict, self.finding.results, self.finding.case
        lines = [self.finding.title, f"({self.origin})", ""]
        lines += [onnx.printer.to_text(case.proto).strip(), ""]
        lines += [f"input {name} = {_shown(value)}" for name, value in case.inputs.items()]
        right, own = _sides(self.finding)
        for name in right.outputs if right is not None else ():
            assert right is not None
            lines.append(f"expected {name} = {_shown(right.outputs[name])}")
            if own.exit is Exit.OK:
                lines.append(f"got {name} = {_shown(own.outputs.get(name))}")
        if verdict.distance is not None:
            lines.append(
                f"distance {verdict.distance:.3g} at {verdict.element or verdict.output}, "
                f"allowed {verdict.bound or 0.0:.3g}"
            )
        if own.log:
            if verdict.symptom is Symptom.REJECTION:
                lines.append("(for what a converter does not support it raises NotImplementedError)")
            lines += ["", own.log.strip()]
        agree = ", ".join(f"{r.target.name} {r.target.version}" for r in results if r.target.name != OWN.name)
        lines += ["", f"witnesses: {agree}", f"stored in {self.folder}"]
        return "\n".join(lines)


@dataclass(slots=True)
class ConverterTally:
    """What a campaign without a finding has done.

    Attributes:
        replayed: stored findings that no longer show.
        made: programs that the converter was given.
        compared: those that it ran and that were compared.
        unsupported: those that it said it does not support.
        skipped: numbers under which no program came about.
    """

    replayed: int = 0
    made: int = 0
    compared: int = 0
    unsupported: int = 0
    skipped: int = 0


def look_for_fault(convert: Convert, folder: Path, options: ConverterOptions) -> ConverterFault | ConverterTally:
    """Replay what is stored in a folder, then run new programs until one shows a fault, which is stored there.

    Args:
        convert: the converter; called in this process.
        folder: one folder in it for each stored finding.
        options: how long, and on what.

    Raises:
        UsageError: an option is wrong, a target cannot be used, or a stored finding cannot be read.
    """
    tally = ConverterTally()
    began = time.monotonic()
    with InProcessRunner(convert, options.targets, options.tolerance) as runner:
        for stored in sorted(p.parent for p in folder.glob("*/finding.json")):
            found = _replayed(runner, stored)
            if found is not None:
                return found
            tally.replayed += 1
        programs = _Programs(options, newest_for((t.opset, t.ir) for t in runner.witnesses))
        for number in itertools.count():
            if options.seconds is not None and time.monotonic() - began > options.seconds:
                break
            if options.programs is not None and tally.made >= options.programs:
                break
            if tally.skipped > HOPELESS and not tally.made:
                raise UsageError(f"seeds: of {tally.skipped} mutants none is valid and can be given inputs")
            case = programs.make(number)
            if case is None:
                tally.skipped += 1
                continue
            tally.made += 1
            try:
                verdict, results = _fault(runner, *case)
            except (Unsupported, InvalidProgram):  # what a run showed cannot be judged
                tally.skipped += 1
                continue
            if not results:
                tally.unsupported += 1
                continue
            tally.compared += 1
            programs.ran(case[0])
            if verdict is not None:
                return _kept(runner, _seen(*case, verdict, results), folder, options, number)
    return tally


class _Programs:
    """Makes programs by number; which they are depends on the seed and on what the converter supports alone.

    Args:
        options: seeds or operators, edits and seed.
        newest: the newest opset that the witnesses take.
    """

    def __init__(self, options: ConverterOptions, newest: int) -> None:
        self._options = options
        self._engine = Engine(load_specs(), max_nodes=MAX_NODES, max_opset=newest)
        self._sprouts = [sprouts()[name] for name in sprouts_up_to(newest)]
        self._seeds = [load(seed) for seed in options.seeds]
        self._calls = () if self._seeds else _operators(tuple(options.operators))
        self._ran: dict[str, OpSpec] = {}

    def ran(self, program: Program) -> None:
        """Be told of a program that the converter supports: operators that it runs alone are called again."""
        nodes = list(program.nodes())
        if len(nodes) == 1:
            self._ran.update({s.op: s for s in self._calls if s.op == nodes[0].op_type})

    def make(self, number: int) -> tuple[Program, Mapping[str, Value]] | None:
        """A program with inputs; ``None`` if nothing came of what was drawn."""
        choices = Choices.from_seed(f"{self._options.seed}/{number}")
        most = self._options.edits
        few = 2 * len(self._ran) < len(self._calls)  # then most edits bring what the converter lacks
        program: Program | None
        if number < len(self._seeds):
            program, edits = self._seeds[number], 0  # the user's models as they are
        elif number < CALLS * len(self._calls):  # each operator some times, to see which there are
            program, edits = _call(self._calls[number // CALLS], choices, plain=number % CALLS == 0), 0
        elif self._ran and choices.boolean(0.9 if few else 0.75):
            program = _call(self._ran[choices.pick(sorted(self._ran))], choices, plain=choices.boolean(0.25))
            edits = choices.integer(0, most) if choices.boolean(0.25 if few else 0.5) else 0
        else:
            starts = self._seeds or self._sprouts
            program, edits = choices.pick(starts), choices.integer(min(1, most), most)
        if program is not None and edits:
            mutant = self._engine.mutate(program, choices, edits)
            if mutant is None or any(edit.relation is Relation.INVALID for edit in mutant.edits):
                return None
            program = mutant.program
        try:
            return None if program is None else (program, make_inputs(program, choices.seed()))
        except (Unsupported, InvalidProgram):
            return None


def _call(spec: OpSpec, choices: Choices, *, plain: bool) -> Program | None:
    model = single_call(spec, OPSET, choices, choices.seed(), plain=plain)
    return None if model is None else Program.from_proto(model)


@cache
def _operators(names: tuple[str, ...]) -> tuple[OpSpec, ...]:
    known = {spec.op: spec for spec in load_specs().overlaid(OPSET) if spec.is_sampled}
    for name in names:
        if name not in known:
            raise UsageError(f"operators: irfuzz draws no calls of {name!r}; of these: {', '.join(sorted(known))}")
    return tuple(known[name] for name in names or sorted(known))


def judged(
    runner: InProcessRunner, program: Program, inputs: Mapping[str, Value]
) -> tuple[Sequence[Verdict], Sequence[RunResult]]:
    """What is said of a converter and its witnesses on a program, and what everybody did.

    There are no results if the converter does not support the program.
    """
    own = runner.run_own(program, inputs)
    if own.exit is Exit.UNSUPPORTED:
        return (), ()
    results = runner.compare(program, inputs, own)
    return MeasuringJudge(runner, wrong_here).judge(program, inputs, results), results


def _fault(
    runner: InProcessRunner, program: Program, inputs: Mapping[str, Value]
) -> tuple[Verdict | None, Sequence[RunResult]]:
    """The converter's proven fault, and what everybody did."""
    verdicts, results = judged(runner, program, inputs)
    return next((v for v in verdicts if v.target == OWN.name and not v.suspect), None), results


def _seen(
    program: Program, inputs: Mapping[str, Value], verdict: Verdict, results: Sequence[RunResult]
) -> Finding:  # fmt: skip
    case = FailingCase(program, inputs)
    return Finding(verdict, case, case, results)


def _sides(finding: Finding) -> tuple[RunResult | None, RunResult]:
    """What a witness did, if any went through, and what the converter did."""
    witnesses = finding.verdict.witnesses
    right = next((r for r in finding.results if r.target.name in witnesses and r.exit is Exit.OK), None)
    return right, next(r for r in finding.results if r.target.name == OWN.name)


class _Shelf:
    """The ``Archive`` of one test, which the first finding ends: it is stored as it comes out of the pipeline.

    Args:
        folder: where it gets a folder of its own.
        seen: the finding as it was first seen.
        origin: which program it was.

    Attributes:
        tries: candidates for a smaller case.
        found: what is stored.
    """

    def __init__(self, folder: Path, seen: Finding, origin: str) -> None:
        self._folder, self._seen, self._origin = folder, seen, origin
        self.tries = 0
        self.found: ConverterFault | None = None

    def settle(self, finding: Finding) -> Finding:
        """There is no other to compare it with."""
        return finding

    def replay(self, finding: Finding) -> Finding:
        """The test itself replays what is stored, when it next runs."""
        return finding

    def store(self, finding: Finding) -> Finding:
        """Write its folder."""
        nodes = len(self._seen.case.program.graph)
        small = finding.case is not self._seen.case
        way = (
            f"made small from {nodes} nodes in {self.tries} tries" if small else "as found: it does not show every time"
        )
        self.found = _stored(self._folder, finding, f"{self._origin}, {way}")
        return finding


def _kept(
    runner: InProcessRunner, seen: Finding, folder: Path, options: ConverterOptions, number: int
) -> ConverterFault:
    """The finding as it comes out of the pipeline; as it was found if the converter does not always do the same."""
    shelf = _Shelf(folder, seen, f"seed {options.seed}, program {number}")

    def shrink(finding: Finding, watch: FaultPredicate) -> FailingCase:
        program, inputs = finding.case.program, finding.case.inputs
        starts = watch.faulty_parts(program, inputs)
        small = reduce_case(
            program, inputs, watch.still, values_of=watch.values_of, seconds=options.reduce, starts=starts
        )  # fmt: skip
        shelf.tries = small.tries
        return FailingCase(small.program, small.inputs, settled=small.settled)

    def all_of_them(verdict: Verdict) -> Sequence[Target]:
        del verdict
        return runner.targets

    bench = FindingReproducer([runner], all_of_them, all_of_them, shrink, lambda *_: "unseen", lambda _: "unheard")
    if isinstance(pass_through(seen, steps(bench, shelf)), DroppedFinding):
        shelf.store(seen.signed())
    assert shelf.found is not None
    return shelf.found


def _stored(folder: Path, finding: Finding, origin: str) -> ConverterFault:
    """The finding with a folder of its own, whole or not at all."""
    verdict, case = finding.verdict, finding.case
    found = ConverterFault(finding, origin, folder / hashlib.sha256(case.model + case.packed).hexdigest()[:12])
    about = {
        "schema": 1,
        "title": finding.title,
        "symptom": verdict.symptom.value,
        "origin": origin,
        "distance": verdict.distance,
        "bound": verdict.bound,
        "evidence": verdict.told(),
        "witnesses": {r.name: r.version for r in finding.runs if r.name != OWN.name},
    }
    right, own = _sides(finding)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix="draft-", dir=folder))
        (draft / "model.onnx").write_bytes(case.model)
        (draft / "inputs.npz").write_bytes(case.packed)
        if right is not None:
            (draft / "expected.npz").write_bytes(pack(right.outputs))
        if own.exit is Exit.OK:
            (draft / "got.npz").write_bytes(pack(own.outputs))
        (draft / "finding.txt").write_text(found.text() + "\n")
        (draft / "finding.json").write_text(json.dumps(about, indent=1) + "\n")
        shutil.rmtree(found.folder, ignore_errors=True)
        draft.rename(found.folder)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror}") from error
    return found


def _replayed(runner: InProcessRunner, stored: Path) -> ConverterFault | None:
    """A stored finding, if it still shows."""
    try:
        about = json.loads((stored / "finding.json").read_text())
        program = Program.from_bytes((stored / "model.onnx").read_bytes())
        inputs = unpack((stored / "inputs.npz").read_bytes(), str(stored / "inputs.npz"))
    except (OSError, ValueError, InvalidProgram) as error:
        raise UsageError(f"{stored}: not a stored finding: {error}; delete the folder") from None
    verdict, results = _fault(runner, program, inputs)
    if verdict is None:
        return None
    finding = _seen(program, inputs, verdict, results).signed()
    return ConverterFault(finding, f"replayed; {about.get('origin', 'stored before')}", stored)


def _shown(value: Value) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, list):
        return f"[{', '.join(_shown(v) for v in value)}]"[:SHOWN]
    text = " ".join(str(value.tolist()).split())
    text = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
    return f"{value.dtype}[{', '.join(map(str, value.shape))}] {text}"
