"""Initializers that are listed among the inputs: constants below IR version 4, defaults from there on."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import parser

from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.ir.input_defaults import at_defaults, freeze_defaults, required_inputs
from irfuzz.ir.program import Program
from tests.ir.protodiff import differences, walk

TEXT = """<ir_version: {version}, opset_import: ["" : 9]>
g (int64[2] s, float[2, 4] x, float[4] b) => (float[2, 3] y)
<int64[2] s = {{4, 3}}, float[4] b = {{1, 2, 3, 4}}>
{{
  w = ConstantOfShape <value = float[1] {{0.5}}> (s)
  a = Add(x, b)
  y = MatMul(a, w)
}}
"""


def parsed(text: str) -> onnx.ModelProto:
    """A model, without the empty domains that onnx's parser sets."""
    model = parser.parse_model(text)
    for message in walk(model):
        if isinstance(message, onnx.NodeProto) and not message.domain:
            message.ClearField("domain")
    return model


def model_of(version: int) -> onnx.ModelProto:
    return parsed(TEXT.format(version=version))


def names(program: Program) -> list[str | None]:
    return [value.name for value in program.graph.inputs]


def shape_of(program: Program, name: str) -> object:
    value = program.value(name)
    assert value is not None
    fact = program.fact(value)
    assert isinstance(fact, TensorFact)
    return fact.shape


@pytest.mark.parametrize("version", [1, 3])
def test_listed_initializers_are_constants(version: int) -> None:
    program = Program.from_proto(model_of(version))
    assert names(program) == ["x"]
    assert shape_of(program, "w") == (4, 3)
    assert np.array_equal(program.const_array(program.value("b")), [1, 2, 3, 4])  # type: ignore[arg-type]
    assert freeze_defaults(program) == 0
    assert at_defaults(program) is program


@pytest.mark.parametrize("version", [4, 8])
def test_later_ones_are_defaults_until_they_are_frozen(version: int) -> None:
    program = Program.from_proto(model_of(version))
    assert names(program) == ["s", "x", "b"]
    assert [v.name for v in required_inputs(program.graph)] == ["x"]
    assert shape_of(program, "w") == (None, None)
    assert program.const_array(program.value("b")) is None
    frozen = at_defaults(program)
    assert names(frozen) == ["x"]
    assert shape_of(frozen, "w") == (4, 3)
    assert names(program) == ["s", "x", "b"], "the program itself stays as it is"


@pytest.mark.parametrize("version", [3, 4])
def test_the_file_lists_them_again_in_its_order(version: int) -> None:
    model = model_of(version)
    assert not list(differences(model, Program.from_proto(model).to_proto()))


def test_an_added_constant_is_listed_too() -> None:
    program = Program.from_proto(model_of(3))
    add = program.insert("Add", [program.value("a"), program.constant(np.ones(4, np.float32), "more")])
    program.add_output(add.outputs[0])
    made = program.to_proto()
    onnx.checker.check_model(made)
    assert [v.name for v in made.graph.input] == ["s", "x", "b", "more_0"]
    assert names(Program.from_proto(made)) == ["x"]


def test_no_list_is_written_once_the_version_wants_none() -> None:
    program = Program.from_proto(model_of(3))
    program.model.ir_version = 4
    made = program.to_proto()
    onnx.checker.check_model(made)
    assert [v.name for v in made.graph.input] == ["x"]


def test_the_order_holds_when_an_input_or_a_constant_goes() -> None:
    program = Program.from_proto(model_of(3))
    value = program.value("b")
    assert value is not None
    del program.graph.initializers["b"]
    program.graph.inputs.append(value)
    assert [v.name for v in program.to_proto().graph.input] == ["s", "x", "b"]


def test_bodies_of_old_models_list_theirs() -> None:
    text = """<ir_version: 3, opset_import: ["" : 9]> g (bool c, float[2] x) => (float[2] y) {
      y = If (c) <
        then_branch = t (float[2] k) => (float[2] u) <float[2] k = {1, 2}> { u = Add(x, k) },
        else_branch = e () => (float[2] v) { v = Neg(x) }
      >
    }"""
    model = parsed(text)
    program = Program.from_proto(model)
    (branch, _) = [a.as_graph() for a in program.nodes()[0].attributes.values()]
    assert not branch.inputs
    assert list(branch.initializers) == ["k"]
    assert not list(differences(model, program.to_proto()))
    program.model.ir_version = 4
    assert not program.to_proto().graph.node[0].attribute[0].g.input


@pytest.mark.parametrize("version", [3, 8])
def test_one_that_is_declared_as_something_else_is_refused(version: int) -> None:
    model = model_of(version)
    model.graph.input[2].type.tensor_type.shape.dim[0].dim_value = 5
    with pytest.raises(InvalidProgram, match=r"initializer 'b' is declared \[5\], but it is \[4\]"):
        Program.from_proto(model)
