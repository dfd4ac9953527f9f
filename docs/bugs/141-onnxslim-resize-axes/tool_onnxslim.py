"""A model enters, what onnxslim makes of it leaves."""

from __future__ import annotations

from typing import Any

import onnx
import onnxslim
from onnxslim.core.optimization import OptimizationSettings
from onnxslim.core.pattern.registry import DEFAULT_FUSION_PATTERNS


def version() -> str:
    """Of the installed onnxslim."""
    return str(onnxslim.__version__)


def passes() -> list[str]:
    """What ``off`` may name: the stages, of the fusion its single patterns, and shape inference."""
    stages = [name for name in OptimizationSettings.stats() if name != "graph_fusion"]
    return [*stages, *DEFAULT_FUSION_PATTERNS, "shape_inference"]


def convert(model: bytes, off: str = "") -> bytes:
    """Slim with the defaults, but for passes that are left out."""
    left_out = [name for name in off.split(",") if name]
    settings: dict[str, Any] = {}
    if left_out:
        settings = {
            "skip_fusion_patterns": [name for name in left_out if name in DEFAULT_FUSION_PATTERNS] or None,
            "skip_optimizations": [name for name in left_out if name in OptimizationSettings.stats()] or None,
            "no_shape_infer": "shape_inference" in left_out,
        }
    made = onnxslim.slim(onnx.load_model_from_string(model), **settings)
    assert isinstance(made, onnx.ModelProto)
    return made.SerializeToString()
