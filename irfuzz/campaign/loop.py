"""The fuzzing loop, which every program of every campaign passes: scheduled, mutated, run, judged, triaged."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from irfuzz.campaign.corpus.testcase import Testcase
from irfuzz.choices import Choices
from irfuzz.errors import Unsupported
from irfuzz.garbage_collection import give_back

if TYPE_CHECKING:
    from irfuzz.campaign.job import Job
    from irfuzz.campaign.strategy import Strategy

R = TypeVar("R")
V = TypeVar("V")

ROUND = 16
"""At most so many programs are made, then run, then judged: mutation, the targets and the oracles then each find their
code and tables in the caches, and processes take turns and the database is written once for all of them."""

ROUND_SECONDS = 0.5
"""A round is not meant to take longer: slow targets get rounds of few programs, or of one."""

ROUND_BYTES = 16 << 20
"""Models and inputs of a round, beyond which no program is added."""


def fuzz(job: Job, strategy: Strategy[R, V], enough: int) -> None:
    """Work until the campaign ends the job, or until it alone has judged ``enough`` programs.

    Programs go in rounds: some are made, then run together, then judged. What a job made but did not run when it was
    told to stop is made again by the next one of its number.

    Args:
        job: the process, with its journal, counts and guard.
        strategy: what is done at each step.
        enough: programs.
    """
    most, tidied = 1, time.monotonic()
    strategy.absorb()
    while not job.stop and job.programs < enough:
        most = _round(job, strategy, min(most, enough - job.programs))
        tidied = give_back(tidied)


def _round(job: Job, strategy: Strategy[R, V], most: int) -> int:
    """Make, run and judge the next programs, ``most`` at most; returns how many the next round may have."""
    began = time.monotonic()
    made = _make_some(job, strategy, most)
    if job.stop:
        return 1  # nothing has run yet, and it can be made again
    runs = _execute(job, strategy, made)
    each = (time.monotonic() - began) / len(made)
    for testcase in made:
        job.journal.judges(job.iteration)
        passed, long = testcase is not None, False
        if isinstance(testcase, str):
            job.counts[testcase] += 1
        elif testcase is not None:
            passed, long = _judge(job, strategy, testcase, next(runs))
        job.advance(passed=passed, save=long)
        if job.stop:
            return 1
        if long:
            _work(job, strategy)
    _work(job, strategy)
    job.save()
    return max(1, min(strategy.most, 2 * len(made), int(ROUND_SECONDS / each)))


def _make_some(job: Job, strategy: Strategy[R, V], most: int) -> list[Testcase | str | None]:
    """The programs of the next iterations, or what is to be counted instead; ``None`` for a fault of our own.

    What they are does not depend on how many there are: the corpus grows between rounds that begin at multiples of
    ``refresh`` only, and what is new about a program is counted as soon as it is made.
    """
    made: list[Testcase | str | None] = []
    size = 0
    for iteration in range(job.iteration, job.iteration + job.together(most, strategy.refresh)):
        job.journal.makes(iteration)
        testcase = "skipped after a death" if iteration == job.skip else _make(job, strategy, iteration)
        made.append(testcase)
        size += testcase.size() if isinstance(testcase, Testcase) else 0
        if size > ROUND_BYTES or job.stop:
            break
    return made


def _make(job: Job, strategy: Strategy[R, V], iteration: int) -> Testcase | str | None:
    """One program and its inputs."""
    with job.guard(iteration) as busy:
        if iteration % strategy.refresh == 0:
            strategy.absorb()
        choices = Choices.from_seed(f"{strategy.root}/{iteration}")
        entry = strategy.schedule(choices, iteration)
        parent = busy.parent = strategy.corpus.program(entry)
        testcase = strategy.mutate(entry, parent, choices, iteration)
        if testcase is None:
            return "unmutated"
        busy.mutant = testcase.program
        try:
            return strategy.feed(testcase, choices)
        except Unsupported:
            return "no inputs"
    return None


def _execute(job: Job, strategy: Strategy[R, V], made: Sequence[Testcase | str | None]) -> Iterator[R | None]:
    """What running each program gives; ``None`` if that could not be found out by our own fault."""
    testcases = [testcase for testcase in made if isinstance(testcase, Testcase)]
    if len(testcases) > 1:
        job.journal.runs([(testcase.iteration, testcase.whole) for testcase in testcases])
        try:
            return iter(strategy.execute(testcases))
        except Exception:  # noqa: BLE001 - whose fault it is shows when each runs alone
            job.counts["rounds run one by one"] += 1
    found: list[R | None] = []
    for testcase in testcases:
        found.append(None)
        with job.guard(testcase.iteration, testcase.parent, testcase.program):
            job.journal.runs([(testcase.iteration, testcase.whole)])
            (found[-1],) = strategy.execute([testcase])
    return iter(found)


def _work(job: Job, strategy: Strategy[R, V]) -> None:
    """Look into what waits, once it is stored; a fault of our own costs no program then."""
    with job.guard(job.iteration, case=job.case_model):
        strategy.work()


def _judge(job: Job, strategy: Strategy[R, V], testcase: Testcase, runs: R | None) -> tuple[bool, bool]:
    """Look for what is wrong and remember what is new; whether that went through, and whether it took long."""
    long = False
    if runs is None:
        return False, False
    with job.guard(testcase.iteration, testcase.parent, testcase.program):
        all_runs, wrong = strategy.judge(testcase, runs)
        job.programs += 1
        long = bool(wrong) or all_runs is not runs
        strategy.keep(testcase, all_runs)
        strategy.triage(testcase, all_runs, wrong)
        strategy.audit(testcase)
        return True, long
    return False, long
