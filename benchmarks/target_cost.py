"""What irfuzz adds to a target's own convert, load and run, and what is left of the target's programs.

``python -m benchmarks.target_cost TARGET... [-n 200] [--nodes 10] [--seed 0] [--timeout 60] [--json FILE]``. Mutants of
the shipped seeds run on one target after another. Of each it prints the milliseconds that a program took in all, those
that the component itself took (as its worker measures convert, load and run), the difference, which is irfuzz's, and
the time of the processor that irfuzz's own process used; memory of the workers after the first tenth and at the end;
and every process, shared memory and file that is left. The first programs, which wait for the worker, do not count.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.leftovers import _descendants, _shared
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


def cost(target: Target, count: int, nodes: int, seed: int, timeout: float) -> dict[str, Any]:
    """Run programs on one target.

    Args:
        target: the only one that runs.
        count: of programs.
        nodes: that a program has at most.
        seed: of mutants and inputs.
        timeout: seconds for a program.
    """
    processes, shared, before = _descendants(), _shared(), tempfile.tempdir
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder  # where workers have their scratch folders
        try:
            found = _run(target, count, nodes, seed, timeout)
        finally:
            tempfile.tempdir = before
        left = {
            "processes": sorted(_descendants() - processes),
            "shared_memory": sorted(_shared() - shared),
            "files": sorted(str(p.relative_to(folder)) for p in Path(folder).rglob("*")),
        }
    return {"target": target.name, **found, **left}


def _run(target: Target, count: int, nodes: int, seed: int, timeout: float) -> dict[str, Any]:
    ends: Counter[str] = Counter()
    whole, own, used, memory = [], [], [], []
    with Runner((target,), Limits(seconds=timeout)) as runner:
        for program, inputs in _programs(count, nodes, seed):
            began, spent = time.perf_counter(), time.process_time()
            (result,) = runner.run(program, inputs)
            if result.exit is Exit.OK:
                whole.append((time.perf_counter() - began) * MILLI)
                own.append(result.seconds * MILLI)
                used.append((time.process_time() - spent) * MILLI)
            ends[str(result.exit)] += 1
            memory.append(_resident())
        version = runner.targets[0].version
    added = [a - b for a, b in zip(whole[FIRST:], own[FIRST:], strict=True)] or [0.0]
    return {
        "version": version,
        "ends": dict(sorted(ends.items())),
        "whole_ms": round(statistics.median(whole[FIRST:] or [0.0]), 2),
        "component_ms": round(statistics.median(own[FIRST:] or [0.0]), 2),
        "irfuzz_ms": round(statistics.median(added), 2),
        "irfuzz_cpu_ms": round(statistics.median(used[FIRST:] or [0.0]), 2),
        "workers_mb": [memory[len(memory) // 10], memory[-1]],
    }


def _programs(count: int, nodes: int, seed: int) -> Iterator[tuple[Program, dict[str, Value]]]:
    """Valid mutants that are small enough, with inputs."""
    seeds = [(p.name, Program.from_bytes(p.read_bytes())) for p in sorted(seeds_dir().glob("*.onnx"))]
    small = [(name, program) for name, program in seeds if len(program.graph) <= nodes]
    left = count
    for mutant in mutate_many(small, seed=seed, n=20 * count):
        if any(edit.relation is Relation.INVALID for edit in mutant.edits) or len(mutant.program.graph) > nodes:
            continue
        try:
            inputs = make_inputs(mutant.program, seed)
        except Unsupported:
            continue
        yield mutant.program, inputs
        left -= 1
        if not left:
            return


def _resident() -> int:
    """Megabytes that all processes below this one hold."""
    pages = 0
    for entry in _descendants():
        try:
            pages += int(Path(f"/proc/{entry.split()[0]}/statm").read_text().split()[1])
        except (OSError, IndexError):
            continue
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="+", metavar="TARGET")
    parser.add_argument("-n", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rows = [cost(t, args.n, args.nodes, args.seed, args.timeout) for t in resolve(args.targets)]
    for row in rows:
        print(json.dumps(row), flush=True)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if any(row["processes"] or row["shared_memory"] or row["files"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
