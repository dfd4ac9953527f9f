"""Fuses a model by onnxruntime.transformers.optimizer."""

from __future__ import annotations

import tempfile
from pathlib import Path

import onnx
import onnxruntime
from onnxruntime.transformers import optimizer


def version() -> str:
    """Of the installed onnxruntime."""
    return str(onnxruntime.__version__)


def convert(model: bytes, model_type: str) -> bytes:
    """Apply the Python fusions for ``model_type`` alone; onnxruntime's own optimisation is another target's matter."""
    made = optimizer.optimize_model(onnx.load_model_from_string(model), model_type=model_type, opt_level=0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "fused.onnx")
        made.save_model_to_file(str(path))  # what is left to do happens there
        return path.read_bytes()
