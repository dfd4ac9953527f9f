"""What the sandbox of workers costs: a start, a fork and a program, with it and without it.

Pairs follow each other at once, because other work on the machine comes and goes; medians are printed, of wall time and
of processor time (of all processes, the kernel's included). A program is that of ``benchmarks/isolation.py``.

Run ``python -m benchmarks.sandbox_cost [--pairs 9] [--programs 200]``.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks import isolation
from irfuzz.isolate import Worker, WorkerSpec
from irfuzz.isolate.sandbox_report import VARIABLE, sandbox_line

SPEC = WorkerSpec("onnxruntime", Path(isolation.__file__), preload=("onnxruntime",))
VALUES = [isolation.program(), np.zeros((1, 8, 8, 8), np.float32)]


def used() -> tuple[float, float]:
    """Seconds on the clock, and of processors, of this process and of those that have ended."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return time.perf_counter(), sum(one.ru_utime + one.ru_stime for one in spent)


def timed(act: Callable[[], object]) -> tuple[float, float]:
    """The milliseconds that it takes, by the clock and of processors."""
    before = used()
    act()
    return tuple(1e3 * (b - a) for a, b in zip(before, used(), strict=True))  # type: ignore[return-value]


def lived(programs: int, *, fresh: bool = False) -> None:
    """A worker that is started, runs so many programs, each in a new child if they are to be ``fresh``, and ends."""
    with Worker(SPEC) as worker:
        for _ in range(programs):
            reply = worker.call({}, VALUES, fresh=fresh)
            assert reply.exit == "ok", reply


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--pairs", type=int, default=9, help="how often each is measured with and without")
    parser.add_argument("--programs", type=int, default=200, help="that a worker runs")
    given = parser.parse_args()
    print(sandbox_line())
    acts: dict[str, tuple[int, Callable[[], None]]] = {
        "start": (1, lambda: lived(1)),
        "fork": (20, lambda: lived(20, fresh=True)),
        "program": (given.programs, lambda: lived(given.programs)),
    }
    for name, (count, act) in acts.items():
        rows: dict[str, list[tuple[float, float]]] = {"": [], "all": []}
        for _ in range(given.pairs):
            for allowed, taken in rows.items():
                os.environ[VARIABLE] = allowed
                taken.append(timed(act))
        for kind, place in (("clock", 0), ("processor", 1)):
            inside, outside = (statistics.median(row[place] / count for row in rows[key]) for key in ("", "all"))
            more = statistics.median((a[place] - b[place]) / count for a, b in zip(rows[""], rows["all"], strict=True))
            print(f"{name:8} {kind:10} {inside:9.2f} ms in the sandbox, {outside:9.2f} without, {more:+.3f} in pairs")


if __name__ == "__main__":
    main()
