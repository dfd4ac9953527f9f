"""Exchanges a movement of elements with the element-wise operator before or behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.mutate.editing.mutation_sites import tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.rewrite.node_operands import operand
from irfuzz.rewrite.rewrite_rule import Exactness, Rewrite
from irfuzz.rewrite.rule_builders import rewrite_nodes

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

UNARY = frozenset(
    {
        *("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Cos", "Cosh", "Elu", "Erf", "Exp"),
        *("Floor", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Mish", "Neg", "Not", "Reciprocal", "Relu"),
        *("Round", "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Tan", "Tanh"),
        "ThresholdedRelu",
    }
)
"""Operators of one input that treat all elements alike."""

MOVEMENTS = frozenset({"Transpose", "Reshape", "Slice", "Squeeze", "Unsqueeze", "Flatten", "Gather", "Expand", "Tile"})
"""Operators whose output's elements are elements of the first input."""


def _behind(program: Program, node: ir.Node, ops: frozenset[str]) -> ir.Node | None:
    """The node that computes the first input, if it is one of ``ops``."""
    inner = operand(node).producer()
    if inner is None or inner.graph is not program.graph or inner.op_type not in ops or not inner.inputs:
        return None
    if inner.domain not in ("", "ai.onnx") or inner.inputs[0] is None:
        return None
    fact = program.tensor(inner.inputs[0])
    return inner if fact is not None and fact.is_static else None


def _moved_layer(program: Program, node: ir.Node) -> bool:
    return _behind(program, node, UNARY) is not None


def _layered_movement(program: Program, node: ir.Node) -> bool:
    return _behind(program, node, MOVEMENTS) is not None


def _exchanged(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    """``outer(inner(x))`` as ``inner(outer(x))``; further inputs stay with their operator."""
    program, inner = inserter.program, operand(node).producer()
    assert inner is not None
    outer = inserter.node(node.op_type, [inner.inputs[0], *node.inputs[1:]], program.attrs(node)).outputs[0]
    return inserter.node(inner.op_type, [outer, *inner.inputs[1:]], program.attrs(inner)).outputs[0]


def _joined(program: Program, node: ir.Node) -> bool:
    return _behind(program, node, frozenset({"Concat"})) is not None


def _each_part(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    program, join = inserter.program, operand(node).producer()
    assert join is not None
    parts = [inserter.node(node.op_type, [v], program.attrs(node)).outputs[0] for v in join.inputs]
    return inserter.node("Concat", parts, program.attrs(join)).outputs[0]


def _batched(program: Program, node: ir.Node) -> bool:
    shape = tensor_fact(program, operand(node)).static_shape or ()
    return len(shape) >= 2 and shape[0] >= 2


def _in_batches(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    program, x = inserter.program, operand(node)
    size = (inserter.fact(x).static_shape or (2,))[0]
    cut = choices.integer(1, size - 1)
    parts: list[ir.Value] = []
    for start, end in ((0, cut), (cut, size)):
        part = inserter.slice(x, [0], [start], [end])
        parts.append(inserter.node(node.op_type, [part, *node.inputs[1:]], program.attrs(node)).outputs[0])
    return inserter.value("Concat", *parts, axis=0)


def _images(program: Program, node: ir.Node) -> bool:
    return _batched(program, node) and (tensor_fact(program, operand(node)).rank or 0) >= 3


def _rows(program: Program, node: ir.Node) -> bool:
    if not _batched(program, node):
        return False
    if node.op_type == "MatMul":
        return node.inputs[1] is not None and tensor_fact(program, node.inputs[1]).rank == 2
    offset = node.inputs[2] if len(node.inputs) > 2 else None
    rows = () if offset is None else (tensor_fact(program, offset).static_shape or ())
    return not program.attrs(node).get("transA", 0) and (len(rows) < 2 or rows[0] == 1)


_BATCHED = ("Conv", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LRN", "DepthToSpace")
REWRITES: tuple[Rewrite, ...] = (
    rewrite_nodes(
        "movement-first", Exactness.BOUNDED, "move(f(x)) -> f(move(x))", MOVEMENTS, _exchanged, _moved_layer
    ),
    rewrite_nodes(
        "movement-last", Exactness.BOUNDED, "f(move(x)) -> move(f(x))", UNARY, _exchanged, _layered_movement
    ),
    rewrite_nodes(
        "concat-last", Exactness.BOUNDED, "f(Concat(a, b)) -> Concat(f(a), f(b))", UNARY, _each_part, _joined
    ),
    rewrite_nodes(
        "split-batch", Exactness.BOUNDED, "f(x) -> Concat(f(x[:k]), f(x[k:]))", _BATCHED, _in_batches, _images, eagle=15
    ),
    rewrite_nodes(
        "split-rows", Exactness.BOUNDED, "x @ w -> Concat(x[:k] @ w, x[k:] @ w)", ("MatMul", "Gemm"), _in_batches,
        _rows, eagle=15,
    ),
)  # fmt: skip
