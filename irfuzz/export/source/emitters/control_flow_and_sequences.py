"""Indented blocks of statements for control flow nodes."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Code, Emitted, EmitterContext, StatementBlock, comment


def _targets(ctx: EmitterContext, node: ir.Node) -> list[str]:
    return [str(ctx.name(v)) if v.name else "_" for v in node.outputs]


def _assign(left: list[str], right: list[str], depth: int = 0) -> list[str]:
    """One assignment of all at once, for the right side may read what the left side replaces."""
    return [f"{'    ' * depth}{', '.join(left)} = {', '.join(right)}"] if left else []


def if_(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """If: only the branch taken is computed.

    ``y = If(c)`` becomes the block ``if bool(c):`` with the nodes of one branch in it, then ``else:`` with those of the
    other. Both assign ``y``; an output without a name is assigned to ``_``.
    """
    targets = _targets(ctx, node)
    lines = [f"if bool({ctx.input(node, 0)}):{comment(node)}"]
    lines += ctx.lower_graph(ctx.attr(node, "then_branch"), targets, 1)
    lines += ["else:", *ctx.lower_graph(ctx.attr(node, "else_branch"), targets, 1)]
    return StatementBlock(tuple(lines))


def loop(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Loop: a trip count, a condition, both or neither; scanned values are stacked along a new first axis.

    ``y, rows = Loop(n, c, s)`` becomes ``count, keep = 0, bool(c)`` and ``while keep and count < int(n):`` with the
    body in it, which appends to a list, and then ``y, rows = s, stacked(list, 0, dtype, shape)``. Without a condition
    the one that the body gives is not read.
    """
    body: ir.Graph = ctx.attr(node, "body")
    trips, condition = ctx.input(node, 0), ctx.input(node, 1)
    first = [str(ctx.input(node, i)) for i in range(2, len(node.inputs))]
    targets = _targets(ctx, node)
    state = [str(ctx.name(v)) for v in body.inputs[2:]]
    count, keep = ctx.fresh("count"), ctx.fresh("keep")
    scanned = [ctx.fresh("scanned") for _ in targets[len(state) :]]
    lines = [f"{count}, {keep} = 0, {'True' if condition is None else f'bool({condition})'}{comment(node)}"]
    lines += _assign(state, first) + [f"{name} = []" for name in scanned]
    limit = "" if trips is None else f" and {count} < {ctx.form('integer', x=trips)}"
    lines.append(f"while {keep}{limit}:")
    int64 = ctx.spell(ir.DataType.INT64)
    lines.append(f"    {ctx.name(body.inputs[0])} = {ctx.form('tensor', value=count, dtype=int64)}")
    lines.append(f"    {ctx.name(body.inputs[1])} = {ctx.form('scalar', value=keep)}")
    kept, *results = [str(ctx.fresh("result")) for _ in body.outputs]
    lines += ctx.lower_graph(body, [kept, *results], 1)
    lines += _assign(state, results[: len(state)], 1)
    lines += [f"    {name}.append({r})" for name, r in zip(scanned, results[len(state) :], strict=True)]
    lines += [f"    {keep} = bool({kept})"] if condition is not None else []
    lines.append(f"    {count} += 1")
    stacks = [stack(ctx, name, v, 0) for name, v in zip(scanned, body.outputs[1 + len(state) :], strict=True)]
    return StatementBlock(tuple(lines + _assign(targets, state + stacks)))


def stack(ctx: EmitterContext, name: str, element: ir.Value, axis: int) -> str:
    """Code that stacks a list of ``element``s, whose type and shape an empty list needs.

    It is ``stacked(name, axis, dtype, shape)``; what is not known of the element is ``None``, or left out at the end.

    Args:
        ctx: of the program.
        name: an expression for the list.
        element: the value of the body that each element is one of.
        axis: the new axis of the result.
    """
    kind = ctx.dtype(element)
    dtype = None if kind is None else Code(ctx.spell(kind))
    return ctx.call("stacked", Code(name), axis, dtype, ctx.shape(element))


