"""What is left after mutants ran on quick and on slow targets: counts processes, shared memory, files and descriptors.

``python benchmarks/leftovers.py [-n 2000] [--slow 100] [--targets NAMES] [--seed 0] [--timeout 20] [--json FILE]``.
Everything that is left when the runner is closed is named; the goal is nothing. Files count in the temporary folder, in
the home and in the working folder, down to ``DEPTH`` folders. ``memory_mb`` is what this process, and all of its
workers together, held after a tenth, half and all of the quick programs. On the way stderr says how far it is, and
which targets crashed or hung. Exit code 1 where something is left.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from irfuzz.errors import Unsupported
from irfuzz.execute.run_types import Exit, Target
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.mutate.mutator_protocol import Relation
from irfuzz.mutate.traced_mutant_generation import mutate_many
from irfuzz.shipped_folders import seeds_dir

DEPTH = 3
"""So deep the home and the working folder are looked at."""

USUAL = frozenset({Exit.OK, Exit.UNSUPPORTED, Exit.REJECTED})
"""Ends of runs of which nothing is told on the way."""

TELL = 100
"""Programs between two lines that say how far it is."""

MEMORY_AT = (0.1, 0.5, 1.0)
"""Parts of the programs after which memory is looked at."""


def leftovers(
    quick: int, slow: int, targets: tuple[Target, ...], seed: int = 0, timeout: float = 20.0
) -> dict[str, Any]:
    """Run so many programs on the quick and on the slow of the targets; how runs ended, and what was left."""
    seeds = [(p.name, Program.from_bytes(p.read_bytes())) for p in sorted(seeds_dir().glob("*.onnx"))[:12]]
    ends: Counter[str] = Counter()
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder  # where workers have their scratch folders
        try:
            processes, shared, nearby, open_before = descendants(), shared_memory(), _nearby(), _descriptors()
            memory: list[tuple[int, int]] = []
            began = time.monotonic()
            for count, chosen in ((quick, [t for t in targets if not t.slow]), (slow, [t for t in targets if t.slow])):
                if count and chosen:
                    ends += _run(seeds, count, tuple(chosen), seed, memory, timeout)
            return {
                "quick_programs": quick,
                "slow_programs": slow,
                "targets": [t.name for t in targets],
                "seconds": round(time.monotonic() - began, 1),
                "ends": dict(sorted(ends.items())),
                "memory_mb": memory[: len(MEMORY_AT)],
                "processes": sorted(descendants() - processes),
                "shared_memory": sorted(shared_memory() - shared),
                "files": sorted([str(p.relative_to(folder)) for p in Path(folder).rglob("*")] + [*_nearby() - nearby]),
                "descriptors": sorted(_descriptors() - open_before),
            }
        finally:
            tempfile.tempdir = before


def _run(
    seeds: list[tuple[str, Program]],
    count: int,
    targets: tuple[Target, ...],
    seed: int,
    memory: list[tuple[int, int]],
    timeout: float,
) -> Counter[str]:
    ends: Counter[str] = Counter()
    looks = [round(part * count) for part in MEMORY_AT]
    with Runner(targets, Limits(seconds=timeout)) as runner:
        for number, mutant in enumerate(mutate_many(seeds, seed=seed, n=count), 1):
            if number in looks:
                memory.append((resident([str(os.getpid())]), resident(descendants())))
            if any(edit.relation is Relation.INVALID for edit in mutant.edits):
                continue
            try:
                inputs = make_inputs(mutant.program, seed)
            except Unsupported:
                continue
            runs = runner.run(mutant.program, inputs)
            ends.update(f"{r.target.name} {r.exit}" for r in runs)
            for run in runs:
                if run.exit not in USUAL:
                    ops = ", ".join(sorted({node.op_type for node in mutant.program.nodes()}))
                    print(f"{number}: {run.target.name} {run.exit} in {ops}", file=sys.stderr, flush=True)
            if number % TELL == 0:
                print(f"{number} of {count} programs", file=sys.stderr, flush=True)
    return ends


def descendants() -> set[str]:
    """Processes below this one, zombies too, with their names."""
    parents: dict[int, tuple[int, str]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                head, _, tail = (entry / "stat").read_text().rpartition(")")
            except OSError:
                continue
            parents[int(entry.name)] = (int(tail.split()[1]), head.partition("(")[2])
    found: set[str] = set()
    for pid, (_, name) in parents.items():
        up = pid
        while up in parents and up != os.getpid():
            up = parents[up][0]
        if up == os.getpid() and pid != up:
            found.add(f"{pid} {name}")
    return found


def resident(processes: Iterable[str]) -> int:
    """Megabytes that processes hold, each named by its id and perhaps more behind a space."""
    pages = 0
    for entry in processes:
        with contextlib.suppress(OSError, IndexError):  # it has ended
            pages += int(Path(f"/proc/{entry.split()[0]}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


def _descriptors() -> set[str]:
    """What this process has open, without the folder that is read here."""
    found: set[str] = set()
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found.add(f"{entry.name} {entry.readlink()}")
    return {text for text in found if "/proc/" not in text}


def _nearby() -> set[str]:
    """Files and folders of the home and the working folder, but for bytecode and version control."""
    found: set[str] = set()
    for top in {Path.home(), Path.cwd()}:
        for folder, names, files in os.walk(top):
            names[:] = [name for name in names if name not in ("__pycache__", ".git")]
            found.update(f"{folder}/{name}" for name in (*names, *files))
            if len(Path(folder).relative_to(top).parts) + 1 >= DEPTH:
                names.clear()
    return found


def shared_memory() -> set[str]:
    """Shared memory that has a name."""
    place = Path("/dev/shm")
    return (
        {p.name for p in place.iterdir() if p.name.startswith(("irfuzz", "torch_", "psm_", "sem."))}
        if place.is_dir()
        else set()
    )


LEFT = ("processes", "shared_memory", "files", "descriptors")
"""What is to be empty at the end."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=2000)
    parser.add_argument("--slow", type=int, default=100)
    parser.add_argument("--targets", help="Default: all runtimes, the slow ones too.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=20.0, help="Seconds that a target has for a program.")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    targets = resolve(args.targets.split(",") if args.targets else None, slow=True)
    found = leftovers(args.n, args.slow, targets, args.seed, args.timeout)
    text = json.dumps(found, indent=1)
    if args.json:
        args.json.write_text(text + "\n")
    print(text)
    return 1 if any(found[kind] for kind in LEFT) else 0


if __name__ == "__main__":
    sys.exit(main())
