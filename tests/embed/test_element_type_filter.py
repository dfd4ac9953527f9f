"""Hypothesis strategies that keep to operators and element types."""

from __future__ import annotations

import inspect

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from irfuzz.embed.element_type_filter import element_type, of_types, types_in
from irfuzz.embed.hypothesis import models, programs
from irfuzz.errors import UsageError
from irfuzz.ir.program import Program
from irfuzz.spec import load_specs

FLOAT = frozenset({ir.DataType.FLOAT})
SOME = settings(
    max_examples=40,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
    derandomize=True,
)


@pytest.mark.unit
@pytest.mark.parametrize("strategy", [models, programs])
def test_strategies_show_their_parameters(strategy) -> None:
    parameters = inspect.signature(strategy).parameters
    assert list(parameters) == ["seeds", "ops", "dtypes", "opset", "max_edits", "max_nodes", "mutators"]
    assert {p.kind for p in parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.unit
@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("float32", "FLOAT"),
        ("float", "FLOAT"),
        ("bfloat16", "BFLOAT16"),
        (np.int64, "INT64"),
        (np.dtype("bool"), "BOOL"),
        (ir.DataType.FLOAT8E4M3FN, "FLOAT8E4M3FN"),
    ],
)
def test_an_element_type_has_several_names(given, meant: str) -> None:
    assert element_type(given).name == meant


@pytest.mark.unit
@pytest.mark.parametrize("given", ["floaty", "datetime64", 7])
def test_what_is_no_element_type_is_refused(given) -> None:
    with pytest.raises(UsageError, match="dtypes: expected element types such as 'float32', got"):
        element_type(given)


@pytest.mark.unit
@pytest.mark.parametrize(("op", "there"), [("Relu", True), ("Reshape", False), ("ArgMax", False), ("Clip", True)])
def test_operators_that_need_other_types_are_left_out(op: str, there: bool) -> None:
    spec = load_specs().get(op, 17)
    assert spec is not None
    assert (of_types(spec, FLOAT) is not None) is there
    assert of_types(spec, frozenset()) is spec


@SOME
@given(programs(dtypes=["float32"]))
def test_values_have_only_these_types(program: Program) -> None:
    assert types_in(program) == FLOAT


@SOME
@given(models(dtypes=["int64", "bool"], ops=["Add", "Not", "Greater", "Where"], max_edits=3))
def test_operators_and_types_together(model: onnx.ModelProto) -> None:
    onnx.checker.check_model(model, full_check=True)
    assert {node.op_type for node in model.graph.node} <= {"Add", "Not", "Greater", "Where"}
    assert types_in(Program.from_proto(model)) <= {ir.DataType.INT64, ir.DataType.BOOL}


@pytest.mark.unit
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"dtypes": ["float32"], "ops": ["Reshape"]}, "dtypes: no call of 'Reshape' has only values of FLOAT"),
        ({"dtypes": ["string"]}, "dtypes: no operator has only values of STRING"),
        ({"ops": ["Nonsense"]}, "ops: irfuzz draws no calls of 'Nonsense' at opset 17"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments: dict[str, list[str]], words: str) -> None:
    @SOME
    @given(models(**arguments))
    def test(model: onnx.ModelProto) -> None:
        raise AssertionError("nothing is drawn")

    with pytest.raises(UsageError, match=words):
        test()
