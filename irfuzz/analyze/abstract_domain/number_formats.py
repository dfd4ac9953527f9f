"""The numbers that bound the arithmetic of an element type."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import onnx_ir as ir


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """A number format.

    Attributes:
        biggest: largest finite number (DEBAR's Mf).
        lowest: smallest finite number, ``-biggest`` for floating point.
        smallest: smallest positive number, subnormal ones included (DEBAR's mf).
        eps: distance from 1 to the next number; 0 for integers.
        floating: has NaN and infinities.
        code: of ``struct``, if that knows the format; empty else.
        name: of the element type as ONNX spells it; empty if the format stands for several.
    """

    biggest: float
    lowest: float
    smallest: float
    eps: float
    floating: bool
    code: str = ""
    name: str = ""

    def below(self, x: float) -> float:
        """The largest number of the format that is not above ``x``; ``x`` must be finite and within the format."""
        return -self.above(-x)

    def above(self, x: float) -> float:
        """The smallest number of the format that is not below ``x``; ``x`` must be finite and within the format.

        A format that ``struct`` does not know (bfloat16, integers) gives a number a little further up instead, never
        one below ``x``.
        """
        if not self.code:
            return x + self.eps * abs(x) + (self.smallest if x else 0.0)
        packed = struct.pack(self.code, x)
        near = struct.unpack(self.code, packed)[0]
        if near >= x:
            return near
        kind = _WORDS[self.code]
        (word,) = struct.unpack(kind, packed)
        return struct.unpack(self.code, struct.pack(kind, word + 1 if near >= 0 else word - 1))[0]


_WORDS = {"<e": "<H", "<f": "<I", "<d": "<Q"}


def _floating(dtype: type, name: str, code: str = "") -> NumberFormat:
    info = ml_dtypes.finfo(dtype)
    ends = float(info.max), float(info.min), float(info.smallest_subnormal)
    return NumberFormat(*ends, float(info.eps), floating=True, code=code, name=name)


def _integer(dtype: ir.DataType) -> NumberFormat:
    bits, signed = dtype.bitwidth, dtype.is_signed()
    biggest = 2.0 ** (bits - 1) - 1 if signed else 2.0**bits - 1
    return NumberFormat(biggest, -(2.0 ** (bits - 1)) if signed else 0.0, 1.0, 0.0, floating=False)


_FORMATS: Mapping[ir.DataType, NumberFormat] = {
    ir.DataType.FLOAT: _floating(np.float32, "float", "<f"),
    ir.DataType.DOUBLE: _floating(np.float64, "double", "<d"),
    ir.DataType.FLOAT16: _floating(np.float16, "float16", "<e"),
    ir.DataType.BFLOAT16: _floating(ml_dtypes.bfloat16, "bfloat16"),
    ir.DataType.BOOL: NumberFormat(1.0, 0.0, 1.0, 0.0, floating=False),
    **{
        kind: _integer(kind)
        for kind in ir.DataType
        if kind.is_integer() and kind not in (ir.DataType.UNDEFINED, ir.DataType.BOOL)
    },
}

SINGLE = _FORMATS[ir.DataType.FLOAT]
"""What half types are often computed in."""

ROUGH = NumberFormat(math.inf, -math.inf, 1.0, 0.5, floating=True)
"""For float8 and float4: values are within half of what they should be, or 1."""

ANYTHING = NumberFormat(math.inf, -math.inf, 5e-324, 2.0**-52, floating=True)
"""For element types that the analysis does not follow (float8, complex, strings): every number, and no overflow."""


def format_of(dtype: ir.DataType | None) -> NumberFormat:
    """The format of an element type of ONNX.

    Floating-point types of 8 bits and fewer share ``ROUGH``. Complex numbers, strings, and ``None`` for an unknown type
    give ``ANYTHING``, in which nothing overflows.
    """
    if dtype is None:
        return ANYTHING
    known = _FORMATS.get(dtype)
    return known if known is not None else ROUGH if dtype.is_floating_point() else ANYTHING
