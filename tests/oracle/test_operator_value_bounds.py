"""Bounds of computed floats hold whatever the rounding, also if large numbers cancel or a sum overflows on the way."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest

from irfuzz.oracle.numeric.operator_value_bounds import UNBOUNDED, bounds_after, reads

pytestmark = pytest.mark.unit

COMPUTED = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
    "Sum": lambda *given: reduce(np.add, given),
    "Mean": lambda *given: reduce(np.add, given) / given[0].dtype.type(len(given)),
    "Max": lambda *given: reduce(np.maximum, given),
    "Min": lambda *given: reduce(np.minimum, given),
}


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("op", COMPUTED)
@pytest.mark.filterwarnings("ignore:overflow")
def test_what_is_computed_lies_within(op: str, dtype: type[np.floating]) -> None:
    rng = np.random.default_rng(0)
    count = 4 if op in ("Sum", "Mean", "Max", "Min") else 2
    bounded = 0
    for _ in range(300):
        scale = 10.0 ** rng.uniform(-3, 4.8, (count, 1))
        ends = np.sort(rng.uniform(-1, 1, (count, 2)) * scale, axis=1).astype(dtype)
        given = [(float(low), float(high)) for low, high in ends]
        low, high = bounds_after(op, given, np.dtype(dtype))
        bounded += (low, high) != UNBOUNDED
        fed = [np.clip(rng.uniform(*pair, 20).astype(dtype), *pair).astype(dtype) for pair in given]
        result = COMPUTED[op](*fed).astype(np.float64)
        assert ((low <= result) & (result <= high)).all(), (op, given)
    assert bounded > 20


def test_numbers_that_cancel_keep_the_rounding_of_the_large_ones() -> None:
    numbers = np.array([1e8, 1, -1e8], np.float32)
    low, high = bounds_after("Sum", [(float(n), float(n)) for n in numbers], numbers.dtype)
    assert low <= float(numbers[0] + numbers[1] + numbers[2]) <= high  # 0 in single precision
    assert low <= 1 <= high


def test_a_sum_that_may_overflow_on_the_way_is_not_bounded() -> None:
    given = [(3e4, 3e4), (3e4, 3e4), (-3e4, -3e4)]
    assert bounds_after("Sum", given, np.dtype(np.float16)) == UNBOUNDED
    assert bounds_after("Mean", given, np.dtype(np.float16)) == UNBOUNDED
    assert bounds_after("Sum", given, np.dtype(np.float32)) != UNBOUNDED


def test_only_some_inputs_decide() -> None:
    assert reads("Where", 3) == range(1, 3)
    assert reads("Gather", 2) == range(1)
    assert reads("MatMul", 2) == range(0)
    assert bounds_after("Abs", [(-2.0, 1.0)], np.dtype(np.float32)) == (-(2.0**-5), 2 + 2.0**-5)
    assert bounds_after("Div", [(1.0, 1.0), (-1.0, 1.0)], np.dtype(np.float32)) == UNBOUNDED


@pytest.mark.parametrize(
    ("op", "given", "bounds"),
    [
        ("Neg", [(-1, 3)], (-3, 1)),
        ("Relu", [(-1, 3)], (0, 3)),
        ("Relu", [(-3, -1)], (0, 0)),
        ("Relu", [(1, 3)], (1, 3)),
        ("Abs", [(-3, 1)], (0, 3)),
        ("Abs", [(-3, -1)], (1, 3)),
        ("Abs", [(1, 3)], (1, 3)),
        ("Add", [(-1, 3), (2, 4)], (1, 7)),
        ("Sub", [(-1, 3), (2, 4)], (-5, 1)),
        ("Mul", [(-1, 3), (-2, 4)], (-6, 12)),
        ("Max", [(-1, 3), (2, 4)], (2, 4)),
        ("Min", [(-1, 3), (2, 4)], (-1, 3)),
        ("Concat", [(-1, 3), (2, 4)], (-1, 4)),
        ("Where", [(-1, 3), (2, 4)], (-1, 4)),
        ("Identity", [(-1, 3)], (-1, 3)),
        ("Ceil", [(-1.5, 2.5)], (-2.5, 3.5)),
    ],
)
def test_bounds_have_little_slack(op: str, given: list[tuple[float, float]], bounds: tuple[float, float]) -> None:
    assert bounds_after(op, given, np.dtype(np.float32)) == pytest.approx(bounds, abs=0.2)
