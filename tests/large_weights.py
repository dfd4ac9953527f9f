"""Models with a large weight, or a large constant in an attribute."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def model(size: int, *, inner: int = 0) -> onnx.ModelProto:
    """Adds a weight of ``size`` bytes, and the sum of a constant of ``inner`` bytes, which stands in an attribute."""
    draw = np.random.default_rng(size)
    weight = numpy_helper.from_array(draw.random(size // 4, np.float32), "w")
    nodes = [helper.make_node("Add", ["x", "w"], ["a"])]
    constant = numpy_helper.from_array(draw.random(max(inner // 4, 1), np.float32), "c")
    nodes += [
        helper.make_node("Constant", [], ["c"], value=constant),
        helper.make_node("ReduceSum", ["c"], ["s"], keepdims=0),
        helper.make_node("Add", ["a", "s"], ["y"]),
    ]
    value = helper.make_tensor_value_info
    shape = [size // 4]
    graph = helper.make_graph(
        nodes, "g", [value("x", TensorProto.FLOAT, shape)], [value("y", TensorProto.FLOAT, shape)], [weight]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
