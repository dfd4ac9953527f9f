"""NaN and infinity through arithmetic: what IEEE 754 and limits decide, and that all the rest stays open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from irfuzz.oracle.numeric.dtype_thresholds import huge
from irfuzz.oracle.onnx_rules import nan_inf_arithmetic as arithmetic
from irfuzz.oracle.onnx_rules.known_elements import Rule
from irfuzz.oracle.onnx_rules.rule_table import RULES
from tests.oracle.rule_calls import DOUBLE, INF, NAN, OPEN, SINGLE, ask, same

pytestmark = pytest.mark.unit

LIMIT = huge(SINGLE)
WHOLE = np.array([[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("of", "x", "wanted"),
    [
        (np.log, [NAN, INF, -INF, -1, 0, 2, None], [NAN, INF, NAN, NAN, -INF, OPEN, OPEN]),
        (np.sqrt, [NAN, INF, -1, 0, 4], [NAN, INF, NAN, OPEN, OPEN]),
        # How near to one a number is, a formula may not see: 1e-3 to either side is open, one itself is not.
        (np.arctanh, [1, -1, 1.0009, 1.0011, -1.0009, -1.0011], [INF, -INF, OPEN, NAN, OPEN, NAN]),
        (np.arccosh, [1, 0.9991, 0.9989, 0], [OPEN, OPEN, NAN, NAN]),
        (arithmetic.itself, [INF, -INF, NAN, 1], [INF, -INF, NAN, OPEN]),
        (arithmetic.without_limit, [INF, -INF, NAN, 1], [NAN, NAN, NAN, OPEN]),
        (arithmetic.vanishing_afar, [INF, -INF, NAN, 1], [0.0, 0.0, NAN, OPEN]),
        (arithmetic.rising, [INF, -INF, NAN, 1, -1], [INF, 0.0, NAN, OPEN, OPEN]),
        (arithmetic.logistic, [INF, -INF, NAN, 1, -1], [1.0, 0.0, NAN, OPEN, OPEN]),
        (arithmetic.sign_of, [INF, -INF, NAN, 1, -1], [1.0, -1.0, NAN, OPEN, OPEN]),
    ],
)
def test_functions_have_limits_poles_and_domains(of: Any, x: list[Any], wanted: list[Any]) -> None:
    assert same(ask(arithmetic.function(of), x), wanted)


def test_limits_leave_other_elements_as_they_are() -> None:
    x = np.array([2.0, -3.0])
    assert arithmetic.itself(x) is x
    assert arithmetic.without_limit(x).tolist() == [2, -3]
    assert arithmetic.vanishing_afar(x).tolist() == [2, -3]
    assert arithmetic.rising(x).tolist() == [2, 0]
    assert arithmetic.rising(np.array([0.5, 0.0, -0.5])).tolist() == [0.5, 0, 0]
    assert arithmetic.logistic(np.array([0.5, -0.5])).tolist() == [1, 0]
    assert same(arithmetic.logarithm(np.array([-INF, INF, NAN])).tolist(), [NAN, INF, NAN])


@pytest.mark.parametrize(
    ("rule", "given"),
    [
        (arithmetic.function(np.log), (WHOLE,)),
        (arithmetic.only_nan, (WHOLE,)),
        (arithmetic.elu, (WHOLE,)),
        (arithmetic.leaky, (WHOLE,)),
        (arithmetic.sloped, (WHOLE, [1.0])),
        (arithmetic.binary(np.add), (WHOLE, [INF])),
        (arithmetic.binary(np.add), ([INF], WHOLE)),
        (arithmetic.total, ([INF], WHOLE)),
        (arithmetic.reduced(), (WHOLE,)),
        (arithmetic.log_sum_exp, (WHOLE,)),
        (arithmetic.softmax(log=False), (WHOLE,)),
    ],
)
def test_rules_of_floats_say_nothing_of_whole_numbers(rule: Rule, given: Any) -> None:
    assert ask(rule, *given, to=SINGLE) is None


def test_nan_alone_is_decided() -> None:
    assert same(ask(arithmetic.only_nan, [NAN, 1, INF, None]), [NAN, OPEN, OPEN, OPEN])


@pytest.mark.parametrize(
    ("rule", "attrs", "wanted"),
    [
        (arithmetic.elu, {}, [NAN, INF, -1.0, OPEN, OPEN, OPEN]),
        (arithmetic.elu, {"alpha": 2.0}, [NAN, INF, -2.0, OPEN, OPEN, OPEN]),
        (arithmetic.elu, {"alpha": 0.1}, [NAN, INF, -float(np.float32(0.1)), OPEN, OPEN, OPEN]),
        (arithmetic.leaky, {}, [NAN, INF, -INF, OPEN, OPEN, OPEN]),
        (arithmetic.leaky, {"alpha": -2.0}, [NAN, INF, INF, OPEN, OPEN, OPEN]),
        (arithmetic.leaky, {"alpha": 0.0}, [NAN, OPEN, OPEN, OPEN, OPEN, OPEN]),
    ],
)
def test_one_slope_for_all(rule: Rule, attrs: dict[str, float], wanted: list[Any]) -> None:
    assert same(ask(rule, [NAN, INF, -INF, 1, -1, None], **attrs), wanted)


@pytest.mark.parametrize(
    ("slope", "wanted"),
    [
        ([0.5], [NAN, INF, -INF, OPEN, OPEN]),
        ([-0.5], [NAN, INF, INF, OPEN, OPEN]),
        ([0], [NAN, OPEN, OPEN, OPEN, OPEN]),
        ([None], [NAN, OPEN, OPEN, OPEN, OPEN]),
        ([1, 0, 1, 1, 1], [NAN, OPEN, -INF, OPEN, OPEN]),
    ],
)
def test_slopes(slope: list[Any], wanted: list[Any]) -> None:
    assert same(ask(arithmetic.sloped, [NAN, INF, -INF, -1, None], slope), wanted)


@pytest.mark.parametrize(
    ("of", "a", "b", "wanted"),
    [
        (np.add, [INF, INF, NAN, 1, 1], [1, -INF, 1, INF, 2], [INF, NAN, NAN, INF, OPEN]),
        (np.subtract, [INF, INF, 1], [1, INF, INF], [INF, NAN, -INF]),
        (np.multiply, [INF, INF, 0, 2], [0, -2, -INF, 2], [NAN, -INF, NAN, OPEN]),
        (np.add, [None, None, INF, NAN], [NAN, INF, None, None], [NAN, OPEN, OPEN, NAN]),
        # A quotient by zero has the sign of that zero, which is open; zero by zero has none.
        (np.divide, [1, INF, 0, INF, INF, 5], [INF, 0, 0, -2, INF, 0], [0.0, OPEN, NAN, -INF, NAN, OPEN]),
        (np.divide, [INF, 1], [[2], [4]], [[INF, OPEN], [INF, OPEN]]),
    ],
)
def test_two_operands(of: np.ufunc, a: Any, b: Any, wanted: Any) -> None:
    assert same(ask(arithmetic.binary(of), a, b), wanted)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (([INF, 1, NAN, INF, -INF], [1, 2, INF, -INF, 3]), [INF, OPEN, NAN, NAN, -INF]),
        (([INF, NAN, None], [None, None, NAN]), [OPEN, NAN, NAN]),
        (([INF, 1], [[1], [-INF]]), [[INF, OPEN], [NAN, -INF]]),
        (([INF, INF, INF], [LIMIT * 0.9, LIMIT, LIMIT * 1.1]), [INF, OPEN, OPEN]),
        (([INF], [LIMIT / 2], [LIMIT / 2]), [OPEN]),
        (([INF],), [INF]),
    ],
)
def test_sums_of_inputs(given: Any, wanted: Any) -> None:
    """Finite terms that may overflow before the infinity comes would make NaN of it."""
    assert same(ask(arithmetic.total, *given, to=SINGLE), wanted)


def test_a_sum_needs_its_type_and_all_its_inputs() -> None:
    assert same(ask(arithmetic.total, [INF], [LIMIT], to=DOUBLE), [INF])
    assert ask(arithmetic.total, [INF], [1.0], to=None) is None
    with pytest.raises(ValueError, match="left out"):
        ask(arithmetic.total, [INF], None, to=SINGLE)


def test_a_remainder_is_that_of_c() -> None:
    given = [-5, 5.5, INF, 3, None], [3, 2, 2, INF, 1]
    assert same(ask(arithmetic.remainder, *given, fmod=1), [-2.0, 1.5, NAN, 3.0, OPEN])
    assert same(ask(arithmetic.remainder, given[1], given[0], fmod=1), [3.0, 2.0, 2.0, NAN, OPEN])
    assert ask(arithmetic.remainder, *given) is None
    assert ask(arithmetic.remainder, *given, fmod=0) is None
    assert ask(arithmetic.remainder, WHOLE, [1.0], fmod=1) is None
    assert ask(arithmetic.remainder, [1.0], WHOLE, fmod=1) is None


ROWS = [[INF, 1], [1, 2], [NAN, None], [INF, None], [INF, -INF], [-INF, 1]]
EMPTY = np.zeros((2, 0))


@pytest.mark.parametrize(
    ("rule", "given", "attrs", "wanted"),
    [
        (arithmetic.reduced(), (ROWS,), {}, [[INF], [OPEN], [NAN], [OPEN], [NAN], [-INF]]),
        (arithmetic.reduced(), (ROWS,), {"keepdims": 0}, [INF, OPEN, NAN, OPEN, NAN, -INF]),
        (arithmetic.reduced(np.abs), (ROWS,), {"keepdims": 0}, [INF, OPEN, NAN, OPEN, INF, INF]),
        (
            arithmetic.reduced(then=arithmetic.logarithm),
            (ROWS,),
            {"keepdims": 0},
            [INF, OPEN, NAN, OPEN, NAN, NAN],
        ),
        (arithmetic.reduced(), ([[INF, LIMIT], [INF, LIMIT * 0.9]],), {"keepdims": 0}, [OPEN, INF]),
        (arithmetic.reduced(), (EMPTY,), {}, [[0.0], [0.0]]),
        (arithmetic.reduced(empty=-INF), (EMPTY,), {"keepdims": 0}, [-INF, -INF]),
        (arithmetic.reduced(empty=None), (EMPTY,), {}, None),
        (arithmetic.reduced(), ([[INF, 1]], np.zeros(0, np.int64)), {"axes": [], "noop_with_empty_axes": 1}, None),
        (
            arithmetic.log_sum_exp,
            ([*ROWS, [-INF, -INF], [-INF, None]],),
            {},
            [[INF], [OPEN], [NAN], [OPEN], [INF], [OPEN], [-INF], [OPEN]],
        ),
        (arithmetic.log_sum_exp, (ROWS[:2],), {"keepdims": 0}, [INF, OPEN]),
        (
            arithmetic.log_sum_exp,
            ([[INF, 1]], np.zeros(0, np.int64)),
            {"axes": [], "noop_with_empty_axes": 1},
            None,
        ),
    ],
)
def test_sums_along_axes(rule: Rule, given: Any, attrs: dict[str, Any], wanted: Any) -> None:
    found = ask(rule, *given, to=SINGLE, **{"axes": [1], **attrs})
    assert found is None if wanted is None else same(found, wanted)


def test_a_sum_along_axes_needs_its_type() -> None:
    assert ask(arithmetic.reduced(), ROWS, to=None, axes=[1]) is None


@pytest.mark.parametrize("log", [False, True])
def test_shares(log: bool) -> None:
    rule, nothing = arithmetic.softmax(log=log), -INF if log else 0.0
    rows = [[-INF, 0, 1], [NAN, None, 1], [INF, 0, -INF], [-INF, -INF, -INF], [-INF, None, 0], [1, 2, 3]]
    wanted = [[nothing, OPEN, OPEN], [NAN] * 3, [OPEN] * 3, [OPEN] * 3, [OPEN] * 3, [OPEN] * 3]
    assert same(ask(rule, rows, version=13), wanted)
    assert same(ask(rule, [[-INF, NAN], [0, 0]], version=13, axis=0), [[nothing, NAN], [OPEN, NAN]])
    assert ask(rule, rows, version=12) is None
    assert ask(rule, np.zeros(())) is None
    assert ask(rule, EMPTY) is None


def test_the_share_of_minus_infinity_is_nothing_and_its_logarithm_minus_infinity() -> None:
    assert same(ask(RULES["softmax"], [-INF, 0]), [0.0, OPEN])
    assert same(ask(RULES["log_softmax"], [-INF, 0]), [-INF, OPEN])
