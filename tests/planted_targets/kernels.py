"""Runtimes with one wrong kernel each, as the papers found them: ONNX's reference evaluator with the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun


class _Planted:
    """Evaluates with the wrong kernels that a class names."""

    kernels: tuple[type[OpRun], ...] = ()

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        evaluator = ReferenceEvaluator(onnx.load_model_from_string(model), new_ops=list(self.kernels))
        return dict(zip(evaluator.output_names, evaluator.run(None, inputs), strict=True))


class BatchNormalization(OpRun):
    """Adds epsilon outside the root (CRADLE, figure 2c)."""

    op_domain = ""

    def _run(self, x, scale, bias, mean, var, epsilon=1e-5, momentum=0.9, training_mode=0, **_):
        shape = (-1,) + (1,) * (x.ndim - 2)
        scale, bias, mean, var = (v.reshape(shape) for v in (scale, bias, mean, var))
        return ((scale * (x - mean) / (np.sqrt(var) + epsilon) + bias).astype(x.dtype),)


class AveragePool(OpRun):
    """Counts the padding, whatever ``count_include_pad`` says (CRADLE, figure 6)."""

    op_domain = ""

    def _run(self, x, kernel_shape=None, pads=None, strides=None, **_):
        rank = x.ndim - 2
        pads, strides = list(pads or [0] * 2 * rank), list(strides or [1] * rank)
        wide = np.pad(x, [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:], strict=True)])
        windows = np.lib.stride_tricks.sliding_window_view(wide, kernel_shape, axis=tuple(range(2, x.ndim)))
        steps = tuple(slice(None, None, s) for s in strides)
        windows = windows[(slice(None), slice(None), *steps)]
        return (windows.mean(axis=tuple(range(-rank, 0))).astype(x.dtype),)


class Softmax(OpRun):
    """Takes the first axis, whatever ``axis`` says."""

    op_domain = ""

    def _run(self, x, axis=-1, **_):
        e = np.exp(x - x.max(axis=0, keepdims=True))
        return ((e / e.sum(axis=0, keepdims=True)).astype(x.dtype),)


class EpsilonOutside(_Planted):
    kernels = (BatchNormalization,)


class CountsPadding(_Planted):
    kernels = (AveragePool,)


class FirstAxis(_Planted):
    kernels = (Softmax,)


class Refuses(OpRun):
    op_domain = ""

    def _run(self, x, **_):
        raise ValueError("this Tanh is not to my taste")


Refuses.__name__ = "Tanh"


class NoTanh(_Planted):
    kernels = (Refuses,)


class Fuses:
    """Replaces Tanh, Softmax and Mul that stand together by something else; each alone is right."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        parsed = onnx.load_model_from_string(model)
        operators = " ".join(n.op_type for n in parsed.graph.node)
        evaluator = ReferenceEvaluator(parsed)
        outputs = dict(zip(evaluator.output_names, evaluator.run(None, inputs), strict=True))
        fused = "Tanh Softmax Mul" in operators
        return {name: value + 1 if fused else value for name, value in outputs.items()}


def _every_node(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """With those of bodies."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            yield from _every_node(attribute.g.node)


class FirstAxisEverywhere(_Planted):
    """As ``FirstAxis``, in bodies and functions too, to which the evaluator hands no kernels."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        proto = onnx.load_model_from_string(model)
        for nodes in (proto.graph.node, *(f.node for f in proto.functions)):
            for node in _every_node(nodes):
                for attribute in node.attribute if node.op_type == "Softmax" else ():
                    attribute.i = 0
        return super().run(proto.SerializeToString(), inputs)


class OtherBranch(_Planted):
    """Takes the other branch of every If."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        proto = onnx.load_model_from_string(model)
        other = {"then_branch": "else_branch", "else_branch": "then_branch"}
        for node in _every_node(proto.graph.node):
            for attribute in node.attribute if node.op_type == "If" else ():
                attribute.name = other[attribute.name]
        return super().run(proto.SerializeToString(), inputs)
