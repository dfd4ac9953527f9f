"""What runs programs while sizes are looked for goes on behind one that nobody knows an operator of."""

from __future__ import annotations

import importlib.util

import numpy as np
import onnx
import pytest
from onnx import helper

from irfuzz.execute.quickest_installed_runtime import QuickRuntime
from irfuzz.ir.program import Program
from tests.contrib import unknown

pytestmark = pytest.mark.skipif(importlib.util.find_spec("onnxruntime") is None, reason="onnxruntime is not installed")


def test_an_unknown_operator_costs_later_programs_no_runtime() -> None:
    inputs = {"x": np.ones((2, 3), np.float32)}
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 3]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", [x], [y])
    plain = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with QuickRuntime() as runtime:
        refused = runtime(Program.from_proto(unknown(typed=True)), inputs)
        assert refused.error == "onnxruntime has no org.example.Nod"
        done = runtime(Program.from_proto(plain), inputs)
    assert done.error == ""
    np.testing.assert_array_equal(done.outputs["y"], -inputs["x"])  # type: ignore[arg-type]
