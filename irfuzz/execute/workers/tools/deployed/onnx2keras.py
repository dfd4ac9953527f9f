"""Converts a model by onnx2keras and runs the Keras model that it makes, on TensorFlow."""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import Callable
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
# "TensorFlow only runs channels_first convolutions and poolings on a GPU. To convert and run a model on a CPU [...]
# enable oneDNN": onnx2keras' README.
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"

import keras
import numpy as np
import onnx
import onnx2keras.converter
import onnx2keras.layers
import tensorflow as tf

GAP = re.compile(
    r"Cannot convert|Can't (gather|modify|reshape)|Cannot unsqueeze|is not supported|Not implemented|"
    r"Number of (inputs|axes) is not equal|Not a numpy type|Unsupported number|"
    r"only supports the (NHWC|NDHWC)|only supports NHWC"
)
"""What it says of attributes and inputs that it does not convert, and TensorFlow of channels that come first."""

FLOAT = onnx.TensorProto.FLOAT


def version() -> str:
    """Of the installed onnx2keras."""
    return importlib.metadata.version("onnx2keras")


def warm() -> None:
    """Make TensorFlow single-threaded."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def load(model: bytes) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Convert the model, keeping the channels first as in ONNX.

    Raises:
        NotImplementedError: it has no converter for an operator, or the inputs are none that its layers have.
        RuntimeError: the Keras model lacks outputs.
    """
    proto = onnx.load_model_from_string(model)
    held = {tensor.name for tensor in proto.graph.initializer}
    given = [value for value in proto.graph.input if value.name not in held]
    _refuse_gaps(proto.graph, given)
    keras.backend.clear_session()
    names = [value.name for value in given]
    outputs = [value.name for value in proto.graph.output]
    made = onnx2keras.converter.onnx_to_keras(proto, names, verbose=False)
    if len(made.outputs) != len(outputs):
        raise RuntimeError(f"the Keras model has {len(made.outputs)} outputs, expected {len(outputs)}")

    def run(inputs: dict[str, Any]) -> dict[str, Any]:
        found = made([tf.constant(inputs[name]) for name in names], training=False)
        found = found if isinstance(found, (list, tuple)) else [found]
        return {name: np.array(value) for name, value in zip(outputs, found)}  # noqa: B905 - Python 3.9

    return run


def _refuse_gaps(graph: onnx.GraphProto, given: list[onnx.ValueInfoProto]) -> None:
    """Say so if an operator is not among those that it lists, or an input none of its input layers.

    These have no element type but Keras' own, single precision, and a first axis for the batch.
    """
    for node in graph.node:
        if node.domain not in ("", "ai.onnx") or node.op_type not in onnx2keras.layers.AVAILABLE_CONVERTERS:
            raise NotImplementedError(f"onnx2keras has no converter for {node.op_type}")
    if not given:
        raise NotImplementedError("a Keras model has inputs")
    for value in given:
        if value.type.tensor_type.elem_type != FLOAT:
            raise NotImplementedError(f"onnx2keras makes input {value.name!r} one of single precision")
        if not value.type.tensor_type.shape.dim:
            raise NotImplementedError(f"an input of Keras has an axis for the batch, {value.name!r} has none")
