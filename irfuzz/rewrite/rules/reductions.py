"""Reduces a transposed tensor, one axis after the other, or two halves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.mutate.editing.mutation_sites import tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.rewrite.node_operands import FLOATS, operand
from irfuzz.rewrite.rewrite_rule import Exactness, Rewrite
from irfuzz.rewrite.rule_builders import rewrite_nodes
from irfuzz.rewrite.rules.operator_decomposition import reduced_axes

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

_JOINED = {"ReduceSum": "Add", "ReduceProd": "Mul", "ReduceMax": "Max", "ReduceMin": "Min"}
"""Reductions of which those of two parts make that of the whole, and by which operator."""

_REDUCTIONS = ("ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", *_JOINED)


def _known(program: Program, node: ir.Node) -> bool:
    return tensor_fact(program, operand(node)).dtype in FLOATS and bool(reduced_axes(program, node))


def _movable(program: Program, node: ir.Node) -> bool:
    return _known(program, node) and (tensor_fact(program, operand(node)).rank or 0) >= 2


def _keeps(program: Program, node: ir.Node) -> bool:
    return bool(program.attrs(node).get("keepdims", 1))


def _transposed(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    program, x = inserter.program, operand(node)
    axes, rank = reduced_axes(program, node) or [], inserter.fact(x).rank or 0
    perm = choices.sample(range(rank), rank)
    moved = inserter.value("Transpose", x, perm=perm)
    result = inserter.reduce(node.op_type, moved, sorted(perm.index(a) for a in axes))
    back = inserter.value("Transpose", result, perm=[perm.index(i) for i in range(rank)])
    return back if _keeps(program, node) else inserter.squeeze(back, axes)


def _several(program: Program, node: ir.Node) -> bool:
    return _known(program, node) and len(reduced_axes(program, node) or ()) >= 2


def _stepwise(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    """The last axes first, so that those in front stay where they are."""
    axes, value = reduced_axes(inserter.program, node) or [], operand(node)
    cut = choices.integer(1, len(axes) - 1)
    keepdims = _keeps(inserter.program, node)
    for part in (axes[cut:], axes[:cut]):
        value = inserter.reduce(node.op_type, value, part, keepdims=keepdims)
    return value


def _long(program: Program, node: ir.Node) -> list[int]:
    shape = tensor_fact(program, operand(node)).static_shape or ()
    return [axis for axis in reduced_axes(program, node) or () if shape[axis] >= 2]


def _cuttable(program: Program, node: ir.Node) -> bool:
    return _known(program, node) and bool(_long(program, node))


def _halved(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    program, x = inserter.program, operand(node)
    axes, axis = reduced_axes(program, node) or [], choices.pick(_long(program, node))
    size = (inserter.fact(x).static_shape or ())[axis]
    cut = choices.integer(1, size - 1)
    parts = [
        inserter.reduce(node.op_type, inserter.slice(x, [axis], [start], [end]), axes, keepdims=_keeps(program, node))
        for start, end in ((0, cut), (cut, size))
    ]
    return inserter.value(_JOINED[node.op_type], *parts)


REWRITES: tuple[Rewrite, ...] = (
    rewrite_nodes(
        "reduce-transposed", Exactness.BOUNDED, "reduce(x) -> reduce(Transpose(x)), and back", _REDUCTIONS, _transposed,
        _movable,
    ),
    rewrite_nodes(
        "reduce-stepwise", Exactness.BOUNDED, "reduce(x, both axes) -> reduce(reduce(x, one), other)",
        ("ReduceMean", "ReduceL1", *_JOINED), _stepwise, _several,
    ),
    rewrite_nodes(
        "reduce-in-halves", Exactness.BOUNDED, "reduce(x) -> join(reduce(x[:k]), reduce(x[k:]))", _JOINED, _halved,
        _cuttable,
    ),
)  # fmt: skip
