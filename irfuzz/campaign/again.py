"""A finding's folder enters; it is seen again, made smaller, and written anew."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from irfuzz.campaign.edits import fewer_edits
from irfuzz.campaign.rows import Origin, row_of
from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.execute.runner import Runner
from irfuzz.execute.table import resolve
from irfuzz.execute.types import Target, Value
from irfuzz.findings.blamed_passes import with_pass
from irfuzz.findings.fault_predicate import Watch, same_fault
from irfuzz.findings.known_issues import labelled
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.mutate.trace import Trace, parse_trace
from irfuzz.oracle import signature
from irfuzz.oracle.derived import concerned
from irfuzz.oracle.types import Symptom, Verdict
from irfuzz.reduce import reduce_case
from irfuzz.reduce.session import Try
from irfuzz.reduce.state import State
from irfuzz.report.bundle import SCHEMA, write_shown
from irfuzz.report.contradiction import ORACLE
from irfuzz.store.blobs import FolderBlobs
from irfuzz.store.database import Status
from irfuzz.store.shared_weights import shared_program
from irfuzz.store.tensors import unpack

TRIES = 1 << 30
"""A person who reduces one finding says how long, not how often."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A finding as its folder has it.

    Attributes:
        folder: where it lies.
        about: the contents of ``finding.json``.
        program: the reduced one.
        inputs: of it.
        original: the one before.
        original_inputs: of it.
        trace: how the original was made; ``None`` where that is not known.
    """

    folder: Path
    about: Mapping[str, Any]
    program: Program
    inputs: Mapping[str, Value]
    original: Program
    original_inputs: Mapping[str, Value]
    trace: Trace | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a finding.

    Attributes:
        before: nodes of what the reduction began with.
        after: of the smallest case.
        edits: of the trace that is left, where edits were dropped.
        tries: candidates, over all calls.
        complete: nothing makes it smaller.
        signature: of the smallest case.
        shown: the new ``repro.py`` shows it.
    """

    before: int
    after: int
    edits: int | None
    tries: int
    complete: bool
    signature: str
    shown: bool


