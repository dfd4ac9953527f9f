"""ONNX element types enter, the torch types that hold them exactly leave."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.errors import Unsupported

TORCH_NAMES: dict[ir.DataType, str] = {
    ir.DataType.FLOAT: "torch.float32",
    ir.DataType.DOUBLE: "torch.float64",
    ir.DataType.FLOAT16: "torch.float16",
    ir.DataType.BFLOAT16: "torch.bfloat16",
    ir.DataType.INT8: "torch.int8",
    ir.DataType.INT16: "torch.int16",
    ir.DataType.INT32: "torch.int32",
    ir.DataType.INT64: "torch.int64",
    ir.DataType.UINT8: "torch.uint8",
    ir.DataType.UINT16: "torch.uint16",
    ir.DataType.UINT32: "torch.uint32",
    ir.DataType.UINT64: "torch.uint64",
    ir.DataType.BOOL: "torch.bool",
}

FLOATS = frozenset({ir.DataType.FLOAT, ir.DataType.DOUBLE, ir.DataType.FLOAT16, ir.DataType.BFLOAT16})
WIDE_UNSIGNED = frozenset({ir.DataType.UINT16, ir.DataType.UINT32, ir.DataType.UINT64})
"""Types for which torch has storage but almost no arithmetic."""


def torch_dtype(dtype: ir.DataType | int, where: str) -> str:
    """The torch spelling of ``dtype``. Raises ``Unsupported`` naming ``where`` for types torch cannot compute in."""
    known = ir.DataType(dtype)
    if known not in TORCH_NAMES:
        raise Unsupported("torch", where, f"no exact torch arithmetic for element type {known.name}")
    return TORCH_NAMES[known]
