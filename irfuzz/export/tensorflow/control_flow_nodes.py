"""Local functions, and the calls that run them, for control flow nodes."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Code, Emitted, EmitterContext, StatementBlock, comment, literal
from irfuzz.export.source.emitters.control_flow_and_sequences import stack


def _function(ctx: EmitterContext, name: Code, graph: ir.Graph, parts: Sequence[int], told: str) -> list[str]:
    """Lines that define a function of a body's inputs, which returns tuples of so many of its outputs."""
    given = ", ".join(ctx.name(v) for v in graph.inputs)
    results = [ctx.fresh("result") for _ in graph.outputs]
    starts = [sum(parts[:i]) for i in range(len(parts))]
    groups = [literal(tuple(results[start : start + part])) for start, part in zip(starts, parts, strict=True)]
    lines = [f"def {name}({given}):{told}", *ctx.lower_graph(graph, results, 1)]
    return [*lines, f"    return {', '.join(groups)}"]


def _left(ctx: EmitterContext, values: Sequence[ir.Value]) -> str:
    """The outputs of a node as the target of an assignment."""
    names = [str(ctx.name(v)) if v.name else "_" for v in values]
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})" if names else "_"


def if_(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """If: only the branch taken is computed.

    Both branches become local functions without parameters that return a tuple, then ``y = If(c)`` becomes ``(y,) =
    branch(c, then, otherwise)``. A condition that only a run of TensorFlow's graph can tell becomes a ``tf.cond``
    there.
    """
    then, otherwise = ctx.fresh("then"), ctx.fresh("otherwise")
    count = len(node.outputs)
    lines = _function(ctx, then, ctx.attr(node, "then_branch"), (count,), comment(node))
    lines += _function(ctx, otherwise, ctx.attr(node, "else_branch"), (count,), "")
    call = ctx.call("branch", ctx.input(node, 0), then, otherwise)
    lines.append(f"{_left(ctx, node.outputs)} = {call}")
    return StatementBlock(tuple(lines))


def loop(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Loop: a trip count, a condition, both or neither; scanned values are stacked along a new first axis.

    The body becomes a local function, then ``y, rows = Loop(n, c, s)`` becomes ``(y,), scanned = loop(n, c, body, (s,),
    1)`` and ``rows = stacked(scanned[0], 0, dtype, shape)``. Both a trip count and a condition that are absent are
    ``None``.
    """
    body: ir.Graph = ctx.attr(node, "body")
    function = ctx.fresh("body")
    first = tuple(Code(ctx.input(node, i) or "None") for i in range(2, len(node.inputs)))
    states, scans = len(first), len(node.outputs) - len(first)
    lines = _function(ctx, function, body, (1, states, scans), comment(node))
    scanned = ctx.fresh("scanned") if scans else Code("_")
    call = ctx.call(
        "loop", ctx.input(node, 0) or Code("None"), ctx.input(node, 1) or Code("None"), function, first, scans
    )
    lines.append(f"{_left(ctx, node.outputs[:states])}, {scanned} = {call}")
    for i, (value, element) in enumerate(zip(node.outputs[states:], body.outputs[1 + states :], strict=True)):
        if value.name:
            lines.append(f"{ctx.name(value)} = {stack(ctx, f'{scanned}[{i}]', element, 0)}")
    return StatementBlock(tuple(lines))


def sequence_at(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """SequenceAt, from opset 11: ``SequenceAt(s, i)`` becomes ``sequence_at(s, i)``. Negative positions count from the
    end.

    A position that only a run of TensorFlow's graph can tell raises ``NotImplementedError`` when the module runs.
    """
    return ctx.call("sequence_at", *ctx.inputs(node))
