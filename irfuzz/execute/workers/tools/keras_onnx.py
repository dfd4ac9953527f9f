"""Exports the functional model of a generated Keras module to ONNX."""

from __future__ import annotations

import logging
import os
import re
import sys
import tempfile
from collections.abc import Callable
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
import onnx
import tensorflow as tf
import tf2onnx
import tf2onnx.convert

FRAMEWORK = "keras"
"""Whose generated source it takes."""

OPSET = 17
"""What everything shares; tf2onnx goes no further than 18."""

NUMBERED = re.compile(r"output_(\d+)(?::0)?")
"""An output of a signature."""

GAP = re.compile(r"is not supported|Tensorflow op|is not implemented|UnimplementedError|only supports")


def version() -> str:
    """Of the installed Keras."""
    return str(keras.__version__)


def warm() -> None:
    """Make TensorFlow single-threaded, and tf2onnx quiet."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    logging.getLogger("tf2onnx").setLevel(logging.ERROR)


def export(source: str, arrays: dict[str, Any], inputs: dict[str, Any], outputs: list[str], way: str) -> bytes:
    """Build the model for inputs of these sizes, and convert it.

    Args:
        source: the generated module.
        arrays: its weights.
        inputs: by name, for their types and shapes.
        outputs: names that the outputs are to have.
        way: a key of ``WAYS``.
    """
    names: dict[str, Any] = {"__name__": "generated"}
    exec(compile(source, "<generated>", "exec"), names)  # noqa: S102 - running generated source is what this is for
    keras.backend.clear_session()
    try:
        model, made = names["functional"](names["forward"], *names["tensors"](arrays, inputs))
        model([tf.constant(value) for value in inputs.values()], training=False)
    except Exception as error:  # noqa: BLE001 - whatever it raises, the conversion is not to blame
        raise NotImplementedError(f"the model itself does not run: {error}") from None
    with tempfile.TemporaryDirectory() as folder:
        proto = WAYS[way](model, folder)
    _refuse_gaps(proto.graph)
    return _named(proto, list(inputs), made, outputs).SerializeToString()


def _from_keras(model: Any, _folder: str) -> onnx.ModelProto:
    return tf2onnx.convert.from_keras(model, opset=OPSET)[0]


def _exported(model: Any, folder: str) -> onnx.ModelProto:
    path = os.path.join(folder, "model.onnx")  # noqa: PTH118 - the tools take text
    model.export(path, format="onnx", opset_version=OPSET, verbose=False)
    return onnx.load(path)


def _saved_model(model: Any, folder: str) -> onnx.ModelProto:
    """``python -m tf2onnx.convert --saved-model FOLDER``."""
    saved, path = os.path.join(folder, "saved"), os.path.join(folder, "model.onnx")  # noqa: PTH118
    model.export(saved, format="tf_saved_model", verbose=False)
    before = sys.argv
    sys.argv = ["tf2onnx.convert", "--saved-model", saved, "--opset", str(OPSET), "--output", path]
    try:
        tf2onnx.convert.main()
    finally:
        sys.argv = before
    return onnx.load(path)


WAYS: dict[str, Callable[[Any, str], onnx.ModelProto]] = {
    "from-keras": _from_keras,
    "export": _exported,
    "saved-model": _saved_model,
}
"""``tf2onnx.convert.from_keras``; ``model.export`` to ONNX; ``model.export`` to a SavedModel, then tf2onnx."""


def _refuse_gaps(graph: onnx.GraphProto) -> None:
    """Say so if an operator was left as TensorFlow's, as tf2onnx does with those that it does not know."""
    for node in graph.node:
        if node.domain in ("", "ai.onnx") and not onnx.defs.has(node.op_type, OPSET):
            raise NotImplementedError(f"tf2onnx leaves TensorFlow's {node.op_type} as it is: not supported")
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _refuse_gaps(attribute.g)


def _place(output: onnx.ValueInfoProto) -> int:
    """The place of an output of a signature, which has them in the order of their names; others are in theirs."""
    found = NUMBERED.fullmatch(output.name)
    return 0 if found is None else int(found[1])


def _named(proto: onnx.ModelProto, inputs: list[str], made: list[str], outputs: list[str]) -> onnx.ModelProto:
    """The model with the program's names, which TensorFlow would not take, for what goes in and out.

    Args:
        proto: a model with inputs ``input_0`` and so on.
        inputs: what these are to be called.
        made: what its outputs compute, in the order of the Keras model.
        outputs: those of them that are wanted.
    """
    graph = proto.graph
    places = {f"input_{index}": name for index, name in enumerate(inputs)}
    there = {value.name for value in graph.input}
    more = [name for name in sorted(there) if name.partition(":")[0] not in places]
    if more:
        raise ValueError(f"the ONNX model has an input that the Keras model has not: {more[0]}")
    taken = {name for node in graph.node for name in node.output} | {t.name for t in graph.initializer} | there
    clash = taken & {*inputs, *made}
    if clash:
        raise NotImplementedError(f"tf2onnx chose the name of an input or output itself: {min(clash)!r}")
    if len(graph.output) != len(made):
        raise ValueError(f"the model has {len(graph.output)} outputs, expected {len(made)}")
    ends = sorted(graph.output, key=_place)
    first = []
    for value in graph.input:
        name = places[value.name.partition(":")[0]]
        first.append(onnx.helper.make_node("Identity", [name], [value.name]))
        value.name = name
    last = []
    kept = []
    for value, name in zip(ends, made):  # noqa: B905 - Python 3.9
        if name in outputs:
            last.append(onnx.helper.make_node("Identity", [value.name], [name]))
            value.name = name
            kept.append(value)
    nodes = [*first, *graph.node, *last]
    del graph.node[:]
    graph.node.extend(nodes)
    kept = [onnx.ValueInfoProto.FromString(value.SerializeToString()) for value in kept]
    del graph.output[:]
    graph.output.extend(kept)
    return proto
