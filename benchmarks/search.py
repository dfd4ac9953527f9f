"""Searches compared: shares of COMET's committed space by programs, CPU seconds and seconds, over several seeds.

    python -m benchmarks.search --searches thompson,mcmc,random --seconds 60 --seeds 3 -o search.json
    python -m benchmarks.search --searches thompson --seconds 900 --run

Without ``--run`` programs are generated, verified by ONNX's inference and the rules of ``ops/``, and serialized. With
it each also runs on two levels of ONNXRuntime, and seconds are those of the clock. Each seed is one process on one
core; ``search_compare`` runs the whole comparison on several.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irfuzz.choices import Choices
from irfuzz.frontends.onnx_file import load_seed
from irfuzz.garbage_collection import settle
from irfuzz.generate.one_node_programs import sprouts
from irfuzz.ir.program import Program
from irfuzz.mutate.feature_counts import FeatureCounts
from irfuzz.mutate.mutation_engine import Engine, why_not_mutated
from irfuzz.mutate.mutation_trace import FixedDonors
from irfuzz.mutate.mutator_protocol import Relation
from irfuzz.mutate.mutator_table import campaign_weights
from irfuzz.mutate.tensor_values.invalid_element import InvalidElement
from irfuzz.mutate.tensor_values.invalid_value import InvalidValue
from irfuzz.search.coverage.coverable_call_space import load
from irfuzz.search.coverage.operator_call_coverage import CRITERIA
from irfuzz.search.coverage.uncovered_operator_calls import Frontier
from irfuzz.search.strategies.strategy_protocol import MutationOutcome
from irfuzz.search.strategies.strategy_table import SEARCHES, USES, make_search
from irfuzz.shipped_folders import seeds_dir
from irfuzz.spec import load_specs

SPROUTS = 0.4
"""Share of programs that grow from one node, in searches that do so; as in ``irfuzz fuzz``."""

INVALID = (InvalidValue.name, InvalidElement.name)
"""Mutators whose programs cover nothing."""

MOST_EDITS = 4
CROWD = 500
DEPTH = 200
"""Most nodes of a program."""

LEVELS = ("onnxruntime:disabled", "onnxruntime:all")
TARGETS = {"input": 0.90, "parameter": 0.85, "sequence": 0.60}


@dataclass
class Kept:
    """A program that may be mutated."""

    seed: str
    nodes: int
    features: int
    program: Program
    picked: int = 0
    favoured: bool = False


Tell = Callable[[dict[str, float], Frontier], None]
"""Is given each row of a curve, and what is covered."""


def explore(name: str, seed: int | str, limit: argparse.Namespace, tell: Tell | None = None) -> list[dict[str, float]]:
    """One search; its curve: programs, CPU seconds (workers' included), seconds and the share of each criterion."""
    specs = load_specs()
    seen, frontier = FeatureCounts(), Frontier(load())
    parents: list[Kept] = []
    donors: dict[str, Program] = {}
    for path in sorted(seeds_dir().rglob("*.onnx")):
        program = load_seed(path)
        if why_not_mutated(program):
            continue
        parents.append(Kept(path.name, len(program.nodes()), 0, program))
        donors[program.digest] = program
        seen.add_program(program)
        frontier.add(program)
    engine = Engine(
        specs, USES.get(name), max_nodes=DEPTH, seen=seen, donors=FixedDonors(donors), wanted=frontier,
        weights=campaign_weights() | dict.fromkeys(INVALID, 0.0) if USES.get(name) is None else None,
    )  # fmt: skip
    search = make_search(name, tuple(engine.mutators))
    small = [Kept(n, 1, 0, p) for n, p in sprouts().items()]
    runner = Runs() if limit.run else None
    settle()
    curve: list[dict[str, float]] = []
    programs = asked = 0
    began, cpu = time.monotonic(), time.process_time()
    told = 0.0

    def spent() -> float:
        """Seconds of the limit that are used up: without runs of CPU time, so that other work does not matter."""
        return time.monotonic() - began if runner is not None else time.process_time() - cpu

    def row() -> dict[str, float]:
        shares = frontier.shares()
        own = time.process_time() - cpu + (children() - below if runner is not None else 0.0)
        found = {
            "programs": programs, "asked": asked, "cpu": own, "seconds": time.monotonic() - began,
            "kept": len(parents), **{c: shares[c].ratio for c in CRITERIA},
        }  # fmt: skip
        if tell is not None:
            tell(found, frontier)
        return found

    below = children()
    curve.append(row())
    while (limit.programs is None or programs < limit.programs) and spent() < limit.seconds:
        choices = Choices.from_seed(f"{seed}/{asked}")
        asked += 1
        if search.sprouts and choices.boolean(limit.sprouts):
            parent = choices.pick(small)
        else:
            parent = search.choose(parents, choices)
        plan = search.plan(parent, choices, limit.edits)
        mutant = engine.mutate(parent.program, choices, len(plan), plan)
        if mutant is None:
            search.learn(parent, plan, MutationOutcome((), 0, 0, len(parent.program.nodes())))
            continue
        programs += 1
        invalid = any(edit.relation is Relation.INVALID for edit in mutant.edits)
        mutant.to_bytes()
        if runner is not None:
            runner.add(mutant.program, choices.seed(), str(asked))
        features = 0 if invalid else seen.add_mutant(mutant.program)
        before = frontier.worth
        gain = 0 if invalid else frontier.add_mutant(mutant.program)
        size = len(mutant.program.nodes())
        outcome = MutationOutcome(
            tuple(e.mutator for e in mutant.edits), gain, features, size, worth=frontier.worth - before
        )
        search.learn(parent, plan, outcome)
        if not invalid and search.keeps(outcome, 1 + len(parents) // CROWD):
            parents.append(Kept(parent.seed, size, features, mutant.program))
        now = spent()
        if now - told >= limit.every:
            told = now
            curve.append(row())
            print(f"{name} {seed}: {shown(curve[-1])}", file=sys.stderr, flush=True)
    curve.append(row())
    if runner is not None:
        curve[-1] |= runner.close()
        if tell is not None:
            tell(curve[-1], frontier)
    return curve


def children() -> float:
    """CPU seconds of the processes below this one, of what they waited for, too."""
    stats: dict[int, list[str]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            stats[int(folder.name)] = (folder / "stat").read_text().rpartition(")")[2].split()
    mine = {os.getpid()}
    ticks = 0
    while more := {pid for pid, stat in stats.items() if pid not in mine and int(stat[1]) in mine}:
        ticks += sum(int(tick) for pid in more for tick in stats[pid][11:15])
        mine |= more
    return ticks / os.sysconf("SC_CLK_TCK")


class Runs:
    """Runs programs on two levels, a round at a time."""

    def __init__(self) -> None:
        from irfuzz.execute.runner import Runner
        from irfuzz.execute.target_table import resolve
        from irfuzz.isolate import Limits

        self._runner = Runner(resolve(LEVELS), Limits(seconds=10.0, memory_bytes=4 << 30))
        self._runner.__enter__()
        self._tasks: list[Any] = []
        self.runs = self.ok = 0

    def add(self, program: Program, seed: int, tag: str) -> None:
        """Keep a program for the next round, and run a full one."""
        from irfuzz.errors import Unsupported
        from irfuzz.execute.request_batching import Task
        from irfuzz.generate.input_values import make_inputs

        try:
            inputs = make_inputs(program, seed)
        except Unsupported:
            return
        self._tasks.append(Task(program, inputs, tuple(self._runner.targets), tag, program.to_bytes()))
        if len(self._tasks) >= 16:
            self._flush()

    def _flush(self) -> None:
        from irfuzz.execute.run_types import Exit

        for results in self._runner.run_all(self._tasks):
            self.runs += 1
            self.ok += all(r.exit is Exit.OK for r in results)
        self._tasks = []

    def close(self) -> dict[str, float]:
        """How many programs ran, and how many of them on both levels without an error."""
        if self._tasks:
            self._flush()
        self._runner.__exit__(None, None, None)
        return {"run": self.runs, "ran": self.ok}


def shown(row: dict[str, float]) -> str:
    """A row as people read it."""
    rate = row["programs"] / row["cpu"] if row["cpu"] else 0.0
    return (
        f"{row['programs']:8.0f} programs {row['cpu']:7.1f} CPU s ({rate:5.1f}/s) {row['seconds']:7.1f} s  "
        + "  ".join(f"{c} {100 * row[c]:5.1f}%" for c in CRITERIA)
    )


def reached(curve: list[dict[str, float]], shares: dict[str, float], unit: str) -> float | None:
    """When all shares were first reached; ``None`` where they were not."""
    return next((row[unit] for row in curve if all(row[c] >= s for c, s in shares.items())), None)


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--searches", default=",".join(SEARCHES))
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="for each search and seed (of CPU time without --run)"
    )
    parser.add_argument("--programs", type=int, help="stop after so many")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--sprouts", type=float, default=SPROUTS)
    parser.add_argument("--edits", type=int, default=MOST_EDITS, help="most edits of a program")
    parser.add_argument("--every", type=float, default=5.0, help="seconds between two rows")
    parser.add_argument("--run", action="store_true", help="run each program on two levels of ONNXRuntime")
    parser.add_argument("-o", "--out", type=Path)
    args = parser.parse_args()
    space = load().totals()
    print(f"space: {space}")
    curves: dict[str, list[list[dict[str, float]]]] = {}
    for name in args.searches.split(","):
        curves[name] = [explore(name, args.first + n, args) for n in range(args.seeds)]
        last = [curve[-1] for curve in curves[name]]
        for row in last:
            print(f"{name:9} {shown(row)}" + (f"  ran {row['ran']:.0f} of {row['run']:.0f}" if args.run else ""))
        if len(last) > 1:
            for c in CRITERIA:
                values = [100 * row[c] for row in last]
                print(f"{name:9} {c}: mean {statistics.mean(values):.2f}%, {min(values):.2f} to {max(values):.2f}")
    base = curves.get("mcmc")
    for name in curves if base else ():
        for n, curve in enumerate(curves[name]):
            goal = {c: base[n][-1][c] for c in CRITERIA}
            found = {unit: reached(curve, goal, unit) for unit in ("programs", "cpu", "seconds")}
            print(f"{name} seed {n}: reaches what mcmc has at its end at {found}")
    if args.out:
        args.out.write_text(json.dumps({"space": space, "curves": curves}, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
