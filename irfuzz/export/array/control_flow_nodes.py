"""Writes each body of control flow as a function, which a support function gets and calls."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from irfuzz.export.array.generic_call_emitters import attributes
from irfuzz.export.source.emitter_context import Code, Emitted, EmitterContext, StatementBlock, comment, literal


def if_(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """If: only the branch taken is computed.

    Each branch becomes a local function without parameters, then ``y = If(c)`` becomes ``[y] = then_branch() if bool(c)
    else else_branch()``. Values of the graph around it are read as Python reads those of an outer function.
    """
    given = attributes(ctx, node)
    then, then_lines = _function(ctx, given["then_branch"], "then_branch")
    other, other_lines = _function(ctx, given["else_branch"], "else_branch")
    call = f"{then}() if bool({ctx.input(node, 0)}) else {other}()"
    return StatementBlock((*then_lines, *other_lines, _assigned(ctx, node, call)))


def loop(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Loop: the body gets the iteration, the condition and the states.

    The body becomes a local function, then ``y, rows = Loop(n, c, s)`` becomes ``[y, rows] = loop(body, n, c, [s],
    [(dtype, shape)])``. A trip count or condition that is absent is ``None``. The last list has the type and shape of
    one element of each stacked output, which no iterations at all need.
    """
    graph: ir.Graph = attributes(ctx, node)["body"]
    body, lines = _function(ctx, graph, "body")
    states = [ctx.input(node, i) for i in range(2, len(node.inputs))]
    rows = _rows(ctx, graph.outputs[1 + len(states) :])
    call = ctx.call("loop", body, ctx.input(node, 0), ctx.input(node, 1), states, rows)
    return StatementBlock((*lines, _assigned(ctx, node, call)))


def scan(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Scan of opset 9 and newer: the body gets the states and one element of each sequence.

    ``y, rows = Scan(s, xs, num_scan_inputs=1)`` becomes ``[y, rows] = scan(body, [s], [xs], [(dtype, shape)])``. Axes
    and directions are keywords, passed only if the node has them.
    """
    given = attributes(ctx, node)
    graph: ir.Graph = given["body"]
    body, lines = _function(ctx, graph, "body")
    inputs = ctx.inputs(node)
    first = len(inputs) - given["num_scan_inputs"]
    names = ("scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions")
    how = {name: tuple(given[name]) for name in names if name in given}
    call = ctx.call("scan", body, inputs[:first], inputs[first:], _rows(ctx, graph.outputs[first:]), **how)
    return StatementBlock((*lines, _assigned(ctx, node, call)))


def sequence_map(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """SequenceMap, from opset 17: the body gets one element of each sequence, and what are tensors as they are.

    ``ys = SequenceMap(xs, t)`` becomes ``[ys] = sequence_map(body, [xs, t], 1)``, of which the last number is how many
    outputs there are.
    """
    body, lines = _function(ctx, attributes(ctx, node)["body"], "body")
    call = ctx.call("sequence_map", body, ctx.inputs(node), len(node.outputs))
    return StatementBlock((*lines, _assigned(ctx, node, call)))


def _function(ctx: EmitterContext, graph: ir.Graph, hint: str) -> tuple[Code, list[str]]:
    """A graph as a function of its inputs that gives a list of its outputs; other values it reads from around it."""
    name = ctx.fresh(hint)
    results = [ctx.fresh("result") for _ in graph.outputs]
    inputs = ", ".join(ctx.name(value) for value in graph.inputs)
    return name, [
        f"def {name}({inputs}):",
        *ctx.lower_graph(graph, results, 1),
        f"    return [{', '.join(results)}]",
    ]


def _rows(ctx: EmitterContext, values: Sequence[ir.Value]) -> list[Code]:
    """Type and shape of what is stacked from each value: no iteration at all gives an empty array of these."""
    rows: list[Code] = []
    for value in values:
        dtype = ctx.dtype(value)
        spelled = "None" if dtype is None else ctx.spell(dtype)
        rows.append(Code(f"({spelled}, {literal(ctx.shape(value))})"))
    return rows


def _assigned(ctx: EmitterContext, node: ir.Node, call: str) -> str:
    targets = ", ".join(ctx.name(value) if value.name else "_" for value in node.outputs)
    return f"[{targets}] = {call}{comment(node)}"
