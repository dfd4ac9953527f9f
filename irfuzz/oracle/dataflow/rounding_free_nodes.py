"""Which nodes round nothing: what is exact before them is exact behind them, and decides ties as ONNX's rules say."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.facts import tensors_in
from irfuzz.oracle.numeric.dtype_thresholds import is_float, resolution
from irfuzz.oracle.value_structure import numpy_dtype
from irfuzz.spec import has_trait

if TYPE_CHECKING:
    import numpy as np

    from irfuzz.ir.program import Program


def rounds_nothing(program: Program, node: ir.Node) -> bool:
    """Whether a node deals with no floats, copies them, or chooses among them.

    Casts do if the new type has room for all digits of the old one.
    """
    before, after = ([_dtype(program, v) for v in values if v is not None] for values in (node.inputs, node.outputs))
    if has_trait(node, "casts"):
        source, to = before[0], after[0]
        return source is not None and to is not None and (not is_float(to) or _digits(source) <= _digits(to))
    if has_trait(node, "copies") or has_trait(node, "bit_exact") or has_trait(node, "chooses"):
        return True
    return all(dtype is not None and not is_float(dtype) for dtype in (*before, *after))


def _digits(dtype: np.dtype) -> int:
    """Bits of the numbers of a type, without zeros at the end."""
    if dtype.kind == "b":
        return 1
    if dtype.kind in "iu":
        return 8 * dtype.itemsize
    return 1 - round(math.log2(resolution(dtype))) if is_float(dtype) else 1 << 10


def _dtype(program: Program, value: ir.Value) -> np.dtype | None:
    fact = tensors_in(program.fact(value))
    kind = fact.dtype if fact is not None else value.dtype
    return None if kind is None or kind is ir.DataType.UNDEFINED else numpy_dtype(kind)
