"""Neutral elements and involutions: passes a value through an operator, or two, that give it back unchanged."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.rewrite.node_operands import FLOATS
from irfuzz.rewrite.rewrite_rule import Exactness, Rewrite
from irfuzz.rewrite.rule_builders import rewrite_values

_D = ir.DataType
_NUMBERS = (*FLOATS, _D.INT32, _D.INT64)


def _float(fact: TensorFact) -> bool:
    return fact.dtype in FLOATS


def _number(fact: TensorFact) -> bool:
    return fact.dtype in _NUMBERS


def _neutral(inserter: Inserter, value: ir.Value, number: float, choices: Choices) -> ir.Value:
    """The number as a scalar, or in the value's own shape."""
    fact = inserter.fact(value)
    if choices.boolean(0.7):
        return inserter.scalar(number, fact.dtype)
    return inserter.constant(np.full(fact.static_shape or (), number, fact.dtype.numpy()), "neutral")


def _times_one(inserter: Inserter, value: ir.Value, choices: Choices) -> ir.Value:
    one = _neutral(inserter, value, 1, choices)
    return inserter.value("Mul", *((value, one) if choices.boolean() else (one, value)))


def _over_one(inserter: Inserter, value: ir.Value, choices: Choices) -> ir.Value:
    return inserter.value("Div", value, _neutral(inserter, value, 1, choices))


def _minus_zero(inserter: Inserter, value: ir.Value, choices: Choices) -> ir.Value:
    return inserter.value("Sub", value, _neutral(inserter, value, 0, choices))


def _plus_negative_zero(inserter: Inserter, value: ir.Value, choices: Choices) -> ir.Value:
    # -0.0 + 0.0 is +0.0, so only a negative zero is neutral among floats.
    zero = _neutral(inserter, value, -0.0 if _float(inserter.fact(value)) else 0, choices)
    return inserter.value("Add", *((value, zero) if choices.boolean() else (zero, value)))


def _twice(op: str):
    def build(inserter: Inserter, value: ir.Value, choices: Choices) -> ir.Value:
        return inserter.value(op, inserter.value(op, value))

    return build


def _selected(inserter: Inserter, value: ir.Value, choices: Choices) -> ir.Value:
    fact = inserter.fact(value)
    shape = (fact.static_shape or ()) if choices.boolean() else ()
    truth = choices.boolean()
    mask = inserter.constant(np.full(shape, truth), "mask")
    other = _neutral(inserter, value, 3, choices)
    return inserter.value("Where", mask, *((value, other) if truth else (other, value)))


def _concat_alone(inserter: Inserter, value: ir.Value, choices: Choices) -> ir.Value:
    return inserter.value("Concat", value, axis=choices.index(inserter.fact(value).rank or 1))


B = Exactness.BITWISE
REWRITES: tuple[Rewrite, ...] = (
    rewrite_values("multiply-by-one", B, "x -> x * 1", _times_one, _number, needs=("Mul",)),
    rewrite_values("divide-by-one", B, "x -> x / 1", _over_one, _number, needs=("Div",)),
    rewrite_values("subtract-zero", B, "x -> x - 0", _minus_zero, _number, needs=("Sub",)),
    rewrite_values("add-zero", B, "x -> x + 0 (-0.0 for floats)", _plus_negative_zero, _number, needs=("Add",)),
    rewrite_values("negate-twice", B, "x -> -(-x)", _twice("Neg"), _float, needs=("Neg",)),
    rewrite_values("not-twice", B, "x -> not not x", _twice("Not"), lambda f: f.dtype is _D.BOOL),
    rewrite_values("identity", B, "x -> Identity(x)", lambda i, v, c: i.value("Identity", v), _number),
    rewrite_values("select-itself", B, "x -> Where(true, x, c)", _selected, _float, needs=("Identity",)),
    rewrite_values(
        "concat-alone", B, "x -> Concat(x)", _concat_alone, lambda f: _number(f) and bool(f.rank), needs=("Concat",)
    ),
)
