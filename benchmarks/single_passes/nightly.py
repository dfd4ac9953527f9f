"""Each pass of onnxsim or onnxoptimizer alone, against the model before it: one fault does not hide another.

Programs of a few patterns are drawn (``irfuzz.mutate`` from programs of one node, most edits by ``insert-pattern``).
Each goes through the tool once a pass, with all other passes and stages left out, and is run by ONNXRuntime without
optimisation; irfuzz's oracle judges every answer beside those of the model as it was. The first program of each pass
and symptom is made small and stored with its inputs in a folder of ``OUT``; what is there from a night before is no
news.

With ``--nnsmith PYTHON``, an interpreter of an environment with NNSmith, the models are NNSmith's instead, and what is
wrong is told and stored the same way: the two are compared by the distinct faults of the same time.

Needs ``pip install 'irfuzz[onnxruntime,tools]'``, or ``[onnxoptimizer]``. Run
``python -m benchmarks.single_passes.nightly --out OUT [--tool onnxsim] [--seconds 3600] [--seed 1] [--reduce 20]``; it
exits 1 if something is new. Each night takes another seed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import irfuzz
from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram, IrfuzzError, Unsupported
from irfuzz.execute.onnxruntime_passes import registered
from irfuzz.execute.run_types import Exit, Target, Value
from irfuzz.execute.target_table import adapter_of, resolve
from irfuzz.generate.input_values import make_inputs
from irfuzz.generate.one_node_programs import sprouts, sprouts_up_to
from irfuzz.ir.program import Program
from irfuzz.mutate.feature_counts import FeatureCounts
from irfuzz.mutate.mutation_engine import Engine
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Relation, profile_of
from irfuzz.mutate.mutator_table import build_mutators
from irfuzz.oracle import MeasuringJudge
from irfuzz.spec import load_specs
from irfuzz.store.npz_tensors import pack

WITNESSES = ("reference", "onnxruntime:disabled")
OPSET = 21
EDITS = 5
PATTERNS = 0.6
"""Share of the edits that insert a pattern which optimisers look for, or one that they must not take for it."""

NOTHING = "nothing"
"""Onnxsim with all passes left out: what it does wrong is no pass's."""


def passes(tool: str) -> tuple[Target, ...]:
    """The tool's passes, each alone; of onnxsim also what it does with all left out."""
    if tool != "onnxsim":
        return tuple(one for one in resolve([tool]) if one.name not in (f"{tool}:all", f"{tool}:fixed-point"))
    (whole,) = resolve(["onnxsim"])
    with irfuzz.Runner([whole]) as runner:
        names = registered(runner, runner.targets[0])
    alone = {name: ",".join(other for other in names if other != name) for name in names if name != "nop"}
    return tuple(
        replace(whole, name=f"onnxsim:{name}", options={**whole.options, "off": off})
        for name, off in {NOTHING: ",".join(names), **alone}.items()
    )


def programs(seed: int) -> Generator[tuple[Program, Mapping[str, Value]]]:
    """Valid programs with inputs, without an end; most have patterns of optimisers, the rarer ones first."""
    seen = FeatureCounts()
    known = build_mutators(Context(load_specs()))
    others = {name: profile_of(mutator).weight for name, mutator in known.items() if name != "insert-pattern"}
    patterns = PATTERNS / (1 - PATTERNS) * sum(others.values())
    engine = Engine(
        load_specs(), max_nodes=32, max_opset=OPSET, seen=seen, weights={**others, "insert-pattern": patterns}
    )
    starts = [sprouts()[name] for name in sprouts_up_to(OPSET)]
    number = 0
    while True:
        choices = Choices.from_seed(f"{seed}/{number}")
        number += 1
        mutant = engine.mutate(choices.pick(starts), choices, choices.integer(1, EDITS))
        if mutant is None or any(edit.relation is Relation.INVALID for edit in mutant.edits):
            continue
        seen.add_mutant(mutant.program)
        for edit in mutant.edits:
            if edit.pattern:
                seen.add(("pattern", edit.pattern))
        try:
            yield mutant.program, make_inputs(mutant.program, choices.seed())
        except (Unsupported, InvalidProgram):
            continue


