"""The float64 shadow: its reference and bounds, jumps that it shows, what it refuses, and verdicts that rest on it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from irfuzz.errors import Unsupported
from irfuzz.execute.float64_shadow_runs import Shadow, ShadowRun
from irfuzz.export.lowerings import SHADOWED
from irfuzz.export.source.float64_shadow_source import shadow
from irfuzz.isolate import Limits
from irfuzz.oracle import Symptom, judge
from irfuzz.oracle.numeric.error_bound import SAFETY, bound_of
from irfuzz.spec import load_specs

FLOAT = np.dtype(np.float32)


@pytest.fixture(scope="module", params=["torch", "numpy"])
def shade(request: pytest.FixtureRequest) -> Iterator[Shadow]:
    pytest.importorskip(request.param)
    made = Shadow(Limits(seconds=60), request.param)
    yield made
    made.close()


def bounds(run: ShadowRun, name: str, dtype: np.dtype = FLOAT) -> np.ndarray:
    return bound_of(run.reference[name], run.small[name], run.wide[name], run.width, dtype)


def test_elements_that_are_added_in_place_are_bounded_by_how_many_there_are(shade, parse):
    head = "g (float[2] x, int64[200] i, float[200] u) => (float[2] y)"
    program = parse(f'{head} {{ y = ScatterElements<reduction = "add">(x, i, u) }}', opset=18)
    added = np.random.default_rng(2).standard_normal(200).astype(np.float32)
    run = shade.run(program, {"x": np.float32([1, 1]), "i": np.zeros(200, np.int64), "u": added})
    assert run.refused == ""
    np.testing.assert_allclose(run.reference["y"], [1 + added.astype(np.float64).sum(), 1], rtol=1e-12)
    assert 1e-6 < bounds(run, "y")[0] < 1e-2


def test_a_matrix_that_is_all_one_step_is_computed(shade, parse):
    head = "g (float x) => (float[9,4] y)"
    given = "int64 n = {4}, int64 l = {16}, int64 r = {8192}, float a = {0}, float b = {4096}"
    program = parse(f"{head} <{given}> {{ m = MelWeightMatrix(n, l, r, a, b)  y = Mul(m, x) }}")
    run = shade.run(program, {"x": np.array(2, np.float32)})
    assert run.refused == ""
    assert float(run.reference["y"].max()) == 2


@pytest.mark.parametrize(("high", "clean"), [(1.0, True), (1e6, False)])
def test_a_cast_to_a_half_type_is_clean_unless_it_overflows(shade, parse, high, clean):
    program = parse("g (float[3] x) => (float[3] y) { h = Cast<to = 10>(x)  y = Cast<to = 1>(h) }")
    assert shade.run(program, {"x": np.float32([0.1, -0.3, high])}).clean == clean


def test_both_parts_of_a_spectrum_move_though_one_is_zero(shade, parse):
    program = parse("g (float[1,3,4,1] x) => (float[11,3,4,2] y) <int64 n = {11}> { y = DFT<axis = 0>(x, n) }")
    moved = shade.run(program, {"x": np.ones((1, 3, 4, 1), np.float32)}).small["y"]
    assert (moved > 0).all()


@pytest.mark.parametrize("size", [10, 24, 100])
def test_the_bound_of_a_spectrum_holds_angles_that_are_rounded(shade, parse, size):
    program = parse(f"g (double[1,{size},1] x) => (double[1,{size},2] y) {{ y = DFT(x) }}")
    x = np.random.default_rng(2).standard_normal((1, size, 1))
    run = shade.run(program, {"x": x})
    places = np.arange(size)
    # Bluestein's chirps have angles up to pi n, and naive factors up to 2 pi n: rounded, then reduced.
    angles = 2 * np.pi * np.outer(places, places) / size
    found = np.stack([np.cos(angles) @ x[0, :, 0], -np.sin(angles) @ x[0, :, 0]], -1)[None]
    off = np.abs(found - run.reference["y"])
    assert (off <= bounds(run, "y")).all()
    assert run.small["y"].max() < 1e-12, "single precision is far outside"


def test_the_reference_is_exact_and_the_bound_holds_any_order_of_a_sum(shade, parse):
    program = parse("g (float[1,300] x, float[300,4] w) => (float[1,4] y) { y = MatMul(x, w) }")
    rng = np.random.default_rng(1)
    x, w = (rng.standard_normal(s).astype(np.float32) for s in ((1, 300), (300, 4)))
    run = shade.run(program, {"x": x, "w": w})
    assert run.clean
    np.testing.assert_allclose(run.reference["y"], x.astype(np.float64) @ w.astype(np.float64), rtol=1e-13)
    bound = bounds(run, "y")
    for order in (np.arange(300), np.arange(300)[::-1], rng.permutation(300)):
        total = np.zeros(4, np.float32)
        for k in order:
            total = total + x[0, k] * w[k]
        assert (np.abs(total - run.reference["y"][0]) < bound[0]).all()
    assert (bound < 1e-3 * np.abs(run.reference["y"]).max()).all()


@pytest.mark.parametrize("op", ["Elu", "Selu", "Celu"])
@pytest.mark.parametrize("scale", [1e-3, 1e-6])
def test_what_goes_through_one_may_be_computed_as_it_is_written(shade, parse, op, scale):
    """``exp(x) - 1`` in single precision is right to a rounding of one, and an error of a hundred of these is none."""
    program = parse(f"g (float[200] x) => (float[200] y) {{ y = {op}(x) }}")
    x = -np.abs(np.random.default_rng(2).normal(0, scale, 200)).astype(np.float32)
    run = shade.run(program, {"x": x})
    bound = bounds(run, "y")
    gamma, alpha = (1.0507009873554805, 1.6732632423543772) if op == "Selu" else (1.0, 1.0)
    written = (gamma * (alpha * (np.exp(x) - np.float32(1)))).astype(np.float32)
    assert (np.abs(written - run.reference["y"]) <= bound).all()
    assert (bound < 100 * np.finfo(np.float32).eps).all()


def test_counts_of_tokens_are_wide_like_what_they_meet(shade, parse):
    program = parse(
        """g (int64[4, 5] x, float[2, 3, 4] w) => (float[2, 2, 4] y) {
        t = TfIdfVectorizer<mode = "TF", min_gram_length = 1, max_gram_length = 1, max_skip_count = 0,
            ngram_counts = [0], ngram_indexes = [0, 1, 2], pool_int64s = [1, 2, 3]>(x)
        s = Constant<value_ints = [2, 2, 3]>()  r = Reshape(t, s)  y = MatMul(r, w) }"""
    )
    x, w = np.full((4, 5), 2, np.int64), np.ones((2, 3, 4), np.float32)
    run = shade.run(program, {"x": x, "w": w})
    assert run.refused == ""
    assert (run.reference["y"] == 5).all()


def test_cancellation_widens_the_bound(shade, parse):
    program = parse(
        "g (float[4] x, float[4] c) => (float[4] y, float[4] z) { b = Add(x, c)  y = Sub(b, c)  z = Tanh(x) }"
    )
    x = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    run = shade.run(program, {"x": x, "c": np.full(4, 1e6, np.float32)})
    assert (bounds(run, "y") > 0.05).all()  # a rounding at 1e6
    assert (bounds(run, "z") < 1e-4).all()


@pytest.mark.parametrize(
    ("call", "x", "formula"),
    [
        ("Celu(x)", -0.00036, lambda x: np.exp(x) - np.float32(1)),
        ("Elu<alpha = 10.0>(x)", -0.00036, lambda x: np.float32(10) * (np.exp(x) - np.float32(1))),
        ("Softplus(x)", -16.0, lambda x: np.log(np.exp(x) + np.float32(1))),
        ("Sinh(x)", 0.0002, lambda x: (np.exp(x) - np.exp(-x)) / np.float32(2)),
        ("Tanh(x)", 0.00064, lambda x: np.float32(0.00063991547)),  # what onnxruntime 1.31.1 gives
    ],
)
def test_small_results_of_numbers_near_one(shade, parse, call, x, formula):
    """A formula of single precision is right, an error of a thousandth of a larger result is none."""
    program = parse(f"g (float[2] x) => (float[2] y) {{ y = {call} }}")
    values = np.array([x, np.sign(x)], np.float32)
    run = shade.run(program, {"x": values})
    bound = bounds(run, "y")
    assert abs(float(formula(values[0])) - run.reference["y"][0]) < bound[0]
    assert bound[1] < 1e-3 * abs(run.reference["y"][1])


def test_a_mean_that_is_folded_into_the_bias_is_rounded_with_it(shade, parse):
    program = parse(
        "g (float[1,1] x, float[1] m, float[1] v) => (float[1,1] y) { y = BatchNormalization(x, m, m, m, v) }"
    )
    x, m, v = np.float32(-5000), np.float32(-5000), np.float32(0)
    run = shade.run(program, {"x": np.full((1, 1), x), "m": np.full(1, m), "v": np.full(1, v)})
    s = m / np.sqrt(v + np.float32(1e-5))
    folded = x * s + (m - m * s)  # onnxruntime's kernel
    assert 1 < abs(float(folded) - run.reference["y"][0, 0]) < bounds(run, "y")[0, 0]


def test_so_is_the_mean_of_an_instance(shade, parse):
    program = parse("g (float[1,1,1,1] x, float[1] s) => (float[1,1,1,1] y) { y = InstanceNormalization(x, s, s) }")
    x, s = np.float32(1), np.float32(1.1)
    run = shade.run(program, {"x": np.full((1, 1, 1, 1), x), "s": np.full(1, s)})
    scale = s / np.sqrt(np.float32(1e-5))
    folded = x * scale + (s - x * scale)  # onnxruntime's kernel
    assert 1e-6 < abs(float(folded) - run.reference["y"].item()) < bounds(run, "y").item()


def test_products_that_only_some_orders_hold_are_undecided(shade, parse):
    program = parse("g (float[4] x) => (float[1] y) { y = ReduceProd<axes=[0]>(x) }")
    for x, undecided in (
        ([1e30, 1e30, 1e-30, 1e-30], True),
        ([1e30, 1e30, 0.0, 1.0], True),
        ([1e-30, 1e-30, 0.0, 2.0], False),
        ([1e30, 1e-30, 2.0, 1.0], False),
    ):
        run = shade.run(program, {"x": np.array(x, np.float32)})
        assert np.isinf(bounds(run, "y")).any() == undecided, x


def test_elements_near_a_jump_are_undecided_and_others_are_not(shade, parse):
    program = parse(
        "g (float[3] x, float[3] c) => (float[3] y, int64[3] i) { p = Mul(x, c)  y = Round(p)  i = Cast<to=7>(p) }"
    )
    x = np.array([0.1, 0.25, 0.65], np.float32)
    c = np.array([5.0, 5.0, 5.0], np.float32)  # 0.1 * 5 is beside a half, 1.25 and 3.25 are far from one
    run = shade.run(program, {"x": x, "c": c})
    bound = bounds(run, "y")
    assert bound[0] >= 1
    assert bound[1] < 0.01
    assert (np.maximum(run.small["i"], run.wide["i"]) == [0, 0, 0]).all()


def test_a_cast_to_half_rounds_and_half_precision_ends_at_its_range(shade, parse):
    program = parse(
        "g (float[3] x) => (float[3] y, float[3] z) "
        "{ h = Cast<to=10>(x)  y = Cast<to=1>(h)  s = Mul(h, h)  z = Cast<to=1>(s) }"
    )
    x = np.array([1.0001, 2.0, 300.0], np.float32)
    run = shade.run(program, {"x": x})
    np.testing.assert_array_equal(run.reference["y"], x.astype(np.float16).astype(np.float64))
    np.testing.assert_array_equal(run.reference["z"], [1.0, 4.0, np.inf])
    assert not run.clean


def test_sums_of_whole_numbers_are_exact(shade, parse):
    program = parse("g (float[2,3] x, float[3,2] w) => (float[2,2] y) { m = MatMul(x, w)  y = Floor(m) }")
    run = shade.run(program, {"x": np.ones((2, 3), np.float32), "w": np.full((3, 2), 2, np.float32)})
    assert (bounds(run, "y") < 1e-4).all()


def test_what_the_framework_cannot_say_is_refused(shade, parse):
    program = parse("g (float[2] x) => (float[2] y) { q = Cast<to=17>(x)  y = Cast<to=1>(q) }", 19)
    assert "FLOAT8" in shade.run(program, {"x": np.ones(2, np.float32)}).refused
    with pytest.raises(Unsupported):
        shadow(SHADOWED["torch"], program, load_specs())


def test_bounds_of_elements():
    reference = np.array([1.0, 1.0, 0.0, 1.0])
    small, wide = np.array([1e-6, 0.0, 0.0, 1e-6]), np.array([1e-4, 0.0, 0.0, 0.5])
    bound = bound_of(reference, small, wide, 100.0, FLOAT)
    assert bound[0] == SAFETY * 1e-6
    assert bound[3] == 0.5  # five thousand times what a hundred roundings would move it
    assert bound[1] == SAFETY * 2.0**-24 * 2 or bound[1] < bound[0]
    assert 0 < bound[2] < 1e-5


@pytest.mark.planted
def test_a_verdict_rests_on_the_shadow_and_carries_its_ratio(shade, gemm, run, fed):
    right = np.tanh(fed["x"] @ fed["w"])
    wrong = right * np.float32(1.001)
    results = [run("reference", right), run("onnxruntime:all", wrong)]
    (verdict,) = judge(gemm, fed, results, shadow=shade.run)
    assert (verdict.symptom, verdict.target, verdict.suspect) == (Symptom.DIFFERENCE, "onnxruntime:all", False)
    assert verdict.witnesses == ("reference",)
    assert verdict.rule == "float64 shadow"
    assert verdict.distance is not None
    assert verdict.bound is not None
    assert verdict.ratio is not None
    assert verdict.ratio == pytest.approx(verdict.distance / verdict.bound)
    assert verdict.ratio > 10
    # Noise is silence, and so is what only the shadow contradicts: the targets' own spread decides then.
    noisy = right * np.float32(1 + 3e-7)
    assert judge(gemm, fed, [run("reference", right), run("onnxruntime:all", noisy)], shadow=shade.run) == []
    assert judge(gemm, fed, [run("reference", wrong), run("onnxruntime:all", wrong)], shadow=shade.run) == []


@pytest.mark.planted
def test_what_cannot_be_is_no_measure_of_how_values_move(shade, parse, run):
    program = parse("g (float[1] x) => (float[1] y) { y = Cos(x) }")
    fed = {"x": np.array([1e10], np.float32)}

    def ran(inputs, *_):
        right = np.cos(inputs["x"].astype(np.float64)).astype(np.float32)
        beyond = (inputs["x"].astype(np.float64) - 1e10 - 4901.8).astype(np.float32)  # moves as far as its input
        return [run("reference", right), run("torch:eager", right), run("mnn", beyond)]

    (verdict,) = judge(program, fed, ran(fed), rerun=ran, shadow=shade.run)
    assert (verdict.target, verdict.symptom, verdict.suspect) == ("mnn", Symptom.DIFFERENCE, False)


@pytest.mark.planted
@pytest.mark.parametrize(("weight", "suspect"), [(3.4e38, True), (3.4, False)])
def test_products_that_overflow_before_they_cancel_are_undecided(shade, gemm, run, weight, suspect):
    x, w = np.float32([[2, 3, 0, 0]] * 2), np.zeros((4, 3), np.float32)
    w[:2] = [[weight], [-weight]]
    # 2 w - 3 w is -w, and infinity where the first product is rounded before the second is taken off.
    right = np.tanh(x.astype(np.float64) @ w).astype(np.float32)
    results = [run("reference", right), run("torch:eager", right), run("onnxruntime:all", -right)]
    (verdict,) = judge(gemm, {"x": x, "w": w}, results, shadow=shade.run)
    assert (verdict.target, verdict.suspect) == ("onnxruntime:all", suspect)
    assert ("MatMul may overflow inside" in verdict.doubt) == suspect


def test_where_the_shadow_refuses_the_spread_decides_and_says_so(gemm, run, fed):
    right = np.tanh(fed["x"] @ fed["w"])
    results = [run("reference", right), run("torch:eager", right), run("onnxruntime:all", right + 1)]

    def refuses(*_):
        return ShadowRun(refused="no lowering")

    (verdict,) = judge(gemm, fed, results, shadow=refuses)
    assert verdict.target == "onnxruntime:all"
    assert verdict.rule == "spread of the targets (no shadow: no lowering)"


def test_more_witnesses_against_the_shadow_are_right(gemm, run, fed):
    right = np.tanh(fed["x"] @ fed["w"])
    other = right + 1  # what three components agree on is not wrong because irfuzz's own lowering differs
    results = [
        run("reference", other),
        run("onnxruntime:all", other),
        run("openvino", other),
        run("torch:eager", right),
    ]
    own = ShadowRun(
        {"y": right.astype(np.float64)}, {"y": np.full((2, 3), 1e-7)}, {"y": np.full((2, 3), 1e-5)}, 100.0, clean=True
    )
    (verdict,) = judge(gemm, fed, results, shadow=lambda *_: own)
    assert verdict.target == "torch:eager"
    assert "far from the shadow" in verdict.rule


def test_between_two_versions_the_shadow_decides_what_depends_on_no_float(shade, parse, run):
    program = parse("g (int64[2,2] x) => (int64[2,1] y) <int64[1] a = {1}> { y = ReduceSum(x, a) }")
    fed = {"x": np.array([[2**53, 1], [3, 4]])}
    right, rounded = np.array([[2**53 + 1], [7]]), np.array([[2**53], [7]])
    for old, new, blamed in ((right, rounded, "a:all"), (rounded, right, "a:disabled")):
        (verdict,) = judge(program, fed, [run("a:disabled", old), run("a:all", new)], shadow=shade.run)
        assert (verdict.target, verdict.suspect, verdict.expected) == (blamed, False, str(2**53 + 1))
    other = np.array([[2**53 + 2], [7]])
    (verdict,) = judge(program, fed, [run("a:disabled", other), run("a:all", rounded)], shadow=shade.run)
    assert verdict.suspect, "neither is right"
    # Behind floats rounding decides, and the shadow bears no such witness.
    program = parse("g (float[2,2] x) => (int64[2,1] y) { m = Mul(x, x)  y = ArgMax<axis=1>(m) }")
    fed = {"x": np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)}
    results = [run("a:disabled", np.array([[1], [1]])), run("a:all", np.array([[0], [1]]))]
    (verdict,) = judge(program, fed, results, rerun=lambda *_: results, shadow=shade.run)
    assert verdict.suspect
