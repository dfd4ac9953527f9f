"""A slow shadow is spared only for inputs that differ no more than those it accepted."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from irfuzz.execute.float64_shadow_runs import ShadowRun
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.execute.runner import Runner
from irfuzz.localize.comparison import accepted_difference_shadow_skipping
from irfuzz.localize.comparison.accepted_difference_shadow_skipping import SparingShadow

pytestmark = pytest.mark.unit


class _Shadows:
    def shadow(self, _program: object, _inputs: object) -> ShadowRun:
        return ShadowRun()

    quick_shadow = shadow


def rows(*values: float) -> list[RunResult]:
    return [
        RunResult(Target(f"t{i}", "t"), Stage.RUN, Exit.OK, {"y": np.array([v, 1.0], np.float32)})
        for i, v in enumerate(values)
    ]


def spared(monkeypatch: pytest.MonkeyPatch, *, long: float) -> SparingShadow:
    monkeypatch.setattr(accepted_difference_shadow_skipping, "LONG", long)
    made = SparingShadow(cast("Runner", _Shadows()))
    made.quick(None, {})  # type: ignore[arg-type]
    made.accept(rows(1.0, 1.25), "t0")
    return made


@pytest.mark.parametrize(("other", "accepted"), [(1.0, True), (1.5, True), (1.75, False), (np.nan, False)])
def test_twice_the_accepted_difference_is_accepted(
    monkeypatch: pytest.MonkeyPatch, other: float, accepted: bool
) -> None:
    made = spared(monkeypatch, long=-1.0)
    assert made.accepts(rows(1.0, other), "t0") is accepted


def test_it_is_relative_to_the_base_and_for_each_target(monkeypatch: pytest.MonkeyPatch) -> None:
    made = spared(monkeypatch, long=-1.0)
    assert made.accepts(rows(100.0, 150.0), "t0")
    assert not made.accepts(rows(1.0, 1.0, 1.1), "t0")
    assert not made.accepts(rows(1.0, 1.0), "t5")


def test_a_quick_shadow_is_never_spared(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not spared(monkeypatch, long=1e9).accepts(rows(1.0, 1.0), "t0")


@pytest.mark.parametrize(("limit", "refused"), [(1e9, False), (-1.0, True)])
def test_the_whole_shadow_is_not_asked_after_a_quick_one_that_took_too_long(
    monkeypatch: pytest.MonkeyPatch, limit: float, refused: bool
) -> None:
    monkeypatch.setattr(accepted_difference_shadow_skipping, "TOO_LONG", limit)
    made = spared(monkeypatch, long=1e9)
    assert bool(made(None, {}).refused) is refused  # type: ignore[arg-type]


@pytest.mark.parametrize(("limit", "asked"), [(1e9, 3), (-1.0, 1)])
def test_what_took_too_long_for_nothing_is_not_asked_again(
    monkeypatch: pytest.MonkeyPatch, limit: float, asked: int
) -> None:
    monkeypatch.setattr(accepted_difference_shadow_skipping, "TOO_LONG", limit)
    calls: list[int] = []

    class Refusing:
        def quick_shadow(self, _program: object, _inputs: object) -> ShadowRun:
            calls.append(1)
            return ShadowRun(refused="over the time limit")

    made = SparingShadow(cast("Runner", Refusing()))
    for _ in range(3):
        assert made.quick(None, {}).refused == "over the time limit"  # type: ignore[arg-type]
    assert len(calls) == asked