def scan(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Scan from opset 9: states carried along, one or more inputs taken apart, outputs put together.

    ``y, rows = Scan(s, xs, num_scan_inputs=1)`` becomes ``for step in range(xs.shape[0]):`` with the body in it, which
    appends to a list, and then ``stacked(list, 0, dtype, shape)``. A direction of 1 reads from the end, or turns the
    list around. Opset 8 raises ``Unsupported``: it had batches.
    """
    if ctx.opset < 9:
        raise ctx.unsupported(node, "the batches of opset 8")
    body: ir.Graph = ctx.attr(node, "body")
    scanned = ctx.attr(node, "num_scan_inputs")
    states = len(node.inputs) - scanned
    inputs = [str(name) for name in ctx.given(node)]
    targets = _targets(ctx, node)
    outs = len(body.outputs) - states
    in_axes = ctx.attr(node, "scan_input_axes", (0,) * scanned)
    in_back = ctx.attr(node, "scan_input_directions", (0,) * scanned)
    out_axes = ctx.attr(node, "scan_output_axes", (0,) * outs)
    out_back = ctx.attr(node, "scan_output_directions", (0,) * outs)
    state = [str(ctx.name(v)) for v in body.inputs[:states]]
    step, lists = ctx.fresh("step"), [ctx.fresh("scanned") for _ in range(outs)]
    lines = _assign(state, inputs[:states]) + [f"{name} = []" for name in lists]
    lines.append(f"for {step} in range({inputs[states]}.shape[{in_axes[0]}]):{comment(node)}")
    for value, source, axis, back in zip(body.inputs[states:], inputs[states:], in_axes, in_back, strict=True):
        # TensorFlow's gather takes no index from the end.
        place = f"{source}.shape[{axis}] - 1 - {step}" if back else step
        lines.append(f"    {ctx.name(value)} = {ctx.form('select', x=source, axis=axis, place=place)}")
    results = [str(ctx.fresh("result")) for _ in body.outputs]
    lines += ctx.lower_graph(body, results, 1) + _assign(state, results[:states], 1)
    lines += [f"    {name}.append({r})" for name, r in zip(lists, results[states:], strict=True)]
    stacks = [
        stack(ctx, f"{name}[::-1]" if back else name, v, axis)
        for name, v, axis, back in zip(lists, body.outputs[states:], out_axes, out_back, strict=True)
    ]
    return StatementBlock(tuple(lines + _assign(targets, state + stacks)))


def sequence_map(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """SequenceMap, from opset 17: the body for each element; tensors among the inputs are the same for all.

    ``ys = SequenceMap(xs, t)`` becomes ``for step in range(len(xs)):`` with the body in it, which appends to a list;
    ``ys`` is that list.
    """
    body: ir.Graph = ctx.attr(node, "body")
    inputs, step = ctx.given(node), ctx.fresh("step")
    lists = [ctx.fresh("mapped") for _ in body.outputs]
    lines = [f"{name} = []" for name in lists] + [f"for {step} in range(len({inputs[0]})):{comment(node)}"]
    for value, source in zip(body.inputs, inputs, strict=True):
        lines.append(f"    {ctx.name(value)} = {source}[{step}] if isinstance({source}, list) else {source}")
    results = [str(ctx.fresh("result")) for _ in body.outputs]
    lines += ctx.lower_graph(body, results, 1)
    lines += [f"    {name}.append({r})" for name, r in zip(lists, results, strict=True)]
    return StatementBlock(tuple(lines + _assign(_targets(ctx, node), [str(n) for n in lists])))


def sequence_empty(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """SequenceEmpty, from opset 11: it becomes ``[]``, a new list each time. Its attribute ``dtype`` is not read, since
    a list has no element type.
    """
    return "[]"


def sequence_construct(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """SequenceConstruct, from opset 11: ``SequenceConstruct(a, b)`` becomes ``[a, b]``. Sequences are Python lists, and
    their tensors are not copied.
    """
    return f"[{', '.join(ctx.given(node))}]"


def sequence_at(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """SequenceAt, from opset 11: ``SequenceAt(s, i)`` becomes ``s[int(i)]``. Negative positions count from the end, as
    in Python; one beyond the list raises ``IndexError`` when the module runs.
    """
    return f"{ctx.input(node, 0)}[{ctx.form('integer', x=ctx.input(node, 1))}]"


def sequence_length(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """SequenceLength, from opset 11: ``SequenceLength(s)`` becomes ``torch.tensor(len(s), dtype=torch.int64)``, or what
    the framework writes in its place: a scalar in int64.
    """
    return ctx.form("tensor", value=f"len({ctx.input(node, 0)})", dtype=ctx.spell(ir.DataType.INT64))


def split_to_sequence(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """SplitToSequence, from opset 11; ``keepdims`` counts only if no split is given.

    ``SplitToSequence(x, sizes, axis=1)`` becomes ``split_to_sequence(x, sizes, axis=1, keepdims=1)``, which gives a
    list.
    """
    return ctx.call(
        "split_to_sequence", *ctx.inputs(node), axis=ctx.attr(node, "axis"), keepdims=ctx.attr(node, "keepdims")
    )


def concat_from_sequence(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """ConcatFromSequence, from opset 11, along an axis of the elements or a new one.

    ``ConcatFromSequence(s, axis=1)`` becomes ``torch.cat(s, 1)``, and with ``new_axis`` ``torch.stack(s, 1)``;
    TensorFlow has forms of its own.
    """
    form = "stack" if ctx.attr(node, "new_axis") else "concat"
    return ctx.form(form, parts=ctx.input(node, 0), axis=ctx.attr(node, "axis"))


def optional(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """Optional, from opset 15: ``Optional(x)`` becomes ``x``, and without an input it becomes ``None``. An optional has
    no wrapper of its own, so that its element is the value itself.
    """
    return str(ctx.input(node, 0))


def optional_has_element(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """OptionalHasElement, from opset 15: it becomes ``torch.tensor(x is not None)``, or what the framework writes in
    its place: a boolean scalar. An absent input (opset 18) reads as ``None``.
    """
    return ctx.form("scalar", value=f"{ctx.input(node, 0)} is not None")
