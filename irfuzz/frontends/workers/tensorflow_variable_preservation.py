"""Keeps the variables of a TensorFlow graph through tf2onnx: as placeholders before it, as initializers behind it.

A constant takes part in folding: ``x + 0`` becomes ``x``, so that a bias that starts at 0 is lost, and equal constants
become one, so that two biases would be the same tensor. What nobody knows the value of is left as it is written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

PARAMETERS = "irfuzz.parameters"
"""Metadata of a model: initializers that training changes, as a JSON list (``irfuzz/ir/trainable_parameters.py``)."""


def as_placeholders(graph_def: Any, values: Mapping[str, tuple[str, Any]]) -> dict[str, tuple[str, Any]]:
    """Make placeholders of constants in a graph; two that hold one variable become one.

    Args:
        graph_def: edited.
        values: for the name of each node a name that its variable alone has, and the array with which it starts.

    Returns:
        The same for the nodes that are placeholders now.
    """
    import tensorflow as tf

    kept: dict[str, str] = {}
    made: dict[str, tuple[str, Any]] = {}
    for node in graph_def.node:
        if node.name not in values:
            continue
        variable, array = values[node.name]
        dtype = tf.as_dtype(array.dtype).as_datatype_enum
        shape = tf.TensorShape(array.shape).as_proto()
        node.attr.clear()
        del node.input[:]
        if variable in kept:
            node.op = "Identity"
            node.input.append(kept[variable])
            node.attr["T"].type = dtype
        else:
            node.op = "Placeholder"
            node.attr["dtype"].type = dtype
            node.attr["shape"].shape.CopyFrom(shape)
            kept[variable] = node.name
            made[node.name] = values[node.name]
        node.attr["_output_shapes"].list.shape.add().CopyFrom(shape)
    return made


def constants_of(graph_def: Any) -> dict[str, tuple[str, Any]]:
    """What of a frozen graph may be its variables: constants of floating point that have a dimension."""
    import tensorflow as tf

    found: dict[str, tuple[str, Any]] = {}
    for node in graph_def.node:
        if node.op == "Const" and tf.as_dtype(node.attr["dtype"].type).is_floating:
            array = tf.make_ndarray(node.attr["value"].tensor)
            if array.ndim:
                found[node.name] = node.name, array
    return found


def as_initializers(model: Any, values: Sequence[tuple[str, Any]]) -> None:
    """Make initializers of the inputs of a converted model that are variables, and note which they are.

    Args:
        model: a ``ModelProto``; edited.
        values: name of the input, and array.
    """
    from onnx import numpy_helper

    arrays = dict(values)
    inputs = [value for value in model.graph.input if value.name not in arrays]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items())
    entry = model.metadata_props.add()
    entry.key, entry.value = PARAMETERS, json.dumps(list(arrays))
