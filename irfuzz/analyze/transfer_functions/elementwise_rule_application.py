"""Makes an operator's rule for one cell into a transfer function that aligns operands and applies it to all cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import onnx_ir as ir

from irfuzz.analyze.abstract_domain.number_formats import NumberFormat
from irfuzz.analyze.abstract_domain.partitioned_tensor import Partition, Tensor
from irfuzz.analyze.transfer_functions.analysis_context import AnalysisContext, Inputs, Transfer
from irfuzz.analyze.transfer_functions.unary_functions import UNARY

Rule: TypeAlias = Callable[[AnalysisContext, ir.Node, Sequence[Partition], NumberFormat], Partition]


def elementwise(rule: Rule) -> Transfer:
    """The transfer function of an operator that broadcasts its inputs and works on each element alone.

    Args:
        rule: gives one partition of the result from one of each input. Absent inputs are left out, so it cannot tell
            which of them are missing.
    """

    def transfer(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
        return [apply(ctx, node, [t for t in inputs if t is not None], rule)]

    return transfer


def apply(ctx: AnalysisContext, node: ir.Node, operands: Sequence[Tensor], rule: Rule) -> Tensor:
    """The rule for each cell of the common grid, put together as the node's first output.

    Args:
        ctx: gives shape, type and format of that output.
        node: the call.
        operands: are broadcast to the output's shape and cut alike.
        rule: is called once for each cell, with a partition of each operand.
    """
    shape, dtype, form = ctx.shape(node), ctx.dtype(node), ctx.format(node)
    if len(operands) == 1 and len(operands[0].cuts) != len(shape or ()):  # a rank that is known on one side only
        operands = [ctx.grid.plain(operands[0].dtype, shape, operands[0].range)]
    if len(operands) == 1 or all(t.whole and t.shape == shape for t in operands):
        columns = [t.parts for t in operands]
        parts = tuple(rule(ctx, node, cell, form) for cell in zip(*columns, strict=True))
        return Tensor(dtype, shape, operands[0].cuts, parts)
    cuts, found = ctx.grid.aligned(operands, shape)
    parts = tuple(rule(ctx, node, cell, form) for cell in zip(*found, strict=True))
    return Tensor(dtype, shape, cuts, parts)


def unary(op: str) -> Rule:
    """The rule of an operator that is a function of one number, from the table ``UNARY``.

    Args:
        op: name of the operator.

    Raises:
        KeyError: the table does not have it.
    """
    function = UNARY[op]

    def rule(ctx: AnalysisContext, node: ir.Node, parts: Sequence[Partition], form: NumberFormat) -> Partition:
        (part,) = parts
        return ctx.related(node, parts, function(part.range, lambda name: ctx.attr(node, name), form))

    return rule


def identity(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """Identity, and Dropout's first output if it does nothing: the input itself, with its partitions, relations and
    constant elements.
    """
    assert inputs[0] is not None
    return [inputs[0]]
