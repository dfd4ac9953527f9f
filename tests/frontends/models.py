"""Small models for the tests of loading."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def add_weights(dtype: type = np.float32, op: str = "Add", domain: str = "") -> onnx.ModelProto:
    """y = x + w with w = [1, 2, 3]."""
    graph = helper.make_graph(
        [helper.make_node(op, ["x", "w"], ["y"], name="n", domain=domain or None)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
        [numpy_helper.from_array(np.array([1, 2, 3], dtype=dtype), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def stored_outside(location: str, **entries: str) -> onnx.ModelProto:
    """``add_weights`` whose weights are in another file."""
    model = add_weights()
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=value)
    return model
