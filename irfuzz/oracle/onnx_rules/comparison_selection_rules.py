"""Operators that compare elements, or choose some of them: exact, and decided on ties as ONNX says."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from irfuzz.ir.evaluation.exact_integer_rules import axes_of
from irfuzz.oracle.onnx_rules.known_elements import Elements, Given, Rule, RuleCall, known, nan_in, need

_FIRST_AT_TOP = 11
_FIRST_PLACE = 12
"""The versions from which ONNX says which of several equal elements comes first, or is meant."""


def elementwise(function: Callable[..., Any], *, nan: bool = True) -> Rule:
    """A function of NumPy's that rounds nothing.

    Args:
        function: of arrays that are broadcast.
        nan: what it makes of NaN is prescribed; else that is open.
    """

    def run(_call: RuleCall, given: Given) -> Elements:
        parts = [need(e) for e in given]
        decided = reduce(np.logical_and, (e.decided if nan else e.decided & ~nan_in(e.values) for e in parts))
        return Elements.whole(function(*(e.values for e in parts)), decided)

    return run


def extreme(function: np.ufunc) -> Rule:
    """Max and Min of any number of inputs. Of NaN ONNX says nothing, so it stays, or the others decide.

    Args:
        function: of two numbers, which prefers the one that is not NaN.
    """

    def run(_call: RuleCall, given: Given) -> Elements:
        parts = [need(e) for e in given]
        decided = reduce(np.logical_and, (e.decided for e in parts))
        nan = reduce(np.logical_or, (nan_in(e.values) for e in parts))
        found = reduce(function, (e.values for e in parts))
        return Elements.or_nan(found, decided & ~nan, decided & nan & ~nan_in(np.asarray(found)))

    return run


def rectified(_call: RuleCall, given: Given) -> Elements:
    """``max(0, x)``; of NaN it is NaN or zero.

    Relu's rule: ONNX says nothing of NaN, so such an element is open between the two.
    """
    x = need(given[0])
    nan, zero = nan_in(x.values), np.zeros((), x.values.dtype)
    found = np.where(nan, zero, np.maximum(x.values, zero))
    return Elements.or_nan(found, x.decided & ~nan, x.decided & nan)


def is_infinite(call: RuleCall, given: Given) -> Elements:
    """IsInf, of both signs or of one, as ``detect_positive`` and ``detect_negative`` say (1 if they are left out).

    The result is boolean, and decided for the elements that are decided; NaN gives false.
    """
    x = need(given[0])
    found = (np.isposinf(x.values) & bool(call.attrs.get("detect_positive", 1))) | (
        np.isneginf(x.values) & bool(call.attrs.get("detect_negative", 1))
    )
    return Elements(found, x.decided)


def clip(call: RuleCall, given: Given) -> Elements | None:
    """``Min(max, Max(input, min))``; what stands for a limit that is left out is the largest number, or infinity.

    Before version 13 it is open what a lower limit above the upper one does.
    """
    x = need(given[0])
    limits = [given[i] if len(given) > i else None for i in (1, 2)]
    if call.version < 11:
        limits = [Elements.whole(float(call.attrs[n])) if n in call.attrs else None for n in ("min", "max")]
    values, decided = x.values, x.decided & ~nan_in(x.values)
    for limit, choose, sign in zip(limits, (np.maximum, np.minimum), (-1, 1), strict=True):
        if limit is None:
            if x.of_floats:
                decided = decided & (x.values != sign * np.inf)
            continue
        value = known(limit).reshape(())
        if nan_in(value).any():
            return None
        values = choose(values, value)
    low, high = limits
    if call.version < 13 and low is not None and high is not None and (low.values > high.values).any():
        return None
    return Elements.whole(values, decided)


def reduced_axes(call: RuleCall, given: Given, x: Elements) -> tuple[tuple[int, ...], bool]:
    """The axes along which a call reduces, and whether they stay with a size of one.

    Args:
        call: with its attributes ``axes``, ``keepdims`` and ``noop_with_empty_axes``.
        given: all its inputs; the second, if there is one, holds the axes.
        x: what is reduced.

    Raises:
        ValueError: the axes are an input whose elements are not all decided.
    """
    parts = [x.values, *(None if e is None else known(e) for e in given[1:])]
    return axes_of(call.attrs, parts, x.values.ndim), bool(call.attrs.get("keepdims", 1))


def reduced_extreme(function: np.ufunc, empty: float) -> Rule:
    """ReduceMax and ReduceMin: "minus infinity (if supported by the datatype)" of nothing. Of NaN ONNX says nothing.

    Args:
        function: of two numbers, which prefers the one that is not NaN.
        empty: what it gives of nothing.
    """

    def run(call: RuleCall, given: Given) -> Elements | None:
        x = need(given[0])
        axes, keep = reduced_axes(call, given, x)
        if not x.values.size and not x.of_floats:
            return None
        return extreme_along(x, function, axes, keep=keep, empty=empty)

    return run


def extreme_along(x: Elements, function: np.ufunc, axes: tuple[int, ...], *, keep: bool, empty: float) -> Elements:
    """The extreme of the elements along axes; ``empty`` of nothing.

    Args:
        x: what is reduced.
        function: ``np.fmax`` or ``np.fmin``, which pass over NaN.
        axes: along which.
        keep: whether they stay with a size of one.
        empty: of no elements at all.

    Returns:
        Decided if all elements that went in are. If a NaN is among them it is open: the extreme of the rest, or NaN.
    """
    if x.values.size:
        found = function.reduce(x.values, axis=axes, keepdims=keep)
    else:
        found = function.reduce(x.values, axis=axes, keepdims=keep, initial=empty)
    every = np.all(x.decided, axis=axes, keepdims=keep)
    nan = np.any(nan_in(x.values), axis=axes, keepdims=keep)
    return Elements.or_nan(found, every & ~nan, every & nan & ~nan_in(np.asarray(found)))


def place(of: Callable[..., Any]) -> Rule:
    """ArgMax and ArgMin: "the index of the first occurrence is selected", or of the last if ``select_last_index``.

    Args:
        of: NumPy's function, which takes the first.
    """

    def run(call: RuleCall, given: Given) -> Elements | None:
        x = need(given[0])
        if not x.values.ndim or not x.values.size:
            return None
        axis, last = int(call.attrs.get("axis", 0)), bool(call.attrs.get("select_last_index", 0))
        row = np.flip(x.values, axis) if last else x.values
        found = of(row, axis=axis, keepdims=True).astype(np.int64)
        top = np.take_along_axis(row, found, axis)
        found = x.values.shape[axis] - 1 - found if last else found
        decided = np.all(x.decided & ~nan_in(x.values), axis=axis, keepdims=True)
        if call.version < _FIRST_PLACE:
            decided = decided & (np.sum(row == top, axis=axis, keepdims=True) == 1)
        if not call.attrs.get("keepdims", 1):
            found, decided = np.squeeze(found, axis), np.squeeze(decided, axis)
        return Elements(found, decided)

    return run


def top(call: RuleCall, given: Given) -> list[Elements] | None:
    """TopK: "the element with the lower index will appear first" of equal ones, since version 11.

    Returns:
        Values and their places (int64), decided along an axis if all its elements are and none is NaN. ``None`` before
        version 11, for results that need not be sorted and for a scalar.

    Raises:
        ValueError: how many are wanted is not known.
    """
    x = need(given[0])
    if call.version < _FIRST_AT_TOP or not call.attrs.get("sorted", 1) or not x.values.ndim:
        return None
    axis, k = int(call.attrs.get("axis", -1)), int(known(given[1]).reshape(-1)[0])
    if call.attrs.get("largest", 1):
        # A stable order from the end, turned around, keeps lower indices first.
        found = x.values.shape[axis] - 1 - np.flip(np.argsort(np.flip(x.values, axis), axis=axis, kind="stable"), axis)
    else:
        found = np.argsort(x.values, axis=axis, kind="stable")
    found = np.take(found, np.arange(k), axis=axis).astype(np.int64)
    decided = np.broadcast_to(np.all(x.decided & ~nan_in(x.values), axis=axis, keepdims=True), found.shape)
    return [Elements(np.take_along_axis(x.values, found, axis), decided), Elements(found, decided)]


def hardmax(call: RuleCall, given: Given) -> Elements | None:
    """1 for "the first maximum value along the specified axis", 0 otherwise; before version 13 axes are coerced.

    Returns:
        Float64 of the input's shape, decided along an axis if all its elements are and none is NaN; ``None`` before
        version 13, for a scalar and for no elements.
    """
    x = need(given[0])
    if call.version < 13 or not x.values.ndim or not x.values.size:
        return None
    axis = int(call.attrs.get("axis", -1))
    first = np.argmax(x.values, axis=axis, keepdims=True)
    found = np.zeros(x.values.shape)
    np.put_along_axis(found, first, 1.0, axis)
    return Elements.whole(found, np.all(x.decided & ~nan_in(x.values), axis=axis, keepdims=True))


def nonzero(_call: RuleCall, given: Given) -> Elements | None:
    """Places of all that is not zero, which NaN is not; a scalar has none.

    Returns:
        NonZero's int64 tensor: a row for each axis, in row-major order of the elements; ``None`` for a scalar.

    Raises:
        ValueError: an element is open, for then even the shape is.
    """
    values = known(given[0])
    return Elements.whole(np.array(np.nonzero(values), np.int64)) if values.ndim else None
