"""Isolated replay, CRADLE's map and AUDEE's causal test on planted faults, side by side as one table.

``python -m benchmarks.localization`` takes every tenth planted fault, ``--all`` all of them. Each is a runtime with
one wrong kernel or pass (``tests/planted_targets/wrong.py``) beside ONNX's reference evaluator, on a model of 10 to 150
nodes.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import onnx

from irfuzz.execute.intermediate_values import run_tapped
from irfuzz.execute.request_batching import Task
from irfuzz.execute.run_types import RunResult, Target, Value
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program
from irfuzz.localize.nodes.causal_testing import T1, CausalTest, Causes
from irfuzz.localize.nodes.localization_map import LocalizationMap, localise
from irfuzz.localize.nodes.single_node_replay import Replayed, replay

ROOT = Path(__file__).parents[1]
FILE = "tests/planted_targets/wrong.py"
sys.path.insert(0, str(ROOT / "tests" / "planted_targets"))
import wrong  # noqa: E402 - the planted targets are files that workers load by path


class Counting(Runner):
    """Counts what it runs."""

    runs = 0

    def run(self, *args: Any, **named: Any) -> list[RunResult]:
        found = super().run(*args, **named)
        self.runs += len(found)
        return found

    def run_all(self, tasks: Sequence[Task]) -> list[list[RunResult]]:
        found = super().run_all(tasks)
        self.runs += sum(map(len, found))
        return found


@dataclass(frozen=True, slots=True)
class Row:
    """One fault.

    Attributes:
        rank: of the first faulty node in what each method gives, 1 is best, 0 where it is not there.
        precision: which share of what each method names is faulty.
        runs: of programs on a target.
        seconds: wall time.
    """

    fault: str
    model: str
    nodes: int
    planted: int
    parameters: tuple[str, ...]
    rank: dict[str, int]
    precision: dict[str, float]
    runs: dict[str, int]
    seconds: dict[str, float]
    highlighted: bool = False
    false_highlighting: float = 0.0
    largest: float = 0.0
    named_parameters: tuple[str, ...] = ()


def measure(fault: wrong.Fault) -> Row:
    """All three methods on one fault."""
    model, inputs = wrong.model_of(fault), wrong.inputs_of(fault)
    rows = wrong.planted_in(onnx.ModelProto.FromString(model.SerializeToString()), inputs, fault)
    program = Program.from_proto(model)
    truth = _places(program, rows)
    runs: dict[str, int] = {}
    seconds: dict[str, float] = {}
    with Counting(resolve(["reference", f"{FILE}:{fault.name}"])) as runner:
        base, other = runner.targets

        def timed(name: str, work: Any) -> Any:
            before, started = runner.runs, time.perf_counter()
            made = work()
            runs[name], seconds[name] = runner.runs - before, time.perf_counter() - started
            return made

        found: list[Replayed] = timed("replay", lambda: _replay(runner, program, inputs, base, other))
        made: LocalizationMap = timed(
            "CRADLE", lambda: localise(program, *run_tapped(runner, program, inputs, apart=True))
        )
        causes: Causes = timed("AUDEE", lambda: CausalTest(runner, base, other).causes(program, inputs))
    faulty = [_hits(truth, r.first, r.end) for r in found if r.faulty]
    ordinals = {o: place for place, node in enumerate(program.to_proto().graph.node) for o in node.output}
    high = [_hits(truth, p := ordinals[x.name], p + 1) for x in made.ranked if x.highlighted]
    ranked = [_hits(truth, p := ordinals[x.name], p + 1) for x in made.ranked]
    sources = [_hits(truth, p := ordinals[x.name], p + 1) for x in causes.sources]
    hit = [x for x, right in zip(causes.sources, sources, strict=True) if right]
    return Row(
        fault.name, fault.model, len(model.graph.node), len(truth), fault.parameters,
        {"replay": _rank(faulty), "CRADLE": _rank(ranked), "AUDEE": _rank(sources)},
        {"replay": _share(faulty), "CRADLE": _share(high), "AUDEE": _share(sources)},
        runs, seconds, any(high), 0.0 if not ranked else (len(high) - sum(high)) / len(ranked), causes.largest,
        tuple(dict.fromkeys(p.name for x in hit for p in x.parameters)),
    )  # fmt: skip


def _replay(
    runner: Runner, program: Program, inputs: Mapping[str, Value], base: Target, other: Target
) -> list[Replayed]:
    (one,) = run_tapped(runner, program, inputs, [base])
    return replay(runner, program, {**inputs, **one.outputs, **one.taps}, base, other)


def _places(program: Program, rows: list[list[str]]) -> list[range]:
    """Places of the planted nodes, or of those in whose bodies they are; of a row that is fused, from first to last."""
    found: list[range] = []
    nodes = list(program.to_proto().graph.node)
    for row in rows:
        at = [p for p, n in enumerate(nodes) if set(row) & ({*n.output} | _inside(n))]
        found.append(range(min(at), max(at) + 1))
    return found


def _inside(node: onnx.NodeProto) -> set[str]:
    bodies = [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
    return {o for b in bodies for n in b.node for o in {*n.output} | _inside(n)}


def _hits(truth: list[range], first: int, end: int) -> bool:
    """Whether nodes from ``first`` to ``end`` are a planted fault: a node, a part of a fused row, or the row."""
    if end - first == 1:
        return any(first in planted for planted in truth)
    return any(p.start <= first < p.stop or first <= p.start < end for p in truth if end - first <= len(p) + 1)


def _rank(right: list[bool]) -> int:
    return right.index(True) + 1 if True in right else 0


def _share(right: list[bool]) -> float:
    return sum(right) / len(right) if right else 0.0


def table(rows: list[Row]) -> str:
    """A line a fault, then the totals."""
    head = f"{'fault':<34}{'model':<20}{'nodes':>5}{'faulty':>7} | {'rank':^14} | {'precision':^17} | {'runs':^20}"
    lines = [
        f"{head} | {'seconds':^20} | largest R, parameters (planted)",
        f"{'':66} | repl CRAD AUDE | repl  CRAD  AUDE  | repl  CRAD   AUDE   | repl   CRAD   AUDE   |",
    ]
    names = ("replay", "CRADLE", "AUDEE")
    for r in rows:
        told = ", ".join(r.named_parameters) or "-"
        lines.append(
            f"{r.fault:<34}{r.model:<20}{r.nodes:>5}{r.planted:>7} | "
            + " ".join(f"{r.rank[n] or '-':>4}" for n in names) + " | "
            + " ".join(f"{r.precision[n]:>5.2f}" for n in names) + " | "
            + " ".join(f"{r.runs[n]:>6}" for n in names) + " | "
            + " ".join(f"{r.seconds[n]:>6.2f}" for n in names)
            + f" | {r.largest:.3g}, {told} ({', '.join(r.parameters) or '-'})"
        )  # fmt: skip
    return "\n".join(lines)


def totals(rows: list[Row]) -> str:
    """The acceptance figures."""
    above = [r for r in rows if r.largest > T1]
    having = [r for r in above if r.parameters]
    first = [r for r in rows if r.rank["replay"] == 1]
    high = [r for r in rows if r.highlighted]
    layer = [r for r in above if r.rank["AUDEE"] == 1]
    named = [r for r in having if {*r.parameters} & {*r.named_parameters}]
    lines = [
        f"{len(rows)} planted faults in models of {min(r.nodes for r in rows)} to {max(r.nodes for r in rows)} nodes"
    ]
    for what, part, whole, wanted in (
        ("isolated replay names a faulty node first", first, rows, 0.98),
        ("CRADLE's map has one among the highlighted", high, rows, 0.9),
        (f"AUDEE names one first, of those with a rate above {T1:g}", layer, above, 0.75),
        ("AUDEE names the parameter, of those that have one", named, having, 0.9),
    ):
        share = len(part) / len(whole) if whole else 1.0
        missed = ", ".join(r.fault for r in whole if r not in part) or "-"
        lines.append(f"{what}: {len(part)} of {len(whole)} ({share:.1%}, wanted {wanted:.0%}); not: {missed}")
    lines.append(
        f"highlighted by CRADLE though healthy: {sum(r.false_highlighting for r in rows) / len(rows):.1%} of layers"
    )
    for name in ("replay", "CRADLE", "AUDEE"):
        precision = sum(r.precision[name] for r in rows) / len(rows)
        lines.append(
            f"{name:<8} precision {precision:.3f}, median {median(r.runs[name] for r in rows):g} runs and "
            f"{median(r.seconds[name] for r in rows):.2f} s, at most {max(r.seconds[name] for r in rows):.1f} s"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("faults", nargs="*", metavar="FAULT", help="by name; every tenth where none is given")
    parser.add_argument("--all", action="store_true", help="all of them")
    parser.add_argument("--json", type=Path, help="write everything there")
    args = parser.parse_args()
    os.chdir(ROOT)
    chosen = [wrong.BY_NAME[n] for n in args.faults] or list(wrong.FAULTS if args.all else wrong.FAULTS[::10])
    rows: list[Row] = []
    for fault in chosen:
        rows.append(measure(fault))
        print("\n".join(table(rows).splitlines()[-1 if len(rows) > 1 else 0 :]), flush=True)
    print(totals(rows))
    if args.json is not None:
        import json

        args.json.write_text(json.dumps([asdict(r) for r in rows], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
