"""Arguments that end at 1 or 0: how far runtimes pass a bound, and elements beside their norm."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

from irfuzz.analyze.initial_ranges import Ranges
from irfuzz.analyze.numeric_range_analysis import Analysis, analyze
from irfuzz.ir.program import Program
from irfuzz.spec import trait_values

pytestmark = pytest.mark.unit

CONSTANTS = (
    "<float one = {1.0}, float two = {2.0}, float eps = {1e-6}, float tiny = {1e-22}, float zero = {0.0},"
    " float half = {0.5}, int64[1] ax = {1}>"
)


def program(body: str, kind: str = "float") -> Program:
    head = f'<ir_version: 8, opset_import: ["": 17]> g ({kind}[4,10] x) => ({kind}[A,B] y)'
    return Program.from_proto(parser.parse_model(f"{head} {CONSTANTS} {{ {body} }}"))


def warned(body: str, ends: tuple[float, float] = (-100, 100)) -> list[str]:
    found: Analysis = analyze(program(body), Ranges({"x": ends}))
    return [w.output for w in found.warnings]


@pytest.mark.parametrize(
    ("body", "faults"),
    [
        ("p = Sigmoid(x) q = Sub(one, p) r = Add(q, eps) y = Log(r)", []),
        ("p = Sigmoid(x) q = Sub(one, p) y = Log(q)", ["y"]),
        ("p = Softmax<axis=1>(x) q = Sub(one, p) r = Add(q, eps) y = Log(r)", []),
        ("p = Softmax<axis=1>(x) q = Sub(one, p) y = Log(q)", ["y"]),
        ("p = Tanh(x) q = Mul(p, p) r = Sub(one, q) s = Add(r, eps) y = Sqrt(s)", []),
        ("p = Tanh(x) q = Pow(p, two) r = Sub(one, q) s = Add(r, eps) y = Sqrt(s)", []),
        ("p = Tanh(x) q = Mul(p, p) r = Sub(one, q) y = Sqrt(r)", ["y"]),
    ],
)
def test_an_epsilon_beside_a_saturated_function_is_enough(body: str, faults: list[str]) -> None:
    assert warned(body) == faults


@pytest.mark.parametrize("op", ["Sigmoid", "Softmax", "Tanh"])
@pytest.mark.parametrize("kind", ["float", "double"])
def test_what_runtimes_compute_lies_within_the_declared_excess(op: str, kind: str) -> None:
    runtime = pytest.importorskip("onnxruntime")
    made = program(f"y = {op}(x)", kind)
    bounds = analyze(made, Ranges({"x": (-50, 50)})).ranges["y"]
    session = runtime.InferenceSession(made.to_bytes(), providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    largest = 0.0
    for _ in range(200):
        x = rng.uniform(-50, 50, (4, 10)).astype(np.float32 if kind == "float" else np.float64)
        (y,) = session.run(None, {"x": x})
        largest = max(largest, float(np.abs(y).max()))
    assert largest <= bounds.high <= 1 + 3e-7
    assert set(trait_values("excess")[op]) == {"onnxruntime", "openvino", "tensorflow", "torch"}


@pytest.mark.parametrize("ends", [(-100, 100), (-1e30, 1e30)])
def test_log_sum_exp_subtracts_the_maximum(ends: tuple[float, float]) -> None:
    assert warned("y = ReduceLogSumExp<axes=[1]>(x)", ends) == []
    found = analyze(program("y = ReduceLogSumExp<axes=[1]>(x)"), Ranges({"x": ends})).ranges["y"]
    assert found.low <= ends[0] + np.log(10)
    assert found.high == pytest.approx(ends[1] + np.log(10), rel=1e-4)


@pytest.mark.parametrize(
    ("body", "faults"),
    [
        ("n = ReduceL2<axes=[1]>(x) m = Add(n, eps) d = Div(x, m) y = Acos(d)", []),
        ("n = ReduceL2<axes=[1]>(x) m = Add(eps, n) d = Div(x, m) y = Asin(d)", []),
        ("n = ReduceL2<axes=[0]>(x) m = Max(n, eps) d = Div(x, m) y = Acos(d)", []),
        ("n = ReduceL2<axes=[1]>(x) m = Clip(n, eps) d = Div(x, m) y = Acos(d)", []),
        ("q = Mul(x, x) s = ReduceSum(q, ax) n = Sqrt(s) m = Add(n, eps) d = Div(x, m) y = Acos(d)", []),
        ("q = Mul(x, x) s = ReduceSum(q, ax) e = Add(s, eps) n = Sqrt(e) d = Div(x, n) y = Acos(d)", []),
        ("s = ReduceSumSquare<axes=[1]>(x) e = Max(s, eps) n = Sqrt(e) d = Div(x, n) y = Acos(d)", []),
        ("n = ReduceL1<axes=[1]>(x) m = Add(n, tiny) d = Div(x, m) y = Acos(d)", []),
        ("a = Abs(x) n = ReduceMax<axes=[1]>(a) m = Add(n, eps) d = Div(x, m) y = Acos(d)", []),
        # Squares of numbers below 1e-19 are subnormal: their root may be below them.
        ("n = ReduceL2<axes=[1]>(x) m = Add(n, tiny) d = Div(x, m) y = Acos(d)", ["y"]),
        ("n = ReduceL2<axes=[1]>(x) d = Div(x, n) y = Acos(d)", ["d", "y"]),
        ("n = ReduceL2<axes=[1]>(x) o = Add(n, eps) m = Mul(o, half) d = Div(x, m) y = Acos(d)", ["y"]),
        ("n = ReduceMax<axes=[1]>(x) a = Abs(n) m = Add(a, eps) d = Div(x, m) y = Acos(d)", ["y"]),
        ("n = ReduceL2<axes=[1]>(x) c = Clip(n, eps, one) d = Div(x, c) y = Acos(d)", ["y"]),
        ("z = Add(x, one) n = ReduceL2<axes=[1]>(z) m = Add(n, eps) d = Div(x, m) y = Acos(d)", ["y"]),
        # Powers may be off by a unit: 1e-6 does for elements up to 4.
        ("q = Pow(x, two) s = ReduceSum(q, ax) n = Sqrt(s) m = Add(n, eps) d = Div(x, m) y = Acos(d)", ["y"]),
    ],
)
def test_an_element_is_at_most_its_norm(body: str, faults: list[str]) -> None:
    assert warned(body) == faults


def test_powers_of_small_elements_are_squares() -> None:
    body = "q = Pow(x, two) s = ReduceSum(q, ax) n = Sqrt(s) m = Add(n, eps) d = Div(x, m) y = Acos(d)"
    assert warned(body, (-1, 1)) == []
