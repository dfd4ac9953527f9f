"""Integers and booleans: exact where no float is behind them, careful where one is."""

from __future__ import annotations

import numpy as np
import pytest

from irfuzz.oracle import Symptom, judge

pytestmark = pytest.mark.unit

ADD = "g (int64[3] x) => (int64[3] y) { y = Add(x, x) }"
ARGMAX = "g (float[2,3] x) => (int64[2,1] y) { m = Softplus(x) y = ArgMax<axis=1>(m) }"


def test_integer_arithmetic_is_exact(parse, run):
    y = np.array([1, 2, 2**60], np.int64)
    (verdict,) = judge(parse(ADD), {"x": y}, [run("a", y), run("b", y), run("c", y + np.array([0, 0, 1]))])
    assert (verdict.symptom, verdict.target, verdict.suspect) == (Symptom.DIFFERENCE, "c", False)
    assert verdict.distance == 1.0
    assert verdict.element == "y[2]"


def argmax_rerun(run, wrong):
    def rerun(fed, *_):
        right = fed["x"].argmax(1, keepdims=True)
        return [run("a", right), run("b", right), run("c", wrong(fed["x"]))]

    return rerun


def test_an_index_behind_floats_needs_a_measurement(parse, run):
    x = np.array([[1.0, 5.0, 2.0], [3.0, 2.0, 1.0]], np.float32)
    rerun = argmax_rerun(run, lambda x: x.argmin(1, keepdims=True))
    assert [v.suspect for v in judge(parse(ARGMAX), {"x": x}, rerun({"x": x}))] == [True]
    assert [v.suspect for v in judge(parse(ARGMAX), {"x": x}, rerun({"x": x}), rerun=rerun)] == [False]


def test_a_tie_that_rounding_breaks_is_undecided(parse, run):
    x = np.array([[1.0, 5.0, 5.0000005], [3.0, 2.0, 1.0]], np.float32)
    rerun = argmax_rerun(run, lambda x: np.array([[1], [0]]))
    verdicts = judge(parse(ARGMAX), {"x": x}, rerun({"x": x}), rerun=rerun)
    assert [v.suspect for v in verdicts] == [True]
    assert "rounding errors changes it" in verdicts[0].doubt


@pytest.mark.parametrize(
    ("text", "step", "suspect"),
    [
        ("y = QuantizeLinear(x, s, z)", 1, False),
        ("y = QuantizeLinear(x, s, z)", 2, False),
        ("q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) y = QuantizeLinear(d, s, z)", 1, True),
        ("r = Round(x) y = QuantizeLinear(r, s, z)", 1, True),
        ("r = Round(x) y = QuantizeLinear(r, s, z)", 2, False),
    ],
)
@pytest.mark.parametrize("measured", [True, False])
def test_a_step_of_rounding_is_suspect_if_several_operators_round(parse, run, text, step, suspect, measured):
    program = parse(
        f"g (float[4] i) => (uint8[4] y) <float s = {{0.1}}, uint8 z = {{100}}, float o = {{1.0}}> "
        f"{{ x = Mul(i, o) {text} }}"
    )
    x = np.array([1.02, 2.02, 3.02, 4.02], np.float32)

    def rerun(fed, *_):
        y = (np.rint(fed["i"] / np.float32(0.1)) + 100).astype(np.uint8)
        return [run("a", y), run("b", y), run("c", y + np.array([0, step, 0, 0], np.uint8))]

    (verdict,) = judge(program, {"i": x}, rerun({"i": x}), rerun=rerun if measured else None)
    assert verdict.suspect == (suspect or not measured)


def test_a_step_at_a_tie_is_nobodys_fault(parse, run):
    program = parse("g (float[2] x) => (uint8[2] y) <float s = {0.1}, uint8 z = {100}> { y = QuantizeLinear(x, s, z) }")
    x = np.array([1.05, 2.02], np.float32)

    def rerun(fed, *_):
        y = (np.rint(fed["x"] / np.float32(0.1)) + 100).astype(np.uint8)
        other = (np.rint(fed["x"] * np.float32(10)) + 100).astype(np.uint8)
        return [run("a", y), run("b", y), run("c", np.where(y == other, y + np.array([1, 0], np.uint8), other))]

    (verdict,) = judge(program, {"x": x}, rerun({"x": x}), rerun=rerun)
    assert verdict.suspect
    assert "rounding errors changes it" in verdict.doubt


