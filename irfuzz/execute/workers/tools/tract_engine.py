"""Runs a model on tract, Sonos' inference engine in Rust."""

from __future__ import annotations

import importlib.metadata
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import tract

GAP = re.compile(
    r"Unimplemented\(|[Oo]perator can not|can not be typed|only supported|not const\b|a constant\b|input is variable"
    r"|Unknown DatumType"
    r"|(?i:does not support|not (yet )?(supported|implemented)|unsupported|unimplemented)"
)
"""Operators that it reads and cannot run, element types that it lacks, dimensions that its interface does not give."""


class Refused(Exception):
    """What tract says, in one line and without the stack of its own functions."""


def version() -> str:
    """Of the installed tract."""
    return importlib.metadata.version("tract")


def load(model: bytes) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Read and optimise the model."""
    graph = onnx.load_model_from_string(model).graph
    outputs = [value.name for value in graph.output]
    held = {tensor.name for tensor in graph.initializer}
    names = [value.name for value in graph.input if value.name not in held]
    try:
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            Path(file.name).write_bytes(model)
            read = tract.onnx().load(file.name)
        runnable = read.into_model().into_runnable()
    except tract.TractError as error:
        raise _in_short(error) from None

    def run(inputs: dict[str, Any]) -> dict[str, Any]:
        try:
            found = [
                value.to_numpy()
                for value in runnable.run([np.ascontiguousarray(inputs[n]).reshape(inputs[n].shape) for n in names])
            ]
        except tract.TractError as error:
            raise _in_short(error) from None
        return {name: np.array(value) for name, value in zip(outputs, found)}  # noqa: B905 - Python 3.9

    return run


def _in_short(error: Exception) -> Refused:
    return Refused(" ".join(str(error).partition("Stack backtrace:")[0].split()))
