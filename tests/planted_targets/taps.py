"""A runtime whose optimiser is wrong only where it may fuse: reading an inner value hides its fault."""

from __future__ import annotations

from onnx import load_model_from_string
from onnx.reference import ReferenceEvaluator


class Fuses:
    """Right for models with several outputs, and one too high for others."""

    def run(self, model_bytes, inputs):
        model = load_model_from_string(model_bytes)
        values = ReferenceEvaluator(model).run(None, inputs)
        fused = len(model.graph.output) == 1
        return {o.name: v + 1 if fused else v for o, v in zip(model.graph.output, values, strict=True)}