@pytest.mark.parametrize(("low", "measured"), [(-3.0, True), (-3.0, False), (-0.15, True)])
def test_floats_behind_steps_are_decided_if_no_move_changes_them(parse, run, low, measured):
    program = parse(
        "g (float[2] x) => (float[2] y) <float s = {0.1}, uint8 z = {100}> "
        "{ r = Relu(x) q = QuantizeLinear(r, s, z) y = DequantizeLinear(q, s, z) }"
    )
    x = np.array([low, 2.02], np.float32)

    def rerun(fed, *_):
        right = np.rint(np.maximum(fed["x"], 0) / np.float32(0.1)) * np.float32(0.1)
        wrong = np.rint(fed["x"] / np.float32(0.1)) * np.float32(0.1)
        return [run("a", right), run("b", right), run("c", wrong)]

    verdicts = judge(program, {"x": x}, rerun({"x": x}), rerun=rerun if measured else None)
    found = [v.suspect for v in verdicts]
    assert found == ([] if low == -0.15 else [not measured])  # two steps are within what quantising may add


def test_shapes_do_not_depend_on_floats(parse, run):
    program = parse("g (float[N,3] x) => (int64[2] y) { a = Exp(x)  y = Shape(a) }")
    y = np.array([2, 3])
    results = [run("a", y), run("b", y), run("c", np.array([2, 4]))]
    (verdict,) = judge(program, {"x": np.ones((2, 3), np.float32)}, results)
    assert not verdict.suspect


def test_casts_out_of_range_are_declared_undefined(parse, run):
    program = parse("g (float[2] x) => (int8[2] y) { y = Cast<to=3>(x) }")
    y, other = np.array([1, 2], np.int8), np.array([1, 9], np.int8)
    results = [run("a", y), run("b", y), run("c", other)]
    for top, undefined in ((300.0, True), (100.0, False)):
        x = np.array([1.5, top], np.float32)
        (verdict,) = judge(program, {"x": x}, results, rerun=lambda fed, *_: results)
        assert ("float_out_of_range" in verdict.doubt) == undefined


def test_order_of_equal_maxima_counts_only_for_who_reads_it(parse, run):
    text = "g (float[1,1,4] x) => (float[1,1,3] y{}) {{ v{} = MaxPool<kernel_shape=[2]>(x)  y = Neg(v) }}"
    x = np.array([[[1, 1, 2, 2]]], np.float32)
    y = np.array([[[-1, -2, -2]]], np.float32)
    wrong = np.array([[[-1, -7, -2]]], np.float32)
    results = [run("a", y), run("b", y), run("c", wrong)]
    (verdict,) = judge(parse(text.format("", "")), {"x": x}, results)
    assert not verdict.suspect
    both = parse(text.format(", int64[1,1,3] i", ", i"))
    index, turned = np.array([[[0, 2, 2]]]), np.array([[[1, 2, 2]]])
    given = [run(n, outputs={"y": y, "i": i}) for n, i in (("a", index), ("b", index), ("c", turned))]
    (verdict,) = judge(both, {"x": x}, given, rerun=lambda fed, *_: given)
    assert verdict.suspect
    assert "tie" in verdict.doubt


def test_behind_integer_inputs_the_weights_are_moved(parse, run):
    table = np.linspace(-2, 2, 20, dtype=np.float32).reshape(5, 4)
    program = parse(
        f"g (int64[2] i) => (int64[2] y) <float[5,4] w = {{{', '.join(map(str, table.ravel()))}}}> "
        "{ r = Gather(w, i) m = Softplus(r) y = ArgMax<axis=1, keepdims=0>(m) }"
    )
    i = np.array([1, 4])

    def rerun(fed, moved=None, wrong=0):
        given = table if moved is None else moved.const_array(moved.value("w"))
        y = given[fed["i"]].argmax(1)
        return [run("a", y), run("b", y), run("c", np.array([wrong, wrong]))]

    assert [v.suspect for v in judge(program, {"i": i}, rerun({"i": i}))] == [True]
    assert [v.suspect for v in judge(program, {"i": i}, rerun({"i": i}), rerun=rerun)] == [False]


LARGE = -5816095034581665795


@pytest.mark.parametrize(
    ("wrong", "firm"),
    [
        (int(float(LARGE)), True),  # both compute in double
        (int(np.float32(LARGE)), True),  # or in single precision
        (LARGE + 2**50, False),  # both read ONNX another way, perhaps rightly
    ],
)
def test_exact_arithmetic_says_who_is_right(parse, run, wrong, firm):
    program = parse("g (int64[1] x) => (int64[1] y) { y = Neg(x) }")
    right, other = np.array([LARGE]), np.array([wrong])
    results = [run("numpy", right), run("onnxruntime", other), run("reference", other)]
    verdicts = judge(program, {"x": -right}, results)
    assert {v.target: not v.suspect for v in verdicts} == {"onnxruntime": firm, "reference": firm}
    # A component from elsewhere and exact arithmetic are two witnesses against one; what irfuzz wrote is not.
    for judging, proven in (("reference", True), ("numpy", firm)):
        (verdict,) = judge(program, {"x": -right}, [run(judging, right), run("onnxruntime", other)])
        assert (verdict.target, verdict.suspect) == ("onnxruntime", not proven)
    # Nobody agrees with exact arithmetic: who is right is open as before.
    assert [v.suspect for v in judge(program, {"x": right}, results[:2])] == [True]
