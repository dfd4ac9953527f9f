"""Converts a model by MNN's converter and runs it on MNN's backend for processors."""

from __future__ import annotations

import importlib.metadata
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _tools
import MNN
import numpy as np
import onnx
from MNN import expr

TYPES = {np.dtype(np.float32): expr.float, np.dtype(np.int32): expr.int}
"""What it computes in; other integers and booleans are 32-bit integers there."""


def version() -> str:
    """Of the installed MNN."""
    return importlib.metadata.version("MNN")


def load(model: bytes) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Convert into a file, and read that.

    Raises:
        NotImplementedError: it does not convert the model; it prints a line, which need not say why.
    """
    graph = onnx.load_model_from_string(model).graph
    held = {tensor.name for tensor in graph.initializer}
    inputs = [value.name for value in graph.input if value.name not in held]
    types = {
        value.name: onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type) for value in graph.output
    }
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "model.onnx"), Path(folder, "model.mnn")
        source.write_bytes(model)
        paths = ["--modelFile", str(source), "--MNNModel", str(made)]
        told = _printed(lambda: _tools.mnnconvert(["mnnconvert", "-f", "ONNX", *paths, "--bizCode", "x"]))
        if not made.exists():
            raise NotImplementedError(f"MNN does not convert it: {told}")
        network: Any = MNN.nn.load_module_from_file(str(made), inputs, list(types))

    def run(given: dict[str, Any]) -> dict[str, Any]:
        values = [_value(given[name]) for name in inputs]
        found: list[Any] = []
        told = _printed(lambda: found.extend(network.forward(values)))
        if len(found) != len(types):
            raise NotImplementedError(f"MNN does not run it: {told}")
        if any(0 in value.shape for value in found):
            raise NotImplementedError("MNN gives out no tensor without elements")
        return {name: np.array(v.read()).astype(kind) for v, (name, kind) in zip(found, types.items())}  # noqa: B905

    return run


def _value(array: Any) -> Any:
    """An input as MNN takes it."""
    narrow = array if array.dtype == np.float32 else array.astype(np.int32)
    return expr.const(
        np.ascontiguousarray(narrow).reshape(narrow.shape), list(array.shape), expr.NCHW, TYPES[narrow.dtype]
    )


def _printed(act: Callable[[], object]) -> str:
    """The last lines that C++ prints while ``act`` runs; the process's own log gets them, too."""
    kept = os.dup(1)
    with tempfile.TemporaryFile() as told:
        os.dup2(told.fileno(), 1)
        try:
            act()
        finally:
            os.dup2(kept, 1)
            os.close(kept)
            told.seek(0)
            text = told.read().decode(errors="replace")
            os.write(1, text.encode())
    lines = [line for line in text.splitlines() if line and "Start to" not in line and "ONNX Model" not in line]
    return "; ".join(lines[-3:])[:400] or "it said nothing"
