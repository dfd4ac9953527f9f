"""Runs the functional model of a generated Keras module."""

from __future__ import annotations

import os
import re
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
import tensorflow as tf

FRAMEWORK = "keras"
"""Whose generated source it takes."""

GAP = re.compile(r"UnimplementedError|only supports|No registered .* OpKernel|Could not find device for node")


def version() -> str:
    """Of the installed Keras."""
    return str(keras.__version__)


def warm() -> None:
    """Make TensorFlow single-threaded."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def compute(source: str, arrays: dict[str, Any], inputs: dict[str, Any], outputs: list[str]) -> dict[str, Any]:
    """Build the model for inputs of these sizes, and call it.

    Args:
        source: the generated module.
        arrays: its weights.
        inputs: by name.
        outputs: names of what is asked for.
    """
    names: dict[str, Any] = {"__name__": "generated"}
    exec(compile(source, "<generated>", "exec"), names)  # noqa: S102 - running generated source is what this is for
    keras.backend.clear_session()
    found = names["run"](arrays, inputs)
    return {name: found[name] for name in outputs}
