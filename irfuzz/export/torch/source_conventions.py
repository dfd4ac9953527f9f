"""What generated PyTorch source looks like."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.framework_description import FrameworkDescription
from irfuzz.export.torch.emitter_table import EMITTERS

DTYPES: dict[ir.DataType, str] = {
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

WIDE_UNSIGNED = frozenset({ir.DataType.UINT16, ir.DataType.UINT32, ir.DataType.UINT64})
"""Types for which torch has storage but almost no arithmetic."""

FORMS = {
    "all_true": "torch.ones_like({x}, dtype=torch.bool)",
    "concat": "torch.cat({parts}, {axis})",
    "erf": "torch.erf",
    "integer": "int({x})",
    "isinf": "torch.isinf",
    "matmul": "{a} @ {b}",
    "permute": "{x}.permute({perm})",
    "relu": "torch.relu",
    "reshape": "{x}.reshape({shape})",
    "reverse_axes": "{x}.permute(tuple(reversed(range({x}.dim()))))",
    "scalar": "torch.tensor({value})",
    "select": "{x}.select({axis}, {place})",
    "shape": "torch.tensor({x}.shape{part}, dtype=torch.int64)",
    "size": "torch.tensor({x}.numel(), dtype=torch.int64)",
    "split": "{x}.split({sizes}, {axis})",
    "stack": "torch.stack({parts}, {axis})",
    "tensor": "torch.tensor({value}, dtype={dtype})",
    "zeros": "torch.zeros({shape}, dtype={dtype})",
}

TORCH = FrameworkDescription(
    component="torch",
    title="PyTorch",
    support="irfuzz.export.torch.support",
    imports=(("", "import torch"), ("F.", "import torch.nn.functional as F")),
    reserved=frozenset({"torch", "F"}),
    dtypes=DTYPES,
    plain=frozenset(DTYPES) - WIDE_UNSIGNED - {ir.DataType.BOOL},
    forms=FORMS,
    emitters=EMITTERS,
    run=(
        "    with torch.inference_mode():",
        "        outputs = forward(*tensors(arrays, inputs))",
        "        return {name: to_array(value) for name, value in outputs.items()}",
    ),
)
