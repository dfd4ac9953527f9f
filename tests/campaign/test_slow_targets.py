"""When slow targets start, run and are left out, by a clock of the test and on a runner without processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx.parser
import pytest

from irfuzz.campaign.corpus.testcase import CorpusEntry, Testcase
from irfuzz.campaign.targets import slow_runner
from irfuzz.campaign.targets.slow_runner import CUT_SHORT, WARM_UP, SlowTargets, longest, quick_and_slow
from irfuzz.campaign.targets.start_reports import JobTargets, together
from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.ir.program import Program
from irfuzz.store.database import Database

pytestmark = pytest.mark.unit

QUICK = Target("a:quick", "a")
SLOW_ONE, OTHER = Target("a:slow", "a", slow=True), Target("b:slow", "b", slow=True)
INPUTS = {"x": np.array([1, -2], np.float32)}


def case_of(opset: int = 17, ir: int = 8) -> Testcase:
    text = f'<ir_version: {ir}, opset_import: ["": {opset}]> g (float[2] x) => (float[2] y) {{ y = Neg(x) }}'
    program = Program.from_proto(onnx.parser.parse_model(text))
    return Testcase(3, 4, CorpusEntry("", "", 0, 1), program, program, inputs=INPUTS, features=5)


class Slow:
    """Slow targets of a job, whose sampling says that it is always the turn of one of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float = 100.0, *, turn: bool = True) -> None:
        self.now, self.starts, self.runs_for = 0.0, 0.0, 0.0
        self.error, self.exit = "", Exit.OK
        self.started_as = replace(SLOW_ONE, version="1")
        self.told: list[tuple[object, ...]] = []
        self.counts: Counter[str] = Counter()
        self.warm: set[str] = set()
        self.turn = turn
        self.able: list[bool] = []
        sampling: Any = SimpleNamespace(
            turn=self._turn, is_warm=lambda target: target.name in self.warm, warmed_up=self._warmed_up,
            ran=lambda target, took: self.told.append(("ran", target.version, took)),
            drop=lambda target: self.told.append(("has no turn", target.name)),
        )  # fmt: skip
        runner: Any = SimpleNamespace(add=self._add, run=self._run)
        self.targets = SlowTargets(
            runner, sampling, seconds, self.counts, lambda target, why: self.told.append(("dropped", target.name, why)),
            lambda target: self.told.append(("started", target.version)),
        )  # fmt: skip
        monkeypatch.setattr(slow_runner, "time", SimpleNamespace(monotonic=lambda: self.now))

    def _turn(self, novelty: int, takes: Any) -> Target | None:
        assert novelty == 5
        self.able.append(takes(SLOW_ONE))
        return SLOW_ONE if self.turn else None

    def _warmed_up(self, target: Target, took: float) -> None:
        self.warm.add(target.name)
        self.told.append(("warmed up", took))

    def _add(self, target: Target) -> Target:
        self.now += self.starts
        if self.error:
            raise UsageError(self.error)
        return self.started_as

    def _run(
        self, program: Program, inputs: dict[str, Any], targets: Sequence[Target], tag: str = ""
    ) -> list[RunResult]:
        self.now += self.runs_for
        self.told.append(("runs", tag, [t.version for t in targets], program.graph[0].op_type, inputs["x"].tolist()))
        return [RunResult(targets[0], Stage.RUN, self.exit)]


WARM_RUN = ("runs", "", ["1"], "Add", [1.0, 1.0])


def test_nothing_runs_if_it_is_nobodys_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow(monkeypatch, turn=False)
    assert slow.targets.run(case_of()) == []
    assert slow.told == []


def test_the_first_turn_starts_a_target_and_the_second_runs_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow(monkeypatch)
    slow.starts, slow.runs_for = 3.0, 2.0
    assert slow.targets.run(case_of()) == []
    assert slow.told == [WARM_RUN, ("warmed up", 5.0), ("started", "1")]
    slow.told.clear()
    (result,) = slow.targets.run(case_of())
    assert result.target == slow.started_as
    assert slow.told == [("runs", "3/4", ["1"], "Neg", [1.0, -2.0]), ("ran", "1", 2.0)]
    assert slow.counts == {}


@pytest.mark.parametrize(
    ("starts", "runs_for", "runs", "why"),
    [
        (10.0, 0.0, True, ""),
        (10.5, 0.0, False, "its warm-up took 10 s, more than a tenth of the campaign (10 s); give more --time"),
        (6.0, 4.0, True, ""),
        (6.0, 6.0, True, "its warm-up took 12 s, more than a tenth of the campaign (10 s); give more --time"),
    ],
)
def test_a_warm_up_takes_a_tenth_of_the_campaign_at_most(
    monkeypatch: pytest.MonkeyPatch, starts: float, runs_for: float, runs: bool, why: str
) -> None:
    slow = Slow(monkeypatch, 100.0)
    slow.starts, slow.runs_for = starts, runs_for
    assert slow.targets.run(case_of()) == []
    assert (WARM_RUN in slow.told) is runs
    ends = [("has no turn", "a:slow"), ("dropped", "a:slow", why)] if why else [("started", "1")]
    assert slow.told[runs:] == [("warmed up", starts + (runs_for if runs else 0.0)), *ends]


