"""Calls of local functions that are layers of a Keras file: the layer itself is written, and not what its body says."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Code, Emitted, EmitterContext, TupleExpression
from irfuzz.ir.inlining import inline_call, without_functions
from irfuzz.ir.program import Program
from irfuzz.ir.value import is_constant

DOMAIN = "keras"
"""Of the functions that the front end makes of layers (``frontends/workers/keras_layer_import.py``)."""

SCHEMA = 1
"""Version of their documentation, which is JSON."""


@dataclass(frozen=True, slots=True)
class KeptLayer:
    """What the documentation of such a function says.

    Attributes:
        layer: the configuration of the layer, as ``keras.saving`` reads it.
        call: its arguments, with places among the inputs for tensors.
        inputs: element type and sizes of each input for which the body was made; ``None`` for any size.
        weights: how many inputs of the function follow these.
    """

    layer: dict[str, Any]
    call: dict[str, Any]
    inputs: list[tuple[str, list[int | None]]]
    weights: int


def kept_layer(function: ir.Function) -> KeptLayer | None:
    """The layer that a function is, as its documentation says; ``None`` for other functions.

    Only functions of the domain ``keras`` can be one. ``None`` is given, too, if their documentation is no JSON, lacks
    an entry, is of another schema, or has ``null`` for the call.
    """
    if function.domain != DOMAIN or not function.doc_string:
        return None
    try:
        about = json.loads(function.doc_string)
        if about["schema"] != SCHEMA or about["call"] is None:
            return None
        return KeptLayer(about["layer"], about["call"], about["inputs"], about["weights"])
    except (ValueError, KeyError, TypeError):
        return None


def is_layer(function: ir.Function) -> bool:
    """Whether a Keras model has a layer for a function, as ``kept_layer`` finds it; calls of all other functions are
    inlined.
    """
    return kept_layer(function) is not None


def with_layers(program: Program) -> Program:
    """The program without other calls than those of layers that take what they are given.

    A layer whose inputs a mutation gave other sizes, or whose weights are computed, becomes what its body says.
    """
    program = without_functions(program, is_layer)
    unfit = [n.name for n in program.graph if n.op_identifier() in program.model.functions and not _fits(program, n)]
    if not unfit:
        return program
    copy = program.clone()
    for node in [n for n in copy.graph if n.name in unfit and n.op_identifier() in copy.model.functions]:
        inline_call(copy, node)
    return copy


def _fits(program: Program, node: ir.Node) -> bool:
    about = kept_layer(program.model.functions[node.op_identifier()])
    if about is None or len(node.inputs) != len(about.inputs) + about.weights:
        return False
    for value, (dtype, shape) in zip(node.inputs, about.inputs, strict=False):
        fact = program.tensor(value)
        sizes = None if fact is None else fact.static_shape
        if fact is None or sizes is None or fact.dtype.numpy().name != dtype or len(sizes) != len(shape):
            return False
        if any(wanted is not None and wanted != size for wanted, size in zip(shape, sizes, strict=True)):
            return False
    return all(_held(value) for value in node.inputs[len(about.inputs) :])


def _held(value: ir.Value | None) -> bool:
    """Whether a weight is a constant."""
    if value is None:
        return False
    producer = value.producer()
    return (value.is_initializer() and not value.is_graph_input()) or (producer is not None and is_constant(producer))


def layer(ctx: EmitterContext, node: ir.Node, function: ir.Function) -> Emitted:
    """The call of a support function that makes the layer, gives it its weights and reads them back.

    It is ``layer_of_file(config, arguments, [inputs], [weights])`` with two strings of JSON, and gives a list: a node
    with one output takes ``[0]`` of it.

    Args:
        ctx: of the program.
        node: the call; its first inputs are tensors, the others weights.
        function: that it calls, for which ``is_layer`` is true.
    """
    about = kept_layer(function)
    assert about is not None
    names = ctx.inputs(node)
    count = len(about.inputs)
    config = Code(repr(json.dumps(about.layer)))
    arguments = Code(repr(json.dumps(about.call)))
    call = ctx.call("layer_of_file", config, arguments, names[:count], names[count:])
    outputs = len(node.outputs)
    return TupleExpression(call, outputs) if outputs > 1 else f"{call}[0]"
