"""Decides NaN and infinity through arithmetic if only one result is right; finite results are rounded, and so open.

IEEE 754 says what sums, products and quotients of special values are; of functions their limits do, if ONNX's formula
has one there. NaN that reaches a sum makes it NaN, whatever the other terms are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irfuzz.oracle.numeric.dtype_thresholds import huge
from irfuzz.oracle.onnx_rules.comparison_selection_rules import reduced_axes
from irfuzz.oracle.onnx_rules.known_elements import Elements, Given, Rule, RuleCall, need

_EDGE = 1e-3


def function(of: Callable[[Any], Any]) -> Rule:
    """Of NaN, NaN; of infinities the limit; of finite numbers what lies clearly outside of the domain, or at a pole.

    Args:
        of: of float64, with a limit at infinities that is NaN if there is none.
    """

    def run(_call: RuleCall, given: Given) -> Elements | None:
        x = need(given[0])
        if not x.of_floats:
            return None
        found = np.asarray(of(x.values), np.float64)
        # A formula such as log(x + sqrt(x^2 - 1)) does not see how near to one a number is.
        clear = (np.abs(np.abs(x.values) - 1) > _EDGE) | (np.abs(x.values) == 1)
        sure = ~np.isfinite(x.values) | (~np.isfinite(found) & clear)
        return Elements(found, x.decided & sure)

    return run


def only_nan(_call: RuleCall, given: Given) -> Elements | None:
    """NaN stays NaN, whichever branch of the formula it takes; nothing else is decided.

    Returns:
        ``None`` for elements other than floats, of which the rule says nothing.
    """
    x = need(given[0])
    return Elements(x.values, x.decided & np.isnan(x.values)) if x.of_floats else None


def elu(call: RuleCall, given: Given) -> Elements | None:
    """``alpha * (exp(x) - 1)`` below zero, else x.

    What is decided are NaN and the limits: ``-alpha`` at minus infinity, infinity at infinity. ``alpha`` is rounded to
    float32, as an attribute is; it is 1 if left out.
    """
    alpha = float(np.float32(call.attrs.get("alpha", 1.0)))
    return function(lambda x: np.where(x < 0, -alpha, x))(call, given)  # pyright: ignore[reportReturnType]


def leaky(call: RuleCall, given: Given) -> Elements | None:
    """``alpha * x`` below zero, else x: LeakyRelu, which is PRelu (``sloped``) with one slope for all elements.

    ``alpha`` is rounded to float32, as an attribute is; it is 0.01 if left out.
    """
    slope = Elements.whole(float(np.float32(call.attrs.get("alpha", 0.01))))
    return sloped(call, [given[0], slope])


def sloped(_call: RuleCall, given: Given) -> Elements | None:
    """``slope * x`` below zero, else x; a slope of 0 makes NaN of minus infinity, or a maximum hides that: open."""
    x, slope = map(need, given)
    if not x.of_floats:
        return None
    found = np.where(x.values < 0, x.values * slope.values, x.values)
    sure = np.isnan(x.values) | (slope.decided & (slope.values != 0))
    return Elements.whole(found, x.decided & sure & ~np.isfinite(x.values))


def binary(of: np.ufunc) -> Rule:
    """Add, Sub, Mul and Div if an operand is special; a quotient by zero has the sign of that zero, and is open."""

    def run(_call: RuleCall, given: Given) -> Elements | None:
        a, b = map(need, given)
        if not a.of_floats or not b.of_floats:
            return None
        found = of(a.values, b.values)
        sure = ~np.isfinite(a.values) | ~np.isfinite(b.values)
        if of is np.divide:
            sure = (sure & (b.values != 0)) | np.isnan(found)
        nan = (a.decided & np.isnan(a.values)) | (b.decided & np.isnan(b.values))
        return Elements.whole(np.where(nan, np.nan, found), (a.decided & b.decided & sure) | nan)

    return run


def total(call: RuleCall, given: Given) -> Elements | None:
    """Sum and Mean of any number of inputs, which are broadcast.

    Returns:
        ``None`` if one of them holds no floats.

    Raises:
        ValueError: an input is left out.
    """
    parts = [need(e) for e in given]
    if not all(e.of_floats for e in parts):
        return None
    values, decided = np.broadcast_arrays(*(e.values for e in parts)), np.broadcast_arrays(*(e.decided for e in parts))
    return _sum(np.stack(values), np.stack(decided), (0,), call.dtypes[0], keep=False)


def remainder(call: RuleCall, given: Given) -> Elements | None:
    """Mod with ``fmod``: as C has it, exact for all floats.

    Returns:
        A remainder with the sign of the first operand; ``None`` without the attribute ``fmod``, or if an operand holds
        no floats.
    """
    a, b = map(need, given)
    if not call.attrs.get("fmod", 0) or not a.of_floats or not b.of_floats:
        return None
    return Elements.whole(np.fmod(a.values, b.values), a.decided & b.decided)


def _sum(
    values: np.ndarray, decided: np.ndarray, axes: tuple[int, ...], dtype: np.dtype | None, *, keep: bool
) -> Elements | None:
    """Sums with special terms: NaN of any, of infinities of both signs, and else the infinity that is there."""
    if dtype is None:
        return None

    def any_of(mask: np.ndarray) -> np.ndarray:
        return np.any(mask, axis=axes, keepdims=keep)

    nan = any_of(decided & np.isnan(values))
    above, below = any_of(values == np.inf), any_of(values == -np.inf)
    found = np.where(nan | (above & below), np.nan, np.where(above, np.inf, np.where(below, -np.inf, 0.0)))
    finite = np.where(np.isfinite(values), np.abs(values), 0.0)
    # Finite terms that overflow before the infinity comes would make NaN of it.
    calm = np.sum(finite, axis=axes, keepdims=keep) < huge(dtype)
    every = np.all(decided, axis=axes, keepdims=keep)
    return Elements.whole(found, nan | (every & calm & (above | below)))


def reduced(
    first: Callable[[Any], Any] = np.asarray, then: Callable[[Any], Any] = np.asarray, empty: float | None = 0.0
) -> Rule:
    """A sum along axes.

    Args:
        first: what is summed, of the elements.
        then: what becomes of the sum, if that is special.
        empty: what it is of no elements; ``None`` if ONNX does not say.
    """

    def run(call: RuleCall, given: Given) -> Elements | None:
        x = need(given[0])
        axes, keep = reduced_axes(call, given, x)
        if not x.of_floats or not axes:
            return None
        if not x.values.size:
            zero = np.sum(x.values, axis=axes, keepdims=keep)
            return None if empty is None else Elements.whole(zero + empty)
        found = _sum(first(x.values), x.decided, axes, call.dtypes[0], keep=keep)
        return None if found is None else Elements(then(found.values), found.decided)

    return run


def logarithm(total: np.ndarray) -> np.ndarray:
    """The logarithm of sums that are infinite or NaN.

    Args:
        total: float64; of minus infinity the logarithm is NaN, others stay as they are.
    """
    return np.where(total == -np.inf, np.nan, total)


def log_sum_exp(call: RuleCall, given: Given) -> Elements | None:
    """``log(sum(exp(x)))``: of minus infinities alone the logarithm of zero, with an infinity among them infinity.

    Returns:
        Decided if a NaN is among the elements, or if all are decided and it is one of these two cases; ``None`` for
        elements other than floats, and if nothing is reduced.
    """
    x = need(given[0])
    axes, keep = reduced_axes(call, given, x)
    if not x.of_floats or not axes:
        return None
    nan = np.any(x.decided & np.isnan(x.values), axis=axes, keepdims=keep)
    every = np.all(x.decided, axis=axes, keepdims=keep)
    above = np.any(x.values == np.inf, axis=axes, keepdims=keep)
    nothing = np.all(x.values == -np.inf, axis=axes, keepdims=keep)
    found = np.where(nan, np.nan, np.where(above, np.inf, -np.inf))
    return Elements.whole(found, nan | (every & (above | nothing)))


def softmax(*, log: bool) -> Rule:
    """NaN makes all of its row NaN; minus infinity beside finite numbers has a share of nothing.

    Rows with infinity, or with minus infinity alone, are quotients of nothing or infinity: open. So are versions before
    13, which coerce axes.
    """

    def run(call: RuleCall, given: Given) -> Elements | None:
        x = need(given[0])
        if call.version < 13 or not x.of_floats or not x.values.ndim or not x.values.size:
            return None
        axis = int(call.attrs.get("axis", -1))
        nan = np.any(x.decided & np.isnan(x.values), axis=axis, keepdims=True)
        top = np.max(x.values, axis=axis, keepdims=True)
        calm = np.all(x.decided, axis=axis, keepdims=True) & np.isfinite(top)
        nothing = calm & (x.values == -np.inf)
        found = np.where(nan, np.nan, -np.inf if log else 0.0)
        return Elements.whole(np.broadcast_to(found, x.values.shape), nan | nothing)

    return run


def logistic(x: np.ndarray) -> np.ndarray:
    """Limits of a function from 0 to 1, such as Sigmoid: 0 at minus infinity, 1 at infinity, NaN of NaN."""
    return np.where(np.isnan(x), np.nan, np.where(x > 0, 1.0, 0.0))


def sign_of(x: np.ndarray) -> np.ndarray:
    """Limits of a function from -1 to 1, such as Tanh: -1 at minus infinity, 1 at infinity, NaN of NaN."""
    return np.where(np.isnan(x), np.nan, np.sign(x))


def rising(x: np.ndarray) -> np.ndarray:
    """Limits of a function that grows without end, and falls to zero, such as Exp.

    Of what is below zero it gives 0, and other elements, infinity and NaN among them, as they are.
    """
    return np.where(x < 0, 0.0, x)


def itself(x: np.ndarray) -> np.ndarray:
    """Limits of a function that grows and falls without end."""
    return x


def without_limit(x: np.ndarray) -> np.ndarray:
    """Those of a function that has none, such as Sin: NaN at both infinities, other elements as they are."""
    return np.where(np.isinf(x), np.nan, x)


def vanishing_afar(x: np.ndarray) -> np.ndarray:
    """Limits of a function that is 0 at both infinities; other elements, NaN among them, as they are."""
    return np.where(np.isinf(x), 0.0, x)
