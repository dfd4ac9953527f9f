"""Plug-in targets that compute one layer wrongly, as EAGLE's rules are to find it: onnx's reference evaluator else."""

from __future__ import annotations

from typing import Any

import numpy as np


class _Planted:
    """Evaluates with its own ``kernel`` of the operator ``op``."""

    op = ""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        import onnx
        from onnx.reference import ReferenceEvaluator
        from onnx.reference.op_run import OpRun

        compute = self.kernel
        made = type(self.op, (OpRun,), {"op_domain": "", "_run": lambda _, *given, **attrs: compute(*given, **attrs)})
        evaluator = ReferenceEvaluator(onnx.load_model_from_string(model), new_ops=[made])
        return dict(zip(evaluator.output_names, evaluator.run(None, inputs), strict=True))

    def kernel(self, *given: Any, **attrs: Any) -> tuple[Any, ...]:
        raise NotImplementedError


class EpsilonOutside(_Planted):
    """BatchNormalization adds epsilon outside the root (CRADLE, figure 2c)."""

    op = "BatchNormalization"

    def kernel(self, x: Any, *rows: Any, epsilon: float = 1e-5, **_: Any) -> tuple[Any, ...]:
        scale, bias, mean, var = (r.reshape((-1,) + (1,) * (x.ndim - 2)) for r in rows)
        return ((scale * (x - mean) / (np.sqrt(var) + epsilon) + bias).astype(x.dtype),)


class CorrectedVariance(_Planted):
    """LayerNormalization divides the sum of squares by one less than their number."""

    op = "LayerNormalization"

    def kernel(
        self, x: Any, scale: Any, bias: Any = None, axis: int = -1, epsilon: float = 1e-5, **_: Any
    ) -> tuple[Any, ...]:
        axes = tuple(range(axis % x.ndim, x.ndim))
        variance = x.var(axis=axes, keepdims=True, ddof=1)
        y = (x - x.mean(axis=axes, keepdims=True)) / np.sqrt(variance + epsilon) * scale
        return ((y if bias is None else y + bias).astype(x.dtype),)


class CountsPadding(_Planted):
    """AveragePool counts the padding, whatever ``count_include_pad`` says (CRADLE, figure 6)."""

    op = "AveragePool"

    def kernel(self, x: Any, kernel_shape: Any = None, pads: Any = None, strides: Any = None, **_: Any) -> Any:
        rank = x.ndim - 2
        pads, strides = list(pads or [0] * 2 * rank), list(strides or [1] * rank)
        wide = np.pad(x, [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:], strict=True)])
        windows = np.lib.stride_tricks.sliding_window_view(wide, kernel_shape, axis=tuple(range(2, x.ndim)))
        windows = windows[(slice(None), slice(None), *(slice(None, None, s) for s in strides))]
        return (windows.mean(axis=tuple(range(-rank, 0))).astype(x.dtype),)


class PadsWithZeros(_Planted):
    """MaxPool takes its padding for zeros."""

    op = "MaxPool"

    def kernel(self, x: Any, kernel_shape: Any = None, pads: Any = None, strides: Any = None, **_: Any) -> Any:
        rank = x.ndim - 2
        pads, strides = list(pads or [0] * 2 * rank), list(strides or [1] * rank)
        lowest = 0.0 if any(pads) else -np.inf
        wide = np.pad(x, [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:], strict=True)], constant_values=lowest)
        windows = np.lib.stride_tricks.sliding_window_view(wide, kernel_shape, axis=tuple(range(2, x.ndim)))
        windows = windows[(slice(None), slice(None), *(slice(None, None, s) for s in strides))]
        return (windows.max(axis=tuple(range(-rank, 0))).astype(x.dtype),)


class ResetsFirst(_Planted):
    """GRU applies the reset gate before the product, whatever ``linear_before_reset`` says."""

    op = "GRU"

    def kernel(self, x: Any, w: Any, r: Any, b: Any = None, *_: Any, hidden_size: int = 0, **__: Any) -> Any:
        size = hidden_size
        b = np.zeros((1, 6 * size), x.dtype) if b is None else b
        wz, wr, wh = np.split(w[0], 3)
        rz, rr, rh = np.split(r[0], 3)
        wbz, wbr, wbh, rbz, rbr, rbh = np.split(b[0], 6)

        def sigmoid(a: Any) -> Any:
            return 1 / (1 + np.exp(-a))

        state, row = np.zeros((x.shape[1], size), x.dtype), []
        for step in x:
            update = sigmoid(step @ wz.T + state @ rz.T + wbz + rbz)
            reset = sigmoid(step @ wr.T + state @ rr.T + wbr + rbr)
            new = np.tanh(step @ wh.T + (reset * state) @ rh.T + rbh + wbh)
            state = ((1 - update) * new + update * state).astype(x.dtype)
            row.append(state)
        return np.stack(row)[:, None], state[None]
