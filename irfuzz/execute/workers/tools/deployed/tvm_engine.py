"""Imports a model into TVM's Relax, compiles it by LLVM for this processor, and runs it on the virtual machine."""

from __future__ import annotations

import importlib.metadata
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

GAP = re.compile(
    r"OpNotImplemented|OpAttributeUnImplemented|statically (known|typed)|compile-time|must be a constant"
    r"|\b[Oo]nly (supports?|supported|constant)\b|currently (only )?supports?|Dynamic \w+ .*not"
    r"|(?i:not (yet |currently )?(supported|implemented)|unsupported|does not support)"
)
"""What its importer says of operators, attributes and sizes that it has to know beforehand."""


def version() -> str:
    """Of the installed apache-tvm."""
    return importlib.metadata.version("apache-tvm")


def load(model: bytes) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Import and compile the model, as TVM's documentation of its importer does."""
    proto = onnx.load_model_from_string(model)
    held = {tensor.name for tensor in proto.graph.initializer}
    names = [value.name for value in proto.graph.input if value.name not in held]
    outputs = [value.name for value in proto.graph.output]
    with warnings.catch_warnings(), tvm.transform.PassContext(opt_level=3):
        warnings.simplefilter("ignore")
        module = relax.transform.DecomposeOpsForInference()(from_onnx(proto))
        built = tvm.compile(module, target="llvm")
    machine = relax.VirtualMachine(built, tvm.cpu())

    def run(inputs: dict[str, Any]) -> dict[str, Any]:
        given = [tvm.runtime.tensor(np.ascontiguousarray(inputs[n]).reshape(inputs[n].shape)) for n in names]
        found = machine["main"](*given)
        values = [found] if len(outputs) == 1 else list(found)
        return {name: _array(value) for name, value in zip(outputs, values)}  # noqa: B905 - Python 3.9

    return run


def _array(value: Any) -> Any:
    """A tensor, or a shape, which has a type of its own there, as NumPy's."""
    return np.array(value.numpy()) if hasattr(value, "numpy") else np.array(list(value), np.int64)
