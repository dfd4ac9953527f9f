"""Targets whose kernels go wrong on one form of a program and are right on others: only rewrites expose them."""

from __future__ import annotations

from typing import Any

import numpy as np


class LosesAGroup:
    """A grouped convolution computes nothing for its last group."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        import onnx
        from onnx.reference import ReferenceEvaluator
        from onnx.reference.ops.op_conv import Conv as Right

        class Conv(Right):
            op_domain = ""

            def _run(self, *given: Any, **attrs: Any) -> Any:
                (y,) = Right._run(self, *given, **attrs)
                groups = attrs.get("group") or 1
                if groups > 1:
                    y = y.copy()
                    y[:, -(y.shape[1] // groups) :] = 0
                return (y,)

        evaluator = ReferenceEvaluator(onnx.load_model_from_string(model), new_ops=[Conv])
        return dict(zip(evaluator.output_names, evaluator.run(None, inputs), strict=True))


class RepeatsTheFirstRow:
    """A matrix product of more than one row gives the first row again and again."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        import onnx
        from onnx.reference import ReferenceEvaluator
        from onnx.reference.op_run import OpRun

        class MatMul(OpRun):
            op_domain = ""

            def _run(self, a: Any, b: Any) -> Any:
                return (np.broadcast_to((a @ b)[:1], (a @ b).shape).copy(),)

        evaluator = ReferenceEvaluator(onnx.load_model_from_string(model), new_ops=[MatMul])
        return dict(zip(evaluator.output_names, evaluator.run(None, inputs), strict=True))
