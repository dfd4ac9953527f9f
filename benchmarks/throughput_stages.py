"""CPU time of each step of the hot loop, in the job and in its worker.

Wall time means nothing on a busy machine. So this counts CPU time, makes the same programs several times over, and
takes for each round of programs and each step the least; what remains is what other processes do to the caches.

Run ``python benchmarks/throughput_stages.py [--nodes 30] [--count 160] [--times 8] [--round 16]``; prints JSON, in ms
a program. ``handler`` (wall time inside the worker's handler) is part of ``worker``: on a quiet machine the rest of it
is transport.
"""

from __future__ import annotations

import argparse
import json
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

from throughput import TARGETS, Loop, model

from irfuzz.campaign.loop import ROUND
from irfuzz.choices import Choices
from irfuzz.execute.request_batching import Task
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.garbage_collection import settle
from irfuzz.generate.input_values import make_inputs
from irfuzz.isolate import Limits, linux
from irfuzz.oracle import judge

STEPS = ("mutate", "inputs", "encode", "novelty", "run: job", "judge", "worker", "handler")


class Meter:
    """CPU time by step."""

    def __init__(self) -> None:
        self.spent = dict.fromkeys(STEPS, 0.0)
        self.last = time.process_time()

    def add(self, step: str) -> None:
        """What this process has used since the last call belongs to a step."""
        now = time.process_time()
        self.spent[step] += now - self.last
        self.last = now


def workers() -> float:
    """CPU seconds of all processes below this one."""
    # CPUCLOCK_SCHED of another process (linux/posix-timers.h).
    return sum(time.clock_gettime((~pid << 3) | 2) for pid in linux.descendants(os.getpid()))


def round_of(loop: Loop, runner: Runner, numbers: range) -> tuple[int, dict[str, float]]:
    """Make, run and judge the programs of some numbers; how many there were, and what each step took."""
    meter = Meter()
    tasks: list[Task] = []
    for number in numbers:
        mutant = loop.engine.mutate(loop.seed, Choices.from_seed(number), edits=1)
        meter.add("mutate")
        if mutant is None:
            continue
        inputs = make_inputs(mutant.program, number)
        meter.add("inputs")
        data = mutant.program.to_bytes()
        meter.add("encode")
        loop.seen.add_mutant(mutant.program)
        meter.add("novelty")
        tasks.append(Task(mutant.program, inputs, model=data))
    before = workers()
    meter.last = time.process_time()
    results = runner.run_all(tasks)
    meter.add("run: job")
    meter.spent["worker"] = workers() - before
    meter.spent["handler"] = sum(result.seconds for found in results for result in found)
    meter.last = time.process_time()
    for task, found in zip(tasks, results, strict=True):
        assert not isinstance(task.program, bytes)
        judge(task.program, task.inputs, found)
    meter.add("judge")
    return len(tasks), meter.spent


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, default=30)
    parser.add_argument("--count", type=int, default=160)
    parser.add_argument("--times", type=int, default=8)
    parser.add_argument("--round", type=int, default=ROUND)
    args = parser.parse_args()
    rounds = [range(first, first + args.round) for first in range(0, args.count, args.round)]
    least: list[dict[str, float]] = [{} for _ in rounds]
    programs = 0
    with Runner(resolve(TARGETS), Limits(seconds=20)) as runner:
        runner.run(model(args.nodes), make_inputs(Loop(args.nodes, runner.run_all, 0).seed, 1))
        for turn in range(args.times):
            loop = Loop(args.nodes, runner.run_all, 0)  # anew: novelty decides which programs are made
            programs = 0
            for row, numbers in zip(least, rounds, strict=True):
                count, spent = round_of(loop, runner, numbers)
                programs += count
                for step, seconds in spent.items():
                    row[step] = min(row.get(step, seconds), seconds)
            if not turn:
                settle()
                least = [{} for _ in rounds]
    found = {step: round(sum(row[step] for row in least) / programs * 1e3, 4) for step in STEPS}
    job = sum(value for step, value in found.items() if step not in ("worker", "handler"))
    total = {"job": round(job, 4), "all": round(job + found["worker"], 4)}
    print(json.dumps({"nodes": args.nodes, "round": args.round, "programs": programs, **found, **total}))


if __name__ == "__main__":
    main()
