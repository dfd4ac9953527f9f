"""Passes a value through a wider type, or through codes, that holds every element exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.mutate.insert import Inserter
from irfuzz.mutate.sites import tensor_fact
from irfuzz.rewrite.forms import rewrite_nodes, rewrite_values
from irfuzz.rewrite.operands import operand
from irfuzz.rewrite.types import Exactness, Rewrite

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

_COMPARE = frozenset({"Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"})
_EXACT = frozenset({"Neg", "Abs", "Floor", "Ceil", "Relu"})
_ARITHMETIC = frozenset({"Add", "Sub", "Mul", "Div"})


def _there_and_back(inserter: Inserter, value: ir.Value, choices: Choices) -> ir.Value:
    kind = inserter.fact(value).dtype
    return inserter.cast(inserter.cast(value, choices.pick(WIDER[kind])), kind)


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
