"""Infers the types of a model's values by onnx.shape_inference."""

from __future__ import annotations

import onnx
import onnx.shape_inference

INFERS = True
"""What it makes is a model with types, not another one."""


def version() -> str:
    """Of the installed onnx."""
    return str(onnx.__version__)


def convert(model: bytes, data_prop: bool) -> bytes:
    """Infer, strictly: what it cannot make sense of is an error."""
    proto = onnx.load_model_from_string(model)
    made = onnx.shape_inference.infer_shapes(proto, check_type=True, strict_mode=True, data_prop=data_prop)
    return made.SerializeToString()
