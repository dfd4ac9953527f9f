"""The loop calls the steps of a strategy in order, for every program; a fault in any of them costs one program."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Self

import pytest

from irfuzz.campaign import job as jobs
from irfuzz.campaign import loop
from irfuzz.campaign.campaign import Campaign
from irfuzz.campaign.config import STOP_AT, Config
from irfuzz.campaign.corpus.program_corpus import Corpus
from irfuzz.campaign.corpus.testcase import CorpusEntry, Testcase
from irfuzz.campaign.differential_strategy import Differential
from irfuzz.campaign.job import Job
from irfuzz.campaign.metamorphic_testing_strategy import SelfTests
from irfuzz.choices import Choices
from irfuzz.errors import InternalError, Unsupported
from irfuzz.ir.program import Program

pytestmark = pytest.mark.unit

STEPS = ("schedule", "mutate", "feed", "execute", "judge", "keep", "triage", "audit")


class Recording:
    """A strategy without targets, which notes what is asked of it."""

    fails: tuple[str, int] = ("", -1)
    """A step, and the iteration at which it has a fault of our own."""

    def __init__(self, job: Job) -> None:
        self.corpus = Corpus(job.database)
        self.root, self.refresh, self.most = "0/0", 4, 3
        self.steps: list[tuple[str, int]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def runner(self) -> Any:
        return self

    absent = ()

    def begin(self, runner: Any) -> tuple[()]:
        return ()

    def absorb(self) -> None:
        self.steps.append(("absorb", sum(1 for _ in self.corpus.refresh())))

    def note(self, step: str, iteration: int) -> None:
        self.steps.append((step, iteration))
        if self.fails == (step, iteration):
            raise ZeroDivisionError(step)

    def schedule(self, choices: Choices, iteration: int) -> CorpusEntry:
        self.note("schedule", iteration)
        return self.corpus.pick(choices)

    def mutate(self, entry: CorpusEntry, parent: Program, choices: Choices, iteration: int) -> Testcase | None:
        self.note("mutate", iteration)
        return None if iteration == 5 else Testcase(0, iteration, entry, parent, parent)

    def feed(self, testcase: Testcase, choices: Choices) -> Testcase:
        self.note("feed", testcase.iteration)
        if testcase.iteration == 6:
            raise Unsupported("inputs", "Loop", "it takes none")
        return replace(testcase, whole=b"model")

    def execute(self, testcases: Sequence[Testcase]) -> list[int]:
        for testcase in testcases:
            self.note("execute", testcase.iteration)
        return [testcase.iteration for testcase in testcases]

    def judge(self, testcase: Testcase, runs: int) -> tuple[int, list[str]]:
        self.note("judge", testcase.iteration)
        assert runs == testcase.iteration
        return runs, ["wrong"] if runs == 7 else []

    def keep(self, testcase: Testcase, runs: int) -> None:
        self.note("keep", testcase.iteration)

    def triage(self, testcase: Testcase, runs: int, wrong: Sequence[str]) -> None:
        self.note("triage", testcase.iteration)
        assert wrong == (["wrong"] if runs == 7 else [])

    def audit(self, testcase: Testcase) -> None:
        self.note("audit", testcase.iteration)

    def work(self) -> None:
        self.steps.append(("work", 0))

    def save(self, *, now: bool = False) -> None:
        self.steps.append(("save", now))

    def end(self) -> None:
        self.steps.append(("end", 0))


def ran(
    out: Path, seed: Path, monkeypatch: pytest.MonkeyPatch, programs: int = 12, seconds: float = 1e9
) -> tuple[Job, Recording]:
    """A job of a few programs with that strategy."""
    monkeypatch.setitem(jobs.STRATEGIES, "recording", f"{__name__}:Recording")  # type: ignore[misc]
    monkeypatch.setattr(loop, "ROUND_SECONDS", seconds)
    with Campaign(out, Config(seed=3, jobs=64)) as campaign:
        campaign.add_seed(seed.name, Program.from_bytes(seed.read_bytes()))
        campaign.database.set(STOP_AT, str(programs))
    job = Job(out, 0, "recording")
    job.run()
    assert isinstance(job.strategy, Recording)
    return job, job.strategy


def test_every_program_passes_all_steps_in_order(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job, strategy = ran(tmp_path, tiny, monkeypatch)
    assert (job.iteration, job.programs) == (14, 12)
    assert (job.counts["unmutated"], job.counts["no inputs"]) == (1, 1)
    for iteration in range(14):
        steps = tuple(step for step, at in strategy.steps if at == iteration and step in STEPS)
        assert steps == {5: STEPS[:2], 6: STEPS[:3]}.get(iteration, STEPS)
    # Rounds grow to three, and none goes on beyond a look at the corpus.
    names = [step for step, _ in strategy.steps]
    rounds = [part.count("schedule") for part in " ".join(names).split("work")]
    assert rounds == [1, 2, 1, 2, 2, 0, 3, 1, 2, 0], "7 is wrong, and looked into before the round ends"
    assert names.count("absorb") == 1 + 4, "at the start, and at 0, 4, 8 and 12"
    assert strategy.steps[-2:] == [("save", True), ("end", 0)]


@pytest.mark.parametrize("step", STEPS)
def test_a_fault_costs_one_program(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    monkeypatch.setattr(Recording, "fails", (step, 8))
    job, strategy = ran(tmp_path, tiny, monkeypatch)
    late = STEPS.index(step) > STEPS.index("judge")
    assert (job.iteration, job.programs) == (14 + (not late), 12), "a program that was judged counts"
    assert job.counts["internal errors"] == 1
    assert [s for s, at in strategy.steps if at == 8 and s in STEPS][-1] == step
    (folder,) = (tmp_path / "internal").iterdir()
    assert folder.name.endswith("-job0-8")
    assert (folder / "mutant.onnx").exists() == (STEPS.index(step) > STEPS.index("mutate"))


@pytest.mark.parametrize(
    ("step", "saves"), [("judge", False), ("keep", True), ("triage", True), ("schedule", False), ("execute", False)]
)
def test_what_took_long_is_saved_at_once(
    tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch, step: str, saves: bool
) -> None:
    """What was wrong takes long to look into; a fault before anything was found out does not."""
    monkeypatch.setattr(Recording, "fails", (step, 7))
    told: list[tuple[int, bool, bool]] = []
    advance = Job.advance

    def noted(self: Job, *, passed: bool, save: bool) -> None:
        told.append((self.iteration, passed, save))
        advance(self, passed=passed, save=save)

    monkeypatch.setattr(Job, "advance", noted)
    job, _ = ran(tmp_path, tiny, monkeypatch)
    assert job.counts["internal errors"] == 1
    assert [one for one in told if one[1:] != (True, False)] == [(7, False, saves)]


def test_runs_that_were_asked_for_besides_take_long(
    tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge, advance = Recording.judge, Job.advance
    long: list[int] = []

    class More(int):
        """The same runs and some more."""

    def asked(self: Recording, testcase: Testcase, runs: int) -> tuple[int, list[str]]:
        judge(self, testcase, runs)
        return (More(runs) if testcase.iteration == 2 else runs), []

    def noted(self: Job, *, passed: bool, save: bool) -> None:
        long.extend([self.iteration] if save else [])
        advance(self, passed=passed, save=save)

    monkeypatch.setattr(Recording, "judge", asked)
    monkeypatch.setattr(Recording, "triage", lambda self, testcase, runs, wrong: None)
    monkeypatch.setattr(Job, "advance", noted)
    ran(tmp_path, tiny, monkeypatch)
    assert long == [2]


@pytest.mark.parametrize(("more", "size"), [(0, 2), (1, 1)])
def test_a_round_holds_so_many_bytes(
    tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch, more: int, size: int
) -> None:
    """Beyond 16 bytes, which the first of a round has or exceeds here, no program is added."""
    monkeypatch.setattr(loop, "ROUND_BYTES", 16)
    sizes: list[int] = []
    execute = Recording.execute

    def noted(self: Recording, testcases: Sequence[Testcase]) -> list[int]:
        self.refresh, self.most = 100, 16
        sizes.append(len(testcases))
        return execute(self, testcases)

    monkeypatch.setattr(Recording, "execute", noted)
    monkeypatch.setattr(
        Recording, "mutate", lambda self, entry, parent, choices, n: Testcase(0, n, entry, parent, parent)
    )
    monkeypatch.setattr(Recording, "feed", lambda self, testcase, choices: replace(testcase, whole=b"x" * (16 + more)))
    monkeypatch.setattr(Recording, "triage", lambda self, testcase, runs, wrong: None)
    ran(tmp_path, tiny, monkeypatch, 7)
    assert max(sizes) == size


def test_a_job_gives_up_if_everything_fails(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Recording, "note", lambda self, step, iteration: 1 / 0)
    with pytest.raises(InternalError, match=f"^{jobs.HOPELESS} iterations in a row failed"):
        ran(tmp_path, tiny, monkeypatch)


def test_a_few_faults_are_not_everything(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def note(self: Recording, step: str, iteration: int) -> None:
        if iteration < jobs.HOPELESS - 1:
            raise ZeroDivisionError

    monkeypatch.setattr(Recording, "note", note)
    assert ran(tmp_path, tiny, monkeypatch)[0].counts["internal errors"] == jobs.HOPELESS - 1


@pytest.mark.parametrize(
    ("seconds", "rounds"),
    [(0.001, [1, 2, 4, 8, 16, 16]), (0.125, [1, 2, 4, 4]), (0.24, [1, 2, 2]), (0.26, [1, 1, 1]), (9.0, [1, 1])],
)
def test_a_round_takes_half_a_second_at_most(
    tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, rounds: list[int]
) -> None:
    """By a clock that goes on by so much for every program that runs."""
    now, sizes = [0.0], []
    execute = Recording.execute

    def slowly(self: Recording, testcases: Sequence[Testcase]) -> list[int]:
        self.refresh, self.most = 100, 16
        now[0] += seconds * len(testcases)
        sizes.append(len(testcases))
        return execute(self, testcases)

    monkeypatch.setattr(Recording, "execute", slowly)
    monkeypatch.setattr(
        Recording, "mutate", lambda self, entry, parent, choices, n: Testcase(0, n, entry, parent, parent)
    )
    monkeypatch.setattr(Recording, "feed", lambda self, testcase, choices: replace(testcase, whole=b"model"))
    monkeypatch.setattr(Recording, "triage", lambda self, testcase, runs, wrong: None)
    monkeypatch.setattr(loop, "time", Clock(now))
    ran(tmp_path, tiny, monkeypatch, sum(rounds), loop.ROUND_SECONDS)
    assert sizes == rounds


class Clock:
    """What the loop asks of ``time``."""

    def __init__(self, now: list[float]) -> None:
        self._now = now

    def monotonic(self) -> float:
        return self._now[0]


def test_it_is_read_at_once() -> None:
    assert len(Path(loop.__file__).read_text().splitlines()) <= 150
    assert [resolve_name(name) for name in jobs.STRATEGIES.values()] == [Differential, SelfTests]


def test_memory_of_cyclic_garbage_goes_back() -> None:
    source = """
from irfuzz.garbage_collection import give_back, settle
from irfuzz.isolate.linux import resident
import os
settle()
for _ in range(50_000):
    loop = [bytes(2000)]
    loop.append(loop)
held = resident(os.getpid())
del loop
give_back(0.0, every=0.0)
print(held - resident(os.getpid()))
"""
    ended = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert int(ended.stdout) > 60e6
