"""COMET's three criteria: the fixed space, what programs cover of it, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from onnx import parser

from irfuzz.cli.main import main
from irfuzz.errors import UsageError
from irfuzz.ir.program import Program
from irfuzz.search.coverage.coverable_call_space import (
    LEFT_OUT_KINDS,
    OLDEST,
    SHAPES,
    SPACES,
    VALUES,
    Space,
    compute,
    left_out,
    load,
    spelled_out,
)
from irfuzz.search.coverage.graphfuzz_operator_coverage import OperatorLevel
from irfuzz.search.coverage.operator_call_coverage import Coverage
from irfuzz.spec import load_specs

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def space() -> Space:
    return load()


def program(body: str, shape: str = "2,3", kind: str = "float") -> Program:
    text = f'<ir_version: 8, opset_import: ["" : 17]> g ({kind}[{shape}] x) => ({kind}[{shape}] y) {{ {body} }}'
    return Program.from_proto(parser.parse_model(text))


NEWEST = load_specs().newest("")


def test_the_committed_spaces_are_those_of_the_specs() -> None:
    assert SPACES.read_text() == spelled_out(load_specs()), "run: python -m benchmarks.coverage_space"
    for opset in (OLDEST, 17, NEWEST):
        assert load(opset) == compute(load_specs(), opset)


def test_every_opset_from_13_on_has_a_space_and_no_other() -> None:
    assert load().opset == NEWEST
    assert [load(opset).opset for opset in range(OLDEST, NEWEST + 1)] == list(range(OLDEST, NEWEST + 1))
    for opset in (OLDEST - 1, NEWEST + 1):
        with pytest.raises(UsageError, match=f"expected 13 to {NEWEST}"):
            load(opset)
    assert "Gelu" not in load(19).operators
    assert "Gelu" in load(20).operators
    assert load(17).operators["Conv"] != load(22).operators["Conv"]  # bfloat16


@pytest.mark.parametrize("opset", [OLDEST, 17, NEWEST])
def test_nothing_is_left_out_without_a_written_reason(opset: int) -> None:
    space, specs = load(opset), load_specs()
    for name in {s.name for s in onnx.defs.get_all_schemas_with_history() if not s.domain} - set(left_out(specs)):
        spec = specs.get(name, opset)
        if spec is None:
            assert name not in space.operators
            continue
        assert not spec.deprecated
        told = {a.name for a in spec.attrs.values() if a.type not in LEFT_OUT_KINDS}
        assert told <= set(space.operators[name].parameters), name
    for op, parameter in (("LSTM", "activations"), ("GRU", "activations"), ("Einsum", "equation")):
        assert space.operators[op].parameters[parameter] == VALUES
    assert {"If", "Loop", "Scan"} <= set(space.operators)
    assert set(left_out(specs)) == {"ImageDecoder", "Scatter", "Upsample"}
    for name in left_out(specs):
        spec = specs.get(name, opset)
        assert spec is None or spec.deprecated or name == "ImageDecoder"


def test_activations_equations_and_bodies_count(space: Space) -> None:
    coverage = Coverage(space)
    text = """<ir_version: 8, opset_import: ["" : 17]> g (bool c, float[2,3] x, float[3,4] w) => (float[2,4] y) {
        a = Einsum<equation = "ij,jk->ik">(x, w)
        y = If (c) <then_branch = t () => (float[2,4] p) { p = Relu(a) },
                    else_branch = e () => (float[2,4] q) { q = Abs(a) }> }"""
    coverage.add(Program.from_proto(parser.parse_model(text)))
    inputs, parameters = coverage.by_operator()["Einsum"]
    assert (inputs.covered, parameters.covered) == (3, 1)
    assert coverage.by_operator()["If"][0].covered == 3
    assert coverage.shares()["sequence"].covered == 2  # Einsum is read in both bodies


def test_the_space_has_every_operator_with_types_ranks_and_values(space: Space) -> None:
    assert len(space.operators) >= 200
    conv = space.operators["Conv"]
    assert conv.dtypes == ("BFLOAT16", "DOUBLE", "FLOAT", "FLOAT16")  # bfloat16 since 22
    assert load(17).operators["Conv"].dtypes == ("DOUBLE", "FLOAT", "FLOAT16")
    assert set(conv.ranks) >= {3, 4, 5}
    assert conv.shapes == SHAPES
    assert conv.parameters["auto_pad"] == ("NOTSET", "SAME_LOWER", "SAME_UPPER", "VALID")
    assert conv.parameters["strides"] == VALUES
    assert ("Conv", "Relu") in space.sequences
    assert ("Not", "Conv") not in space.sequences  # no Boolean convolution
    assert set(space.totals()) == {"input", "parameter", "sequence"}


def test_equations_1_to_3_count_what_is_new(space: Space) -> None:
    coverage = Coverage(space)
    # Relu: type, rank, shape; LeakyRelu the same and its alpha; the pair.
    assert coverage.add(program("a = Relu(x) y = LeakyRelu<alpha = 0.2>(a)")) == 3 + 3 + 1 + 1
    assert coverage.add(program("a = Relu(x) y = LeakyRelu<alpha = 0.2>(a)")) == 0
    assert coverage.add(program("y = Relu(x)", "4,5")) == 1
    assert coverage.add(program("y = Relu(x)", "4,5,6")) == 2
    assert coverage.add(program("y = Relu(x)", "4,5", "double")) == 1
    inputs, parameters = coverage.by_operator()["LeakyRelu"]
    assert (inputs.covered, parameters.covered, parameters.total) == (3, 1, VALUES)


def test_no_more_shapes_and_values_count_than_the_paper_says(space: Space) -> None:
    coverage = Coverage(space)
    for size in range(1, 20):
        coverage.add(program(f"y = LeakyRelu<alpha = 0.{size}>(x)", f"{size},2"))
    inputs, parameters = coverage.by_operator()["LeakyRelu"]
    assert inputs.covered == 1 + 1 + SHAPES
    assert parameters.covered == VALUES


def test_defaults_and_constant_inputs_are_values_too(space: Space) -> None:
    coverage = Coverage(space)
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[2,3] x) => (float[2,1] y) <int64[1] axes = {1}>
    { y = ReduceSum(x, axes) }"""
    coverage.add(Program.from_proto(parser.parse_model(text)))
    _, parameters = coverage.by_operator()["ReduceSum"]
    assert parameters.covered == 3  # axes, and the defaults of keepdims and noop_with_empty_axes


