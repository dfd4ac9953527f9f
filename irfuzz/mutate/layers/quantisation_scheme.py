"""Scales, zero points and quantised constants of integer types for ranges of real numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import INTEGER_LIMITS

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
        """A new array of the integer type: rounded half to even, saturated. NaN becomes the zero point, infinities
        become the ends of the type.
        """
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
    """The scheme that just covers ``[low, high]`` and zero; symmetric ones have zero in the middle of the type.

    Args:
        dtype: one of ``INTEGER_LIMITS``.
        low: smallest number, of shape ``()`` or one for each index along ``axis``.
        high: largest number, of the same shape.
        symmetric: the zero point is 0 for signed types, and for others half of the range, rounded up.
        axis: of the tensor; ``None`` for one scale.
    """
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
    """The scheme for the measured range of a constant; NaN and infinities do not count.

    Args:
        array: the constant, of any numeric type.
        dtype: integer type.
        symmetric: as in ``scheme``.
        axis: that gets a scale for each index; ``None`` for one scale in all.
    """
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
    """The scheme for a computed value: for its known range, else for an assumed magnitude.

    Args:
        program: knows the value's range.
        value: the computed value.
        dtype: integer type.
        choices: draw a magnitude of ``ASSUMED`` if no range is known, which differs along ``axis``.
        symmetric: as in ``scheme``.
        axis: an axis, of known size, that gets a scale for each index.
    """
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
    """New constants for scale and zero point, in the program of the inserter, to be given to ``quantise`` and
    ``dequantise``.
    """
    return inserter.constant(plan.scale, "scale"), inserter.constant(plan.zero, "zero_point")


def quantise(
    inserter: Inserter, value: ir.Value, plan: QuantisationScheme, scale: ir.Value, zero: ir.Value
) -> ir.Value:
    """The result of a new ``QuantizeLinear``, which has the scheme's integer type.

    Args:
        inserter: at a place behind the value.
        value: a float tensor.
        plan: says the axis.
        scale: as ``parameters`` gives it.
        zero: likewise; its type is that of the result.
    """
    attrs = {} if plan.axis is None else {"axis": plan.axis}
    return inserter.value("QuantizeLinear", value, scale, zero, **attrs)


def dequantise(
    inserter: Inserter, value: ir.Value, plan: QuantisationScheme, scale: ir.Value, zero: ir.Value | None
) -> ir.Value:
    """The result of a new ``DequantizeLinear``, a float tensor.

    Args:
        inserter: at a place behind the value.
        value: a tensor of the scheme's integer type.
        plan: says the axis.
        scale: as ``parameters`` gives it.
        zero: likewise; ``None`` omits it, which stands for 0.
    """
    attrs = {} if plan.axis is None else {"axis": plan.axis}
    given = [value, scale] if zero is None else [value, scale, zero]
    return inserter.value("DequantizeLinear", *given, **attrs)
