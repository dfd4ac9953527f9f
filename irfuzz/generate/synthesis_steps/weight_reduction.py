"""Takes weights away from a program: channels that nobody reads, and constants that can be shared."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from irfuzz.generate.synthesis_steps.nodes_as_parts import all_weights
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.mutation_sites import exact_values
from irfuzz.mutate.tensor_values.neuron_axes import neuron_axes
from irfuzz.spec import has_trait, load_specs

_ENOUGH = 1 << 10
"""Constants of so many elements, and smaller ones, are left alone."""

_TARGET = 0.9
"""Share of the weights that are allowed at which the search for more to save ends."""


def is_shrinkable(node: ir.Node) -> bool:
    """True if the number of channels that a node gives hangs on its weights alone, and these are an initializer that
    only it reads.
    """
    return has_trait(node, "channels_from_weights") and node.domain in ("", "ai.onnx") and _weight(node) is not None


def lighten(program: Program, allowance: int) -> Program:
    """Take weights away until no more than ``allowance`` are left, or none can be taken any more.

    A layer whose output is an output of the program needs no more than one channel a group. Of another large constant
    one slice stays, which an ``Expand`` repeats; constants of one type and shape that the same inputs of the same
    operators read become one.
    """
    for node in program.nodes():
        if is_shrinkable(node) and all(v.is_graph_output() and not v.uses() for v in node.outputs):
            _shrink(program, node)
    program.prune()
    types = _repeatable(program)
    exact = exact_values(program)
    done: set[ir.Value] = set()
    while types and all_weights(program) > allowance * _TARGET:
        alike: dict[_Role, list[ir.Value]] = {}
        for value in program.graph.initializers.values():
            if value not in done and value not in exact and (role := _role(value)) and role.dtype in types:
                alike.setdefault(role, []).append(value)
        if not alike:
            break
        values = max(alike.items(), key=lambda item: math.prod(item[0].shape) * len(item[1]))[1]
        done.update(values)
        _repeat(program, values)
    return Program.from_bytes(program.to_bytes())


def _weight(node: ir.Node) -> ir.Value | None:
    """The constant second input, if only this node reads it."""
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
    axis, group = neuron_axes(node, 1, array.ndim)[0], node.attributes.get("group")
    left = 1 if group is None else group.as_int()
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


@dataclass(frozen=True, slots=True)
class _Role:
    """What constants have in common of which one may stand for another; a variance may not become a mean."""

    dtype: ir.DataType
    shape: tuple[int, ...]
    readers: frozenset[tuple[str, str, int]]


def _repeatable(program: Program) -> frozenset[ir.DataType]:
    """Element types that ``Expand`` takes at the program's opset."""
    spec = load_specs().get("Expand", program.opset)
    return frozenset() if spec is None else spec.inputs[0].dtypes - {ir.DataType.STRING}


def _role(value: ir.Value) -> _Role | None:
    """What a constant is to its readers; ``None`` if it is small, or nothing may be put in its place."""
    tensor = value.const_value
    if tensor is None or tensor.size <= _ENOUGH or value.is_graph_input() or value.is_graph_output():
        return None
    uses = value.uses()
    if any(node.graph is None for node, _ in uses):
        return None
    readers = frozenset((node.domain, node.op_type, place) for node, place in uses)
    return _Role(tensor.dtype, tuple(tensor.shape.numpy()), readers)


def _repeat(program: Program, values: list[ir.Value]) -> None:
    """Let the readers of like constants read one slice of the first, repeated along its longest axis."""
    tensor = values[0].const_value
    assert tensor is not None
    array = tensor.numpy()
    axis = int(np.argmax(array.shape))
    slice_ = program.constant(np.ascontiguousarray(array.take([0], axis)), "slice")
    shape = program.constant(np.array(array.shape, np.int64), "sizes")
    node = program.insert("Expand", [slice_, shape], before=program.nodes()[0])
    for value in values:
        program.replace_uses(value, node.outputs[0])
    program.prune()
