"""Opaque nodes keep the types that they were given through edits, and refuse what they were not typed for."""

from __future__ import annotations

import onnx
import onnx_ir as ir
import pytest
from onnx import helper

from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from tests import contrib
from tests.contrib import DOMAIN

F32 = ir.DataType.FLOAT
_T = onnx.TensorProto


def fused() -> onnx.ModelProto:
    """``contrib.fused`` of operators that nobody describes."""
    model = contrib.fused()
    for node in model.graph.node:
        if node.domain == DOMAIN:
            node.op_type = f"My{node.op_type}"
    return model


def typed() -> Program:
    """``fused`` with its opaque nodes typed by the model."""
    model = fused()
    for name in "bce":
        model.graph.value_info.append(helper.make_tensor_value_info(name, _T.FLOAT, ["batch", 3, 4]))
    return Program.from_proto(model)


def fact(program: Program, name: str) -> object:
    value = program.value(name)
    assert value is not None
    return program.fact(value)


def resize(program: Program, shape: tuple[int | str | None, ...], dtype: ir.DataType = F32) -> None:
    program.declare_inputs({program.graph.inputs[0]: TensorFact(dtype, shape)})


def test_what_the_model_declares_is_the_type() -> None:
    assert fact(typed(), "b") == TensorFact(F32, ("batch", 3, 4))


def test_a_named_size_becomes_what_the_input_gives_it() -> None:
    program = typed()
    resize(program, (2, 3, 4))
    assert fact(program, "e") == TensorFact(F32, (2, 3, 4))
    resize(program, ("rows", 3, 4))
    assert fact(program, "e") == TensorFact(F32, ("rows", 3, 4))


def test_another_size_is_refused() -> None:
    program = typed()
    with pytest.raises(
        InvalidProgram, match=r"com\.microsoft\.MyFusedMatMul is only known to take float \[batch,3,4\]"
    ):
        resize(program.clone(), (2, 5, 4))
    with pytest.raises(InvalidProgram, match="MyFusedMatMul is only known"):
        resize(program.clone(), (2, 3, 4, 1))


def test_another_element_type_is_refused() -> None:
    with pytest.raises(InvalidProgram, match=r"input 0 is double \[batch,3,4\]; .* only known to take float"):
        resize(typed(), ("batch", 3, 4), ir.DataType.DOUBLE)


def test_sizes_that_are_open_now_leave_the_rank() -> None:
    program = typed()
    resize(program, ("batch", None, 4))
    assert fact(program, "b") == TensorFact(F32, (None, None, None))
    resize(program, ("batch", 3, 4))  # and what was known before holds again
    assert fact(program, "b") == TensorFact(F32, ("batch", 3, 4))


def test_types_survive_clones_and_files() -> None:
    program = typed().clone()
    resize(program, (7, 3, 4))
    again = Program.from_bytes(program.to_bytes())
    for name in "bce":
        assert fact(again, name) == TensorFact(F32, (7, 3, 4))
    assert again.model.opset_imports[DOMAIN] == 1


def test_an_input_that_was_there_must_stay() -> None:
    program = typed()
    node = program.node("e")
    assert node is not None
    with pytest.raises(InvalidProgram, match=r"input 3 of com\.microsoft\.MySkipLayerNormalization must stay as it is"):
        program.set_input(node, 3, None)


def test_without_a_type_values_are_carried() -> None:
    program = Program.from_proto(fused())
    assert not isinstance(fact(program, "b"), TensorFact)
    assert program.inference.is_opaque(program.graph[1])
    assert not program.inference.is_opaque(program.graph[0])


def test_a_function_of_the_model_is_not_opaque() -> None:
    model = fused()
    body = [helper.make_node("MatMul", ["p", "q"], ["r"])]
    imports = [helper.make_opsetid("", 17)]
    model.functions.append(helper.make_function(DOMAIN, "MyFusedMatMul", ["p", "q"], ["r"], body, imports))
    del model.graph.node[1].attribute[:]
    program = Program.from_proto(model)
    assert not program.inference.is_opaque(program.graph[1])
    assert fact(program, "b") == TensorFact(F32, ("batch", 3, 4))


def test_opaque_nodes_in_bodies_are_typed_by_the_body() -> None:
    inner = helper.make_node("Gelu", ["x"], ["g"], domain=DOMAIN)
    out = helper.make_tensor_value_info("g", _T.FLOAT, [2, 3])
    then = helper.make_graph([inner], "then", [], [out])
    other = helper.make_graph([helper.make_node("Identity", ["x"], ["h"])], "else", [], [])
    other.output.append(helper.make_tensor_value_info("h", _T.FLOAT, [2, 3]))
    node = helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)
    x = helper.make_tensor_value_info("x", _T.FLOAT, [2, 3])
    c = helper.make_tensor_value_info("c", _T.BOOL, [])
    graph = helper.make_graph([node], "g", [x, c], [helper.make_tensor_value_info("y", _T.FLOAT, [2, 3])])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
    program = Program.from_proto(helper.make_model(graph, opset_imports=imports, ir_version=8))
    assert fact(program, "y") == TensorFact(F32, (2, 3))
