"""A model enters, what onnxsim makes of it leaves."""

from __future__ import annotations

import onnx
import onnxsim


def version() -> str:
    """Of the installed onnxsim."""
    return str(onnxsim.__version__)


def convert(model: bytes) -> bytes:
    """Simplify with the defaults."""
    simplified, _ = onnxsim.simplify(onnx.load_model_from_string(model))
    return simplified.SerializeToString()
