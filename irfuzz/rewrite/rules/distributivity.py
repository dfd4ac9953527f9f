"""Multiplies a sum out, and takes a common factor out of a sum of products."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.mutate.editing.mutation_sites import tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.rewrite.node_operands import FLOATS, pair
from irfuzz.rewrite.rewrite_rule import Exactness, Rewrite
from irfuzz.rewrite.rule_builders import rewrite_nodes

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

_WHOLE = (ir.DataType.INT32, ir.DataType.INT64)
_SUMS = ("Add", "Sub")


def _made_by(program: Program, value: ir.Value, ops: tuple[str, ...]) -> ir.Node | None:
    """The node of the main graph that computes a value, if it is one of ``ops``."""
    node = value.producer()
    if node is None or node.graph is not program.graph or node.op_type not in ops or node.domain not in ("", "ai.onnx"):
        return None
    return node


def _summed(program: Program, node: ir.Node) -> list[int]:
    """Places of the factors that are sums."""
    return [place for place, factor in enumerate(pair(node)) if _made_by(program, factor, _SUMS) is not None]


def _of_sum(kinds: tuple[ir.DataType, ...]):
    def fits(program: Program, node: ir.Node) -> bool:
        return tensor_fact(program, pair(node)[0]).dtype in kinds and bool(_summed(program, node))

    return fits


def _distributed(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    place = choices.pick(_summed(inserter.program, node))
    factors = pair(node)
    inner = factors[place].producer()
    assert inner is not None
    other = factors[1 - place]
    parts = [inserter.value("Mul", *((v, other) if place == 0 else (other, v))) for v in pair(inner)]
    return inserter.value(inner.op_type, *parts)


def _common(program: Program, node: ir.Node) -> tuple[ir.Value, ir.Value, ir.Value] | None:
    """``a``, ``b``, ``c`` of ``a * b + a * c``."""
    one, other = (_made_by(program, v, ("Mul",)) for v in pair(node))
    if one is None or other is None:
        return None
    for left, b in (pair(one), pair(one)[::-1]):
        for right, c in (pair(other), pair(other)[::-1]):
            if left is right:
                return left, b, c
    return None


def _shared(program: Program, node: ir.Node) -> bool:
    return tensor_fact(program, pair(node)[0]).dtype in FLOATS and _common(program, node) is not None


def _factored(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    found = _common(inserter.program, node)
    assert found is not None
    a, b, c = found
    return inserter.value("Mul", a, inserter.value(node.op_type, b, c))


def _product_of_sum(program: Program, node: ir.Node) -> bool:
    a, b = pair(node)
    inner = _made_by(program, a, _SUMS)
    if inner is None or tensor_fact(program, a).dtype not in FLOATS or tensor_fact(program, b).rank != 2:
        return False
    shapes = {tensor_fact(program, v).static_shape for v in pair(inner)}
    return len(shapes) == 1 and None not in shapes and len(next(iter(shapes)) or ()) >= 2


def _products(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    a, b = pair(node)
    inner = a.producer()
    assert inner is not None
    return inserter.value(inner.op_type, *(inserter.value("MatMul", v, b) for v in pair(inner)))


def _scale(program: Program, value: ir.Value) -> tuple[ir.Value, ir.Value] | None:
    """The tensor and the scalar of a product of both."""
    inner = _made_by(program, value, ("Mul",))
    if inner is None:
        return None
    for x, factor in (pair(inner), pair(inner)[::-1]):
        if tensor_fact(program, factor).rank == 0 and (tensor_fact(program, x).rank or 0) >= 2:
            return x, factor
    return None


def _scaled(program: Program, node: ir.Node) -> bool:
    a, _ = pair(node)
    return tensor_fact(program, a).dtype in FLOATS and _scale(program, a) is not None


def _scaled_after(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    a, b = pair(node)
    found = _scale(inserter.program, a)
    assert found is not None
    return inserter.value("Mul", inserter.value("MatMul", found[0], b), found[1])


B, BOUNDED = Exactness.BITWISE, Exactness.BOUNDED
REWRITES: tuple[Rewrite, ...] = (
    rewrite_nodes("distribute", BOUNDED, "a * (b + c) -> a * b + a * c", ("Mul",), _distributed, _of_sum(FLOATS)),
    rewrite_nodes(
        "distribute-integers", B, "a * (b + c) -> a * b + a * c, modulo 2**n", ("Mul",), _distributed, _of_sum(_WHOLE)
    ),
    rewrite_nodes("factor-out", BOUNDED, "a * b + a * c -> a * (b + c)", _SUMS, _factored, _shared),
    rewrite_nodes("product-of-sum", BOUNDED, "(a + b) @ w -> a @ w + b @ w", ("MatMul",), _products, _product_of_sum),
    rewrite_nodes("scale-after-product", BOUNDED, "(c * a) @ w -> c * (a @ w)", ("MatMul",), _scaled_after, _scaled),
)
