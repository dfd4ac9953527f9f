"""Models of more parts than can be held are refused before objects are made of them."""

from __future__ import annotations

import onnx
import pytest
from onnx import helper

from irfuzz.errors import InvalidProgram
from irfuzz.ir.program import Program
from irfuzz.ir.serialization import message_limits
from irfuzz.ir.serialization.message_limits import MAX_MESSAGES, check_message_limits

pytestmark = pytest.mark.unit


def relu(functions: int = 0) -> onnx.ModelProto:
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    imports = [helper.make_opsetid("", 17)]
    body = [helper.make_node("Relu", ["a"], ["b"])]
    made = [helper.make_function("own", f"f{number}", ["a"], ["b"], body, imports) for number in range(functions)]
    return helper.make_model(graph, opset_imports=imports, functions=made, ir_version=8)


@pytest.mark.parametrize("field", ["node", "value_info", "quantization_annotation"])
def test_a_graph_of_millions_of_empty_parts_is_refused(field: str) -> None:
    model = relu()
    tag = bytes([onnx.GraphProto.DESCRIPTOR.fields_by_name[field].number << 3 | 2, 0])
    model.graph.MergeFromString(tag * MAX_MESSAGES)

    with pytest.raises(InvalidProgram, match=f"more than {MAX_MESSAGES} parts"):
        Program.from_bytes(model.SerializeToString())


@pytest.mark.parametrize(("most", "fits"), [(3, True), (2, False)])
def test_functions_are_counted(monkeypatch: pytest.MonkeyPatch, most: int, fits: bool) -> None:
    monkeypatch.setattr(message_limits, "MAX_FUNCTIONS", most)
    data = relu(3).SerializeToString()
    if fits:
        assert len(Program.from_bytes(data).model.functions) == 3
        return
    with pytest.raises(InvalidProgram, match="the model has 3 functions; expected at most 2"):
        Program.from_bytes(data)


@pytest.mark.parametrize(("most", "fits"), [(9, False), (30, True)])
def test_parts_are_counted_only_where_so_many_fit_into_the_bytes(
    monkeypatch: pytest.MonkeyPatch, most: int, fits: bool
) -> None:
    monkeypatch.setattr(message_limits, "MAX_MESSAGES", most)
    model = relu()
    check_message_limits(model, 2 * most)
    if fits:
        check_message_limits(model, 2 * most + 1)
        return
    with pytest.raises(InvalidProgram, match="more than 9 parts"):
        check_message_limits(model, 2 * most + 1)