def read_finding(folder: Path) -> Stored:
    """Read a finding's folder.

    Raises:
        UsageError: it is none, or of another schema version.
    """
    try:
        about = json.loads((folder / "finding.json").read_text())
        if missing := {"symptom", "target", "versions", "verdict"} - set(about):
            raise UsageError(f"{folder}/finding.json: expected {', '.join(sorted(missing))} too")
        if about["schema"] != SCHEMA:
            raise UsageError(f"{folder}/finding.json: expected schema {SCHEMA}, got {about['schema']}")
        if about["verdict"]["oracle"] == ORACLE:
            raise UsageError(f"{folder}: a target that contradicts itself; it was made small when it was found")
        read = [
            (
                shared_program((at / "model.onnx").read_bytes(), FolderBlobs(at)),
                unpack((at / "inputs.npz").read_bytes(), str(at)),
            )
            for at in (folder, folder / "original")
        ]
        trace = _trace(folder / "trace.json")
    except OSError as error:
        raise UsageError(f"{folder}: not the folder of a finding: {error.filename}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, InvalidProgram) as error:
        raise UsageError(f"{folder}: not the folder of a finding that can be used: {error}") from None
    return Stored(folder, about, *read[0], *read[1], trace)


def _trace(path: Path) -> Trace | None:
    """How a program was made; ``None`` where the file does not say."""
    try:
        return parse_trace(json.loads(path.read_text()), str(path))
    except (OSError, ValueError, InvalidProgram):
        return None


def reduce_finding(
    stored: Stored,
    out: Path,
    state: Path,
    *,
    seconds: float,
    jobs: int,
    original: bool,
    seeds: Mapping[str, Program],
    progress: Callable[[Try, int], None],
    timeout: float = 10.0,
) -> Outcome:
    """Make a finding smaller on the targets that it was seen on, and write its folder.

    Args:
        stored: the finding.
        out: where the new folder goes; ``stored.folder`` is replaced once the new one is complete.
        state: folder of the reduction's state.
        seconds: at most.
        jobs: processes of each target, and candidates that are tried at once.
        original: begin with the program before it was made small, and with its edits.
        seeds: programs by digest, from which the trace begins; without them edits are not dropped.
        progress: told of every candidate and of how many nodes the best case has.
        timeout: seconds that a target may take with one program.

    Raises:
        UsageError: a target cannot be used here, or the finding does not show on these versions.
    """
    about, wanted = stored.about, _verdict_of(stored)
    targets = _targets(stored)
    program, inputs = (
        (stored.original, stored.original_inputs) if original else (stored.program, stored.inputs)
    )  # fmt: skip
    with contextlib.ExitStack() as stack:
        runners = [stack.enter_context(Runner(targets, Limits(seconds=timeout))) for _ in range(jobs)]
        seen = _seen(runners[0], stored, program, inputs, wanted)
        watch = Watch(runners, seen, program, targets=concerned(targets[0], targets))
        case = State(state, program, inputs, f"{seen.symptom} of {seen.target}")
        stack.callback(case.close)
        edits: int | None = None
        trace = stored.trace
        if original and not case.continued and trace is not None and trace.edits:
            fewer = fewer_edits(trace, seeds, inputs, watch.still)
            if fewer is not None:
                trace, smaller = fewer
                edits = len(trace.edits)
                case.finish(smaller, {n: v for n, v in inputs.items() if smaller.value(n)}, complete=False)
        before = len(program.graph)
        if not case.complete:

            def told(one: Try) -> None:
                case.saw(one)
                progress(one, len(case.program.graph))

            small = reduce_case(
                case.program,
                case.inputs,
                watch.still,
                values_of=watch.values_of,
                seconds=seconds,
                tries=TRIES,
                starts=watch.blamed(case.program, case.inputs)[1],
                jobs=jobs,
                skip=case.skip,
                on_try=told,
            )
            case.finish(small.program, small.inputs, complete=small.complete)
        verdicts, results = Watch(runners[:1], seen, program).judged(case.program, case.inputs, fresh=True)
        again = same_fault(verdicts, seen)
        if again is None:
            raise UsageError(f"{stored.folder}: the smaller case, kept in {state}, does not show it in a fresh process")
        again = with_pass(runners[0], case.program, case.inputs, again, results)
        origin = Origin(
            stored.original.to_bytes(),
            (stored.folder / "original/inputs.npz").read_bytes(),
            json.dumps(trace.to_json()) if trace is not None else "",
            int(about.get("job", 0)),
            int(about.get("iteration", 0)),
        )
        key = signature(again, case.program)
        row = row_of(again, case.program, case.inputs, results, key, Status.CONFIRMED, origin)
        if about.get("shown"):
            row = replace(row, verdict=json.dumps({**again.to_json(), "shown": about["shown"]}))
        row = labelled(row)
        python = next((t.interpreter for t in runners[0].targets if t.name == again.target), "") or sys.executable
        label, patience = str(about.get("label", "")), max(120.0, 12 * timeout)
        shown = write_shown(out, row, seconds=patience, python=python, label=label)[1]
        return Outcome(before, len(case.program.graph), edits, case.tries, case.complete, key, shown)


def _verdict_of(stored: Stored) -> Verdict:
    """The verdict of ``finding.json``, as far as it says what is looked for."""
    try:
        return Verdict("", Symptom(stored.about["symptom"]), str(stored.about["target"]))
    except (ValueError, KeyError) as error:
        raise UsageError(f"{stored.folder}/finding.json: no symptom or target that irfuzz knows: {error}") from None


def _targets(stored: Stored) -> tuple[Target, ...]:
    """The targets of the finding that are there; the blamed one must be."""
    names = [str(stored.about["target"]), *(n for n in stored.about["versions"] if n != stored.about["target"])]
    found: dict[str, Target] = {}
    missing: list[str] = []
    for name in names:
        try:
            found.update({t.name: t for t in resolve([name])})
        except UsageError as error:
            missing.append(str(error))
    if names[0] not in found:
        raise UsageError(f"{stored.folder}: its target cannot be used here: {missing[0]}")
    witnesses = [t for t in found.values() if t.name != names[0]]
    quick = [t for t in witnesses if not t.slow]
    return (found[names[0]], *(quick or witnesses))


def _seen(runner: Runner, stored: Stored, program: Program, inputs: Mapping[str, Value], wanted: Verdict) -> Verdict:
    """The verdict of a run of today."""
    watch = Watch([runner], wanted, program, targets=concerned(runner.targets[0], runner.targets))
    verdicts, results = watch.judged(program, inputs, fresh=True)
    found = same_fault(verdicts, wanted)
    if found is not None:
        return found
    thin = next((v for v in verdicts if (v.symptom, v.target) == (wanted.symptom, wanted.target)), None)
    if thin is not None:
        why = thin.doubt or "the evidence is too thin"
        raise UsageError(
            f"{stored.folder}: {wanted.symptom} of {wanted.target} is a suspect here ({why}), and only findings are "
            "made small; `irfuzz reduce MODEL --check CMD` keeps whatever CMD looks for"
        )
    did = "; ".join(_did(verdicts, [f"{r.target.name} {r.exit}" for r in results]))
    raise UsageError(f"{stored.folder}: {wanted.symptom} of {wanted.target} does not show here ({did})")


def _did(verdicts: list[Verdict], ends: list[str]) -> Iterator[str]:
    yield ", ".join(ends)
    for verdict in verdicts:
        yield f"seen instead: {'suspect ' if verdict.suspect else ''}{verdict.symptom} of {verdict.target}"
