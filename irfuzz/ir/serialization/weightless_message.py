"""A program as a message without its large weights, for edits of the message, and the way back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import onnx_ir as ir

from irfuzz.ir.program import Program
from irfuzz.ir.serialization import serde
from irfuzz.ir.serialization.external_tensor_references import ExternalLocation, byte_size
from irfuzz.ir.serialization.lazy_tensor import can_hold

DETACHED = 1 << 16
"""Bytes from which on a weight is left where it is: a message holds a copy, and every parser makes another."""


def detach(program: Program) -> tuple[onnx.ModelProto, dict[str, memoryview]]:
    """The program as a message whose large weights are empty, and a view of their elements by name.

    The message may be edited as long as these initializers keep their names; ``attach`` makes a program of it.
    """
    views: dict[str, memoryview] = {}
    large: dict[int, ExternalLocation] = {}
    for name, value in program.graph.initializers.items():
        tensor = value.const_value
        if tensor is None or byte_size(tensor) < DETACHED or (view := view_of(tensor)) is None:
            continue
        views[name] = view
        large[id(tensor)] = ExternalLocation(name, 0, len(view))
    if not views:
        return program.to_proto(), views
    data = serde.encode_bytes(program.model, program.residue, lambda tensor: large.get(id(tensor)))
    model = onnx.ModelProto.FromString(data)
    for tensor in model.graph.initializer:
        if tensor.name in views:
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")
            tensor.raw_data = b""
    return model, views


def attach(model: onnx.ModelProto, views: Mapping[str, memoryview]) -> Program:
    """A program of a message, with the weights that ``detach`` gave.

    Args:
        model: initializers that have no weights in ``views`` hold their own. It belongs to the program from then on if
            there are any views.
        views: elements by names of initializers; they are not copied.

    Raises:
        InvalidProgram: see ``Program.from_proto``.
    """
    if not views:
        return Program.from_proto(model)
    places = {i: views[t.name] for i, t in enumerate(model.graph.initializer) if t.name in views}
    program = Program(*serde.decode(model, places))
    program.infer()
    return program


def view_of(tensor: ir.TensorProtocol) -> memoryview | None:
    """The elements of a tensor as ``raw_data`` has them, without a copy; ``None`` if they do not stand in memory so."""
    if not can_hold(tensor.dtype.value):
        return None
    array = tensor.numpy()
    if not array.flags.c_contiguous or not array.dtype.isnative:
        return None
    return array.reshape(-1).view(np.uint8).data
