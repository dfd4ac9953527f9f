"""Cast and QuantizeLinear: which conversions are exact, and which roundings are far from a tie."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from irfuzz.oracle.numeric.dtype_thresholds import is_float, largest, smallest
from irfuzz.oracle.onnx_rules.known_elements import Elements, Given, RuleCall, known, need

_NAN_IS_TRUE = 13
"""The version from which ONNX says that all floats but zeros become true."""

_PLAIN = frozenset(map(np.dtype, (np.float64, np.float32, np.float16, ml_dtypes.bfloat16)))
"""Floating-point types with infinities that need no ``saturate``."""

_NEAR_TIE = 1e-4
"""As near to a half, relative to the quotient, a division in another precision may round to the other side."""


def cast(call: RuleCall, given: Given) -> Elements | None:
    """To the output's type. What rounds is open, and so is an integer that NaN or a number beyond its type becomes."""
    x, to = need(given[0]), call.dtypes[0]
    if to is None or x.values.dtype.kind not in "fiub":
        return None
    values = x.values
    if to == np.dtype(bool):
        sure = ~np.isnan(values) | (call.version >= _NAN_IS_TRUE) if x.of_floats else True
        return Elements.whole(values != 0, x.decided & sure)
    if is_float(to):
        return _to_float(x, to) if to in _PLAIN else None
    if to.kind not in "iu":
        return None
    info = np.iinfo(to)
    if x.of_floats:
        inside = (values > float(info.min) - 1) & (values < float(int(info.max) + 1))
    else:
        wide = values.astype(object)
        inside = np.asarray((wide >= int(info.min)) & (wide <= int(info.max)), bool)
    return Elements.whole(np.where(inside, values, np.zeros((), values.dtype)).astype(to), x.decided & inside)


def _to_float(x: Elements, to: np.dtype) -> Elements:
    exact = x.values.astype(np.float64)
    with np.errstate(over="ignore"):
        found = exact.astype(to).astype(np.float64)
    normal = (found == 0) | ~np.isfinite(found) | (np.abs(found) >= smallest(to))
    same = np.isnan(exact) | (found == exact)
    if not x.of_floats:
        back = np.where(np.abs(exact) < 2.0**62, exact, 0.0).astype(np.int64)
        same = same & (back == x.values.astype(object)).astype(bool)
    # One of twice the largest number rounds to infinity in any way.
    return Elements.whole(found, x.decided & ((same & normal) | (np.abs(exact) > 2 * largest(to))))


def quantise(call: RuleCall, given: Given) -> Elements | None:
    """``saturate(round(x / y_scale) + y_zero_point)``, halves to the even number; by tensor or by axis.

    QuantizeLinear's rule. An element so near to a tie that the division's own rounding may decide it is open.

    Returns:
        Whole numbers of the output's type; ``None`` for types other than integers of one or two bytes, for blocks, for
        inputs other than floats and for scales that are not finite and positive.

    Raises:
        ValueError: a scale or zero point is not known.
    """
    x, scale = need(given[0]), known(given[1])
    zero = known(given[2]) if len(given) > 2 and given[2] is not None else np.zeros((), np.uint8)
    to = call.dtypes[0]
    if to is None or to.kind not in "iu" or to.itemsize > 2 or not x.of_floats or call.attrs.get("block_size", 0):
        return None
    if not (np.isfinite(scale) & (scale > 0)).all():
        return None
    axis = int(call.attrs.get("axis", 1))

    def along(array: np.ndarray) -> Any:
        if array.size == 1:
            return array.reshape(())
        shape = [1] * x.values.ndim
        shape[axis] = -1
        return array.reshape(shape)

    info = np.iinfo(to)
    by, shift = along(scale.astype(np.float64)), along(zero.astype(np.float64))
    quotient = x.values / by
    low, high = info.min - shift, info.max - shift
    found = np.clip(np.rint(quotient), low, high) + shift
    error = np.where(np.frexp(by)[0] == 0.5, 0.0, _NEAR_TIE * np.maximum(1.0, np.abs(quotient)))
    steady = np.clip(np.rint(quotient - error), low, high) == np.clip(np.rint(quotient + error), low, high)
    sure = ~np.isnan(quotient) & steady
    return Elements.whole(np.nan_to_num(found).astype(to), x.decided & sure)
