"""A program enters, the same with fewer weights leaves: fewer channels where nobody reads them, repeated constants."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from irfuzz.generate.parts import all_weights
from irfuzz.ir.program import Program

_ENOUGH = 1 << 12
"""Constants with fewer elements are left alone."""

_TARGET = 0.9
"""Share of the weights that are allowed at which the search for more to save ends."""


def is_shrinkable(node: ir.Node) -> bool:
    """True where the number of channels that a node gives hangs on its weights alone."""
    return node.op_type in ("Conv", "Gemm", "MatMul") and node.domain in ("", "ai.onnx") and _weight(node) is not None


def lighten(program: Program, allowance: int) -> Program:
    """Take weights away until no more than ``allowance`` are left, or none can be taken any more.

    A layer whose output is an output of the program needs no more than one channel a group. Of another large constant
    one slice stays, which an ``Expand`` repeats.
    """
    for node in program.nodes():
        if is_shrinkable(node) and all(v.is_graph_output() and not v.uses() for v in node.outputs):
            _shrink(program, node)
    program.prune()
    repeated: set[ir.Value] = set()
    while all_weights(program) > allowance * _TARGET:
        heavy = [
            v for v in program.graph.initializers.values()
            if v not in repeated and v.const_value is not None and v.const_value.size > _ENOUGH and _repeats(v)
        ]  # fmt: skip
        if not heavy:
            break
        value = max(heavy, key=lambda v: v.const_value.size if v.const_value is not None else 0)
        repeated.add(value)
        _repeat(program, value)
    return Program.from_bytes(program.to_bytes())


def _weight(node: ir.Node) -> ir.Value | None:
    """The constant second input, where only this node reads it."""
    value = node.inputs[1] if len(node.inputs) > 1 else None
    if value is None or not value.is_initializer() or value.is_graph_input() or len(value.uses()) != 1:
        return None
    return value


def _shrink(program: Program, node: ir.Node) -> None:
    """Give a layer one output channel a group."""
    value = _weight(node)
    assert value is not None
    assert value.const_value is not None
    array = value.const_value.numpy()
    if array.size <= _ENOUGH or array.ndim < 2:
        return
    axis, left = array.ndim - 1, 1
    if node.op_type == "Conv":
        group = node.attributes.get("group")
        axis, left = 0, 1 if group is None else group.as_int()
    elif node.op_type == "Gemm":
        transposed = node.attributes.get("transB")
        axis = 0 if transposed is not None and transposed.as_int() else 1
    channels = array.shape[axis]
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    smaller: np.ndarray | None = None
    if bias is not None:
        tensor = program.constant_of(bias)
        if tensor is None or not bias.is_initializer() or len(bias.uses()) != 1:
            return
        smaller = tensor.numpy()
        if smaller.ndim and smaller.shape[-1] == channels:
            smaller = np.ascontiguousarray(smaller[..., :left])
    # Both at once: between the two the call would be wrong.
    node.replace_input_with(1, program.constant(np.ascontiguousarray(array.take(range(left), axis)), value.name or "w"))
    if smaller is not None:
        node.replace_input_with(2, program.constant(smaller, "b"))
    program.changed_inside(node)


def _repeats(value: ir.Value) -> bool:
    tensor = value.const_value
    return (
        tensor is not None
        and not value.is_graph_input()
        and not value.is_graph_output()
        and tensor.dtype in (ir.DataType.FLOAT, ir.DataType.DOUBLE, ir.DataType.INT64, ir.DataType.INT32)
        and all(node.graph is not None for node, _ in value.uses())
    )


def _repeat(program: Program, value: ir.Value) -> None:
    """Let the readers of a constant read one slice of it, repeated along its longest axis."""
    tensor = value.const_value
    assert tensor is not None
    array = tensor.numpy()
    axis = int(np.argmax(array.shape))
    slice_ = program.constant(np.ascontiguousarray(array.take([0], axis)), "slice")
    first = program.nodes()[0]
    shape = program.constant(np.array(array.shape, np.int64), "sizes")
    node = program.insert("Expand", [slice_, shape], before=first)
    program.replace_uses(value, node.outputs[0])
    program.prune()
