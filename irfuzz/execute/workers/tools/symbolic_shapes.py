"""Infers the types of a model's values by onnxruntime's symbolic shape inference."""

from __future__ import annotations

import re

import onnx
import onnxruntime
from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

GAP = re.compile(r"Incomplete symbolic shape inference")
"""Its own word where an operator is unknown to it."""

INFERS = True
"""What it makes is a model with types, not another one."""


def version() -> str:
    """Of the installed onnxruntime."""
    return str(onnxruntime.__version__)


def convert(model: bytes) -> bytes:
    """Infer; what it gives up on stays without a type."""
    made = SymbolicShapeInference.infer_shapes(onnx.load_model_from_string(model), auto_merge=True)
    if made is None:
        raise NotImplementedError("symbolic shape inference gave no model")
    return made.SerializeToString()
