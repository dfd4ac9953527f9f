"""Saves a model after onnxruntime's own graph optimisation."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import onnxruntime

LEVELS = {"basic": "ORT_ENABLE_BASIC", "extended": "ORT_ENABLE_EXTENDED", "all": "ORT_ENABLE_ALL"}

GAP = re.compile(r"NOT_IMPLEMENTED|No Op registered for|is not a registered function/op|ValidateOpsetForDomain")


def version() -> str:
    """Of the installed onnxruntime."""
    return str(onnxruntime.__version__)


def convert(model: bytes, level: str, off: str = "") -> bytes:
    """Save the optimised model, as users do to spare their next start the optimisation; ``off`` names passes."""
    left_out = [name for name in off.split(",") if name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "optimised.onnx")
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, LEVELS[level])
        options.optimized_model_filepath = str(path)
        onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"], disabled_optimizers=left_out)
        return path.read_bytes()
