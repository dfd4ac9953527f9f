"""Converts a model to another opset by onnx.version_converter."""

from __future__ import annotations

import re

import onnx
import onnx.version_converter

GAP = re.compile(
    r"No Adapter (To|From) Version|No Previous Version of|not supported for opset|not supported at opset"
    r"|for this version conversion|unallowed_types_|must be a constant or initializer|No initializer or constant input"
    r"|is unallowed for Opset Version"
)
"""The converter's way to say that an operator cannot be expressed in the other opset, or that nobody wrote how."""


def version() -> str:
    """Of the installed onnx."""
    return str(onnx.__version__)


def convert(model: bytes, to: int, beyond: int) -> bytes:
    """To opset ``to``, or if the model is there (going up) or beyond it already, to ``beyond``."""
    proto = onnx.load_model_from_string(model)
    opset = next((entry.version for entry in proto.opset_import if entry.domain in ("", "ai.onnx")), 0)
    if not opset:
        raise NotImplementedError("the model names no opset of the default domain")
    up = to < beyond
    target = to if (opset < to if up else opset > to) else beyond
    if opset == target or (opset > target if up else opset < target):
        raise NotImplementedError(f"the model has opset {opset}, nothing to convert to {target}")
    return onnx.version_converter.convert_version(proto, target).SerializeToString()
