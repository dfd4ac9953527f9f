"""What ``ops/`` declares undefined counts only where it can be met."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from irfuzz.errors import SpecError
from irfuzz.execute.run_types import Exit, Stage
from irfuzz.ir.evaluation.exact_integer_evaluation import ExactIntegers
from irfuzz.oracle import judge
from irfuzz.oracle.dataflow.operand_values_and_bounds import FedCall
from irfuzz.oracle.dataflow.undefined_behaviour import TESTS, can_be_met
from irfuzz.spec import UndefinedBehaviour, bindings, load_specs

LIMITED = "l = Constant<value=float{-0.5}>() h = Constant<value=float{0.5}>() t = Clip(x, l, h) "
ONE = np.ones(1, np.float32)
BOXES = (
    "(float[1,1,2] x) => (int64[2,3] y) <float[1,2,4] b = {0,0,1,1,2,2,3,3}, int64 n = {2}> "
    "{ y = NonMaxSuppression(b, x, n) }"
)


@pytest.mark.parametrize(
    ("op", "elements", "undefined"),
    [
        ("ReduceProd", [2**32, 2**32, 1], True),
        ("ReduceProd", [2**20, 2**20, 1], False),
        ("ReduceSumSquare", [2**31, 2**31, 2**31], True),
        ("ReduceSumSquare", [94906267, 1, 2], False),
        ("ReduceL1", [2**62, 2**62, 0], True),
        ("ReduceMean", [-(2**63), -(2**63), 0], True),
        ("ReduceMean", [2**40, -1, 0], False),
        ("ReduceL1", [2**40, -1, 0], False),
        ("ReduceProd", [2**53 + 1, 2, 3], False),
        ("ReduceProd", [2**62, 2**62, 0], True),
        ("ReduceSum", [2**62, 2**62, -(2**62)], False),
        ("ReduceSum", [2**62, 2**62, 0], True),
        ("ReduceMean", [2**62, 2**61, 2**61 - 1], False),
        ("ReduceSumSquare", [2**31, 2**30, 2**30], False),
    ],
)
def test_a_reduction_that_may_overflow_is_nobodys_fault(parse, run, op, elements, undefined) -> None:
    program = parse(f"g (int64[3] x) => (int64[1] y) {{ y = {op}(x) }}")
    right, wrong = np.array([6], np.int64), np.array([7], np.int64)
    results = [run("reference", right), run("torch:eager", right), run("onnxruntime:disabled", wrong)]
    (verdict,) = judge(program, {"x": np.array(elements, np.int64)}, results)
    assert ("integer_overflow" in verdict.doubt) == undefined == verdict.suspect


@pytest.mark.parametrize(
    ("x", "z", "doubt"),
    [
        ([3, 2**53 + 1], [37, 1], ""),
        ([3, 2], [39, 62], ""),
        ([3, 2], [40, 62], "out_of_range"),
        ([3, 2], [39, 63], "out_of_range"),
        ([-2, 2], [63, 1], ""),
        ([3, 2], [-1, 2], "negative_integer_exponent"),
    ],
)
def test_a_power_of_integers_is_open_only_if_it_does_not_fit(parse, run, x, z, doubt) -> None:
    program = parse("g (int64[2] x, int64[2] z) => (int64[2] y) { y = Pow(x, z) }")
    right, wrong = np.array([6, 6], np.int64), np.array([7, 6], np.int64)
    results = [run("reference", right), run("torch:eager", right), run("onnxruntime:disabled", wrong)]
    (verdict,) = judge(program, {"x": np.array(x, np.int64), "z": np.array(z, np.int64)}, results)
    assert verdict.suspect == bool(doubt)
    assert doubt in verdict.doubt


@pytest.mark.parametrize("kind", ["float", "double"])
def test_a_power_with_the_exponent_of_a_fraction_is_rounded_in_some_way(parse, run, kind) -> None:
    program = parse(f"g (int64[2] x, {kind}[2] z) => (int64[2] y) {{ y = Pow(x, z) }}")
    right, wrong = np.array([6, 6], np.int64), np.array([7, 6], np.int64)
    results = [run("reference", right), run("torch:eager", right), run("onnxruntime:disabled", wrong)]
    dtype = np.dtype("float32" if kind == "float" else "float64")
    (verdict,) = judge(program, {"x": np.array([3, 3], np.int64), "z": np.array([2, 1], dtype)}, results)
    assert "out_of_range" in verdict.doubt


@pytest.mark.parametrize(("largest", "undefined"), [(2**26, True), (2**20, False)])
def test_the_root_of_a_large_sum_of_squares_is_rounded_in_some_way(parse, run, largest, undefined) -> None:
    program = parse("g (int64[2] x) => (int64[1] y) { y = ReduceL2(x) }")
    right, wrong = np.array([6], np.int64), np.array([7], np.int64)
    results = [run("reference", right), run("torch:eager", right), run("onnxruntime:disabled", wrong)]
    (verdict,) = judge(program, {"x": np.array([largest, 1], np.int64)}, results)
    assert ("rounded_root" in verdict.doubt) == undefined == verdict.suspect


@pytest.mark.parametrize(
    ("before", "undefined"),
    [("t = Add(x, x)", True), ("t = Mul(x, two) ", True), ("t = Sub(x, x)", False), ("t = Div(x, two)", False)],
)
def test_the_exact_numbers_are_followed_through_the_program(parse, run, before, undefined) -> None:
    program = parse(f"g (int64[3] x) => (int64[1] y) <int64 two = {{2}}> {{ {before} y = ReduceSum(t) }}")
    right, wrong = np.array([6], np.int64), np.array([7], np.int64)
    results = [run("reference", right), run("torch:eager", right), run("onnxruntime:disabled", wrong)]
    (verdict,) = judge(program, {"x": np.array([2**61, 2**61, 2**61], np.int64)}, results)
    assert ("integer_overflow" in verdict.doubt) == undefined == verdict.suspect


@pytest.mark.parametrize(
    ("text", "elements", "named"),
    [
        ("(float[2,2] x) => (float[2,2] y) { y = LpNormalization(x) }", [[1, 2], [0, 0]], "zero_norm"),
        ("(float[2,2] x) => (float[2,2] y) { y = LpNormalization(x) }", [[1, 2], [3, 0]], ""),
        ("(float[2] x) => (int32[2] y) <int32[1] z = {0}> { y = CastLike(x, z) }", [1e30, 2], "float_out_of_range"),
        ("(float[2] x) => (int32[2] y) <int32[1] z = {0}> { y = CastLike(x, z) }", [1.5, 2], ""),
        (BOXES, [[[1, 1]]], "equal_scores"),
        (BOXES, [[[1, 2]]], ""),
    ],
)
def test_what_is_fed_decides_whether_it_can_be_met(parse, run, text, elements, named) -> None:
    program = parse(f"g {text}")
    (output,) = program.graph.outputs
    fact = program.fact(output)
    right = np.ones(fact.static_shape, fact.dtype.numpy())
    results = [run("reference", right), run("torch:eager", right), run("onnxruntime:disabled", right * 3)]
    inputs = {"x": np.array(elements, np.float32)}
    (verdict,) = judge(program, inputs, results, rerun=lambda fed, *_: results)
    assert (named in verdict.doubt) if named else not verdict.suspect


@pytest.mark.parametrize(
    ("body", "elements", "undefined"),
    [
        ("t = Mul(x, x) y = Cast<to=6>(t)", [6, 9], False),
        ("t = Mul(x, x) y = Cast<to=6>(t)", [1e5, 9], True),
        ("t = Mul(x, x) y = Cast<to=6>(t)", [np.nan, 9], True),
        ("t = Mul(x, x) y = Cast<to=6>(t)", [1e25, 9], True),
        ("a = Add(x, x) b = Div(a, x) c = Neg(b) d = Max(c, x) y = Cast<to=6>(d)", [6, 9], False),
        ("a = Sub(x, x) b = Div(x, a) y = Cast<to=6>(b)", [6, 9], True),
        ("a = Cast<to=10>(x) b = Mul(a, a) y = Cast<to=6>(b)", [300, 1], True),
        ("a = Cast<to=10>(x) b = Mul(a, a) y = Cast<to=6>(b)", [100, 1], False),
        ("i = Cast<to=6>(x) a = Cast<to=1>(i) b = Floor(a) c = Abs(b) y = Cast<to=2>(c)", [254, 1], True),
        ("i = Cast<to=6>(x) a = Cast<to=1>(i) b = Floor(a) c = Abs(b) y = Cast<to=2>(c)", [-200, 1], False),
        ("a = Exp(x) y = Cast<to=6>(a)", [1, 1], True),
    ],
)
def test_a_cast_of_what_is_computed_of_known_numbers_is_open_only_where_these_may_be_beyond(
    parse, run, body, elements, undefined
) -> None:
    program = parse(f"g (float[2] x) => ({'uint8' if 'to=2' in body else 'int32'}[2] y) {{ {body} }}")
    right = np.array([6, 6], program.fact(program.graph.outputs[0]).dtype.numpy())
    results = [run("reference", right), run("torch:eager", right), run("onnxruntime:disabled", right * 2)]
    (verdict,) = judge(program, {"x": np.array(elements, np.float32)}, results, rerun=lambda fed, *_: results)
    assert ("float_out_of_range" in verdict.doubt) == undefined


@pytest.mark.parametrize(
    ("mask", "attrs", "undefined"),
    [
        ([[True, False], [False, True]], "", False),
        ([[True, False], [False, False]], "", True),
        ([[True, False], [False, True]], "<is_causal = 1>", True),
        ([[True, False], [True, True]], "<is_causal = 1>", False),
    ],
)
def test_a_known_mask_says_whether_a_row_has_no_key(parse, run, mask, attrs, undefined) -> None:
    kind = "float[1,1,2,2]"
    program = parse(f"g ({kind} q, bool[2,2] m) => ({kind} y) {{ y = Attention{attrs}(q, q, q, m) }}", 23)
    y = np.ones((1, 1, 2, 2), np.float32)
    results = [run("reference", y), run("torch:eager", y), run("onnxruntime:disabled", y * 3)]
    inputs = {"q": y, "m": np.array(mask)}
    (verdict,) = judge(program, inputs, results, rerun=lambda fed, *_: results)
    assert ("masked_row" in verdict.doubt) == undefined


@pytest.mark.parametrize(
    ("mask", "undefined"),
    [([[0, -np.inf], [-1, 1]], False), ([[-np.inf, -np.inf], [0, 0]], True), ([[-1e9, -1e9], [0, 0]], True),
     ([[np.nan, 0], [np.nan, np.nan]], True)],
)  # fmt: skip
def test_a_mask_of_numbers_leaves_keys_that_it_hardly_moves(parse, run, mask, undefined) -> None:
    kind = "float[1,1,2,2]"
    program = parse(f"g ({kind} q, float[2,2] m) => ({kind} y) {{ y = Attention(q, q, q, m) }}", 23)
    (node,) = program.graph
    inputs = {"q": np.ones((1, 1, 2, 2), np.float32), "m": np.array(mask, np.float32)}
    spec = load_specs().get("Attention", 23)
    assert spec is not None
    call = FedCall(program, node, spec, inputs, set(), ExactIntegers(program, inputs))
    assert TESTS["masked_row"](call) == undefined


@pytest.mark.parametrize(("elements", "undefined"), [([[1.0], [np.nan]], True), ([[1.0], [2.0]], False)])
def test_a_shape_that_elements_decide_hangs_on_what_they_leave_open(parse, run, elements, undefined) -> None:
    program = parse("g (float[2,1] x) => (int64[2] y) { u = Unique<axis=0>(x) y = Shape(u) }")
    right, wrong = np.array([2, 1]), np.array([1, 1])
    results = [run("reference", right), run("torch:eager", right), run("onnxruntime:disabled", wrong)]
    (verdict,) = judge(program, {"x": np.array(elements, np.float32)}, results, rerun=lambda fed, *_: results)
    assert ("Unique: nan" in verdict.doubt) == undefined == verdict.suspect


@pytest.mark.parametrize(("name", "undefined"), [("Softplus", True), ("Relu", False)])
def test_optional_activations_may_be_refused(parse, run, name, undefined) -> None:
    program = parse(
        "g (float[2,1,3] x, float[1,4,3] w, float[1,4,4] r) => (float[2,1,1,4] y) "
        f'{{ y = RNN<activations=["{name}"], hidden_size=4>(x, w, r) }}'
    )
    inputs = {
        "x": np.ones((2, 1, 3), np.float32),
        "w": np.ones((1, 4, 3), np.float32),
        "r": np.ones((1, 4, 4), np.float32),
    }
    y = np.ones((2, 1, 1, 4), np.float32)
    refused = run("reference", exit=Exit.REJECTED, stage=Stage.RUN, error=f"Unknown activation function '{name}'")
    (verdict,) = judge(program, inputs, [run("onnxruntime:disabled", y), run("torch:eager", y), refused])
    assert verdict.target == "reference"
    assert verdict.suspect == undefined


@pytest.mark.parametrize(("kind", "undefined"), [("int64", True), ("double", False)])
def test_mod_of_integers_with_fmod_is_not_allowed_by_the_text(parse, run, kind, undefined) -> None:
    program = parse(f"g ({kind}[2] x, {kind}[2] z) => ({kind}[2] y) {{ y = Mod<fmod=1>(x, z) }}")
    dtype = np.dtype("int64" if kind == "int64" else "float64")
    inputs = {"x": np.array([9, 8], dtype), "z": np.array([4, 5], dtype)}
    right, wrong = np.array([1, 3], dtype), np.array([1, 4], dtype)
    results = [run("reference", right), run("torch:eager", right), run("onnxruntime:disabled", wrong)]
    (verdict,) = judge(program, inputs, results, rerun=lambda fed, *_: results)
    assert ("integer_fmod" in verdict.doubt) == undefined


@pytest.mark.parametrize(("stage", "suspect"), [(Stage.COMPILE, False), (Stage.RUN, True)])
def test_elements_excuse_no_refusal_to_load(parse, run, stage, suspect) -> None:
    program = parse("g (float[3] x) => (int8[3] y) { y = Cast<to=3>(x) }")
    y = np.zeros(3, np.int8)
    refused = run("onnxruntime:basic", exit=Exit.REJECTED, stage=stage, error="Unexpected data type")
    results = [run("reference", y), run("torch:eager", y), refused]
    (verdict,) = judge(program, {"x": np.array([1e9, 0, 0], np.float32)}, results)
    assert (verdict.target, verdict.suspect) == ("onnxruntime:basic", suspect)


@pytest.mark.parametrize(("low", "undefined"), [(2**30, True), (3, False)])
def test_an_einsum_that_may_overflow_is_nobodys_fault(parse, run, low, undefined) -> None:
    program = parse('g (int32[2] x, int32[2] z) => (int32 y) { y = Einsum<equation="i,i->">(x, z) }')
    inputs = {"x": np.full(2, low, np.int32), "z": np.full(2, low, np.int32)}
    right, wrong = np.array(6, np.int32), np.array(7, np.int32)
    results = [run("reference", right), run("torch:eager", right), run("onnxruntime:disabled", wrong)]
    (verdict,) = judge(program, inputs, results)
    assert verdict.suspect == undefined


@pytest.mark.parametrize(
    ("body", "top", "hidden"),
    [
        ("a = Asin(x) y = ArgMax<axis=0>(a)", 2.0, True),
        ("t = Tanh(x) h = Constant<value=float{0.5}>() b = Mul(t, h) a = Acosh(b) y = ArgMax<axis=0>(a)", 2.0, True),
        (LIMITED + "a = Asin(t) y = ArgMax<axis=0>(a)", 2.0, False),
        ("a = Asin(x) y = ArgMax<axis=0>(a)", 0.5, False),
        ("a = Div(x, x) y = ArgMax<axis=0>(a)", 0.0, True),
        ("a = Log(x) b = Relu(a) y = ArgMax<axis=0>(b)", -1.0, True),
        ("a = ReduceMax<axes=[0]>(x) y = ArgMax<axis=0>(a)", -1.0, False),
    ],
)
def test_nan_that_may_arise_and_be_hidden_inside_decides_nothing(parse, run, body, top, hidden) -> None:
    program = parse(f"g (float[3] x) => (int64[1] y) {{ {body} }}")
    inputs = {"x": np.array([0.25, top, 0.125], np.float32)}
    right, wrong = np.array([0], np.int64), np.array([5], np.int64)
    results = [run("reference", right), run("torch:eager", right), run("onnxruntime:disabled", wrong)]
    (verdict,) = judge(program, inputs, results, rerun=lambda fed, *_: results)
    assert ("may arise inside" in verdict.doubt) == hidden


@pytest.mark.parametrize(("kind", "undefined"), [("int32", True), ("float", False)])
@pytest.mark.parametrize("op", ["ReduceLogSum", "ReduceLogSumExp"])
def test_logarithms_of_integers_are_nobodys_fault(parse, run, op, kind, undefined) -> None:
    program = parse(f"g ({kind}[2] x) => ({kind}[1] y) {{ y = {op}(x) }}")
    y = np.array([2], np.int32 if kind == "int32" else np.float32)
    refused = run("reference", exit=Exit.REJECTED, stage=Stage.RUN, error="TypeError: Issues with types")
    results = [run("onnxruntime:disabled", y), run("torch:eager", y), refused]
    (verdict,) = judge(program, {"x": np.array([5, 6], y.dtype)}, results)
    assert (verdict.target, verdict.suspect) == ("reference", undefined)


@pytest.mark.parametrize(
    ("region", "undefined"), [([2, 2, 1, 3], True), ([1, 1, np.inf, 3], True), ([1, 1, 3, 3], False)]
)
def test_only_a_region_that_ends_before_it_begins_or_never_is_left_open(parse, run, region, undefined) -> None:
    program = parse(
        "g (float[1,1,4,4] x, float[1,4] r, int64[1] b) => (float[1,1,1,1] y) "
        "{ y = RoiAlign<sampling_ratio=1>(x, r, b) }"
    )
    inputs = {"x": np.ones((1, 1, 4, 4), np.float32), "r": np.array([region], np.float32), "b": np.zeros(1, np.int64)}
    right, wrong = np.ones((1, 1, 1, 1), np.float32), np.full((1, 1, 1, 1), 2, np.float32)
    results = [run("reference", right), run("torch:eager", right), run("onnxruntime:disabled", wrong)]
    (verdict,) = judge(program, inputs, results, rerun=lambda fed, *_: results)
    assert ("region_outside" in verdict.doubt) == undefined


@pytest.mark.parametrize(("kind", "number", "undefined"), [("int32", 6, True), ("float", 1, False)])
def test_only_a_window_of_integers_is_left_open(parse, run, kind, number, undefined) -> None:
    program = parse(f"g (int64 n) => ({kind}[m] y) {{ y = HannWindow<output_datatype={number}>(n) }}")
    dtype = np.dtype("int32" if kind == "int32" else "float32")
    right, wrong = np.array([0, 1, 1, 0], dtype), np.array([0, 5, 1, 0], dtype)
    results = [run("reference", right), run("torch:eager", right), run("onnxruntime:disabled", wrong)]
    (verdict,) = judge(program, {"n": np.array(4)}, results, rerun=lambda fed, *_: results)
    assert ("integer_window" in verdict.doubt) == undefined


@pytest.mark.parametrize(("weights", "undefined"), [([0.0, 0.0], True), ([0.5, 1.0], False)])
def test_a_mean_over_no_weight_may_be_nan(parse, run, weights, undefined) -> None:
    program = parse(
        "g (float[1,2] x, float[2] w) => (int64[1] y) { t = Constant<value=int64[1]{0}>()"
        " l = NegativeLogLikelihoodLoss(x, t, w) s = Constant<value=int64[1]{1}>() r = Reshape(l, s) y = ArgMax(r) }"
    )
    one = np.array([1])
    results = [run("reference", one), run("torch:eager", one), run("onnxruntime:disabled", one - 1)]
    inputs = {"x": np.array([[1, 2]], np.float32), "w": np.array(weights, np.float32)}
    (verdict,) = judge(program, inputs, results, rerun=lambda fed, *_: results)
    assert ("may arise inside" in verdict.doubt) == undefined


@pytest.mark.parametrize(("x", "undefined"), [([7.0, -7.0], True), ([0.5, -0.5], False)])
def test_places_that_are_nan_are_left_open(parse, run, x, undefined) -> None:
    program = parse(
        "g (float[1,1,1,2] x, float[1,1,1,1] w) => (float[1,1,1,1] y)"
        ' { a = Atanh(x) y = GridSample<padding_mode="border">(w, a) }'
    )
    right = ONE.reshape(1, 1, 1, 1)
    results = [run("reference", right), run("torch:eager", right), run("onnxruntime:disabled", right * np.nan)]
    inputs = {"x": np.array(x, np.float32).reshape(1, 1, 1, 2), "w": right}
    (verdict,) = judge(program, inputs, results, rerun=lambda fed, *_: results)
    assert ("may arise inside" in verdict.doubt) == undefined


CROPPED = 'y = Resize<mode="linear", coordinate_transformation_mode="tf_crop_and_resize">(x, r, s)'
NEAREST = 'Resize<mode="nearest", nearest_mode="floor", coordinate_transformation_mode="{}">(x, , s)'


@pytest.mark.parametrize(
    ("call", "undefined"),
    [
        (
            f"s = Constant<value=float[2]{{1.0, 0.6}}>() y = {NEAREST.format('pytorch_half_pixel')}",
            "rounded_coordinate",
        ),
        (f"s = Constant<value=float[2]{{1.0, 0.5}}>() y = {NEAREST.format('pytorch_half_pixel')}", ""),
        (f"s = Constant<value=float[2]{{1.0, 2.0}}>() y = {NEAREST.format('asymmetric')}", ""),
        (f"s = Constant<value=float[2]{{1.0, 0.6}}>() y = {NEAREST.format('align_corners')}", "fractional_length"),
        (
            f"s = Constant<value=float[2]{{1.0, 2.0}}>() r = Constant<value=float[4]{{0, 0, 1, 0.5}}>() {CROPPED}",
            "scaled_region",
        ),
        (f"s = Constant<value=float[2]{{1.0, 2.0}}>() r = Constant<value=float[4]{{0, 0.5, 1, 1.5}}>() {CROPPED}", ""),
        ('s = Constant<value=int64[4]{0, 0, 0, 4}>() y = Pad<mode="reflect">(x, s)', "reflected_beyond"),
        ('s = Constant<value=int64[4]{0, 0, 0, 3}>() y = Pad<mode="reflect">(x, s)', ""),
    ],
)
def test_what_a_resize_or_pad_leaves_open_is_nobodys_fault(parse, run, call, undefined) -> None:
    program = parse(f"g (float[2,4] x) => (float[N,M] y) {{ {call} }}")
    right, wrong = np.zeros((2, 7), np.float32), np.ones((2, 7), np.float32)
    results = [run("reference", right), run("torch:eager", right), run("onnxruntime:disabled", wrong)]
    (verdict,) = judge(program, {"x": np.ones((2, 4), np.float32)}, results)
    assert undefined in verdict.doubt
    assert verdict.suspect == bool(undefined)


@pytest.mark.parametrize(("point", "suspect"), [(0, False), (5, True)])
def test_a_zero_point_that_is_fed_where_none_may_be_excuses(parse, run, point, suspect) -> None:
    program = parse("g (int32[2] x, float s, int32 z) => (float[2] y) { y = DequantizeLinear(x, s, z) }")
    inputs = {"x": np.array([1, 2], np.int32), "s": np.array(1, np.float32), "z": np.array(point, np.int32)}
    right, wrong = np.array([1, 2], np.float32), np.array([1, 3], np.float32)
    results = [run("reference", right), run("torch:eager", right), run("onnxruntime:disabled", wrong)]
    (verdict,) = judge(program, inputs, results, rerun=lambda fed, *_: results)
    assert ("DequantizeLinear: broken_rule" in verdict.doubt) == suspect == verdict.suspect


@pytest.mark.parametrize(
    ("call", "size", "suspect"),
    [("ReduceMean<keepdims=0>(x)", 0, True), ("ReduceMean<keepdims=0>(x)", 1, False)],
)
def test_the_mean_of_nothing_may_be_refused(parse, run, call, size, suspect) -> None:
    program = parse(f"g (int32[{size}] x) => (int32 y) {{ y = {call} }}")
    y = np.array(0, np.int32)
    refused = run("torch:eager", exit=Exit.REJECTED, stage=Stage.RUN, error="RuntimeError: no mean")
    (verdict,) = judge(
        program, {"x": np.zeros(size, np.int32)}, [run("reference", y), run("onnxruntime:disabled", y), refused]
    )
    assert verdict.suspect == suspect


@pytest.mark.parametrize(("ratio", "suspect"), [(1.0, True), (0.5, False)])
def test_a_ratio_of_one_may_be_refused(parse, run, ratio, suspect) -> None:
    program = parse(f"g (float[2] x) => (float[2] y) {{ r = Constant<value=float{{{ratio}}}>() y = Dropout(x, r) }}")
    y = np.ones(2, np.float32)
    refused = run("onnxruntime:disabled", exit=Exit.REJECTED, stage=Stage.RUN, error="ratio must be less")
    results = [run("reference", y), run("torch:eager", y), refused]
    (verdict,) = judge(program, {"x": y}, results)
    assert verdict.suspect == suspect


@pytest.mark.parametrize(("first", "undefined"), [(2, True), (1, False)])
@pytest.mark.parametrize("stage", [Stage.RUN, Stage.CONVERT])
def test_a_letter_of_two_sizes_may_be_refused(parse, run, first, undefined, stage) -> None:
    kinds = f"float[{first},3] x, float[1,2,3] z"
    program = parse(f'g ({kinds}) => (float[2,{first}] y) {{ y = Einsum<equation="ab,acb->ca">(x, z) }}')
    y = np.ones((2, first), np.float32)
    inputs = {"x": np.ones((first, 3), np.float32), "z": np.ones((1, 2, 3), np.float32)}
    refused = run("tensorflow:eager", exit=Exit.REJECTED, stage=stage, error="Expected dimension 2 at axis 0")
    (verdict,) = judge(program, inputs, [run("onnxruntime:disabled", y), run("torch:eager", y), refused])
    assert (verdict.target, verdict.suspect) == ("tensorflow:eager", undefined)


@pytest.mark.parametrize(("scale", "undefined"), [(1.5, True), (1.2, True), (2.0, False)])
def test_coordinates_on_the_edge_of_an_element_are_left_open(parse, run, scale, undefined) -> None:
    call = NEAREST.format("half_pixel_symmetric")
    program = parse(f"g (float[3] x) => (float[N] y) {{ s = Constant<value=float[1]{{{scale}}}>() y = {call} }}", 19)
    right = np.zeros(int(3 * scale), np.float32)
    results = [run("reference", right), run("torch:eager", right), run("onnxruntime:disabled", right + 1)]
    (verdict,) = judge(program, {"x": np.ones(3, np.float32)}, results)
    assert ("rounded_coordinate" in verdict.doubt) == undefined == verdict.suspect


def test_every_test_that_an_operator_names_exists_and_every_test_is_named() -> None:
    named = {u.test for spec in load_specs().all() for u in spec.undefined}
    assert named == set(TESTS)


def test_a_test_that_does_not_exist_is_named_with_what_exists(parse) -> None:
    program = parse("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    spec = load_specs().version("Relu", 14)
    spec = replace(spec, undefined=(UndefinedBehaviour("tie", "why", test="positions"),))
    call = FedCall(program, program.nodes()[0], spec, {}, set(), ExactIntegers(program, {}))
    with pytest.raises(SpecError, match=r"Relu: undefined\.tie\.test: got 'positions'; .*positions_read"):
        list(can_be_met(call, {}))


@pytest.mark.parametrize(
    ("text", "elements", "met"),
    [
        ("(float[3] x) => (int64[1] y) { y = ArgMax(x) }", [1, 2, 3], {11: ["tie"], 12: []}),
        (
            "(float[3] x) => (float[3] y) <float l = {2}, float h = {1}> { y = Clip(x, l, h) }",
            [1, 2, 3],
            {11: ["min_above_max"], 13: []},
        ),
    ],
)
def test_what_later_versions_prescribe_is_open_before(parse, text, elements, met) -> None:
    for opset, names in met.items():
        program = parse(f"g {text}", opset)
        node = program.nodes()[-1]
        spec = load_specs().get(node.op_type, opset)
        assert spec is not None
        facts = [program.tensor(v) for v in node.inputs]
        fed = {"x": np.array(elements, np.float32)}
        call = FedCall(program, node, spec, fed, set(), ExactIntegers(program, fed))
        assert list(can_be_met(call, bindings(spec, facts, program.attrs(node))[0])) == names


def test_an_axis_without_elements_has_no_coordinates(parse, run) -> None:
    call = NEAREST.format("half_pixel")
    scales = "s = Constant<value=float[2]{1.5, 1.0}>()"
    program = parse(f"g (float[0,3] x) => (float y) {{ {scales} r = {call} y = ReduceSum<keepdims=0>(r) }}")
    zero, one = np.zeros((), np.float32), np.ones((), np.float32)
    results = [run("reference", zero), run("torch:eager", zero), run("onnxruntime:disabled", one)]
    (verdict,) = judge(program, {"x": np.ones((0, 3), np.float32)}, results)
    assert not verdict.suspect


@pytest.mark.parametrize(
    ("call", "fed", "left_open"),
    [
        ("Clip(x)", -np.inf, True),
        ("Clip(x)", np.inf, True),
        ("Clip(x, b)", -np.inf, False),
        ("Clip(x, b)", np.inf, True),
        ('Clip(x, "", b)', -np.inf, True),
        ('Clip(x, "", b)', np.inf, False),
    ],
)
def test_an_infinity_beyond_no_bound_of_a_clip_is_left_open(parse, run, call, fed, left_open) -> None:
    program = parse(f"g (float[1] x) => (float[1] y) <float b = {{1}}> {{ y = {call} }}")
    x, wrong = np.array([fed], np.float32), np.array([np.copysign(np.finfo(np.float32).max, fed)], np.float32)
    right = x if left_open else np.ones(1, np.float32)
    results = [run("reference", right), run("torch:eager", right), run("onnxruntime:disabled", wrong)]
    (verdict,) = judge(program, {"x": x}, results)
    assert verdict.target == "onnxruntime:disabled"
    assert ("infinity_without_bound" in verdict.doubt) == left_open


def test_what_a_clip_leaves_open_of_infinities_excuses_no_number(parse, run) -> None:
    program = parse("g (float[1] x) => (float[1] y) { e = Abs(x) y = Clip(e) }")
    right, wrong = np.array([2], np.float32), np.array([3], np.float32)
    results = [run("reference", right), run("torch:eager", right), run("onnxruntime:disabled", wrong)]
    (verdict,) = judge(program, {"x": right}, results)
    assert "infinity" not in verdict.doubt


@pytest.mark.parametrize(
    ("rows", "repeats"), [("int64[0,1]", False), ("int64[2,0]", True), ("int64[1,0]", False), ("int64[0,0]", False)]
)
def test_rows_without_an_index_mean_the_whole_tensor(parse, rows: str, repeats: bool) -> None:
    shape = tuple(int(size) for size in rows.partition("[")[2].rstrip("]").split(","))
    updates = f"float[{shape[0]},2]" if shape[1] == 0 else f"float[{shape[0]}]"
    program = parse(f"g (float[2] x, {rows} i, {updates} u) => (float[2] y) {{ y = ScatterND(x, i, u) }}", opset=18)
    (node,) = program.nodes()
    spec = load_specs().get("ScatterND", 18)
    fed = {"x": np.zeros(2, np.float32), "i": np.zeros(shape, np.int64)}
    call = FedCall(program, node, spec, fed, set(), ExactIntegers(program, fed))
    assert TESTS["repeated_rows"](call) == repeats
