"""Writes a graph by hand, node after node, as a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from .seed import IR_VERSION, OPSET


class Graph:
    """Collects inputs, initialisers, nodes and outputs of one graph; values are named after the node that makes them.

    Args:
        name: of the graph, and prefix of nothing.
        seed: of the weights that ``weight`` draws.
    """

    def __init__(self, name: str, seed: int = 0) -> None:
        self.name = name
        self.rng = np.random.default_rng(seed)
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, onnx.TensorProto] = {}

    def input(self, name: str, dtype: Any, shape: Sequence[int | str]) -> str:
        """A graph input of a NumPy dtype, ``str`` for strings; strings in the shape are named dimensions."""
        self.inputs.append(helper.make_tensor_value_info(name, _element(dtype), shape))
        return name

    def output(self, value: str, dtype: Any, shape: Sequence[int | str]) -> None:
        """Make a value a graph output."""
        self.outputs.append(helper.make_tensor_value_info(value, _element(dtype), shape))

    def constant(self, name: str, array: Any) -> str:
        """An initialiser; float64 becomes float32. The same name gives the same initialiser."""
        array = np.asarray(array)
        array = array.astype(np.float32) if array.dtype == np.float64 else array
        if array.dtype.kind == "U":
            tensor = helper.make_tensor(name, onnx.TensorProto.STRING, array.shape, [s.encode() for s in array.flat])
        else:
            tensor = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
        if name in self.initializers and self.initializers[name] != tensor:
            raise ValueError(f"{self.name}: initialiser {name!r} is there already, with other content")
        self.initializers[name] = tensor
        return name

    def weight(self, name: str, *shape: int, gain: float = 1.0, inputs: int | None = None) -> str:
        """A normal initialiser of deviation ``gain / sqrt(inputs)``; by default all but the first size are inputs."""
        inputs = inputs or int(np.prod(shape[1:])) or 1
        return self.constant(name, gain * self.rng.standard_normal(shape) / np.sqrt(inputs))

    def bias(self, name: str, *shape: int, deviation: float = 0.2) -> str:
        """A normal initialiser."""
        return self.constant(name, deviation * self.rng.standard_normal(shape))

    def node(self, op: str, name: str, inputs: Sequence[str], output: str | None = None, **attributes: Any) -> str:
        """A node with one output, which is named after it where no name is given."""
        return self.many(op, name, inputs, [output or f"{name}_output"], **attributes)[0]

    def many(self, op: str, name: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> list[str]:
        """A node with named outputs; an empty name leaves an optional one out."""
        self.nodes.append(helper.make_node(op, list(inputs), list(outputs), name=name, **attributes))
        return list(outputs)

    def dense(
        self, name: str, x: str, before: int, after: int, activation: str | None = None, output: str | None = None
    ) -> str:
        """Gemm with a transposed weight, as PyTorch's Linear, and an activation, whose output may be named."""
        weights = [self.weight(f"{name}.weight", after, before), self.bias(f"{name}.bias", after)]
        if activation is None:
            return self.node("Gemm", f"{name}/Gemm", [x, *weights], output, transB=1)
        return self.node(
            activation, f"{name}/{activation}", [self.node("Gemm", f"{name}/Gemm", [x, *weights], transB=1)], output
        )

    def conv(self, name: str, x: str, before: int, after: int, size: int, axes: int = 2, **attributes: Any) -> str:
        """Conv with a bias over ``axes`` spatial axes, padded to keep sizes; ``attributes`` go before."""
        weights = [self.weight(f"{name}.weight", after, before, *[size] * axes), self.bias(f"{name}.bias", after)]
        attributes = {"kernel_shape": [size] * axes, "pads": [size // 2] * 2 * axes, **attributes}
        return self.node("Conv", f"{name}/Conv", [x, *weights], **attributes)

    def graph(self) -> onnx.GraphProto:
        """The graph as it is, for a body; its initialisers stay with it."""
        return helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, list(self.initializers.values()))

    def model(self) -> onnx.ModelProto:
        """A model with inferred types of inner values left out, as most tools write it."""
        return helper.make_model(
            self.graph(),
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="irfuzz-seeds",
        )


def _element(dtype: Any) -> int:
    return onnx.TensorProto.STRING if dtype is str else helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
