"""What irfuzz adds to a target's own convert, load and run, and what is left of the target's programs.

``python -m benchmarks.target_cost TARGET... [-n 200] [--nodes 10] [--least 1] [--models NAMES] [--seed 0]
[--timeout 60] [--json FILE]``. Mutants of the shipped seeds, or of the named ones, run on one target after another. Of
each it prints the milliseconds that a program took in all, those that the component itself took (as its worker measures
convert, load and run), the difference, which is irfuzz's, and the time of the processor that irfuzz's own process used;
memory of the workers after the first tenth and at the end; and every process, shared memory and file that is left. The
first programs, which wait for the worker, do not count.
``a_second`` is how many programs there were for each second of running them, and how many of them the target took.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.leftovers import descendants, resident, shared_memory
from irfuzz.errors import Unsupported
from irfuzz.execute.run_types import Exit, Target, Value
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.mutate.mutator_protocol import Relation
from irfuzz.mutate.traced_mutant_generation import mutate_many
from irfuzz.shipped_folders import seeds_dir

FIRST = 3
"""Programs that do not count: the worker starts, and the component sets itself up."""

MILLI = 1000.0


@dataclass(frozen=True, slots=True)
class Drawn:
    """Which programs run.

    Attributes:
        count: of programs.
        nodes: that a program has at most.
        least: nodes that it has at least.
        models: names of the seeds that are mutated; none for all.
        seed: of mutants and inputs.
    """

    count: int
    nodes: int
    least: int
    models: tuple[str, ...]
    seed: int


def cost(target: Target, drawn: Drawn, timeout: float) -> dict[str, Any]:
    """Run programs on one target.

    Args:
        target: the only one that runs.
        drawn: what it runs.
        timeout: seconds for a program.
    """
    processes, shared, before = descendants(), shared_memory(), tempfile.tempdir
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder  # where workers have their scratch folders
        try:
            found = _run(target, drawn, timeout)
        finally:
            tempfile.tempdir = before
        left = {
            "processes": sorted(descendants() - processes),
            "shared_memory": sorted(shared_memory() - shared),
            "files": sorted(str(p.relative_to(folder)) for p in Path(folder).rglob("*")),
        }
    return {"target": target.name, **found, **left}


def _run(target: Target, drawn: Drawn, timeout: float) -> dict[str, Any]:
    ends: Counter[str] = Counter()
    seconds = 0.0
    whole, own, used, memory = [], [], [], []
    with Runner((target,), Limits(seconds=timeout)) as runner:
        for program, inputs in _programs(drawn):
            began, spent = time.perf_counter(), time.process_time()
            (result,) = runner.run(program, inputs)
            seconds += (time.perf_counter() - began) * (len(memory) >= FIRST)
            if result.exit is Exit.OK:
                whole.append((time.perf_counter() - began) * MILLI)
                own.append(result.seconds * MILLI)
                used.append((time.process_time() - spent) * MILLI)
            ends[str(result.exit)] += 1
            memory.append(resident(descendants()))
        version = runner.targets[0].version
    added = [a - b for a, b in zip(whole[FIRST:], own[FIRST:], strict=True)] or [0.0]
    return {
        "version": version,
        "ends": dict(sorted(ends.items())),
        "a_second": [round((len(memory) - FIRST) / seconds, 1), round(len(whole[FIRST:]) / seconds, 1)],
        "whole_ms": round(statistics.median(whole[FIRST:] or [0.0]), 2),
        "component_ms": round(statistics.median(own[FIRST:] or [0.0]), 2),
        "irfuzz_ms": round(statistics.median(added), 2),
        "irfuzz_cpu_ms": round(statistics.median(used[FIRST:] or [0.0]), 2),
        "workers_mb": [memory[len(memory) // 10], memory[-1]],
    }


def _programs(drawn: Drawn) -> Iterator[tuple[Program, dict[str, Value]]]:
    """Valid mutants that are small enough, with inputs."""
    files = [p for p in sorted(seeds_dir().glob("*.onnx")) if not drawn.models or p.stem in drawn.models]
    seeds = [(p.name, Program.from_bytes(p.read_bytes())) for p in files]
    small = [(name, program) for name, program in seeds if drawn.models or len(program.graph) <= drawn.nodes]
    left = drawn.count
    for mutant in mutate_many(small, seed=drawn.seed, n=20 * drawn.count):
        if any(edit.relation is Relation.INVALID for edit in mutant.edits):
            continue
        if not drawn.least <= len(mutant.program.graph) <= drawn.nodes:
            continue
        try:
            inputs = make_inputs(mutant.program, drawn.seed)
        except Unsupported:
            continue
        yield mutant.program, inputs
        left -= 1
        if not left:
            return


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="+", metavar="TARGET")
    parser.add_argument("-n", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--least", type=int, default=1)
    parser.add_argument("--models", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    models = tuple(name for name in args.models.split(",") if name)
    drawn = Drawn(args.n, args.nodes, args.least, models, args.seed)
    rows = [cost(t, drawn, args.timeout) for t in resolve(args.targets, slow=True)]
    for row in rows:
        print(json.dumps(row), flush=True)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if any(row["processes"] or row["shared_memory"] or row["files"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
