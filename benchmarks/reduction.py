"""Reduces planted findings in mutants of the seeds: how small they get, how fast, and whether they stay the same.

A finding is a mutant of 30 to 200 nodes on which the oracle blames a target of ``benchmarks/twisted.py``, with onnx's
evaluator and ONNXRuntime as witnesses. It is reduced as a campaign reduces it. Every other round of targets has a
second fault, in a frequent operator. A finding has kept its signature where the reduced program still shows symptom,
message and target in a fresh process, shows them on a target with one fault alone that explains what was seen at
first, and nothing of the kind on a target without faults.

Run ``python -m benchmarks.reduction [-n 8 | --full] [--seconds 60] [--json FILE] [--keep DIR]``; exit code 1 where a
figure is missed: median at most 3 nodes, at most 6 in 95%, median at most 20 seconds, all signatures kept.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import onnx

from benchmarks.twisted import FAULTS, Fault, other_than
from irfuzz.errors import InvalidProgram
from irfuzz.execute.run_types import Value
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.findings.fault_predicate import FaultPredicate, same_fault, told_by
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.mutate.traced_mutant_generation import mutate_many
from irfuzz.oracle.verdict import Verdict
from irfuzz.reduce import reduce_case
from irfuzz.shipped_folders import seeds_dir
from irfuzz.store.npz_tensors import pack

TWISTED = Path(__file__).with_name("twisted.py")
WITNESSES = ("reference", "onnxruntime:disabled")
NODES = range(30, 201)


@dataclass(frozen=True)
class Row:
    """One finding.

    Attributes:
        fault: class of ``benchmarks/twisted.py``.
        symptom: what was seen.
        before: nodes of the program.
        after: of the reduced one.
        operators: of the reduced one.
        tries: candidates.
        seconds: wall time of the reduction, localisation included.
        kept: the signature is the same.
        complete: no pass makes it smaller.
    """

    fault: str
    symptom: str
    before: int
    after: int
    operators: tuple[str, ...]
    tries: int
    seconds: float
    kept: bool
    complete: bool


def programs(seed: int) -> Iterator[tuple[str, Program]]:
    """Mutants of the seeds with so many nodes, without end."""
    seeds = [(p.name, Program.from_bytes(p.read_bytes())) for p in sorted(seeds_dir().glob("*.onnx"))]
    seeds = [(n, p) for n, p in seeds if 20 <= len(p.nodes()) <= NODES[-1] and not p.model.functions]
    while True:
        for mutant in mutate_many(seeds, seed=seed, n=200, max_nodes=NODES[-1]):
            if len(mutant.program.nodes()) in NODES:
                yield mutant.trace["seed"]["name"], mutant.program
        seed += 1


def shows_in(program: Program, fault: Fault) -> bool:
    """Whether a program has the operators of a fault at all."""
    return set(fault.operators) <= {n.op_type for n in program.nodes()}


def findings(count: int, seed: int) -> Iterator[tuple[Fault, str, Program, dict[str, Value], Verdict, Runner]]:
    """Faults in turn, each with a program on which it is seen."""
    made = programs(seed)
    waiting: list[Program] = []
    for number in range(count):
        fault = FAULTS[number % len(FAULTS)]
        name = fault.name + ("AndMore" if number // len(FAULTS) % 2 else "")
        with Runner(resolve([f"{TWISTED}:{name}", *WITNESSES]), Limits(seconds=20)) as runner:
            for _ in range(400):
                at = next((i for i, p in enumerate(waiting) if shows_in(p, fault)), None)
                program = waiting.pop(at) if at is not None else next(made)[1]
                if not shows_in(program, fault):
                    waiting = [*waiting[-40:], program]
                    continue
                found = _finding(runner, program, number)
                if found is not None:
                    yield fault, name, program, *found, runner
                    break


def _finding(runner: Runner, program: Program, seed: int) -> tuple[dict[str, Value], Verdict] | None:
    try:
        inputs = make_inputs(program, seed)
    except InvalidProgram:
        return None
    blamed = runner.targets[0].name
    watch = FaultPredicate([runner], Verdict("", "", blamed), program)  # type: ignore[arg-type]
    found = [v for v in watch.judged(program, inputs)[0] if v.target == blamed and not v.suspect]
    return (inputs, found[0]) if found else None


def reduce_one(
    fault: Fault,
    name: str,
    program: Program,
    inputs: Mapping[str, Value],
    verdict: Verdict,
    runner: Runner,
    seconds: float,
) -> tuple[Row, Program, Mapping[str, Value]]:
    """Reduce a finding as a campaign does."""
    start = time.monotonic()
    watch = FaultPredicate([runner], verdict, program)
    starts = watch.faulty_parts(program, inputs)
    small = reduce_case(program, inputs, watch.still, values_of=watch.values_of, seconds=seconds, starts=starts)
    took = time.monotonic() - start
    again = watch.seen(small.program, small.inputs, fresh=True)
    kept = again is not None and told_by(again, small.program) == told_by(verdict, program)
    one_of = [fault] if name == fault.name else [fault, other_than(fault)]
    if kept and len(one_of) > 1:
        one_of = [f for f in one_of if _on(f"{TWISTED}:{f.name}", verdict, program, inputs)] or one_of
    kept = kept and any(_on(f"{TWISTED}:{f.name}", verdict, small.program, small.inputs) for f in one_of)
    kept = kept and not _on(f"{TWISTED}:Right", verdict, small.program, small.inputs)
    operators = tuple(n.op_type for n in small.program.nodes())
    row = Row(
        name, verdict.symptom.value, len(program.nodes()), len(operators), operators, small.tries,
        round(took, 2), kept, small.complete,
    )  # fmt: skip
    return row, small.program, small.inputs


def _on(target: str, verdict: Verdict, program: Program, inputs: Mapping[str, Value]) -> bool:
    """Whether another target shows the same."""
    with Runner(resolve([target, *WITNESSES]), Limits(seconds=20)) as runner:
        other = replace(verdict, target=runner.targets[0].name)
        return same_fault(FaultPredicate([runner], other, program).judged(program, inputs)[0], other) is not None


def summary(rows: list[Row]) -> dict[str, Any]:
    """The figures of the issue."""
    nodes = sorted(r.after for r in rows)
    return {
        "findings": len(rows),
        "median nodes": statistics.median(nodes),
        "share of at most 6 nodes": round(sum(n <= 6 for n in nodes) / len(nodes), 3),
        "most nodes": nodes[-1],
        "median seconds": round(statistics.median(r.seconds for r in rows), 2),
        "median nodes before": statistics.median(r.before for r in rows),
        "median tries": statistics.median(r.tries for r in rows),
        "signature kept": round(sum(r.kept for r in rows) / len(rows), 3),
    }


def reached(figures: Mapping[str, Any]) -> bool:
    """Whether they are what they should be."""
    return (
        figures["median nodes"] <= 3
        and figures["share of at most 6 nodes"] >= 0.95
        and figures["median seconds"] <= 20
        and figures["signature kept"] == 1
    )


def _keep(folder: Path, program: Program, inputs: Mapping[str, Value], small: Program) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "original.onnx").write_bytes(program.to_bytes())
    (folder / "inputs.npz").write_bytes(pack(inputs))
    (folder / "reduced.onnx").write_bytes(small.to_bytes())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=8, help="findings (default: 8)")
    parser.add_argument("--full", action="store_true", help="100 findings")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0, help="most for one reduction (default: 60)")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep", type=Path, help="folder for the programs before and after")
    args = parser.parse_args()
    rows: list[Row] = []
    for fault, name, program, inputs, verdict, runner in findings(100 if args.full else args.n, args.seed):
        row, small, _ = reduce_one(fault, name, program, inputs, verdict, runner, args.seconds)
        rows.append(row)
        print(json.dumps(asdict(row)), flush=True)
        if args.keep:
            _keep(args.keep / f"{len(rows):03d}-{name}", program, inputs, small)
        if args.json:
            figures = {**summary(rows), "onnx": onnx.__version__, "rows": [asdict(r) for r in rows]}
            args.json.write_text(json.dumps(figures, indent=1) + "\n")
    figures = summary(rows)
    print(json.dumps(figures, indent=1))
    return 0 if reached(figures) else 1


if __name__ == "__main__":
    sys.exit(main())
