"""Element-wise algebra: replaces nodes that treat elements alike by others of the same meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.mutate.editing.mutation_sites import tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.rewrite.node_operands import FLOATS
from irfuzz.rewrite.rewrite_rule import Exactness, Rewrite
from irfuzz.rewrite.rule_builders import rewrite_nodes

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

_MIRROR = {"Less": "Greater", "Greater": "Less", "LessOrEqual": "GreaterOrEqual", "GreaterOrEqual": "LessOrEqual"}


def _given(node: ir.Node) -> list[ir.Value]:
    return [v for v in node.inputs if v is not None]


def _float(program: Program, node: ir.Node) -> bool:
    return tensor_fact(program, _given(node)[0]).dtype in FLOATS


def _commuted(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    a, b = _given(node)
    return inserter.value(node.op_type, b, a)


def _mirrored(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    a, b = _given(node)
    return inserter.value(_MIRROR[node.op_type], b, a)


def _plus_negative(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    a, b = _given(node)
    return inserter.value("Add", a, inserter.value("Neg", b))


def _negative_product(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    a, b = (inserter.value("Neg", v) for v in _given(node))
    return inserter.value("Mul", a, b)


def _de_morgan(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    a, b = (inserter.value("Not", v) for v in _given(node))
    return inserter.value("Not", inserter.value("Or" if node.op_type == "And" else "And", a, b))


def _other_branch(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    mask, a, b = _given(node)
    return inserter.value("Where", inserter.value("Not", mask), b, a)


def _power_of_two(program: Program, node: ir.Node) -> bool:
    divisor = program.const_array(_given(node)[1])
    if divisor is None or not _float(program, node) or not divisor.size:
        return False
    fraction, exponent = np.frexp(divisor)
    return bool((np.abs(fraction) == 0.5).all() and (np.abs(exponent) < 64).all())


def _by_reciprocal(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    a, b = _given(node)
    divisor = inserter.program.const_array(b)
    assert divisor is not None
    return inserter.value("Mul", a, inserter.constant(np.asarray(1 / divisor, divisor.dtype), "reciprocal"))


def _chain(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    values = _given(node)
    while len(values) > 1:
        at = choices.index(len(values) - 1)
        values[at : at + 2] = [inserter.value("Add", *values[at : at + 2])]
    return values[0]


def _several(program: Program, node: ir.Node) -> bool:
    return len(_given(node)) > 1


def _reassociable(program: Program, node: ir.Node) -> bool:
    inner = _given(node)[0].producer()
    return (
        _float(program, node)
        and inner is not None
        and inner.graph is program.graph
        and inner.op_type == node.op_type
        and inner.domain in ("", "ai.onnx")
    )


def _reassociated(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    ab, c = _given(node)
    inner = ab.producer()
    assert inner is not None
    a, b = _given(inner)
    return inserter.value(node.op_type, a, inserter.value(node.op_type, b, c))


def _square(program: Program, node: ir.Node) -> bool:
    exponent = program.const_array(_given(node)[1])
    return _float(program, node) and exponent is not None and exponent.shape == () and float(exponent) == 2.0


def _by_itself(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    return inserter.value("Mul", _given(node)[0], _given(node)[0])


B, BOUNDED = Exactness.BITWISE, Exactness.BOUNDED
REWRITES: tuple[Rewrite, ...] = (
    rewrite_nodes("commute", B, "a + b -> b + a", ("Add", "Mul", "And", "Or", "Xor", "Equal"), _commuted),
    rewrite_nodes("mirror-comparison", B, "a < b -> b > a", _MIRROR, _mirrored),
    rewrite_nodes("subtract-as-add", B, "a - b -> a + (-b)", ("Sub",), _plus_negative, _float, needs=("Neg",)),
    rewrite_nodes("negate-factors", B, "a * b -> (-a) * (-b)", ("Mul",), _negative_product, _float, needs=("Neg",)),
    rewrite_nodes("de-morgan", B, "a and b -> not (not a or not b)", ("And", "Or"), _de_morgan),
    rewrite_nodes("swap-branches", B, "Where(c, a, b) -> Where(not c, b, a)", ("Where",), _other_branch),
    rewrite_nodes("divide-as-multiply", B, "x / 2**k -> x * 2**-k", ("Div",), _by_reciprocal, _power_of_two),
    rewrite_nodes("sum-as-adds", BOUNDED, "Sum(a, b, c) -> a + b + c", ("Sum",), _chain, _several),
    rewrite_nodes("reassociate", BOUNDED, "(a + b) + c -> a + (b + c)", ("Add", "Mul"), _reassociated, _reassociable),
    rewrite_nodes("square", BOUNDED, "Pow(x, 2) -> x * x", ("Pow",), _by_itself, _square),
)
