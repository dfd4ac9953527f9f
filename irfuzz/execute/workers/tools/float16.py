"""Converts a model to half precision inside by onnxconverter-common; inputs and outputs keep their types."""

from __future__ import annotations

import importlib.metadata
import re

import onnx
import onnxconverter_common.float16

GAP = re.compile(r"already converted to float16")


def version() -> str:
    """Of the installed onnxconverter-common."""
    return importlib.metadata.version("onnxconverter-common")


def convert(model: bytes) -> bytes:
    """Convert with the defaults."""
    proto = onnx.load_model_from_string(model)
    return onnxconverter_common.float16.convert_float_to_float16(proto, keep_io_types=True).SerializeToString()
