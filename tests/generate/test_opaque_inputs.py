"""Integers that go into operators which nothing is known of are masks, flags or rows of small tables."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from irfuzz.generate.input_planning.shape_inference_probe import probe
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.spec import load_specs

_T = onnx.TensorProto


def program(kind: int, domain: str) -> Program:
    node = helper.make_node("Nod", ["x"], ["y"], domain=domain)
    x = helper.make_tensor_value_info("x", kind, [500])
    y = helper.make_tensor_value_info("y", _T.FLOAT, [500])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("org.example", 1)]
    graph = helper.make_graph([node], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=imports, ir_version=8)
    if domain == "local":
        body = [helper.make_node("Identity", ["a"], ["b"])]
        model.functions.append(helper.make_function("local", "Nod", ["a"], ["b"], body, imports[:1]))
        model.opset_import.append(helper.make_opsetid("local", 1))
        y.type.tensor_type.elem_type = kind
        model.graph.output[0].CopyFrom(y)
    return Program.from_proto(model)


def drawn(made: Program) -> np.ndarray:
    array = make_inputs(made, 0)["x"]
    assert isinstance(array, np.ndarray)
    return array


def test_integers_are_zero_or_one() -> None:
    assert sorted(set(drawn(program(_T.INT64, "org.example")))) == [0, 1]


def test_quantised_data_uses_its_whole_range() -> None:
    assert drawn(program(_T.UINT8, "org.example")).max() > 200


def test_floats_are_free() -> None:
    assert drawn(program(_T.FLOAT, "org.example")).min() < -1


def test_functions_of_the_model_are_looked_into() -> None:
    assert drawn(program(_T.INT64, "local")).max() > 1


def _index_through(kind: str) -> Program:
    """Rows of a table by an index that comes through a function, or through the branches of an If."""
    make = helper.make_node
    table = helper.make_tensor("table", _T.FLOAT, [3], [1.0, 2.0, 3.0])
    x = helper.make_tensor_value_info("x", _T.INT64, [500])
    y = helper.make_tensor_value_info("y", _T.FLOAT, [500])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    inputs, functions = [x], []
    if kind == "function":
        body = [make("Identity", ["a"], ["b"])]
        functions.append(helper.make_function("local", "Same", ["a"], ["b"], body, imports[:1]))
        node = make("Same", ["x"], ["i"], domain="local")
    else:
        branches = [
            helper.make_graph(
                [make("Identity", ["x"], [name])], name, [], [helper.make_tensor_value_info(name, _T.INT64, [500])]
            )
            for name in ("p", "q")
        ]
        inputs.append(helper.make_tensor_value_info("c", _T.BOOL, []))
        node = make("If", ["c"], ["i"], then_branch=branches[0], else_branch=branches[1])
    graph = helper.make_graph([node, make("Gather", ["table", "i"], ["y"])], "g", inputs, [y], [table])
    return Program.from_proto(helper.make_model(graph, opset_imports=imports, ir_version=8, functions=functions))


@pytest.mark.parametrize("kind", ["function", "if"])
def test_indices_that_come_out_of_bodies_stay_in_range(kind: str) -> None:
    array = drawn(_index_through(kind))
    assert set(array) <= {-3, -2, -1, 0, 1, 2}
    assert len(set(array)) > 2


@pytest.mark.parametrize(("domain", "settled"), [("org.example", False), ("local", True)])
def test_whether_sizes_fit_an_opaque_operator_only_a_run_tells(domain: str, settled: bool) -> None:
    made = program(_T.FLOAT, domain)
    found = probe(made, {"x": (500,)}, load_specs())
    assert found.settled is settled
    assert found.unknown == (() if settled else ("y",))
