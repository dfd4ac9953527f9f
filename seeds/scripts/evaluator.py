"""The onnx reference evaluator for a seed's model, with what onnx 1.23 gets wrong made right."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.version_converter
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from onnx.reference.ops import op_loop


class LRN(OpRun):
    """LRN-13 as documented; onnx 1.23 normalises as many channels as there are batches (onnx issue 7805)."""

    def _run(self, x: np.ndarray, alpha: Any = None, beta: Any = None, bias: Any = None, size: Any = None) -> Any:
        before, after = (size - 1) // 2, size // 2
        squares = [(x[:, max(0, c - before) : c + after + 1] ** 2).sum(axis=1) for c in range(x.shape[1])]
        y = x / (bias + alpha / size * np.stack(squares, axis=1)) ** beta
        return (y.astype(x.dtype),)


class Loop(op_loop.Loop):
    """Loop with scan outputs as documented, one row an iteration; onnx 1.23 strings matrices together (np.vstack)."""

    def __init__(self, onnx_node: onnx.NodeProto, run_params: dict[str, Any]) -> None:
        super().__init__(onnx_node, run_params)
        run, count = self._run_body, self.K

        def stackable(*args: Any, **kwargs: Any) -> list[Any]:
            outputs = list(run(*args, **kwargs))
            first = len(outputs) - count
            return [*outputs[:first], *(np.expand_dims(x, 0) for x in outputs[first:])]

        self._run_body = stackable


def reference(model: onnx.ModelProto) -> ReferenceEvaluator:
    """The reference evaluator for a model.

    onnx 1.23 implements DequantizeLinear from opset 19 on only, so models that have it are converted first; for 8-bit
    integers and float32 scales the versions mean the same.
    """
    if any(node.op_type == "DequantizeLinear" for node in model.graph.node):
        model = onnx.version_converter.convert_version(model, 19)
    return ReferenceEvaluator(model, new_ops=[LRN, Loop])
