"""A converter of thirteen operators from ONNX to NumPy, as a young project has one, with faults to be switched on.

``benchmarks/ci_walkthrough.py`` and ``benchmarks/ten_nights.py`` copy this file into a project of their own and write
the names of the faults that its version has into ``FAULTS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

FAULTS: tuple[str, ...] = ()
"""``softmax-axis`` (always the last), ``gemm-beta`` (left out), ``transpose-default`` (only the last two axes change
places), ``concat-axis`` (counted from the end, it is one too few), ``mean-keepdims`` (always 1), ``sub-broadcast``
(operands change places if the first has fewer axes), ``mean-transpose`` (a pass takes a mean past a Transpose and
leaves its axes as they are)."""

Operator = Callable[..., np.ndarray]


def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    if not x.size:
        return x.copy()
    axis = -1 if "softmax-axis" in FAULTS else axis
    shifted = np.exp(x - x.max(axis=axis, keepdims=True))
    return shifted / shifted.sum(axis=axis, keepdims=True)


def gemm(
    a: np.ndarray, b: np.ndarray, c: np.ndarray | None = None, *, alpha: float = 1.0, beta: float = 1.0,
    transA: int = 0, transB: int = 0,
) -> np.ndarray:  # fmt: skip
    product = alpha * ((a.T if transA else a) @ (b.T if transB else b))
    if c is None:
        return product
    return product + (c if "gemm-beta" in FAULTS else beta * c)


def transpose(x: np.ndarray, perm: list[int] | None = None) -> np.ndarray:
    if perm is None and "transpose-default" in FAULTS and x.ndim > 2:
        return np.swapaxes(x, -1, -2)
    return np.transpose(x, perm)


def reshape(x: np.ndarray, shape: np.ndarray, allowzero: int = 0) -> np.ndarray:
    if allowzero:
        raise NotImplementedError("Reshape: allowzero")
    return x.reshape([x.shape[axis] if size == 0 else size for axis, size in enumerate(shape.tolist())])


def concat(*parts: np.ndarray, axis: int) -> np.ndarray:
    rank = parts[0].ndim
    if "concat-axis" in FAULTS and axis < 0 and rank > 1 and len({part.shape for part in parts}) == 1:
        axis = (axis - 1) % rank
    return np.concatenate(parts, axis)


def mean(x: np.ndarray, axes: list[int] | None = None, keepdims: int = 1) -> np.ndarray:
    keep = bool(keepdims) or "mean-keepdims" in FAULTS
    return x.mean(axis=tuple(axes) if axes else None, keepdims=keep)


def sub(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return b - a if "sub-broadcast" in FAULTS and a.ndim < b.ndim else a - b


OPERATORS: Mapping[str, Operator] = {
    "Add": np.add,
    "Sub": sub,
    "Mul": np.multiply,
    "Relu": lambda x: np.maximum(x, 0),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Tanh": np.tanh,
    "MatMul": np.matmul,
    "Gemm": gemm,
    "Transpose": transpose,
    "Reshape": reshape,
    "Concat": concat,
    "Softmax": softmax,
    "ReduceMean": mean,
}


def convert(model: onnx.ModelProto) -> Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]:
    """A function of NumPy that computes what a model computes.

    Raises:
        NotImplementedError: it has an operator, element type or opset that the converter has not.
    """
    if any(opset.domain not in ("", "ai.onnx") or not 13 <= opset.version <= 17 for opset in model.opset_import):
        raise NotImplementedError("opsets 13 to 17 of ONNX's own operators")
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type not in OPERATORS:
            raise NotImplementedError(node.op_type)
    if "mean-transpose" in FAULTS:
        take_means_past_transposes(model.graph)
    kinds = {value.type.tensor_type.elem_type for value in model.graph.input}
    if not kinds <= {onnx.TensorProto.FLOAT}:
        raise NotImplementedError("inputs other than float32")

    def run(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        values: dict[str, Any] = {**weights, **inputs, "": None}
        for node in model.graph.node:
            attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            given = [values[name] for name in node.input]
            if any(value is not None and value.dtype not in (np.float32, np.int64) for value in given):
                raise NotImplementedError(f"{node.op_type} of {given[0].dtype}")
            with np.errstate(all="ignore"):
                values[node.output[0]] = np.asarray(OPERATORS[node.op_type](*given, **attributes), given[0].dtype)
        return {value.name: values[value.name] for value in model.graph.output}

    return run


def take_means_past_transposes(graph: onnx.GraphProto) -> None:
    """A mean that keeps its axes becomes the Transpose of a mean; what the Transpose made stays for other readers."""
    made = {node.output[0]: node for node in graph.node if node.op_type == "Transpose"}
    changed: list[onnx.NodeProto] = []
    for node in graph.node:
        before = made.get(node.input[0]) if node.op_type == "ReduceMean" else None
        if before is None or any(a.name == "keepdims" and not a.i for a in node.attribute):
            changed.append(node)
            continue
        taken, behind = onnx.NodeProto(), onnx.NodeProto()
        taken.CopyFrom(node)
        behind.CopyFrom(before)
        taken.input[0], taken.output[0] = before.input[0], f"{node.output[0]} before its Transpose"
        behind.input[0], behind.output[0] = taken.output[0], node.output[0]
        changed += [taken, behind]
    del graph.node[:]
    graph.node.extend(changed)


class Converter:
    """The target: it converts a model and runs what came of it."""

    version = "0.3"

    def run(self, model: bytes, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """What the converted model computes."""
        return convert(onnx.load_model_from_string(model))(inputs)