def test_a_default_is_that_of_the_models_own_opset(space: Space) -> None:
    coverage = Coverage(space)
    for opset in (9, 17):  # Softmax's axis: 1, then -1
        text = f'<ir_version: 8, opset_import: ["" : {opset}]> g (float[2,3] x) => (float[2,3] y) {{ y = Softmax(x) }}'
        coverage.add(Program.from_proto(parser.parse_model(text)))
    assert coverage.by_operator()["Softmax"][1].covered == 2


def test_a_parameter_may_be_an_attribute_or_an_input() -> None:
    coverage = Coverage(load(17))
    old = """<ir_version: 8, opset_import: ["" : 11]> g (float[2,1] x) => (float[2] y) { y = Squeeze<axes = [1]>(x) }"""
    new = """<ir_version: 8, opset_import: ["" : 18]> g (float[2,3] x) => (float[2,1] y) <int64[1] axes = {1}>
    { y = ReduceMax(x, axes) }"""
    for text in (old, new):
        coverage.add(Program.from_proto(parser.parse_model(text)))
    assert coverage.by_operator()["Squeeze"][1].covered == 1
    assert coverage.by_operator()["ReduceMax"][1].covered == 2  # and keepdims


def test_names_of_sizes_tell_no_shapes_apart(space: Space) -> None:
    coverage = Coverage(space)
    for shape in ("N,3", "batch,3", "N,4"):
        coverage.add(program("y = Relu(x)", shape))
    assert coverage.by_operator()["Relu"][0].covered == 1 + 1 + 2


