"""CRADLE's rate of change (equation 6) on numbers computed by hand."""

from __future__ import annotations

import math

import pytest

from irfuzz.localize.nodes.localization_map import EPSILON, rate

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("delta", "before", "expected"),
    [(3e-7, 0.0, 3.0), (0.5, 0.25, 0.25 / (0.25 + EPSILON)), (0.0, 1.0, -1 / (1 + EPSILON)), (0.0, 0.0, 0.0)],
)
def test_rate(delta: float, before: float, expected: float) -> None:
    """Equation 6."""
    assert rate(delta, before) == pytest.approx(expected)


def test_rate_of_infinite_differences() -> None:
    assert rate(math.inf, 0.5) == math.inf
    assert rate(math.inf, math.inf) == 0
    assert rate(1.0, math.inf) == -1
