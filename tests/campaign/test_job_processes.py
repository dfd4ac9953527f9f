"""Jobs are started anew if they die, given up if they only die, and killed if they do not end in time."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from irfuzz.campaign import job_processes
from irfuzz.campaign.config import Layout
from irfuzz.campaign.job_processes import RESTARTS, START, USAGE, JobDeath, Processes
from irfuzz.errors import InternalError, UsageError

pytestmark = pytest.mark.unit


class Process:
    """A job that ends when the test says so."""

    pids = iter(range(1 << 22, 1 << 23))
    """Beyond those of Linux."""

    def __init__(self, words: list[str], **options: Any) -> None:
        self.words, self.options = words, options
        self.code: int | None = None
        self.after_term: int | None = 0
        self.pid = next(self.pids)
        self.told: list[object] = []

    def poll(self) -> int | None:
        return self.code

    def send_signal(self, number: int) -> None:
        self.told.append(number)
        self.code = self.after_term if number == signal.SIGTERM else self.code

    def wait(self, timeout: float | None = None) -> int:
        self.told.append(timeout)
        if self.code is None:
            raise subprocess.TimeoutExpired("job", timeout or 0.0)
        return self.code

    def kill(self) -> None:
        self.told.append("kill")
        self.code = -signal.SIGKILL


class Jobs:
    """Jobs of a campaign whose processes are those of the test."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.layout = Layout(tmp_path / "out")
        self.layout.log(0).parent.mkdir(parents=True)
        self.made: list[Process] = []
        self.judged: dict[int, int] = {}
        self.all = Processes(self.layout, 77, lambda number: self.judged.get(number, 0))

        def popen(words: list[str], **options: Any) -> Process:
            self.made.append(Process(words, **options))
            return self.made[-1]

        monkeypatch.setattr(job_processes.subprocess, "Popen", popen)

    def says(self, number: int, text: str) -> None:
        with self.layout.log(number).open("a") as log:
            log.write(text)


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Jobs:
    return Jobs(tmp_path, monkeypatch)


def test_how_a_job_is_started(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_processes.os, "getpid", lambda: 42)
    jobs.all.kind = "equivalence"
    jobs.all.start(3)
    jobs.all.start(4, skip=True)
    assert len(jobs.all) == 2
    first, second = jobs.made
    out = str(jobs.layout.out.resolve())
    assert first.words == [sys.executable, "-P", "-c", START, out, "3", "42", "equivalence"]
    assert second.words[4:] == [out, "4", "42", "equivalence", "skip"]
    assert first.options["start_new_session"] is True
    assert first.options["pass_fds"] == [77]
    assert first.options["stdin"] == subprocess.DEVNULL
    env = first.options["env"]
    assert (env["PYTHONHASHSEED"], env["OMP_NUM_THREADS"], "PATH" in env) == ("0", "1", True)
    assert first.options["stdout"].name == first.options["stderr"].name == str(jobs.layout.log(3))
    root = str(Path(job_processes.__file__).parents[2])
    assert START.startswith(f"import sys; sys.path.insert(0, {root!r});")


def test_what_runs_or_is_done_is_left_alone(jobs: Jobs) -> None:
    for number in range(3):
        jobs.all.start(number)
    assert jobs.all.revive() == []
    assert len(jobs.all) == 3
    jobs.made[1].code = 0
    assert jobs.all.revive() == []
    assert (len(jobs.all), len(jobs.made)) == (2, 3), "it is not started again"


@pytest.mark.parametrize(
    ("code", "said", "death"),
    [
        (-signal.SIGSEGV, "a\nirfuzz job 0: the last\n", JobDeath(0, "SIGSEGV", "the last")),
        (3, "irfuzz job 1: of another\n\n", JobDeath(0, "exit code 3", "irfuzz job 1: of another")),
        (1, "", JobDeath(0, "exit code 1", "it said nothing")),
        (1, "\n \n", JobDeath(0, "exit code 1", "it said nothing")),
        (1, "x" * 9000, JobDeath(0, "exit code 1", "x" * 8192)),
        (1, "bad \udcff", JobDeath(0, "exit code 1", "bad \ufffd")),
    ],
)
def test_a_job_that_died_is_started_behind_the_program(jobs: Jobs, code: int, said: str, death: JobDeath) -> None:
    jobs.says(0, "what one before it said\n")
    jobs.all.start(0)
    with jobs.layout.log(0).open("ab") as log:
        log.write(said.encode(errors="surrogateescape"))
    jobs.made[0].code = code
    assert jobs.all.revive() == [death]
    assert (len(jobs.all), len(jobs.made)) == (1, 2)
    assert jobs.made[1].words[-1] == "skip"
    assert jobs.all.revive() == []


