"""The time for triage is bounded and goes by its yield; what is rarely wrong is not left without by what often is."""

from __future__ import annotations

import pytest

from irfuzz.campaign.config import MANY, VERY_MANY, usual_sprouts
from irfuzz.campaign.triage.time_budget import GRACE, KEPT, KNOWN, LEAST, MOST, RESUMED, TriageBudget

pytestmark = pytest.mark.unit

TARGETS = ("reference", "onnxruntime:disabled", "onnxruntime:all", "onnxruntime@1.20.1:all", "onnx2torch")


def test_a_target_that_is_always_wrong_leaves_time_for_the_others() -> None:
    budget, elapsed = TriageBudget(TARGETS), 300.0
    whole = GRACE + budget.share * elapsed
    budget.passes(elapsed)
    spent = 0
    while budget.allows("reference"):
        budget.took("reference", 1.0)
        spent += 1
    assert spent == pytest.approx((1 - KEPT) * whole, abs=1)
    assert budget.allows("onnxruntime@1.20.1:all")
    budget.took("onnxruntime@1.20.1:all", whole / 4 + 1)  # more than its part of four
    assert not budget.allows("onnxruntime@1.20.1:basic")
    assert budget.allows("onnx2torch")
    budget.took("onnx2torch", KEPT * whole)
    assert not any(budget.allows(name) for name in TARGETS)


def test_time_that_passes_gives_more() -> None:
    budget = TriageBudget(TARGETS)
    budget.took("reference", GRACE)
    assert not budget.allows("reference")
    budget.passes(GRACE / budget.share)
    assert budget.allows("reference")


def test_what_has_waited_since_the_last_run_leaves_time_for_programs() -> None:
    budget = TriageBudget(("a",), resumed=True)
    assert budget.allows("a"), "a first case, however short the run"
    budget.took("a", 1.0)
    assert not budget.allows("a")
    budget.passes(10.0)
    assert budget.allows("a")
    budget.took("a", RESUMED * 10.0)
    assert not budget.allows("a")
    budget.passes(1000.0)
    budget.took("a", GRACE + budget.share * 1000.0 - RESUMED * 10.0 - 2.0)
    assert budget.allows("a"), "in the end it has as much as any"
    budget.took("a", 2.0)
    assert not budget.allows("a")


def test_the_only_target_of_all_may_take_the_whole() -> None:
    budget = TriageBudget(("onnxruntime:disabled", "onnxruntime:all"))
    budget.took("onnxruntime:all", GRACE - 1)
    assert budget.allows("onnxruntime:all")
    assert not budget.allows("onnxruntime:all", 0.5)
    budget.took("onnxruntime:all", 2.0)
    assert not budget.allows("onnxruntime:all")


@pytest.mark.parametrize(("worth", "share"), [(1.0, MOST), (KNOWN, (LEAST + MOST) / 2), (0.0, LEAST)])
def test_the_share_follows_what_comes_of_it_within_its_bounds(worth: float, share: float) -> None:
    budget = TriageBudget(TARGETS)
    assert budget.share == pytest.approx((LEAST + MOST) / 2)
    for _ in range(100):
        budget.came_to(worth)
    assert budget.share == pytest.approx(share, abs=1e-3)
    assert LEAST <= budget.share <= MOST
    budget.passes(1000.0)
    budget.took("reference", 0.69 * (GRACE + share * 1000))
    assert budget.allows("reference")
    budget.took("reference", 0.02 * (GRACE + share * 1000))
    assert not budget.allows("reference")


def test_many_targets_want_small_programs() -> None:
    assert usual_sprouts(0) == usual_sprouts(MANY) < usual_sprouts(MANY + 1)
    assert usual_sprouts(MANY + 1) == usual_sprouts(VERY_MANY) < usual_sprouts(VERY_MANY + 1) < 1
