"""Types in which an operator computes on the way: a node enters, the types that it names leave."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from irfuzz.ir.calls import schema_of
from irfuzz.ir.program import Program
from irfuzz.oracle.numbers import is_float
from irfuzz.oracle.shapes import numpy_dtype

STAGES = ("stash_type", "softmax_precision", "precision")
"""Attributes that name such a type: LayerNormalization-17, GroupNormalization-21, Attention-23, QuantizeLinear-23."""


def stages_of(program: Program, node: ir.Node) -> frozenset[np.dtype]:
    """Floating-point types of the stages, given or by default; a result is no better than the narrowest of them."""
    schema = schema_of(node.op_type, program.inference.opset(node.domain) or 0, node.domain)
    found: set[np.dtype] = set()
    for name in STAGES if schema is not None else ():
        declared = schema.attributes.get(name)  # type: ignore[union-attr]
        if declared is None:
            continue
        attr = node.attributes.get(name)
        kind = int(declared.default_value.i) if attr is None else attr.as_int()
        if kind in _KINDS:
            found.add(_KINDS[kind])
    return frozenset(found)


_KINDS = {int(d): numpy_dtype(d) for d in ir.DataType if d != ir.DataType.UNDEFINED and is_float(numpy_dtype(d))}