def test_what_the_user_can_do_something_about_ends_the_campaign(jobs: Jobs) -> None:
    jobs.all.start(0)
    jobs.says(0, "more\nirfuzz job 0: a target is not installed\n")
    jobs.made[0].code = USAGE
    with pytest.raises(UsageError, match=r"^a target is not installed$"):
        jobs.all.revive()
    assert USAGE == 2


def dies(jobs: Jobs, times: int, *, works: bool = False) -> int:
    deaths = 0
    for _ in range(times):
        jobs.made[-1].code = -signal.SIGKILL
        if works:
            jobs.judged[0] = jobs.judged.get(0, 0) + 1
        deaths += len(jobs.all.revive())
    return deaths


def test_a_job_that_only_dies_is_given_up(jobs: Jobs) -> None:
    jobs.all.start(0)
    assert dies(jobs, RESTARTS) == 5
    jobs.says(0, "at last\n")
    with pytest.raises(InternalError, match=r"job 0 died 6 times in a row without .* last with SIGKILL: at last; see"):
        dies(jobs, 1)


def test_a_job_that_has_judged_a_program_begins_anew(jobs: Jobs) -> None:
    """The death after some work is the first in a row."""
    jobs.all.start(0)
    assert dies(jobs, 3 * RESTARTS, works=True) == 15
    assert dies(jobs, RESTARTS - 1) == 4
    with pytest.raises(InternalError, match="died 6 times in a row"):
        dies(jobs, 1)


def test_each_job_has_its_own_deaths(jobs: Jobs) -> None:
    for number in range(2):
        jobs.all.start(number)
    for _ in range(RESTARTS):
        for process in jobs.made[-2:]:
            process.code = 1
        assert [death.job for death in jobs.all.revive()] == [0, 1]


def test_jobs_are_asked_to_end(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([100.0, 103.0, 120.0, 121.0, 200.0])
    monkeypatch.setattr(job_processes, "time", SimpleNamespace(monotonic=lambda: next(now)))
    monkeypatch.setattr(Process, "wait", lambda self, timeout=None: self.told.append(timeout))
    for number in range(3):
        jobs.all.start(number)
    jobs.made[2].code = 1
    assert jobs.all.end(10.0) == []
    assert [process.told for process in jobs.made] == [[signal.SIGTERM, 7.0], [signal.SIGTERM, 0.0], [0.0]]
    assert len(jobs.all) == 0
    assert jobs.all.end(1.0) == [], "there are none any more"


@pytest.mark.parametrize("error", [subprocess.TimeoutExpired("job", 1.0), KeyboardInterrupt()])
def test_those_that_take_longer_are_killed_with_all_below(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    killed: list[int] = []
    monkeypatch.setattr(job_processes, "descendants", lambda pid: [-pid, -pid - 1])
    monkeypatch.setattr(job_processes, "kill", killed.append)
    for number in range(2):
        jobs.all.start(number)
    hangs, ends = jobs.made
    hangs.after_term = None

    def wait(self: Process, timeout: float | None = None) -> None:
        self.told.append("waited")
        if self.code is None:
            raise error

    monkeypatch.setattr(Process, "wait", wait)
    assert jobs.all.end(0.0) == [0]
    assert hangs.told == [signal.SIGTERM, "waited", "kill", "waited"]
    assert ends.told == [signal.SIGTERM]
    assert killed == [-hangs.pid, -hangs.pid - 1]
    assert len(jobs.all) == 0


@pytest.mark.parametrize(("looks", "waits"), [(3, 3), (500, 200)])
def test_those_that_were_killed_are_waited_for_but_not_for_long(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch, looks: int, waits: int
) -> None:
    """The kernel gives back what a process holds some time after it was killed."""
    now, asked = [100.0], [0]

    def is_running(pid: int) -> bool:
        asked[0] += 1
        return asked[0] <= looks

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(job_processes, "descendants", lambda pid: [-pid])
    monkeypatch.setattr(job_processes, "kill", lambda pid: None)
    monkeypatch.setattr(job_processes, "is_running", is_running)
    monkeypatch.setattr(job_processes, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    jobs.all.start(0)
    jobs.made[0].after_term = None
    monkeypatch.setattr(Process, "wait", lambda self, timeout=None: None)
    assert jobs.all.end(0.0) == [0]
    assert round((now[0] - 100.0) / 0.01) == pytest.approx(waits, abs=1)
