"""Moves of the inputs: by units in the last place, seeded, within declared ranges."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from irfuzz.ir.value import set_fact
from irfuzz.oracle import judge
from irfuzz.oracle.numeric.perturbation import WEIGHTS, WIDE, move, move_inside, move_weights

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("kind", ["float", "double", "float16", "bfloat16"])
def test_every_element_moves_by_one_unit_in_the_last_place(parse, kind):
    program = parse(f"g ({kind}[6] x) => ({kind}[6] y) {{ y = Neg(x) }}")
    dtype = {"float": np.float32, "double": np.float64, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}[kind]
    x = np.array([1.0, -1.5, 0.0, np.nan, np.inf, 3.0], dtype)
    moved = move(program, {"x": x}, 1, 0, 1)
    assert moved is not None
    new = moved["x"]
    assert isinstance(new, np.ndarray)
    assert new.dtype == x.dtype
    eps = float(ml_dtypes.finfo(dtype).eps)
    assert [abs(float(new[i]) - float(x[i])) for i in (0, 1, 5)] == [eps, eps, 2 * eps]
    assert new[2] == 0
    assert np.isnan(new[3])
    assert np.isinf(new[4])


def test_opposite_signs_move_oppositely_and_draws_repeat(parse):
    program = parse("g (float[100] x) => (float[100] y) { y = Neg(x) }")
    fed = {"x": np.linspace(1, 1.9, 100).astype(np.float32)}
    up, down, again = (move(program, fed, 1, 0, sign) for sign in (1, -1, 1))
    assert up is not None
    assert down is not None
    assert again is not None
    np.testing.assert_array_equal(up["x"], again["x"])
    np.testing.assert_array_equal(np.asarray(up["x"]) - fed["x"], fed["x"] - np.asarray(down["x"]))
    assert len(np.unique(np.sign(np.asarray(up["x"]) - fed["x"]))) == 2


def test_wide_moves_of_half_precision_stay_small(parse):
    program = parse("g (float16[50] x) => (float16[50] y) { y = Neg(x) }")
    x = np.linspace(1, 2, 50).astype(np.float16)
    moved = move(program, {"x": x}, WIDE, 0, 1)
    assert moved is not None
    relative = np.abs(np.asarray(moved["x"], np.float64) - x) / x
    assert 0.005 < relative.max() < 0.011


def test_integers_do_not_move_and_nothing_to_move_is_said(parse):
    program = parse("g (float[2] x, int64[2] i) => (float[2] y) { y = Gather(x, i) }")
    i = np.array([0, 1])
    moved = move(program, {"x": np.ones(2, np.float32), "i": i}, 1, 0, 1)
    assert moved is not None
    np.testing.assert_array_equal(moved["i"], i)
    assert move(program, {"x": np.zeros(2, np.float32), "i": i}, 1, 0, 1) is None


def test_nothing_leaves_the_range_of_its_fact(parse):
    program = parse("g (float[64] x) => (float[64] y) { y = Acos(x) }")
    value = program.graph.inputs[0]
    set_fact(value, replace(program.fact(value), low=-1.0, high=1.0))
    x = np.where(np.arange(64) % 2, np.float32(1), np.float32(-1))
    moved = move(program, {"x": x}, WIDE, 0, 1)
    assert moved is not None
    new = np.asarray(moved["x"])
    assert (new != x).any()
    assert np.abs(new).max() == 1.0


def test_weights_move_and_small_constants_stay(parse):
    assert move_weights(parse("g (int64[2] i) => (int64[2] y) { y = Neg(i) }"), 1, 0, 1) is None
    table = np.linspace(1, 1.9, WEIGHTS).astype(np.float32).reshape(-1, 4)
    program = parse(
        f"g (int64[2] i) => (float[2,4] y) <float[{len(table)},4] w = {{{', '.join(map(str, table.ravel()))}}}, "
        "float s = {3}> { r = Gather(w, i) y = Mul(r, s) }"
    )
    before = program.to_bytes()
    up, down = (move_weights(program, 1, 0, sign) for sign in (1, -1))
    assert up is not None
    assert down is not None
    assert program.to_bytes() == before
    moved, scale = (up.const_array(up.value(name)) for name in "ws")
    other = down.const_array(down.value("w"))
    assert moved is not None
    assert other is not None
    np.testing.assert_array_equal(scale, np.float32(3))
    assert (moved != table).all()
    np.testing.assert_allclose(moved, table, rtol=2 * np.finfo(np.float32).eps)
    np.testing.assert_array_equal(moved - table, table - other)


def test_what_is_rounded_inside_moves_and_nothing_else(parse):
    program = parse(
        "g (float[2] x) => (float[2] y) { a = Exp(x)  b = Floor(a)  c = Neg(b)  d = Sqrt(a)  y = Sub(d, c) }"
    )
    moved = move_inside(program, 0)
    assert moved is not None
    names = [node.inputs[0].name for node in moved.graph if node.op_type == "Mul"]
    assert names == ["a", "d"]
    assert [v.name for v in moved.graph.outputs] == ["y"]
    factors = [float(moved.const_array(node.inputs[1])) for node in moved.graph if node.op_type == "Mul"]
    assert {abs(f - 1) for f in factors} == {2.0**-23}
    assert move_inside(parse("g (float[2] x) => (float[2] y) { y = Exp(x) }"), 0) is None


def test_a_rounding_that_cancels_for_all_inputs_is_no_difference(parse, run):
    """``x - mean(x)`` of equal elements is 0 or a rounding of x, and no move of the inputs shows that."""
    program = parse(
        "g (float[1,1] x, float[1] f) => (float[1,3] y) <int64[2] n = {1, 3}, float third = {0.33333334}> {"
        "r = Sqrt(x)  a = Tile(r, n)  s = ReduceSum(a)  m = Mul(s, third)  d = Sub(a, m)  y = Mul(d, f) }"
    )
    fed = {"x": np.array([[7.3]], np.float32), "f": np.array([-16.0], np.float32)}
    y = np.zeros((1, 3), np.float32)
    off = np.full((1, 3), 16 * 2.0**-22, np.float32)

    def rerun(inputs, other=None, /):
        real = ReferenceEvaluator((other or program).to_proto()).run(None, dict(inputs))[0]
        plain = np.zeros_like(real) if other is None else real
        return [run("a", plain), run("b", plain), run("c", plain + off)]

    verdicts = judge(program, fed, [run("a", y), run("b", y), run("c", off)], rerun=rerun)
    assert [v for v in verdicts if not v.suspect] == []
    wrong = off * 1000
    (verdict,) = judge(program, fed, [run("a", y), run("b", y), run("c", wrong)], rerun=rerun)
    assert not verdict.suspect
