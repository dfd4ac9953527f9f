"""Linear equations within limits."""

from __future__ import annotations

import numpy as np
import pytest

from irfuzz.analyze.failing_inputs.bounded_least_squares import shortest, within

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("shape", [(3, 7), (5, 5), (7, 3)])
def test_the_shortest_solution_is_numpys(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    matrix, wanted = rng.standard_normal(shape), rng.standard_normal((shape[0], 2))
    np.testing.assert_allclose(
        shortest(matrix, wanted), np.linalg.lstsq(matrix, wanted, rcond=None)[0], rtol=1e-6, atol=1e-8
    )


def test_equal_rows_are_no_error() -> None:
    np.testing.assert_allclose(shortest(np.ones((2, 3)), np.ones(2)), np.full(3, 1 / 3), rtol=1e-6)


def test_what_would_leave_its_limits_is_held_there_and_others_make_up_for_it() -> None:
    matrix = np.array([[3.0, 1.0, 0.0]])
    x, free = within(matrix, np.array([4.0]), np.full(3, -1.0), np.full(3, 1.0))
    np.testing.assert_allclose(x, [1.0, 1.0, 0.0], rtol=1e-6)
    assert free.tolist() == [False, True, False]


def test_at_a_limit_nothing_is_held() -> None:
    x, free = within(np.array([[1.0]]), np.array([1.0 - 1e-6]), np.array([-1.0]), np.array([1.0]))
    assert free.all()
    np.testing.assert_allclose(x, [1 - 1e-6], rtol=1e-9)


def test_what_cannot_be_reached_is_as_near_as_the_limits_allow() -> None:
    x, _ = within(np.eye(2), np.array([5.0, 0.25]), np.full(2, -1.0), np.full(2, 1.0))
    np.testing.assert_allclose(x, [1.0, 0.25], rtol=1e-6)
