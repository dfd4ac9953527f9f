"""The time for triage is bounded, and what is rarely wrong is not left without by what is often wrong."""

from __future__ import annotations

import pytest

from irfuzz.campaign.budget import GRACE, KEPT, SHARE, Budget
from irfuzz.campaign.config import MANY, usual_sprouts

pytestmark = pytest.mark.unit

TARGETS = ("reference", "onnxruntime:disabled", "onnxruntime:all", "onnxruntime@1.20.1:all", "onnx2torch")


def test_a_target_that_is_always_wrong_leaves_time_for_the_others() -> None:
    budget, elapsed = Budget(TARGETS), 300.0
    whole = GRACE + SHARE * elapsed
    spent = 0
    while budget.allows("reference", elapsed):
        budget.took("reference", 1.0)
        spent += 1
    assert spent == pytest.approx((1 - KEPT) * whole, abs=1)
    assert budget.allows("onnxruntime@1.20.1:all", elapsed)
    budget.took("onnxruntime@1.20.1:all", whole / 4 + 1)  # more than its part of four
    assert not budget.allows("onnxruntime@1.20.1:basic", elapsed)
    assert budget.allows("onnx2torch", elapsed)
    budget.took("onnx2torch", KEPT * whole)
    assert not any(budget.allows(name, elapsed) for name in TARGETS)


def test_time_that_passes_gives_more() -> None:
    budget = Budget(TARGETS)
    budget.took("reference", GRACE)
    assert not budget.allows("reference", 0.0)
    assert budget.allows("reference", GRACE / SHARE)


def test_the_only_target_of_all_may_take_the_whole() -> None:
    budget = Budget(("onnxruntime:disabled", "onnxruntime:all"))
    budget.took("onnxruntime:all", GRACE - 1)
    assert budget.allows("onnxruntime:all", 0.0)
    budget.took("onnxruntime:all", 2.0)
    assert not budget.allows("onnxruntime:all", 0.0)


def test_many_targets_want_small_programs() -> None:
    few, many = ("onnxruntime:all",) * MANY, ("onnxruntime:all",) * (MANY + 1)
    assert usual_sprouts(None) == usual_sprouts(few) < usual_sprouts(many)
