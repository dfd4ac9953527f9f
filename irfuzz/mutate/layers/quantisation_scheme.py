"""Scales, zero points and quantised constants of integer types for ranges of real numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.portable_types import INTEGER_LIMITS

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

ASSUMED = (1.0, 2.0, 4.0, 6.0, 8.0, 16.0)
"""Magnitudes that are assumed of a value of which nothing is known; activations are rarely larger."""

_LEAST = 1e-6
_MOST = 1e6
"""Scales beyond these say nothing but overflow."""


@dataclass(frozen=True, slots=True)
class QuantisationScheme:
    """How real numbers become integers: ``round(x / scale) + zero``, saturated.

    Attributes:
        dtype: integer element type.
        scale: float32, of shape ``()`` or one element for each index along ``axis``.
        zero: of the integer type and the same shape.
        axis: axis of the tensor, ``None`` for one scale.
    """

    dtype: ir.DataType
    scale: np.ndarray
    zero: np.ndarray
    axis: int | None = None

    def quantise(self, array: np.ndarray) -> np.ndarray:
        """A constant in the integer type."""
        low, high = INTEGER_LIMITS[self.dtype]
        shape = [1] * array.ndim
        if self.axis is not None:
            shape[self.axis] = array.shape[self.axis]
        scale, zero = self.scale.reshape(shape), self.zero.astype(np.float64).reshape(shape)
        with np.errstate(over="ignore"):
            real = np.nan_to_num(array.astype(np.float64)) / scale
        return np.asarray(np.clip(np.rint(real) + zero, low, high)).astype(self.dtype.numpy())


def scheme(
    dtype: ir.DataType, low: np.ndarray, high: np.ndarray, *, symmetric: bool, axis: int | None
) -> QuantisationScheme:
    """The scheme that just covers ``[low, high]`` and zero; symmetric ones have zero in the middle of the type."""
    least, most = INTEGER_LIMITS[dtype]
    low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    if symmetric:
        top = np.maximum(-low, high)
        middle = 0 if least < 0 else (most + 1) // 2
        scale = top / (most - middle)
        zero = np.full(scale.shape, float(middle))
    else:
        scale = (high - low) / (most - least)
        scale = np.where((scale > _LEAST) & (scale < _MOST), scale, 1.0)
        zero = np.clip(np.rint(least - low / scale), least, most)
    scale = np.where((scale > _LEAST) & (scale < _MOST), scale, 1.0)
    return QuantisationScheme(dtype, np.asarray(scale, np.float32), np.asarray(zero).astype(dtype.numpy()), axis)


def of_constant(array: np.ndarray, dtype: ir.DataType, *, symmetric: bool, axis: int | None) -> QuantisationScheme:
    """The scheme for the measured range of a constant; NaN and infinities do not count."""
    finite = np.where(np.isfinite(array), array, 0).astype(np.float64)
    axes = None if axis is None else tuple(i for i in range(array.ndim) if i != axis)
    low = np.asarray(finite.min(axis=axes, initial=0.0))
    high = np.asarray(finite.max(axis=axes, initial=0.0))
    return scheme(dtype, low, high, symmetric=symmetric, axis=axis)


def of_value(
    program: Program,
    value: ir.Value,
    dtype: ir.DataType,
    choices: Choices,
    *,
    symmetric: bool,
    axis: int | None = None,
) -> QuantisationScheme:
    """The scheme for a computed value: for its known range, else for an assumed magnitude."""
    fact = program.tensor(value)
    count = 1
    if axis is not None and fact is not None and fact.shape is not None:
        size = fact.shape[axis]
        count = size if type(size) is int else 1
    shape = () if axis is None else (count,)
    if fact is not None and fact.low is not None and fact.high is not None and _usable(fact.low, fact.high):
        low, high = np.full(shape, fact.low), np.full(shape, fact.high)
    else:
        high = np.full(shape, choices.pick(ASSUMED))
        if axis is not None:
            high = high * np.random.default_rng(choices.seed()).uniform(0.5, 1.5, shape)
        low = -high
    return scheme(dtype, low, high, symmetric=symmetric, axis=axis)


def _usable(low: float, high: float) -> bool:
    return math.isfinite(low) and math.isfinite(high) and 0 < high - low < _MOST


def parameters(inserter: Inserter, plan: QuantisationScheme) -> tuple[ir.Value, ir.Value]:
    """Constants for scale and zero point."""
    return inserter.constant(plan.scale, "scale"), inserter.constant(plan.zero, "zero_point")


def quantise(
    inserter: Inserter, value: ir.Value, plan: QuantisationScheme, scale: ir.Value, zero: ir.Value
) -> ir.Value:
    """``QuantizeLinear``."""
    attrs = {} if plan.axis is None else {"axis": plan.axis}
    return inserter.value("QuantizeLinear", value, scale, zero, **attrs)


def dequantise(
    inserter: Inserter, value: ir.Value, plan: QuantisationScheme, scale: ir.Value, zero: ir.Value | None
) -> ir.Value:
    """``DequantizeLinear``."""
    attrs = {} if plan.axis is None else {"axis": plan.axis}
    given = [value, scale] if zero is None else [value, scale, zero]
    return inserter.value("DequantizeLinear", *given, **attrs)
