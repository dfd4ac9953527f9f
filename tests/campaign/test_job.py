"""The process of a job: what it returns for each error, how it is asked to end, and where it goes on after a death."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from irfuzz.campaign import job as jobs
from irfuzz.campaign.campaign import Campaign
from irfuzz.campaign.config import SECONDS, Config
from irfuzz.campaign.inflight_journal import InFlight
from irfuzz.campaign.job import Job, main
from irfuzz.errors import InternalError, UsageError
from irfuzz.isolate import StartError
from irfuzz.store.waiting_rows import WaitingRow

pytestmark = pytest.mark.unit

PARENT = 4711


class Made:
    """A job that notes how it was made, and does what a test says."""

    does: Callable[[Made], None] = staticmethod(lambda job: None)
    made: list[Made]

    def __init__(self, out: Path, number: int, kind: str, *, skip: bool) -> None:
        self.given = (out, number, kind, skip)
        self.stop = False
        Made.made.append(self)

    def run(self) -> None:
        Made.does(self)


@pytest.fixture(autouse=True)
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Signals of this process, and whom it takes for its parent, are put back."""
    parents = [PARENT]
    Made.made, Made.does = [], staticmethod(lambda job: None)
    monkeypatch.setattr(jobs, "Job", Made)
    monkeypatch.setattr(jobs, "signal_at_parents_death", lambda number: None)
    monkeypatch.setattr(jobs.stray_processes, "adopt", lambda: None)  # a process that adopts does so to its end
    monkeypatch.setattr(jobs.os, "getppid", lambda: parents[0])
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield parents
    for number, handler in kept.items():
        signal.signal(number, handler)


def run(*more: str) -> int:
    return main(["out", "3", str(PARENT), "differential", *more])


def test_a_job_is_made_as_it_is_asked_for() -> None:
    assert run() == 0
    assert run("skip") == 0
    assert [one.given for one in Made.made] == [
        (Path("out"), 3, "differential", False),
        (Path("out"), 3, "differential", True),
    ]
    assert [one.stop for one in Made.made] == [False, False]
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_without_its_parent_it_does_not_begin(process: list[int]) -> None:
    process[0] = 1
    assert run() == 1
    assert Made.made == []


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (StartError("it died\nmore"), 3, "irfuzz job 3: it died\nmore\nirfuzz job 3: it died\n"),
        (UsageError("no\n  such target"), 2, "irfuzz job 3: no such target\n"),
        (InternalError("ours\nalone"), 3, "irfuzz job 3: InternalError: ours alone\n"),
    ],
)
def test_what_it_returns_for_an_error(
    error: Exception, code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(job: Made) -> None:
        raise error

    Made.does = staticmethod(fails)
    assert run() == code
    assert told in capsys.readouterr().err


def test_sigterm_asks_it_to_stop() -> None:
    Made.does = staticmethod(lambda job: os.kill(os.getpid(), signal.SIGTERM))
    assert run() == 0
    assert [one.stop for one in Made.made] == [True]


def test_it_ends_at_once_if_the_campaign_was_killed(process: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    codes: list[int] = []

    def orphaned(job: Made) -> None:
        process[0] = 1
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(jobs.os, "_exit", codes.append)
    Made.does = staticmethod(orphaned)
    run()
    assert codes == [1]


@pytest.fixture
def stored(tmp_path: Path) -> Job:
    with Campaign(tmp_path, Config(seed=3, jobs=1)) as campaign:
        campaign.database.record(0, 20, 15, {"runs": 4}, [])
    return Job(tmp_path, 0)


def test_it_goes_on_where_it_was(stored: Job) -> None:
    assert (stored.iteration, stored.programs, stored.counts, stored.skip) == (20, 15, {"runs": 4}, -1)
    assert (stored.number, stored.stop) == (0, False)


@pytest.mark.parametrize(
    ("busy", "skip", "alone"),
    [
        (InFlight(22), 22, 23),
        (InFlight(0), 20, 21),
        (InFlight(7), 20, 21),
        (InFlight(-1, {21: b"m"}), 21, 22),
        (InFlight(-1, {}), 20, 21),
        (InFlight(-1, {21: b"m", 24: b"m"}), -1, 25),
        (InFlight(23, {21: b"m", 24: b"m"}), 23, 24),
    ],
)
def test_what_is_left_out_after_a_death(stored: Job, busy: InFlight, skip: int, alone: int) -> None:
    stored._learn(busy)
    assert stored.skip == skip
    for iteration in (alone - 1, alone):
        stored.iteration = iteration
        assert stored.together(16, 100) == (1 if iteration < alone else min(16, 100 - iteration % 100))


def test_no_program_is_left_out_if_a_case_was_looked_into(stored: Job) -> None:
    row = WaitingRow(5, 0, 0, 7, "crash", "t", False, "", "[]", 3, False, 0, 0, "{}", b"", b"", b"", b"")
    stored.database.waiting.add(row)
    stored.database.record(0, 20, 15, {}, [])
    stored._learn(InFlight(case=5))
    assert (stored.skip, stored.together(16, 100)) == (-1, 16)
    assert stored.database.waiting.whole(5).strikes == 1


def test_no_round_goes_beyond_a_look_at_the_corpus(stored: Job) -> None:
    assert [stored.together(most, 8) for most in (1, 3, 4, 5)] == [1, 3, 4, 4]
    stored.iteration = 24
    assert stored.together(16, 8) == 8


def test_the_time_of_a_campaign(stored: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stored.time() == (math.inf, math.inf)
    monkeypatch.setattr(jobs.time, "monotonic", lambda: 100.0)
    monkeypatch.setattr(jobs.time, "time", lambda: 5e9)  # somebody sets the clock of the machine
    stored.database.set(SECONDS, "[60.0, 130.0]")
    assert Job(stored.layout.out, 0).time() == (60.0, 30.0)


def test_a_job_gives_up_after_thirty_failures_in_a_row_and_one_success_starts_the_count_anew() -> None:
    saved: list[int] = []
    job: Any = SimpleNamespace(_failed=0, iteration=0, stop=False, layout=SimpleNamespace(internal="internal"))
    job.save = lambda: saved.append(job.iteration)
    for passed in (*[False] * 29, True, *[False] * 29):
        Job.advance(job, passed=passed, save=False)
    assert (job._failed, job.iteration, saved) == (29, 59, [])
    with pytest.raises(InternalError, match="30 iterations in a row"):
        Job.advance(job, passed=False, save=False)
    assert saved == [60]


@pytest.mark.parametrize(
    ("iteration", "alone_until", "together"), [(5, 6, 1), (6, 6, 4), (7, 6, 4), (13, 0, 3), (15, 0, 1), (16, 0, 4)]
)
def test_so_many_programs_are_made_together(iteration: int, alone_until: int, together: int) -> None:
    job: Any = SimpleNamespace(iteration=iteration, _alone_until=alone_until)
    assert Job.together(job, 4, 16) == together
