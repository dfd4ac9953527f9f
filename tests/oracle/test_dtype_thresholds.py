"""Numeric differences: what is noise, what is a finding, and what cannot be decided."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from irfuzz.oracle import Symptom, judge, signature, title
from irfuzz.oracle.numeric.dtype_thresholds import is_float, worth_a_look

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("name", ["float16", "float64", "bfloat16", "float8_e4m3fn", "float4_e2m1fn"])
def test_floats(name: str) -> None:
    assert is_float(np.dtype(getattr(ml_dtypes, name, name)))


@pytest.mark.parametrize("name", ["int4", "uint8", "bool", "complex64", "complex128", "U", "O"])
def test_no_floats(name: str) -> None:
    assert not is_float(np.dtype(getattr(ml_dtypes, name, name)))


def values(seed: int = 0, shape: tuple[int, ...] = (2, 3)) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.25, 1.0, shape).astype(np.float32)


def off(y: np.ndarray, by: float, at: tuple[int, ...] = (1, 2)) -> np.ndarray:
    wrong = y.copy()
    wrong[at] += by
    return wrong


def test_the_optimiser_is_blamed_where_its_plain_level_agrees_with_others(gemm, fed, run):
    y = values()
    wrong = off(y, 0.1)
    results = [run("reference", y), run("onnxruntime:disabled", y), run("torch:eager", y + np.float32(1e-7))]
    results += [run("onnxruntime:extended", wrong), run("onnxruntime:all", wrong)]
    (verdict,) = judge(gemm, fed, results)
    assert (verdict.target, verdict.symptom, verdict.suspect) == ("onnxruntime:extended", Symptom.DIFFERENCE, False)
    assert verdict.witnesses == ("onnxruntime:disabled", "reference", "torch:eager")
    assert verdict.also == ("onnxruntime:all",)
    assert verdict.element == "y[1, 2]"
    assert verdict.distance == pytest.approx(0.1, rel=1e-3)
    assert verdict.bound is not None
    assert 0 < verdict.bound < 0.01
    assert "MatMul" in title(verdict, gemm)
    assert signature(verdict, gemm) == "difference|onnxruntime:extended|MatMul,Tanh|"


def test_a_component_against_two_is_blamed_on_its_plainest_level(gemm, fed, run):
    y = values()
    wrong = off(y, -0.5)
    results = [run(f"onnxruntime:{n}", wrong) for n in ("all", "basic", "disabled")]
    (verdict,) = judge(gemm, fed, [*results, run("reference", y), run("torch:eager", y)])
    assert (verdict.target, verdict.suspect) == ("onnxruntime:disabled", False)


def test_levels_of_one_component_are_one_witness(gemm, fed, run):
    y = values()
    results = [run(f"onnxruntime:{n}", y) for n in ("all", "basic", "disabled")] + [run("reference", off(y, 0.5))]
    (verdict,) = judge(gemm, fed, results)
    assert verdict.suspect


def test_one_against_one_and_two_against_two_are_suspect(gemm, fed, run):
    y = values()
    assert [v.suspect for v in judge(gemm, fed, [run("a", y), run("b", off(y, 0.5))])] == [True]
    split = [run("a", y), run("b", y), run("c", off(y, 0.5)), run("d", off(y, 0.5))]
    assert all(v.suspect for v in judge(gemm, fed, split))


@pytest.mark.parametrize("ulps", [1, 4, 16, 64])
def test_witnesses_that_agree_bit_for_bit_do_not_make_rounding_a_finding(gemm, fed, run, ulps):
    y = values()
    near = (y * (1 + ulps * 2.0**-24)).astype(np.float32)
    assert judge(gemm, fed, [run("a", y), run("b", y), run("c", near)]) == []


def test_the_spread_of_the_witnesses_sets_the_bound(gemm, fed, run):
    y = values()
    apart = off(y, 2e-5, (0, 0))
    for distance, suspects in ((1e-3, [True]), (1e-2, [False])):
        verdicts = judge(gemm, fed, [run("a", y), run("b", apart), run("c", off(y, distance))])
        assert [v.suspect for v in verdicts] == suspects, distance
        assert [v.target for v in verdicts] == ["c"]


def test_long_sums_are_granted_more_roundings(parse, run):
    short = parse("g (float[1,4] x, float[4,1] w) => (float[1,1] y) { y = MatMul(x, w) }")
    long = parse("g (float[1,100000] x, float[100000,1] w) => (float[1,1] y) { y = MatMul(x, w) }")
    for program, size, count in ((short, 4, 1), (long, 100000, 0)):
        fed = {"x": np.ones((1, size), np.float32), "w": np.full((size, 1), 1 / size, np.float32)}
        results = [run(n, np.array([[v]], np.float32)) for n, v in (("a", 1.0), ("b", 1.0), ("c", 1.002))]
        assert len(judge(program, fed, results)) == count


def test_half_precision_anywhere_on_the_way_widens_the_floor(parse, run):
    program = parse(
        "g (float[4] x) => (float[4] y) { a = Cast<to=10>(x)  b = Mul(a, a)  y = Cast<to=1>(b) }",
    )
    y = np.full(4, 0.5, np.float32)
    results = [run("a", y), run("b", y), run("c", y * np.float32(1.01))]
    assert judge(program, {"x": y}, results) == []
    results[2] = run("c", y * np.float32(2))
    assert [v.suspect for v in judge(program, {"x": y}, results)] == [False]


def test_bfloat16_outputs_are_judged(parse, run):
    program = parse("g (bfloat16[4] x) => (bfloat16[4] y) { y = Add(x, x) }")
    y = np.full(4, 0.5, ml_dtypes.bfloat16)
    fed = {"x": y}
    assert (
        judge(
            program,
            fed,
            [run("a", y), run("b", y), run("c", (y.astype(np.float32) + np.float32(2**-9)).astype(y.dtype))],
        )
        == []
    )
    (verdict,) = judge(program, fed, [run("a", y), run("b", y), run("c", (y.astype(np.float32) * 8).astype(y.dtype))])
    assert (verdict.target, verdict.suspect) == ("c", False)


def test_a_constant_that_absorbs_and_cancels_is_seen(parse, run):
    program = parse(
        "g (float[4] x) => (float[4] y) <float[1] c = {1000000.0}> { a = Add(x, c)  y = Sub(a, c) }",
    )
    y = np.array([0.5, 0.25, 0.75, 1.0], np.float32)
    # Without the two operations, as an optimiser would leave it, elements are off by up to half of 2**-4.
    results = [run("a", y), run("b", y), run("c", y + np.float32(0.03))]
    assert judge(program, {"x": y}, results, rerun=lambda moved, *_: results) == []


def test_a_mask_before_softmax_does_not_hide_anything(parse, run):
    program = parse("g (float[1,4] x) => (float[1,4] y) <float[1] m = {-1e9}> { a = Add(x, m)  y = Softmax(a) }")
    y = np.full((1, 4), 0.25, np.float32)
    results = [run("a", y), run("b", y), run("c", off(y, 0.1, (0, 1)))]
    (verdict,) = judge(program, {"x": y}, results)
    assert not verdict.suspect


def sensitive(run, **functions):
    """A rerun in which each target computes ``y`` from ``x`` by a function of its own."""
    return lambda fed, *_: [run(name, f(fed["x"])) for name, f in functions.items()]


def test_measured_sensitivity_explains_a_difference(parse, run):
    program = parse("g (float[4] x) => (float[4] y) <float[1] c = {1.0}> { a = Sub(x, c)  b = Sin(a) y = Mul(b, b) }")

    def steep(x):
        return ((x.astype(np.float64) - 1) * 1e5).astype(np.float32)

    def other(x):
        return (steep(x) + np.float32(0.05)).astype(np.float32)

    x = np.array([1.00001, 1.00002, 1.00003, 1.00004], np.float32)
    rerun = sensitive(run, a=steep, b=steep, c=other)
    assert [v.suspect for v in judge(program, {"x": x}, rerun({"x": x}))] == [False]
    assert judge(program, {"x": x}, rerun({"x": x}), rerun=rerun) == []


def test_an_element_that_jumps_is_undecided_and_others_still_count(parse, run):
    program = parse("g (float[4] x) => (float[4] y) { a = Floor(x)  y = Mul(a, x) }")

    def right(x):
        return np.floor(x) * x

    def jumped(x):
        y = right(x)
        y[0] -= 2.0
        return y

    def wrong(x):
        y = right(x)
        y[3] += 1.0
        return y

    x = np.array([2.0000002, 2.5, 3.5, 4.5], np.float32)
    rerun = sensitive(run, a=right, b=right, c=jumped)
    assert [v for v in judge(program, {"x": x}, rerun({"x": x}), rerun=rerun) if not v.suspect] == []
    assert [v.suspect for v in judge(program, {"x": x}, rerun({"x": x}))] == [True]  # nothing measured: undecided
    rerun = sensitive(run, a=right, b=right, c=wrong)
    (verdict,) = judge(program, {"x": x}, rerun({"x": x}), rerun=rerun)
    assert (verdict.suspect, verdict.element) == (False, "y[3]")


def test_a_target_that_is_not_repeatable_is_not_excused_by_its_own_noise(gemm, fed, run):
    y = values()
    noise = np.random.default_rng(3)

    def rerun(_, __=None):
        return [run("a", y), run("b", y), run("c", off(y, float(noise.uniform(1, 2))))]

    (verdict,) = judge(gemm, fed, rerun(None), rerun=rerun)
    assert (verdict.target, verdict.suspect, verdict.evidence["unsteady"]) == ("c", False, "c")


def test_reruns_are_asked_for_only_where_rounding_explains_nothing(gemm, fed, run):
    y = values()
    asked = []

    def rerun(moved, *_):
        asked.append(moved)
        return results

    results = [run("a", y), run("b", (y * np.float32(1.000001)).astype(np.float32)), run("c", y)]
    assert judge(gemm, fed, results, rerun=rerun) == []
    assert asked == []
    results = [run("a", y), run("b", y * 2), run("c", y)]
    assert len(judge(gemm, fed, results, rerun=rerun)) == 1
    assert len(asked) == 8


def test_random_operators_are_not_compared(parse, run):
    program = parse("g (float[4] x) => (float[4] y) { a = RandomNormalLike(x)  y = Add(a, x) }")
    fed = {"x": np.ones(4, np.float32)}
    assert judge(program, fed, [run(n, values(i, (4,))) for i, n in enumerate("abc")]) == []


def test_quantisation_on_the_way_allows_a_step(parse, run):
    program = parse(
        """g (float[4] x) => (float[4] y) <float s = {0.05}, uint8 z = {128}>
        { q = QuantizeLinear(x, s, z)  y = DequantizeLinear(q, s, z) }""",
    )
    x = np.array([1.0, 2.0, 3.0, -3.0], np.float32)

    def agreed(_):
        return [run("a", x), run("b", x), run("c", off(x, 0.05, (2,)))]

    assert judge(program, {"x": x}, agreed(None), rerun=agreed) == []


def test_nan_flowing_through_a_norm_makes_a_difference_suspect(parse, run):
    program = parse("g (float[4] x) => (float[4] y) { y = LpNormalization(x) }")
    x = np.array([np.nan, 2.0, 3.0, 4.0], np.float32)
    wrong = off(x, 1.0, (2,))
    (verdict,) = judge(program, {"x": x}, [run("a", x), run("b", x), run("c", wrong)])
    assert verdict.suspect


def test_an_invalid_program_gives_no_findings_by_value(gemm, fed, run):
    y = values()
    results = [run("a", y), run("b", y), run("c", off(y, 0.5))]
    assert [v.suspect for v in judge(gemm, fed, results, expected_invalid=True)] == [True]


def test_one_verdict_a_component_on_its_worst_output(parse, run):
    program = parse("g (float[4] x) => (float[4] p, float[4] q) { p = Neg(x)  q = Abs(x) }")
    y = np.ones(4, np.float32)
    good = {"p": -y, "q": y}
    bad = {"p": off(-y, 0.5, (0,)), "q": off(y, 50.0, (1,))}
    results = [run("a", outputs=good), run("b", outputs=good), run("c", outputs=bad)]
    (verdict,) = judge(program, {"x": y}, results)
    assert (verdict.output, verdict.element) == ("q", "q[1]")


@pytest.mark.parametrize(
    ("values", "factors", "looked_at"),
    [
        ([1e38, 1e-3, 2e-3, 3e-3], [1, 1.001, 1.001, 1], True),
        ([1e38, 1e-3, 2e-3, 3e-3], [1, 1.0001, 1.0001, 1], False),
        ([1.0, 1e-9, 2e-11, 3e-20], [1, 1.001, 1.001, 1.001], True),
        ([1.0, 0.5, 0.25, 0.1, 0.2, 0.3, 0.4, 0.6, 1e-9], [*[1] * 8, 1.001], False),
        ([1.0, 1e-40, 1e-40, 1e-40], [1, 2, 2, 2], False),
        ([1e38, 0.0, 0.0, 0.0, 0.0, 1e-3], [1, 1, 1, 1, 1, 1.001], True),
        ([1.0, math.inf, 1e-9, 1e-9], [1, 1, 1.001, 1.001], True),
        ([1.0, 1.0, 1.0, 1.0], [1, 1 + 2**-23, 1, 1], False),
        ([1.0, 1.0, 1.0, 1.0], [1, 1.00001, 1, 1], True),
    ],
)
def test_small_elements_beside_huge_ones_are_looked_at_if_many_differ(
    values: list[float], factors: list[float], looked_at: bool
) -> None:
    one = np.array(values, np.float32)
    other = np.array([v * f for v, f in zip(values, factors, strict=True)], np.float32)
    eps = 2.0**-23
    assert worth_a_look(other, one, eps * float(np.abs(one[np.isfinite(one)]).max()), eps) == looked_at


@pytest.mark.parametrize(
    ("one", "other", "floor", "looked_at"),
    [
        ([*[1e6] * 8, 5.0], [*[1e6] * 8, 1.0], 1.0, True),  # a small element, four floors off
        ([*[1e6] * 8, 4.0], [*[1e6] * 8, 1.0], 1.0, False),  # just the few
        ([*[1e6] * 7, 4.0], [*[1e6] * 7, 1.0], 1.0, True),  # but one in eight
        ([1e6 + 4, 1.0], [1e6, 1.0], 1.0, False),  # as many of a large one
        ([2001.0], [2000.0], 1.0, False),  # apart by the share itself
        ([2002.0], [2000.0], 1.0, True),
        ([26.0], [1.0], 1.0, True),
        ([1e9 + 25.0], [1e9], 1.0, False),
        ([1e9 + 26.0], [1e9], 1.0, True),
        ([], [], 1.0, False),
    ],
)
def test_the_edges_of_what_a_shadow_is_asked_about(
    one: list[float], other: list[float], floor: float, looked_at: bool
) -> None:
    assert worth_a_look(np.array(one), np.array(other), floor, 1e-7) is looked_at
