"""A model enters, what onnxslim makes of it leaves."""

from __future__ import annotations

import onnx
import onnxslim


def version() -> str:
    """Of the installed onnxslim."""
    return str(onnxslim.__version__)


def convert(model: bytes) -> bytes:
    """Slim with the defaults."""
    made = onnxslim.slim(onnx.load_model_from_string(model))
    assert isinstance(made, onnx.ModelProto)
    return made.SerializeToString()
