"""Runtimes that are right, wrong, dead, slow or without an operator where a call of Neg is to be computed."""

from __future__ import annotations

import os
import time
from typing import Any


def _evaluate(model: bytes, inputs: dict[str, Any], neg: Any) -> dict[str, Any]:
    import onnx
    from onnx.reference import ReferenceEvaluator
    from onnx.reference.op_run import OpRun

    op = type("Neg", (OpRun,), {"op_domain": "", "_run": lambda self, x: (neg(x),)})
    evaluator = ReferenceEvaluator(onnx.load_model_from_string(model), new_ops=[op])
    return dict(zip(evaluator.output_names, evaluator.run(None, inputs), strict=True))


class Right:
    """Computes what ONNX says."""

    version = "1"

    def neg(self, x: Any) -> Any:
        return -x

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        return _evaluate(model, inputs, self.neg)


class Wrong(Right):
    """Is off by an amount that a usual tolerance lets pass."""

    def neg(self, x: Any) -> Any:
        return (-x * (1 + 2**-13)).astype(x.dtype) if x.dtype.kind == "f" else -x


class Dies(Right):
    """Ends its process."""

    def neg(self, x: Any) -> Any:
        os._exit(7)


class DiesOnce(Right):
    """Ends its process if that ran something before: alone it is right."""

    ran = False

    def neg(self, x: Any) -> Any:
        if DiesOnce.ran:
            os._exit(7)
        DiesOnce.ran = True
        return -x


class Hangs(Right):
    """Does not come back."""

    def neg(self, x: Any) -> Any:
        time.sleep(3600)


class Refuses(Right):
    """Has no such operator."""

    def neg(self, x: Any) -> Any:
        raise NotImplementedError("no Neg")
