"""Converts a model to half precision inside by onnxruntime; inputs and outputs keep their types."""

from __future__ import annotations

import onnx
import onnxruntime
from onnxruntime.transformers import float16


def version() -> str:
    """Of the installed onnxruntime."""
    return str(onnxruntime.__version__)


def convert(model: bytes) -> bytes:
    """Convert with the defaults."""
    proto = onnx.load_model_from_string(model)
    return float16.convert_float_to_float16(proto, keep_io_types=True).SerializeToString()