def test_the_command_prints_table_json_and_page(tmp_path: Path, capsys) -> None:
    for index, body in enumerate(("y = Relu(x)", "a = Relu(x) y = Tanh(a)")):
        onnx.save(program(body).to_proto(), tmp_path / f"{index}.onnx")
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    assert main(["coverage", str(tmp_path), "--operators", "--html", str(tmp_path / "c.html")]) == 0
    out = capsys.readouterr()
    assert "layer sequence" in out.out
    assert "Tanh" in out.out
    assert "broken.onnx" in out.err
    assert "<circle" in (tmp_path / "c.html").read_text()
    assert f"by the space of opset {NEWEST}" in out.out
    assert "ImageDecoder (its input is an encoded image" in out.out
    assert main(["coverage", str(tmp_path), "--opset", "12"]) == 2
    assert "opset 12: expected 13 to" in capsys.readouterr().err
    assert main(["coverage", str(tmp_path), "--opset", "13", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["opset"] == 13
    assert main(["coverage", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["models"], found["skipped"]) == (2, 1)
    assert found["criteria"]["sequence"]["covered"] == 1
    assert [entry["sequence"] > 0 for entry in found["curve"]] == [False, True]
    assert main(["coverage", str(tmp_path / "nothing")]) == 2


OTHERS = """<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]> g (float[2,3] x) => (float[2,3] y)
<float[2,3] b> { a = Relu(x) b = com.microsoft.Gelu(a) y = Tanh(b) }"""
FUNCTIONS = """<ir_version: 8, opset_import: ["" : 17, "my" : 1]> g (float[2,3] x) => (float[2,3] y)
{ a = my.Act(x) y = Tanh(a) }
<domain: "my", opset_import: ["" : 17]> Act (x) => (y) { s = Sigmoid(x) y = Mul(x, s) }"""


def test_other_peoples_models_are_measured_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(parser.parse_model(OTHERS), tmp_path / "others.onnx")
    onnx.save(parser.parse_model(FUNCTIONS), tmp_path / "functions.onnx")
    assert main(["coverage", str(tmp_path / "others.onnx"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["other_domains"] == {"com.microsoft": 1}
    assert [found["operators"][op]["input"][0] for op in ("Relu", "Tanh")] == [3, 3]
    assert main(["coverage", str(tmp_path / "others.onnx")]) == 0
    assert "1 of com.microsoft" in capsys.readouterr().out
    assert main(["coverage", str(tmp_path / "functions.onnx"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["other_domains"] == {}
    assert found["criteria"]["sequence"]["covered"] == 2  # Sigmoid and Mul, Mul and Tanh
    # What is no file has no time of its own.
    assert main(["coverage", str(tmp_path / "factory.py:make"), str(tmp_path / "others.onnx")]) == 0
    assert "factory.py" in capsys.readouterr().err


def test_graphfuzz_counts_what_is_outside_of_the_space_too() -> None:
    levels = OperatorLevel()
    text = """<ir_version: 10, opset_import: ["" : 20]> g (bool c, float[2,3] x) => (float[2,3] y) {
        a = Gelu(x) b = Gelu<approximate = "tanh">(a) s = Gelu<approximate = "none">(b)
        y = If (c) <then_branch = t () => (float[2,3] p) { p = Relu(s) },
                    else_branch = e () => (float[2,3] q) { q = Abs(s) }> }"""
    levels.add(Program.from_proto(parser.parse_model(text)))
    assert levels.counts() == {
        "operator types": 4,
        "input degrees": 4,
        "output degrees": 5,  # Gelu's is 1 and 2
        "single edges": 3,  # Gelu to itself, Relu and Abs
        "shapes and parameters": 5,
    }