def models(python: str, seed: int) -> Generator[tuple[Program, Mapping[str, Value]]]:
    """NNSmith's models with inputs of ours, without an end; what it told of its own faults stays on standard error."""
    with tempfile.TemporaryDirectory() as name:
        folder, number = Path(name), 0
        command = [python, str(Path(__file__).with_name("nnsmith_models.py")), name, str(seed)]
        maker = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            while maker.poll() is None:
                for path in sorted(folder.glob("*.onnx"), key=lambda path: int(path.stem)):
                    number += 1
                    try:
                        program = Program.from_bytes(path.read_bytes())
                        yield program, make_inputs(program, Choices.from_seed(f"{seed}/{number}").seed())
                    except (Unsupported, InvalidProgram) as error:
                        print(f"{path.name}: {error}", file=sys.stderr)
                    path.unlink()
                time.sleep(0.01)
            raise SystemExit(f"{' '.join(command)}: exit code {maker.returncode}")
        finally:
            maker.kill()
            maker.wait()


class Night:
    """One run: what was seen of each pass, and where it is stored."""

    def __init__(self, runner: irfuzz.Runner, out: Path, reduce_seconds: float) -> None:
        self._runner, self._out, self._reduce = runner, out, reduce_seconds
        self._judge = MeasuringJudge(runner)
        self.counts: Counter[str] = Counter()
        self.new: list[str] = []

    def look(self, program: Program, inputs: Mapping[str, Value]) -> None:
        """Run a program as it is and after each pass, and store what is wrong for the first time."""
        for verdict in self._verdicts(program, inputs):
            if verdict.suspect or verdict.target in WITNESSES:
                self.counts["suspect or a witness's"] += 1
                continue
            name = f"{verdict.target.partition(':')[2]}-{verdict.symptom}"
            self.counts[name] += 1
            if not (self._out / name).exists():
                self._store(name, program, inputs, verdict)

    def _verdicts(self, program: Program, inputs: Mapping[str, Value]) -> Sequence[irfuzz.Verdict]:
        results = self._runner.run(program, inputs)
        self.counts["programs"] += 1
        if sum(result.exit is Exit.OK for result in results if result.target.name in WITNESSES) == 0:
            self.counts["ran on no witness"] += 1
            return ()
        return self._judge.judge(program, inputs, results)

    def _store(self, name: str, program: Program, inputs: Mapping[str, Value], verdict: irfuzz.Verdict) -> None:
        def still(smaller: Program, its: Mapping[str, Value]) -> bool:
            again = self._judge.judge(smaller, its, self._runner.run(smaller, its))
            return any((one.target, one.symptom) == (verdict.target, verdict.symptom) for one in again)

        try:
            small = irfuzz.reduce(program, still, inputs=dict(inputs), seconds=self._reduce)
            program, inputs = small.program, small.inputs
        except IrfuzzError as error:  # it is stored as it is
            self.counts[f"not made small: {error}"[:120]] += 1
        folder = self._out / name
        folder.mkdir(parents=True)
        (folder / "model.onnx").write_bytes(program.to_bytes())
        (folder / "inputs.npz").write_bytes(pack(inputs))
        about: dict[str, Any] = {**verdict.to_json(), "operators": sorted({node.op_type for node in program.nodes()})}
        (folder / "about.json").write_text(json.dumps(about, indent=1, default=str), encoding="utf-8")
        self.new.append(name)
        print(json.dumps({"new": name, "operators": about["operators"]}), flush=True)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of all nights")
    parser.add_argument("--tool", choices=("onnxsim", "onnxoptimizer"), default="onnxsim")
    parser.add_argument("--nnsmith", metavar="PYTHON", help="judge models of NNSmith, which this interpreter has")
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--programs", type=int, help="end after so many, even if there is time")
    parser.add_argument("--seed", type=int, default=1, help="another one each night")
    parser.add_argument("--reduce", type=float, default=20.0, help="seconds for making one small")
    args = parser.parse_args()
    alone = passes(args.tool)
    # Passes of onnxsim are no targets that the table knows.
    adapters = {target.name: adapter_of(resolve(["onnxsim"])[0]) for target in alone if args.tool == "onnxsim"}
    end = time.monotonic() + args.seconds
    drawn = models(args.nnsmith, args.seed) if args.nnsmith else programs(args.seed)
    with irfuzz.Runner([*WITNESSES, *alone], adapters=adapters) as runner, closing(drawn):
        night = Night(runner, args.out, args.reduce)
        for number, (program, inputs) in enumerate(drawn):
            if time.monotonic() > end or number == args.programs:
                break
            night.look(program, inputs)
    print(
        json.dumps(
            {
                "passes": sum(NOTHING not in one.name for one in alone),
                "new": night.new,
                "counts": dict(night.counts.most_common()),
            }
        )
    )
    raise SystemExit(bool(night.new))


if __name__ == "__main__":
    main()
