"""Runs a model on tinygrad's processor device, for which clang compiles each kernel."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Before it is imported: no file of kernels outlives the process, and no pool of others compiles them, whose six named
# semaphores would outlive it where it is killed.
os.environ.update({"DEV": "CPU", "CACHELEVEL": "0", "PARALLEL": "0"})

import numpy as np
from tinygrad.nn.onnx import OnnxRunner

GAP = re.compile(
    r"is not a valid (OnnxDataType|AttributeType|Domain)|is not supported|Only support"
    r"|(?i:not (yet |currently )?(supported|implemented)|unsupported)"
)
"""Element types, attributes and domains that its reader has no name for, and what its operators say they lack."""


def version() -> str:
    """Of the installed tinygrad."""
    return importlib.metadata.version("tinygrad")


def limits() -> dict[str, Any]:
    """See that there is a compiler.

    Raises:
        RuntimeError: there is none.
    """
    compiler = os.environ.get("CC", "clang")
    if shutil.which(compiler) is None:
        raise RuntimeError(f"tinygrad compiles kernels with {compiler}, and there is none; install clang")
    return {}


def load(model: bytes) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Read the model; its kernels are compiled when it runs."""
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        Path(file.name).write_bytes(model)
        runner = OnnxRunner(file.name)

    def run(inputs: dict[str, Any]) -> dict[str, Any]:
        given = {name: np.ascontiguousarray(inputs[name]).reshape(inputs[name].shape) for name in runner.graph_inputs}
        return {name: np.array(value.numpy()) for name, value in runner(given).items()}

    return run
