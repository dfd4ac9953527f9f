"""How far a component may miss: each term of the bound decides where the others vanish."""

from __future__ import annotations

import numpy as np
import pytest

from irfuzz.oracle.numeric.dtype_thresholds import smallest, vanishing
from irfuzz.oracle.numeric.error_bound import JUMP, NEIGHBOURS, SAFETY, bound_of, median_of

pytestmark = pytest.mark.unit

F32 = np.dtype(np.float32)
F64 = np.dtype(np.float64)
WIDTH = 8.0


def bound(reference: float, small: float, wide: float, dtype: np.dtype = F32) -> float:
    """Of a single element."""
    return float(bound_of(np.array([reference]), np.array([small]), np.array([wide]), WIDTH, dtype)[0])


def test_a_measured_move_counts_so_many_times() -> None:
    assert bound(0.0, 1e-3, 8e-3) == pytest.approx(SAFETY * 1e-3)


def test_what_the_own_type_rounds_by_counts_without_any_move() -> None:
    assert bound(2.0, 0.0, 0.0) == pytest.approx(SAFETY * 2.0**-23)
    assert bound(np.inf, 0.0, 0.0) == vanishing(F32)


def test_an_element_that_few_directions_moved_is_measured_by_its_neighbours() -> None:
    small = np.array([1e-3] * 9 + [0.0])
    bounds = bound_of(np.zeros(10), small, WIDTH * small, WIDTH, F32)
    assert bounds[-1] == pytest.approx(SAFETY * NEIGHBOURS * 1e-3)


def test_wide_moves_that_leap_are_themselves_the_bound() -> None:
    edge = JUMP * WIDTH * 1e-3
    assert bound(0.0, 1e-3, edge) == pytest.approx(SAFETY * edge / (2 * WIDTH))
    assert bound(0.0, 1e-3, 100.0) == pytest.approx(SAFETY * 100.0 / (2 * WIDTH))
    far = np.float64(1e-9)
    assert bound(0.0, float(far), 1.0) >= 1.0


def test_nothing_is_closer_than_what_underflow_takes_away() -> None:
    assert bound(0.0, 0.0, 0.0) == np.sqrt(smallest(F32))
    assert bound(0.0, 0.0, 0.0, F64) == np.sqrt(smallest(F64))


def test_half_precision_keeps_its_smallest_number() -> None:
    half = np.dtype(np.float16)
    assert vanishing(half) == smallest(half)
    assert vanishing(F32) > smallest(F32)


def test_moves_that_are_not_finite_have_no_part_in_the_median() -> None:
    assert median_of(np.array([1.0, 3.0, np.inf, np.nan, 2.0])) == 2.0
    assert median_of(np.array([np.inf])) == 0.0
    assert median_of(np.array([])) == 0.0
