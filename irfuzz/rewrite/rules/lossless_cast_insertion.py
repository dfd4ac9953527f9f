"""Passes a value through a wider type, or through codes, that holds every element exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.mutate.editing.mutation_sites import tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.rewrite.node_operands import operand
from irfuzz.rewrite.rewrite_rule import Exactness, Rewrite
from irfuzz.rewrite.rule_builders import rewrite_nodes, rewrite_values

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

_D = ir.DataType

WIDER: dict[ir.DataType, tuple[ir.DataType, ...]] = {
    _D.FLOAT: (_D.DOUBLE,),
    _D.FLOAT16: (_D.FLOAT, _D.DOUBLE),
    _D.INT8: (_D.INT32, _D.INT64, _D.FLOAT),
    _D.UINT8: (_D.INT32, _D.INT64, _D.FLOAT),
    _D.INT32: (_D.INT64, _D.DOUBLE),
    _D.BOOL: (_D.INT32, _D.FLOAT, _D.UINT8),
}
"""Types that hold every element."""

NARROWER: dict[ir.DataType, tuple[ir.DataType, ...]] = {
    _D.INT64: (_D.INT32, _D.INT16, _D.INT8, _D.UINT8, _D.DOUBLE, _D.FLOAT),
    _D.INT32: (_D.INT16, _D.INT8, _D.UINT8, _D.FLOAT),
    _D.UINT8: (_D.INT8,),
}
"""Types that hold the elements if these are small enough."""

_WHOLE = {_D.DOUBLE: 2**53, _D.FLOAT: 2**24}
"""Up to which magnitude a type holds all integers."""

_COMPARE = frozenset({"Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"})
_EXACT = frozenset({"Neg", "Abs", "Floor", "Ceil", "Relu"})
_ARITHMETIC = frozenset({"Add", "Sub", "Mul", "Div"})


def _there_and_back(inserter: Inserter, value: ir.Value, choices: Choices) -> ir.Value:
    kind = inserter.fact(value).dtype
    return inserter.cast(inserter.cast(value, choices.pick(WIDER[kind])), kind)


def _holding(fact: TensorFact) -> list[ir.DataType]:
    """The narrower types that hold every element, as far as its range is known."""
    if fact.low is None or fact.high is None:
        return []
    ends = {k: (-_WHOLE[k], _WHOLE[k]) if k in _WHOLE else _ends(k) for k in NARROWER.get(fact.dtype, ())}
    return [kind for kind, (low, high) in ends.items() if low <= fact.low and fact.high <= high]


def _ends(kind: ir.DataType) -> tuple[int, int]:
    info = np.iinfo(kind.numpy())
    return int(info.min), int(info.max)


def _through_narrower(inserter: Inserter, value: ir.Value, choices: Choices) -> ir.Value:
    fact = inserter.fact(value)
    return inserter.cast(inserter.cast(value, choices.pick(_holding(fact))), fact.dtype)


_INDEX = {"Gather": 1, "GatherElements": 1, "ScatterElements": 1, "OneHot": 0}
"""Operators whose indices may be of either type, and the input that holds them."""


def _long_indices(program: Program, node: ir.Node) -> bool:
    """Indices lie within an axis, and so in 32 bits; those of OneHot may be anything, and only the rest of a division
    counts.
    """
    index = tensor_fact(program, operand(node, _INDEX[node.op_type]))
    if index.dtype is not _D.INT64:
        return False
    return node.op_type != "OneHot" or _D.INT32 in _holding(index)


def _short_indices(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    place = _INDEX[node.op_type]
    given = [inserter.cast(operand(node, i), _D.INT32) if i == place else v for i, v in enumerate(node.inputs)]
    return inserter.node(node.op_type, given, inserter.program.attrs(node)).outputs[0]


def _wide(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    first = operand(node)
    wide = choices.pick([k for k in WIDER[inserter.fact(first).dtype] if k in (_D.DOUBLE, _D.INT64)])
    given = [inserter.cast(v, wide) for v in node.inputs if v is not None]
    result = inserter.value(node.op_type, *given)
    kind = inserter.fact(node.outputs[0]).dtype
    return result if inserter.fact(result).dtype is kind else inserter.cast(result, kind)


def _narrow(*kinds: ir.DataType):
    def fits(program: Program, node: ir.Node) -> bool:
        return all(v is not None and tensor_fact(program, v).dtype in kinds for v in node.inputs)

    return fits


def _codes(inserter: Inserter, value: ir.Value, choices: Choices) -> ir.Value:
    """A power of two as scale: the product and the quotient are exact, so rounding finds the integer itself."""
    fact = inserter.fact(value)
    scale = inserter.scalar(2.0 ** choices.integer(-6, 2), _D.FLOAT)
    zero = inserter.scalar(choices.integer(0, 127), fact.dtype)
    decoded = inserter.value("DequantizeLinear", value, scale, zero)
    return inserter.value("QuantizeLinear", decoded, scale, zero)


def _eight_bits(fact: TensorFact) -> bool:
    return fact.dtype in (_D.INT8, _D.UINT8)


B = Exactness.BITWISE
REWRITES: tuple[Rewrite, ...] = (
    rewrite_values(
        "cast-and-back", B, "x -> Cast(Cast(x to a wider type))", _there_and_back, lambda f: f.dtype in WIDER, eagle=12
    ),
    rewrite_values(
        "cast-narrower", B, "x -> Cast(Cast(x to a narrower type that holds its range))", _through_narrower,
        lambda f: bool(_holding(f)), eagle=12,
    ),
    rewrite_nodes(
        "indices-narrower", B, "int64 indices -> int32 indices", _INDEX, _short_indices, _long_indices, eagle=12
    ),
    rewrite_nodes(
        "compare-wider", B, "a < b -> wide(a) < wide(b)", _COMPARE, _wide, _narrow(_D.FLOAT, _D.INT32), eagle=12
    ),
    rewrite_nodes("exact-wider", B, "f(x) -> narrow(f(wide(x)))", _EXACT, _wide, _narrow(_D.FLOAT), eagle=12),
    rewrite_nodes(
        "arithmetic-wider", Exactness.BOUNDED, "a + b -> narrow(wide(a) + wide(b))", _ARITHMETIC, _wide,
        _narrow(_D.FLOAT), eagle=12,
    ),
    rewrite_values(
        "decode-encode", B, "q -> QuantizeLinear(DequantizeLinear(q)), scale a power of 2", _codes, _eight_bits,
        since=10, eagle=13,
    ),
)  # fmt: skip
