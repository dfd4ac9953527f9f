"""Slow targets start when their first turn comes; one that cannot, or takes too long, is left out and named."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import onnx.parser
import pytest

from irfuzz.campaign.corpus.testcase import CorpusEntry, Testcase
from irfuzz.campaign.targets.slow_runner import CUT_SHORT, SlowTargets
from irfuzz.campaign.targets.slow_sampling import SAMPLED, SLOW, Sampling, share_of
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program

pytestmark = pytest.mark.backend

QUICK, SLOW_ONE, OTHER = resolve(["onnxruntime:disabled", "onnxruntime:basic", "reference"])
SLOW_ONE, OTHER = replace(SLOW_ONE, slow=True), replace(OTHER, slow=True)
BROKEN = replace(OTHER, name="broken", interpreter="/bin/false")


def _testcase(opset: int = 17) -> Testcase:
    text = f'<ir_version: 8, opset_import: ["": {opset}]> g (float[2] x) => (float[2] y) {{ y = Neg(x) }}'
    program = Program.from_proto(onnx.parser.parse_model(text))
    inputs = {"x": np.array([1, -2], np.float32)}
    return Testcase(0, 0, CorpusEntry("", "", 0, 1), program, program, inputs=inputs, features=1)


class _Campaign:
    """A job's slow targets that have had time enough to begin at once."""

    def __init__(self, runner: Runner, slow: Sequence[Target], seconds: float = 1000.0) -> None:
        self.counts: Counter[str] = Counter()
        self.sampling = Sampling(slow, 0.5, self.counts, lambda: time.monotonic() + self.offset)
        self.dropped: dict[str, str] = {}
        self.started: dict[str, str] = {}
        self.offset = 1000.0
        self.slow = SlowTargets(
            runner, self.sampling, seconds, self.counts,
            lambda target, why: self.dropped.update({target.name: why}),
            lambda target: self.started.update({target.name: target.version}),
        )  # fmt: skip

    offset = 0.0


@pytest.fixture
def runner() -> Iterator[Runner]:
    with Runner([QUICK]) as opened:
        yield opened


def test_one_starts_at_its_first_turn_and_one_runs_a_program(runner: Runner) -> None:
    campaign = _Campaign(runner, [SLOW_ONE, OTHER])
    assert campaign.slow.run(_testcase()) == []
    assert list(campaign.started) == [SLOW_ONE.name]
    assert campaign.started[SLOW_ONE.name]
    ran = campaign.slow.run(_testcase())
    assert [result.target.name for result in ran] == [SLOW_ONE.name]
    assert campaign.slow.run(_testcase()) == []
    assert list(campaign.started) == [SLOW_ONE.name, OTHER.name]
    ran += campaign.slow.run(_testcase())
    assert [result.target.name for result in ran] == [SLOW_ONE.name, OTHER.name]
    assert all(result.outputs["y"].tolist() == [-1.0, 2.0] for result in ran)
    assert campaign.counts[SAMPLED] == 2
    assert campaign.counts[SLOW] >= campaign.counts[f"{OTHER.name} warm-up milliseconds"] > 0
    assert share_of(campaign.counts)
    assert not campaign.dropped


def test_one_that_does_not_start_is_left_out_and_the_others_go_on(runner: Runner) -> None:
    campaign = _Campaign(runner, [BROKEN, SLOW_ONE])
    ran = [result.target.name for _ in range(4) for result in campaign.slow.run(_testcase())]
    assert ran == [SLOW_ONE.name] * 2
    assert list(campaign.dropped) == ["broken"]
    assert campaign.dropped["broken"]


@pytest.mark.parametrize(("seconds", "kept"), [(0.01, False), (600.0, True)])
def test_one_whose_warm_up_takes_more_than_a_tenth_of_the_campaign_is_left_out(
    runner: Runner, seconds: float, kept: bool
) -> None:
    campaign = _Campaign(runner, [SLOW_ONE], seconds)
    assert campaign.slow.run(_testcase()) == []
    assert bool(campaign.slow.run(_testcase())) is kept
    assert (campaign.dropped == {}) is kept
    if not kept:
        assert "more than a tenth of the campaign" in campaign.dropped[SLOW_ONE.name]


@pytest.mark.parametrize(("opset", "runs"), [(17, True), (18, False)])
def test_a_program_of_a_newer_version_is_not_its_business(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, opset: int, runs: bool
) -> None:
    add = runner.add
    monkeypatch.setattr(runner, "add", lambda target: replace(add(target), opset=17))
    campaign = _Campaign(runner, [SLOW_ONE])
    campaign.slow.run(_testcase())
    assert bool(campaign.slow.run(_testcase(opset))) is runs


@pytest.mark.parametrize(("seconds", "judged"), [(0.01, False), (1000.0, True)])
def test_a_run_that_the_campaign_cut_short_is_no_hang(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, seconds: float, judged: bool
) -> None:
    campaign = _Campaign(runner, [SLOW_ONE])
    campaign.slow.run(_testcase())
    monkeypatch.setattr(campaign.slow, "_longest", 0.1 * seconds)

    def hangs(*_: object, **__: object) -> list[RunResult]:
        time.sleep(0.01)
        return [RunResult(SLOW_ONE, Stage.RUN, Exit.HANG)]

    monkeypatch.setattr(runner, "run", hangs)
    assert bool(campaign.slow.run(_testcase())) is judged
    assert campaign.counts[CUT_SHORT] == (not judged)
