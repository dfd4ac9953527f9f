"""The faults of EAGLE's paper (section 5.2), one a target: each is right in one form or way and wrong in another."""

from __future__ import annotations

from typing import Any

import numpy as np


def evaluate(model: bytes, inputs: dict[str, Any], *ops: Any) -> dict[str, Any]:
    """What onnx's reference evaluator computes, with some operators replaced."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(onnx.load_model_from_string(model), new_ops=list(ops))
    return dict(zip(evaluator.output_names, evaluator.run(None, inputs), strict=True))


def _op(name: str, compute: Any) -> Any:
    """An operator as the reference evaluator wants it."""
    from onnx.reference.op_run import OpRun

    return type(name, (OpRun,), {"op_domain": "", "_run": lambda self, *given, **attrs: compute(*given, **attrs)})


class _Right:
    """Computes the same in every way."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        return evaluate(model, inputs)


class ReversesTheBatch:
    """A bidirectional RNN in time-major order turns the backward results round along the batch (TensorFlow 2.1)."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        return evaluate(model, inputs, _op("RNN", self._rnn))

    def _rnn(
        self, x: Any, w: Any, r: Any, b: Any = None, lens: Any = None, h: Any = None, layout: int = 0,
        direction: str = "forward", hidden_size: int = 0, **_: Any,
    ) -> Any:  # fmt: skip
        x = np.swapaxes(x, 0, 1) if layout else x
        ways: list[np.ndarray] = []
        for k, way in enumerate(("forward", "reverse") if direction == "bidirectional" else (direction,)):
            state, row = np.zeros((x.shape[1], hidden_size), x.dtype), []
            for step in x[::-1] if way == "reverse" else x:
                state = np.tanh(step @ w[k].T + state @ r[k].T)
                row.append(state)
            whole = np.stack(row)
            if way == "reverse":
                wrong = direction == "bidirectional" and not layout
                whole = whole[::-1][:, ::-1] if wrong else whole[::-1]
            ways.append(whole)
        y = np.stack(ways, 1)
        last = y[-1]
        return (np.transpose(y, (2, 0, 1, 3)), np.swapaxes(last, 0, 1)) if layout else (y, last)


class FloorsTowardsZero(_Right):
    """Optimised, the floor of a quotient is cut off (tf.math.floordiv, TensorFlow issue 47970)."""

    def run_way(self, way: str, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        if way != "optimised":
            raise NotImplementedError(way)
        return evaluate(model, inputs, _op("Floor", lambda x: (np.trunc(x),)))


class ReadsRows(_Right):
    """The sparse product takes its right factor's memory for rows, however it is stored (torch.sspaddmm)."""

    def run_way(self, way: str, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        if way != "sparse":
            raise NotImplementedError(way)
        moved = _op("Transpose", lambda x, perm=None: (np.transpose(x, perm),))  # a view, as in torch
        return evaluate(model, inputs, moved, _op("MatMul", self._product))

    def _product(self, a: Any, b: Any) -> Any:
        rows = np.frombuffer(b.tobytes(order="A"), b.dtype).reshape(b.shape)
        return (a @ rows,)


class LosesABit(_Right):
    """The encoder drops the lowest bit (tf.io.decode_gif after encoding)."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        return evaluate(model, inputs, _op("QuantizeLinear", self._lossy))

    def _lossy(self, x: Any, scale: Any, zero: Any, **_: Any) -> Any:
        edge = np.iinfo(zero.dtype)
        code = np.clip(np.rint(x / scale) + zero, edge.min, edge.max).astype(zero.dtype)
        return (code & ~np.asarray(1, zero.dtype),)


class RemaindersOfDoubles(_Right):
    """``fmod`` of 64-bit integers is computed in float64 (torch.fmod)."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        return evaluate(model, inputs, _op("Mod", self._mod))

    def _mod(self, a: Any, b: Any, fmod: int = 0) -> Any:
        rest = (np.fmod if fmod else np.mod)(a.astype(np.float64), np.asarray(b, np.float64))
        return (rest.astype(a.dtype),)


class ForgetsBiases(_Right):
    """A reloaded model has lost what Conv and Gemm add."""

    def run_way(self, way: str, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        if way != "reload":
            raise NotImplementedError(way)
        import onnx

        loaded = onnx.load_model_from_string(model)
        for node in loaded.graph.node:
            if node.op_type in ("Conv", "Gemm"):
                del node.input[2:]
        return evaluate(loaded.SerializeToString(), inputs)


class MisreadsBytes(_Right):
    """A decoder loses the lowest bit of an image's bytes."""

    def run_way(self, way: str, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        if way != "encoded":
            raise NotImplementedError(way)
        return evaluate(model, {n: v & 0xFE if v.dtype == np.uint8 else v for n, v in inputs.items()})


class ForgetsNormalisation(_Right):
    """A reloaded model has lost the statistics of its normalisation (torchvision's InceptionV3, tf's from_config)."""

    def run_way(self, way: str, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        if way != "reload":
            raise NotImplementedError(way)
        return evaluate(model, inputs, _op("BatchNormalization", self._plain))

    def _plain(self, x: Any, scale: Any, bias: Any, mean: Any, variance: Any, **_: Any) -> Any:
        wide = (1, -1, *(1,) * (x.ndim - 2))
        return (x * scale.reshape(wide) + bias.reshape(wide),)


class CollatesBackwards(_Right):
    """A pipeline puts the batch together in the wrong order."""

    def run_way(self, way: str, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        if way != "pipeline":
            raise NotImplementedError(way)
        return evaluate(model, {name: value[::-1].copy() for name, value in inputs.items()})


class RightInOtherWays(_Right):
    """What it runs itself is wrong, and all of its other ways are right."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        return evaluate(model, inputs, _op("Floor", lambda x: (np.trunc(x),)))

    def run_way(self, way: str, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        return evaluate(model, inputs)


class WrongInTwoWays(_Right):
    """Two of its other ways are wrong, each in its own manner."""

    def run_way(self, way: str, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        if way not in ("sparse", "reload"):
            raise NotImplementedError(way)
        wrong = {"sparse": np.trunc, "reload": lambda x: np.floor(x) + 3}[way]
        return evaluate(model, inputs, _op("Floor", lambda x: (wrong(x),)))
