"""What blurs an output: roundings, steps, draws, constants that are added, and types on the way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx.parser
import pytest

from irfuzz.execute.run_types import Target
from irfuzz.ir.program import Program
from irfuzz.oracle.dataflow import output_uncertainty_sources
from irfuzz.oracle.dataflow.output_uncertainty_sources import Dataflow, path_to
from irfuzz.oracle.dataflow.unknown_operator_rounding import UNKNOWN_TERMS
from irfuzz.oracle.dataflow.unspecified_nan_inf import OpenSpecials
from irfuzz.spec import load_specs

pytestmark = pytest.mark.unit

SINGLE, HALF = np.dtype(np.float32), np.dtype(np.float16)
HEAD = '<ir_version: 8, opset_import: ["" : 18, "own" : 1]>\n'


def path(text: str, **fed: Any) -> Dataflow:
    program = Program.from_proto(onnx.parser.parse_model(HEAD + text))
    return path_to(program, program.graph.outputs[0], fed, load_specs())


def of(nodes: str, constants: str = "float c = {2}") -> Dataflow:
    return path(f"g (float[4,8] x) => (y) <{constants}> {{ {nodes} }}", x=np.ones((4, 8), np.float32))


@pytest.mark.parametrize(
    ("nodes", "roundings"),
    [
        ("y = Identity(x)", 1),
        ("y = Exp(x)", 2),
        ("a = Exp(x)  y = Exp(a)", 3),
        ("y = ReduceSum<keepdims = 0>(x)", 33),
        ("t = Transpose(x)  y = MatMul(x, t)", 9),
        ("y = own.Mystery(x)", 65),
    ],
)
def test_roundings_are_counted_by_their_terms(nodes: str, roundings: float) -> None:
    assert of(nodes).roundings == roundings


@pytest.mark.parametrize(
    ("nodes", "constants", "absorbed"),
    [
        ("y = Add(x, c)", "float c = {1e6}", 1e6),
        ("y = Add(c, x)", "float c = {-1e6}", 1e6),
        ("y = Sub(x, c)", "float c = {3}", 3),
        ("y = Mul(x, c)", "float c = {1e6}", 0),
        ("a = Add(x, c)  b = Add(a, d)  y = Neg(b)", "float c = {3}, float d = {5}", 5),
        # A Sigmoid leaves nothing of it.
        ("a = Add(x, c)  y = Sigmoid(a)", "float c = {1e6}", 0),
        ("a = Add(x, c)  y = Neg(a)", "float c = {1e31}", 0),  # a mask
    ],
)
def test_constants_that_are_added(nodes: str, constants: str, absorbed: float) -> None:
    assert of(nodes, constants).absorbed == np.float32(absorbed)


@pytest.mark.parametrize("scale", ["0.5", "-0.5"])
def test_the_largest_scale_is_the_step(scale: str) -> None:
    nodes = "q = QuantizeLinear(x, s, z)  d = DequantizeLinear(q, t, z)  y = QuantizeLinear(d, t, z)"
    found = of(nodes, f"float s = {{{scale}}}, float t = {{0.25}}, uint8 z = {{3}}")
    assert (found.step, found.quantised, found.rounds) == (0.5, 2, True)
    assert "QuantizeLinear" in found.jumps
    assert of("y = Neg(x)").step == 0


def test_scales_that_are_fed_count_too() -> None:
    nodes = "q = QuantizeLinear(x, s)  d = DequantizeLinear(q, s)  y = QuantizeLinear(d, t)"
    text = f"g (float[4] x, float s, float t) => (y) {{ {nodes} }}"
    x, small, large = np.ones(4, np.float32), np.array(0.25, np.float32), np.array(0.75, np.float32)
    assert path(text, x=x, s=small, t=large).step == 0.75
    assert path(text, x=x, s=large, t=small).step == 0.75
    assert path(text, x=x, s=small).step == 0.25
    assert path(text, x=x).step == 0


@pytest.mark.parametrize(
    ("nodes", "random"),
    [
        ("y = RandomNormalLike(x)", ("RandomNormalLike",)),
        ("a = RandomNormalLike(x)  y = Add(a, x)", ("RandomNormalLike",)),
        ("a = RandomNormalLike(x)  b = Shape(a)  y = Neg(b)", ()),
        ("y = Neg(x)", ()),
        ("y = Dropout(x)", ()),
        ("y = Dropout(x, r)", ()),
        ("y = Dropout(x, r, t)", ("Dropout",)),
        ("y = Dropout(x, , t)", ("Dropout",)),
        ("y = Dropout(x, o, t)", ()),
        ("y = Dropout(x, r, f)", ()),
    ],
)
def test_draws_that_reach_the_output(nodes: str, random: tuple[str, ...]) -> None:
    assert of(nodes, "float r = {0.5}, float o = {0}, bool t = {1}, bool f = {0}").random == random


@pytest.mark.parametrize(
    ("nodes", "jumps", "rounds", "shaped", "exact"),
    [
        ("y = Neg(x)", (), False, (), True),
        ("y = Exp(x)", (), False, (), False),
        ("y = Floor(x)", ("Floor",), True, (), True),
        ("a = Greater(x, c)  y = Where(a, x, c)", ("Greater",), False, (), True),
        ("a = Shape(x)  y = Equal(a, a)", (), False, (), False),
        ("y = Cast<to = 7>(x)", ("Cast",), True, (), True),
        ("y = Cast<to = 11>(x)", (), False, (), True),
        ("y = Cast<to = 10>(x)", (), False, (), False),
        ("y = NonZero(x)", ("NonZero",), False, ("NonZero",), True),
        ("y, i = TopK(x, k)", (), False, (), True),
        ("i, y = TopK(x, k)", ("TopK",), False, (), True),
    ],
)
def test_jumps_shapes_and_exactness(
    nodes: str, jumps: tuple[str, ...], rounds: bool, shaped: tuple[str, ...], exact: bool
) -> None:
    found = of(nodes, "float c = {2}, int64[1] k = {2}")
    assert (found.jumps, found.rounds, found.data_shaped, found.exact) == (jumps, rounds, shaped, exact)


def test_types_on_the_way() -> None:
    assert of("a = Cast<to = 10>(x)  y = Cast<to = 1>(a)").dtypes == {SINGLE, HALF}
    assert of("a = Shape(x)  y = Neg(a)").dtypes == frozenset()
    assert of("a = Cast<to = 10>(x)  y = Cast<to = 1>(a)").narrow
    assert not of("y = Neg(x)").narrow


BRANCHES = "then_branch = t () => (p) {{ {} }}, else_branch = e () => (q) {{ {} }}"


@pytest.mark.parametrize(
    ("nodes", "specials"),
    [
        ("m = Softmax(x)  e = Equal(m, c)  y = Where(e, x, m)", False),
        ("d = Cast <to = 11>(c)  f = Cast <to = 11>(x)  e = Less(f, d)  y = Where(e, x, x)", False),
        ("d = CastLike(c, x)  u = Reshape(d, s)  e = Equal(x, u)  y = Where(e, x, x)", False),
        ("e = Equal(x, c)  y = Where(e, x, c)", True),
        ("d = Cast <to = 7>(c)  i = Cast <to = 7>(x)  e = Equal(i, d)  y = Where(e, x, x)", True),
        ("d = Relu(c)  e = Equal(x, d)  y = Where(e, x, x)", True),
        (f"y = If(b) <{BRANCHES.format('e = Equal(x, c) p = Where(e, x, x)', 'q = Neg(x)')}>", False),
        (f"y = If(b) <{BRANCHES.format('p = Add(x, c)', 'q = Neg(x)')}>", True),
    ],
)
def test_what_is_only_compared_is_no_special(nodes: str, specials: bool) -> None:
    assert of(nodes, "float c = {-inf}, bool b = {1}, int64[1] s = {1}").specials is specials


PLAIN = Dataflow(
    ops=frozenset({"Neg"}), dtypes=frozenset({SINGLE}), roundings=1, jumps=(), rounds=False, quantised=0, random=(),
    data_shaped=(), absorbed=0, step=0, fed=1, largest=1, specials=False, nan=False, unsaid=OpenSpecials(),
    subnormal=False, open=(), hidden="",
)  # fmt: skip
ROOT = float(np.sqrt(float(np.finfo(np.float32).max)))


@pytest.mark.parametrize(
    ("fields", "blur", "clean"),
    [
        ({}, "", ""),
        ({"overflowing": "MatMul"}, "sums of products of MatMul", "sums of products of MatMul"),
        ({"largest": ROOT}, "may overflow inside", ""),
        ({"largest": np.nextafter(ROOT, 0)}, "", ""),
        ({"largest": ROOT, "dtypes": frozenset()}, "", ""),
        ({"subnormal": True}, "", ""),
        ({"subnormal": True, "jumps": ("Floor",)}, "subnormal numbers", "subnormal numbers"),
        ({"subnormal": True, "ops": frozenset({"Sqrt"})}, "reach Sqrt", "reach Sqrt"),
        ({"dtypes": frozenset({HALF}), "jumps": ("Floor",)}, "half precision", ""),
        ({"dtypes": frozenset({HALF})}, "", ""),
        ({"hidden": "Log before Relu"}, "NaN may arise inside and be hidden (Log before Relu)", ""),
    ],
)
def test_why_correct_components_may_differ_by_anything(fields: dict[str, Any], blur: str, clean: str) -> None:
    found = replace(PLAIN, **fields)
    for told, wanted in ((found.blur(), blur), (found.blur(clean=True), clean)):
        assert wanted in told
        assert bool(told) == bool(wanted)


@pytest.mark.parametrize(
    ("name", "fields", "told"),
    [
        ("tensorflow:xla", {"subnormal": True, "jumps": ("Floor",)}, "may reach Floor"),
        ("tensorflow:xla", {"subnormal": True, "ops": frozenset({"Sqrt"})}, "may reach Sqrt"),
        ("tensorflow:xla", {"jumps": ("Floor",)}, ""),
        ("tensorflow:xla", {"jumps": ("Floor",), "ops": frozenset({"Exp"})}, "may reach Floor"),
        ("tensorflow:xla", {"subnormal": True}, ""),
        ("reference", {"subnormal": True, "jumps": ("Floor",)}, ""),
    ],
)
def test_who_flushes_subnormal_numbers(name: str, fields: dict[str, Any], told: str) -> None:
    found = replace(PLAIN, **fields).flushed(Target(name, name.partition(":")[0]))
    assert told in found
    assert bool(found) == bool(told)


@pytest.mark.parametrize(
    ("nodes", "shaped"),
    [
        ("f = Floor(x)  s = Shape(f)  y = Expand(f, s)", ()),
        ("f = Floor(x)  y = Reshape(f, k)", ()),
        ("f = Floor(x)  a = ReduceMax<keepdims = 0>(f)  i = Cast<to = 7>(a)  s = Unsqueeze(i, z)  y = Expand(x, s)",
         ("Expand",)),
        ("f = Floor(x)  s = own.Mystery(f)  i = Cast<to = 7>(s)  y = Expand(x, i)", ("Expand",)),
    ],
)  # fmt: skip
def test_shapes_that_are_computed(nodes: str, shaped: tuple[str, ...]) -> None:
    assert of(nodes, "int64[1] k = {-1}, int64[1] z = {0}").data_shaped == shaped


def test_bodies_may_leave_out_inputs() -> None:
    body = "y = If(t) <then_branch = a () => (p) { p = Clip(e, , c) }, else_branch = b () => (q) { q = Neg(e) }>"
    found = of(f"e = Exp(x)  {body}", "float c = {2}, bool t = {1}")
    assert {"Clip", "Neg", "Exp", "If"} == found.ops


@pytest.mark.parametrize(
    ("given", "node", "terms"),
    [
        ("float[2,4] x, float[4,3] w", "y = MatMul(x, w)", 4),
        ("float[2,8] x, float[8,1] w", "y = MatMul(x, w)", 8),
        ("float[2,8] x, float[1,1] w", "y = Mul(x, w)", 1),
        ("float[2,8] x, float[8,m] w", "y = MatMul(x, w)", 1),
        ("float[4,8] x", "y = ReduceSum<keepdims = 0>(x)", 32),
        ("float[n,8] x", "y = ReduceSum<keepdims = 0>(x)", UNKNOWN_TERMS),
        ("float[n,8] x", "y = Exp(x)", 1),
        ("float[0,8] x", "y = Exp(x)", 1),
        ("float[4] x, int64[1] k", "y = Tile(x, k)", 1),
        ("float[5,1,3] x, float[1,4,3] w, float[1,4,1] r", "y = LSTM<hidden_size = 1>(x, w, r)", 60),
        ("float[n,1,3] x, float[1,4,3] w, float[1,4,1] r", "y = LSTM<hidden_size = 1>(x, w, r)", 192),
    ],
)
def test_terms_of_an_operator_that_declares_none(given: str, node: str, terms: float) -> None:
    program = Program.from_proto(onnx.parser.parse_model(f"{HEAD} g ({given}) => (y) {{ {node} }}"))
    made = program.graph.node(0)
    facts = [program.tensor(value) for value in made.inputs]
    assert output_uncertainty_sources._terms(made, facts, None, None, program) == terms


def test_what_is_certain_is_known_or_a_number_between_equal_bounds() -> None:
    text = """g (float[2] x) => (float[2] y, int64[1] s, float[2] z) <float[2] c = {1, 2}>
    { y = Add(x, c) s = Shape(x) z = Relu(x) }"""
    program = Program.from_proto(onnx.parser.parse_model(HEAD + text))
    told = {n: output_uncertainty_sources._is_certain(program, v) for n in "xcysz" if (v := program.value(n))}
    assert told == {"x": False, "c": True, "y": False, "s": True, "z": False}
