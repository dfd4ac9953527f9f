"""What stands in branches, loops and functions blurs a judgement as much as what stands beside them."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from irfuzz.ir.program import Program
from irfuzz.oracle import judge
from irfuzz.oracle.dataflow.output_uncertainty_sources import Dataflow
from irfuzz.oracle.runs_to_judge import Case
from irfuzz.spec import load_specs

X = {"x": np.ones(3, np.float32)}
IF = """
g (float[3] x) => (float[3] y) <bool c = {1}>
{
  y = If (c) <then_branch = t () => (float[3] p) { THEN }, else_branch = e () => (float[3] q) { q = Identity(x) }>
}
"""


def path(program, inputs) -> Dataflow:
    case = Case(program, inputs, [], specs=load_specs())
    return case.path(program.graph.outputs[0])


def test_operators_roundings_and_types_of_a_branch(parse) -> None:
    wide = "w = Constant <value = float[3,3] {1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0,9.0}> () p = MatMul(x, w)"
    narrow = "h = Cast <to = 10> (x) r = Relu(h) p = Cast <to = 1> (r)"
    one = path(parse(IF.replace("THEN", wide)), X)
    assert {"If", "MatMul", "Identity"} <= one.ops
    assert one.roundings >= 3
    assert one.largest == 9
    two = path(parse(IF.replace("THEN", narrow)), X)
    assert np.dtype(np.float16) in two.dtypes
    assert two.roundings < one.roundings


@pytest.mark.parametrize(("bounds", "open_"), [("", True), ("l = Constant<value=float{-5.0}>()", False)])
def test_undefined_behaviour_of_a_branch(parse, bounds, open_) -> None:
    clip = "h = Constant<value=float{5.0}>() z = Clip(x, l, h)" if bounds else "z = Identity(x)"
    program = parse(IF.replace("THEN", f"{bounds} {clip} i = Cast <to = 3> (z) p = Cast <to = 1> (i)"))
    found = path(program, {name: 1e9 * x for name, x in X.items()})
    assert any("float_out_of_range" in o.what for o in found.open) == open_
    assert "Cast" in found.jumps
    assert found.rounds


def test_numbers_that_stand_in_a_branch(parse) -> None:
    program = parse(IF.replace("THEN", "k = Constant <value = float[3] {1.0, 2.0, 100000.0}> () p = Add(x, k)"))
    found = path(program, X)
    assert found.absorbed == 1e5
    assert found.largest == 1e5
    assert not found.specials
    inner = program.graph.node(0).attributes["then_branch"].as_graph()
    tensor = inner.node(0).attributes["value"].as_tensor()
    array = tensor.numpy().copy()
    array[0] = np.nan
    data = program.to_bytes().replace(tensor.numpy().tobytes(), array.tobytes())
    broken = type(program).from_bytes(data)
    assert path(broken, X).specials


def test_turns_multiply_roundings(parse) -> None:
    text = """
g (float[8] x) => (float[8] y) <int64 trips = {TRIPS}, bool c = {1}>
{
  y = Loop (trips, c, x) <body = b (int64 i, bool k, float[8] v) => (bool d, float[8] u) { d = Identity(k) u = Sin(v) }>
}
"""
    inputs = {"x": np.ones(8, np.float32)}
    few, many = (path(parse(text.replace("TRIPS", n)), inputs).roundings for n in ("2", "40"))
    assert many - few == pytest.approx(38)


def test_a_later_turn_may_hide_what_an_earlier_one_made(parse) -> None:
    text = """
g (float[3] x) => (float[3] y) <int64 trips = {TRIPS}, bool c = {1}>
{
  y = Loop (trips, c, x) <body = b (int64 i, bool k, float[3] v) => (bool d, float[3] u)
    { d = Identity(k) r = Relu(v) u = Asin(r) }>
}
"""
    assert path(parse(text.replace("TRIPS", "3")), X).hidden == "Asin before Relu"
    assert not path(parse(text.replace("TRIPS", "1")), X).hidden


def test_functions_are_seen_through() -> None:
    text = """
<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
g (float[3] x) => (float[3] y) { y = own.F <to = 10> (x) }
<domain: "own", opset_import: ["" : 17]>
F <to> (a) => (b) { h = Cast <to : int = @to> (a)  r = Exp(h)  b = Cast <to = 1> (r) }
"""
    found = path(Program.from_proto(onnx.parser.parse_model(text)), X)
    assert {"Exp", "Cast"} <= found.ops
    assert np.dtype(np.float16) in found.dtypes
    assert np.dtype(np.float64) not in found.dtypes


def test_sizes_of_a_branch_are_data_only_where_they_are_open(parse) -> None:
    assert "If" not in path(parse(IF.replace("THEN", "p = Relu(x)")), X).data_shaped
    program = parse(
        """
g (float[3] x) => (float[n] y)
{
  k = Constant <value = float {1.0}> ()
  m = ReduceMax <keepdims = 0> (x)
  c = Less(m, k)
  y = If (c) <then_branch = t () => (float[3] p) { p = Relu(x) }, else_branch = e () => (float[6] q) { q = Concat <axis = 0> (x, x) }>
}
"""  # noqa: E501
    )
    assert "If" in path(program, X).data_shaped


def test_a_wrong_branch_is_still_a_finding(parse, run) -> None:
    program = parse(IF.replace("THEN", "p = Relu(x)"))
    right, wrong = np.ones(3, np.float32), np.full(3, 2, np.float32)
    results = [run("reference", right), run("torch:eager", right), run("onnxruntime:disabled", wrong)]
    (verdict,) = judge(program, X, results, rerun=lambda fed, *_: results)
    assert verdict.target == "onnxruntime:disabled"
    assert not verdict.suspect
