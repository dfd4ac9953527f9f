"""Types that an operator is computed in beside those of its values, which narrow its results."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import onnx_ir as ir
from onnx import AttributeProto

from irfuzz.ir.inference.call_output_types import schema_of
from irfuzz.ir.program import Program
from irfuzz.spec import has_trait

STAGES = ("stash_type", "softmax_precision", "precision")
"""Attributes that name a type: LayerNormalization-17, GroupNormalization-21, Attention-23, QuantizeLinear-23."""

_FLOATS = frozenset({ir.DataType.FLOAT, ir.DataType.DOUBLE, ir.DataType.FLOAT16, ir.DataType.BFLOAT16})


def stages_of(program: Program, node: ir.Node) -> frozenset[ir.DataType]:
    """Floating-point types of stages, given or by default; single precision if a default is a rounded decimal.

    ONNX's text says that an epsilon left out is 1e-05, its schema holds the nearest single number: doubles may be
    computed with either. So may they if the function that ONNX gives for an operator starts by casting an input to a
    narrower type (windows in single precision, whatever type is asked for).
    """
    opset = program.inference.opset(node.domain)
    found: set[ir.DataType] = set()
    for name, default in _named(node.op_type, opset, node.domain):
        attr = node.attributes.get(name)
        kind = ir.DataType(default if attr is None else attr.as_int())
        if kind in _FLOATS:
            found.add(kind)
    if any(name not in node.attributes for name in _rounded(node.op_type, opset, node.domain)):
        found.add(ir.DataType.FLOAT)
    found |= _cast_inside(node.op_type, opset, node.domain)
    return frozenset(found)


@lru_cache(maxsize=4096)
def _named(op: str, opset: int, domain: str) -> tuple[tuple[str, int], ...]:
    schema = schema_of(op, opset, domain)
    if schema is None:
        return ()
    return tuple((n, int(schema.attributes[n].default_value.i)) for n in STAGES if n in schema.attributes)


@lru_cache(maxsize=4096)
def _rounded(op: str, opset: int, domain: str) -> tuple[str, ...]:
    """Attributes whose default is no number of single precision; momentum has no part in inference."""
    schema = schema_of(op, opset, domain)
    if schema is None:
        return ()
    defaults = {name: attr.default_value for name, attr in schema.attributes.items()}
    singles = {name: np.float32(d.f) for name, d in defaults.items() if d.type == AttributeProto.FLOAT}
    rounded = (
        name for name, single in singles.items() if abs(single) < 1 << 24 and float(str(single)) != float(single)
    )
    return tuple(name for name in rounded if name != "momentum")


@lru_cache(maxsize=4096)
def _cast_inside(op: str, opset: int, domain: str) -> frozenset[ir.DataType]:
    """Floating-point types that an operator's function casts inputs to, and does not take from an attribute."""
    schema = schema_of(op, opset, domain)
    function = None if schema is None else schema.function_body
    if function is None:
        return frozenset()
    casts = (n for n in function.node if has_trait(n, "casts") and n.input[0] in function.input)
    kinds = {ir.DataType(a.i) for n in casts for a in n.attribute if a.name == "to" and not a.ref_attr_name}
    return frozenset(kinds & _FLOATS)