@pytest.mark.parametrize(("starts", "why"), [(1.0, "no such module"), (11.0, "its warm-up took 11 s")])
def test_one_that_does_not_start_says_why(monkeypatch: pytest.MonkeyPatch, starts: float, why: str) -> None:
    slow = Slow(monkeypatch)
    slow.starts, slow.error = starts, "no such module\nand more"
    assert slow.targets.run(case_of()) == []
    assert [one[0] for one in slow.told] == ["warmed up", "has no turn", "dropped"]
    assert str(slow.told[-1][2]).startswith(why)
    assert "and more" not in str(slow.told[-1][2])


def test_without_an_end_a_warm_up_takes_what_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow(monkeypatch, float("inf"))
    slow.starts = 1e6
    slow.targets.run(case_of())
    assert slow.told[-1] == ("started", "1")


@pytest.mark.parametrize(
    ("exit_", "took", "counted"),
    [
        (Exit.HANG, 9.0, True),
        (Exit.HANG, 8.9, False),
        (Exit.HANG, 9.9, True),
        (Exit.OK, 9.0, False),
        (Exit.CRASH, 9.9, False),
    ],
)
def test_a_hang_that_took_a_tenth_of_the_campaign_says_nothing(
    monkeypatch: pytest.MonkeyPatch, exit_: Exit, took: float, counted: bool
) -> None:
    """Nearly that: what cut it short is a clock of its own."""
    slow = Slow(monkeypatch, 100.0)
    slow.targets.run(case_of())
    slow.runs_for, slow.exit = took, exit_
    slow.now = 0.0
    found = slow.targets.run(case_of())
    assert [result.exit for result in found] == ([] if counted else [exit_])
    assert slow.counts == ({CUT_SHORT: 1} if counted else {})
    assert slow.told[-1] == ("ran", "1", took), "its time counts in any case"


@pytest.mark.parametrize(
    ("newest_opset", "newest_ir", "opset", "ir", "takes"),
    [
        (17, 8, 17, 8, True),
        (17, 8, 16, 7, True),
        (16, 8, 17, 8, False),
        (17, 7, 17, 8, False),
        (0, 0, 17, 8, True),
        (0, 7, 17, 8, False),
    ],
)
def test_a_program_of_a_newer_version_is_not_its_business(
    monkeypatch: pytest.MonkeyPatch, newest_opset: int, newest_ir: int, opset: int, ir: int, takes: bool
) -> None:
    slow = Slow(monkeypatch)
    slow.started_as = replace(SLOW_ONE, version="1", opset=newest_opset, ir=newest_ir)
    for _ in range(2):
        slow.targets.run(case_of(opset, ir))
    assert slow.able == [True, takes], "what it takes is known once it has started"


def test_a_tenth_of_a_campaign() -> None:
    assert (WARM_UP, longest(60.0), longest(float("inf"))) == (0.1, 6.0, float("inf"))


def test_quick_and_slow() -> None:
    assert quick_and_slow([QUICK, SLOW_ONE]) == ((QUICK,), (SLOW_ONE,))
    assert quick_and_slow([SLOW_ONE, OTHER]) == ((SLOW_ONE, OTHER), ()), "somebody asked for that"
    assert quick_and_slow([SLOW_ONE, QUICK, OTHER]) == ((QUICK,), (SLOW_ONE, OTHER))
    assert quick_and_slow([]) == ((), ())


def test_what_jobs_say_of_their_targets(tmp_path: Path) -> None:
    database = Database(tmp_path / "campaign.sqlite")
    assert together([""]) is None
    first, second = JobTargets(database, 0), JobTargets(database, 1)
    first.use([replace(QUICK, version="1"), SLOW_ONE])
    second.use([replace(QUICK, version="1"), SLOW_ONE])
    first.drop(SLOW_ONE, "takes too long\nfar too long")
    second.use([replace(SLOW_ONE, version="2")])
    settings = database.settings()
    told = together([settings["targets 0"], settings["targets 1"], ""])
    assert told == {"used": {QUICK.name: "1", SLOW_ONE.name: "2"}, "absent": {SLOW_ONE.name: "takes too long"}}
    first.set_aside(QUICK, "it fails")
    told = together([database.settings()["targets 0"]])
    assert told == {"used": {QUICK.name: "1"}, "absent": {SLOW_ONE.name: "takes too long", QUICK.name: "it fails"}}
    database.close()
