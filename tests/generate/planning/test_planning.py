"""Sizes that models leave open are solved for, and what inputs mean is recognised from what reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from irfuzz.generate.input_planning import ModelInputPlan, TrialRun, annotate, plan_inputs, without_floats
from irfuzz.generate.input_planning.size_trial import MOST_ELEMENTS
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.input_domain import InputDomain, InputVariant, set_input_sizes, set_input_variants
from irfuzz.ir.program import Program
from tests.generate.planning import models

pytestmark = pytest.mark.unit


def made(text: str) -> Program:
    return models.program(models.filled(text))


def shapes(plan: ModelInputPlan, name: str) -> list[tuple[int, ...]]:
    return [variant.shape for variant in plan.variants[name]]


def variants(plan: ModelInputPlan) -> list[dict[str, InputVariant]]:
    count = len(next(iter(plan.variants.values())))
    return [{name: row[place] for name, row in plan.variants.items()} for place in range(count)]


# ---- sizes that inference decides -----------------------------------------------------------------


def test_a_join_of_strided_branches_needs_sides_that_both_divide() -> None:
    plan = plan_inputs(made(models.PYRAMID))
    for n, c, h, w in shapes(plan, "image"):
        assert n >= 1
        assert c == 3
        assert (h + 3) // 4 == 2 * ((h + 7) // 8)
        assert (w + 3) // 4 == 2 * ((w + 7) // 8)
    assert len(set(shapes(plan, "image"))) > 1
    assert any(h != w for _, _, h, w in shapes(plan, "image"))


def test_a_size_that_weights_decide_is_that_of_the_weights() -> None:
    plan = plan_inputs(made("g (float[a, b] x) => (float[c, d] y) <float[37, 2] W = {FILL74}> { y = MatMul (x, W) }"))
    assert {shape[1] for shape in shapes(plan, "x")} == {37}


def test_the_channels_of_a_grouped_convolution_follow_from_its_kernel() -> None:
    text = "g (float[n, c, h, w] x) => (float[n, 6, p, q] y) <float[6, 2, 3, 3] W = {FILL108}> {"
    text += " y = Conv <group = 3> (x, W) }"
    assert {shape[1] for shape in shapes(plan_inputs(made(text)), "x")} == {6}


def test_a_window_fits_into_a_signal() -> None:
    text = "g (float[n, t] audio) => (float[n, a, b] y) <float[1, 1, 1000] W = {FILL1000}, int64[1] one = {1}> {"
    plan = plan_inputs(made(text + " x = Unsqueeze (audio, one) y = Conv <strides = [250]> (x, W) }"))
    assert min(t for _, t in shapes(plan, "audio")) >= 1000
    assert plan.domains["audio"] == InputDomain(-1, 1)


def test_a_size_that_is_divided_is_a_multiple() -> None:
    text = "g (float[n, t] x) => (float[a, b, 21] y) <int64[3] split = {0, -1, 21}> { y = Reshape (x, split) }"
    assert all(t % 21 == 0 for _, t in shapes(plan_inputs(made(text)), "x"))


def test_a_total_is_the_sum_of_its_parts() -> None:
    plan = plan_inputs(made(models.CACHE))
    for row in variants(plan):
        new, past, total = row["ids"].shape[1], row["past_key"].shape[2], row["attention_mask"].shape[1]
        assert past
        assert new + past == total
        assert len({row[name].shape[0] for name in row}) == 1


def test_a_name_that_is_a_sum_is_that_sum() -> None:
    text = "g (float[n, p] a, float[n, q] b, float[n, r] c) => (float[n, s] y) {"
    proto = made(text + " j = Concat <axis = 1> (a, b) y = Add (j, c) }").to_proto()
    names = {"p": "past", "q": "new", "r": "past + new"}
    for value in proto.graph.input:
        dim = value.type.tensor_type.shape.dim[1]
        dim.dim_param = names[dim.dim_param]
    for row in variants(plan_inputs(Program.from_proto(proto))):
        assert row["a"].shape[1] + row["b"].shape[1] == row["c"].shape[1]


def test_axes_without_a_name_that_meet_are_one_size() -> None:
    plan = plan_inputs(made("g (float[?, ?] a, float[?, ?] b) => (float[?, ?] y) { y = Mul (a, b) }"))
    for row in variants(plan):
        assert row["a"].shape == row["b"].shape


# ---- what needs no plan, and what is kept to -------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "g (float[2, 3] x) => (float[2, 3] y) { y = Neg (x) }",
        "g (float[batch, 3] x) => (float[batch, 3] y) { y = Neg (x) }",
    ],
)
def test_a_model_that_runs_as_it_is_drawn_is_left_alone(text: str) -> None:
    assert not plan_inputs(made(text))


def test_a_batch_that_does_not_fit_is_found_out() -> None:
    text = "g (float[batch, 4] x) => (float[1, 4] y) <int64[2] s = {1, 4}> { y = Reshape (x, s) }"
    assert set(shapes(plan_inputs(made(text)), "x")) == {(1, 4)}


@pytest.mark.parametrize(("count", "first"), [(1 << 20, 1), ((1 << 22) + 1, 3)])
def test_samples_of_heavy_models_stay_small(count: int, first: int) -> None:
    text = f"g (float[batch, k] x) => (float[m, l] y) <int64[1] s = {{{count}}}, float one = {{1.0}}> {{"
    plan = plan_inputs(made(text + " big = Expand (one, s) z = ReduceMax (big) w = ReduceMax (x) y = Add (w, z) }"))
    seen = shapes(plan, "x")
    assert len(seen) == 4
    assert seen.count(seen[0]) == first


def test_sizes_that_were_said_are_kept_to() -> None:
    program = made(models.PYRAMID)
    set_input_sizes(program.graph.inputs[0], {"h": (48,)})
    assert {shape[2] for shape in shapes(plan_inputs(program), "image")} == {48}


def test_no_more_elements_than_allowed() -> None:
    text = "g (float[a, b, c, d] x) => (float[a, b, c, d] y) { y = Neg (x) }"
    assert all(np.prod(shape) <= MOST_ELEMENTS for shape in shapes(plan_inputs(made(text)), "x"))


# ---- runs ------------------------------------------------------------------------------------------


def test_what_inference_leaves_open_is_run_and_enlarged(pretended: Any) -> None:
    text = """g (float[n, k] x, int64 many) => (float[a] y) <int64[1] s = {-1}, int64 zero = {0}, int64 one = {1}> {
      z = Reshape (x, s) i = Range (zero, many, one) y = Gather (z, i) }"""
    least = 32
    runtime = pretended(lambda given: TrialRun("too short" if given["x"].shape[1] < least else "", outputs={}))
    plan = plan_inputs(made(text), runtime=runtime)
    assert min(shape[1] for shape in shapes(plan, "x")) == least
    assert runtime.given[0]["x"].shape[1] < least


def test_outputs_that_are_empty_are_not_enough(pretended: Any) -> None:
    text = "g (float[n, k] x) => (float[a, b] y) { z = NonZero (x) y = Cast <to = 1> (z) }"

    def answer(given: Any) -> TrialRun:
        return TrialRun(outputs={"y": np.zeros((2, max(0, given["x"].shape[1] - 20)), np.float32)})

    plan = plan_inputs(made(text), runtime=pretended(answer))
    assert shapes(plan, "x")[0][1] > 20
    assert not plan.why_not


def test_outputs_that_are_nan_everywhere_are_not_enough(pretended: Any) -> None:
    text = "g (float[n, k] x) => (float[a, b] y) { z = NonZero (x) y = Cast <to = 1> (z) }"

    def answer(given: Any) -> TrialRun:
        return TrialRun(outputs={"y": np.full((2, 2), np.nan if given["x"].shape[1] == 16 else 1.0, np.float32)})

    assert shapes(plan_inputs(made(text), runtime=pretended(answer)), "x")[0][1] != 16


@pytest.mark.parametrize(("seconds", "kept"), [(1.9, True), (2.1, False)])
def test_a_run_that_takes_long_is_the_last_resort(pretended: Any, seconds: float, kept: bool) -> None:
    text = "g (float[n, k] x) => (float[a, b] y) { z = NonZero (x) y = Cast <to = 1> (z) }"
    out = {"y": np.ones((2, 2), np.float32)}
    runtime = pretended(lambda given: TrialRun(seconds=seconds if given["x"].shape[1] == 16 else 0.1, outputs=out))
    assert (shapes(plan_inputs(made(text), runtime=runtime), "x")[0][1] == 16) is kept


def test_a_model_that_never_runs_says_why(pretended: Any) -> None:
    text = "g (float[n, k] x) => (float[a, b] y) { z = NonZero (x) y = Cast <to = 1> (z) }"
    runtime = pretended(lambda given: TrialRun("out of order"))
    plan = plan_inputs(made(text), runtime=runtime)
    assert plan.why_not == "out of order"
    assert not plan.variants
    assert len(runtime.given) <= 40


def test_integers_that_nothing_limits_are_small_if_others_do_not_run(pretended: Any) -> None:
    text = "g (int64[2, 3] a) => (int64[2, 3] y) { y = Neg (a) }"
    runtime = pretended(lambda given: TrialRun("out of range" if np.abs(given["a"]).max() > 1 else ""))
    plan = plan_inputs(made(text), runtime=runtime)
    assert plan.domains == {"a": InputDomain(0, 1)}
    assert not plan.variants
    assert not plan_inputs(made(text), runtime=pretended(lambda given: TrialRun()))


def test_what_inference_settles_is_not_run(pretended: Any) -> None:
    runtime = pretended(lambda given: TrialRun("never asked"))
    assert plan_inputs(made(models.PYRAMID), runtime=runtime).variants
    assert not runtime.given


@pytest.mark.backend
def test_a_model_in_branches_is_solved_by_running_it(quick: Any) -> None:
    plan = plan_inputs(made(models.SWITCH), runtime=quick)
    rows = variants(plan)
    assert {row["sr"].exact for row in rows} == {(16000.0,), (8000.0,)}
    assert all(row["state"].shape[1] == row["input"].shape[0] for row in rows)
    assert plan.about == {"sr": "a sampling rate", "state": "a state", "input": "a sound"}
    again = plan_inputs(made(models.SWITCH), runtime=quick)
    assert again == plan


@pytest.mark.backend
@pytest.mark.parametrize("name", ["PYRAMID", "CACHE", "SWITCH"])
def test_what_is_drawn_by_a_plan_runs(quick: Any, name: str) -> None:
    program = made(getattr(models, name))
    annotate(program, plan_inputs(program, runtime=quick))
    seen = set()
    for seed in range(8):
        inputs = make_inputs(program, seed)
        attempt = quick(program, inputs)
        assert not attempt.error
        assert all(np.asarray(value).size for value in attempt.outputs.values())
        seen.add(tuple(np.asarray(v).shape for v in inputs.values()))
    assert len(seen) > 1


# ---- what elements mean ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "domain"),
    [
        ("g (float[1, 3, 4, 4] x) => (float[1, 3, 4, 4] y) <float k = {255.0}> { y = Div (x, k) }", "x", (0, 255)),
        ("g (float[1, 3, 4, 4] x) => (float[1, 3, 4, 4] y) <float k = {0.00392157}> { y = Mul (x, k) }", "x", (0, 255)),
        ("g (float[1, 3, 4, 4] x) => (float[1, 3, 4, 4] y) <float k = {2.0}> { y = Div (x, k) }", "x", None),
        (
            (
                "g (float[1, 3, 4, 4] x) => (float[1, 3, 4, 4] y) <float[3, 1, 1] k = {0.485, 0.456, 0.406}>"
                " { y = Sub (x, k) }"
            ),
            "x",
            (0, 1),
        ),
        (
            (
                "g (uint8[1, 3, 4, 4] x) => (float[1, 3, 4, 4] y) <float k = {255.0}>"
                " { z = Cast <to = 1> (x) y = Div (z, k) }"
            ),
            "x",
            (0, 255),
        ),
        ("g (float low) => (bool[3] y) <float[3] k = {1.0, 5.0, 9.0}> { y = Less (low, k) }", "low", (1, 9)),
        (
            "g (int64[2, 3] mask) => (float[2, 3] y) <float k = {1.0}> { z = Cast <to = 1> (mask) y = Sub (k, z) }",
            "mask",
            (0, 1),
        ),
        (
            "g (int64[2, 3] a) => (float[2, 3] y) <float k = {1.0}> { z = Cast <to = 1> (a) y = Sub (k, z) }",
            "a",
            (0, 1),
        ),
        ("g (int64[2, 3] a) => (bool[2, 3] y) { y = Cast <to = 9> (a) }", "a", (0, 1)),
        ("g (int64[2, 3] a) => (int64[2, 3] y) { y = Neg (a) }", "a", None),
        ("g (int64[5, 1] a) => (bool[5, 4] y) <int64[4] k = {0, 1, 2, 3}> { y = Equal (a, k) }", "a", (0, 3)),
        ("g (int64[5, 1] a) => (bool[5, 2] y) <int64[2] k = {7, 7}> { y = Equal (a, k) }", "a", None),
        ("g (float[2, 3] hidden) => (float[2, 3] hidden_out) { hidden_out = Tanh (hidden) }", "hidden", (-0.1, 0.1)),
        ("g (float[2, 3] x) => (float[2, 3] x_out) { x_out = Tanh (x) }", "x", None),
    ],
)
def test_ranges_follow_the_readers(text: str, name: str, domain: tuple[float, float] | None) -> None:
    found = plan_inputs(made(text)).domains.get(name)
    assert (None if found is None else (found.low, found.high)) == domain


def test_a_range_inside_a_body_counts() -> None:
    text = """g (float[1, 3, 4, 4] x, bool c) => (float[1, 3, 4, 4] y) <float k = {255.0}> {
      y = If (c) <then_branch = a () => (float[1, 3, 4, 4] p) { p = Div (x, k) },
                  else_branch = b () => (float[1, 3, 4, 4] q) { q = Neg (x) }> }"""
    assert plan_inputs(made(text)).domains["x"] == InputDomain(0, 255)


def test_masks_are_ones_and_then_zeros_and_positions_count_up() -> None:
    text = "g (int64[4, 9] attention_mask, int64[4, 9] position_ids) => (int64[4, 9] y)"
    program = made(text + " { y = Add (attention_mask, position_ids) }")
    annotate(program, plan_inputs(program))
    for seed in range(6):
        drawn = make_inputs(program, seed)
        mask = np.asarray(drawn["attention_mask"])
        assert set(np.unique(mask)) <= {0, 1}
        assert (mask[:, 0] == 1).all()
        assert (np.diff(mask) <= 0).all()
        np.testing.assert_array_equal(drawn["position_ids"], np.tile(np.arange(9), (4, 1)))


def test_lengths_are_those_of_the_longest_axis() -> None:
    text = """g (float[n, t, 4] x, int64[n] lengths) => (bool[n, t] y)
      <int64 zero = {0}, int64 one = {1}, int64[1] at = {1}> {
      size = Shape <start = 1, end = 2> (x) s = Squeeze (size) places = Range (zero, s, one)
      wide = Unsqueeze (lengths, at) y = Less (places, wide) }"""
    for row in variants(plan_inputs(made(text))):
        assert row["lengths"].exact == (float(row["x"].shape[1]),) * row["x"].shape[0]


def test_a_search_everywhere_has_no_range_for_floats() -> None:
    program = made(models.CACHE)
    plan = without_floats(program, plan_inputs(program))
    assert set(plan.domains) == {"attention_mask"}
    assert plan.variants


def test_metadata_goes_before_a_role() -> None:
    from irfuzz.ir.input_domain import set_input_domain

    program = made("g (float[1, 3, 4, 4] x) => (float[1, 3, 4, 4] y) <float k = {255.0}> { y = Div (x, k) }")
    set_input_domain(program.graph.inputs[0], InputDomain(2, 3))
    assert not plan_inputs(program).domains


# ---- variants travel --------------------------------------------------------------------------------


def paired() -> Program:
    program = made("g (float[n, k] a, float[n, m] b) => (float[n, m] y) { s = ReduceSum (a) y = Add (s, b) }")
    a, b = program.graph.inputs
    set_input_variants(a, [InputVariant((1, 8)), InputVariant((2, 16))])
    set_input_variants(b, [InputVariant((1, 3)), InputVariant((2, 6))])
    return program


def test_variants_are_taken_together_and_survive_bytes() -> None:
    again = Program.from_bytes(paired().to_bytes())
    for seed in range(4):
        drawn = make_inputs(again, seed)
        assert (np.shape(drawn["a"]), np.shape(drawn["b"])) == (((1, 8), (1, 3)), ((2, 16), (2, 6)))[seed % 2]


def test_a_size_that_became_a_number_chooses_the_variant() -> None:
    from dataclasses import replace

    program = paired()
    a = program.graph.inputs[0]
    program.declare_inputs({a: replace(program.fact(a), shape=("n", 16))})  # type: ignore[type-var]
    for seed in range(4):
        assert np.shape(make_inputs(program, seed)["b"]) == (2, 6)


def test_a_number_that_no_variant_has_is_kept() -> None:
    from dataclasses import replace

    program = paired()
    a = program.graph.inputs[0]
    program.declare_inputs({a: replace(program.fact(a), shape=("n", 5))})  # type: ignore[type-var]
    assert np.shape(make_inputs(program, 0)["a"]) == (1, 5)


def test_variants_of_unnamed_axes() -> None:
    program = made("g (float[?, ?] a) => (float[?, ?] y) { y = Neg (a) }")
    set_input_variants(program.graph.inputs[0], [InputVariant((4, 7))])
    assert np.shape(make_inputs(program, 3)["a"]) == (4, 7)


def test_caches_without_names_hold_as_many_tokens() -> None:
    proto = made(models.CACHE).to_proto()
    for value in proto.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            dim.ClearField("dim_param")
    for row in variants(plan_inputs(Program.from_proto(proto))):
        new, past, total = row["ids"].shape[1], row["past_key"].shape[2], row["attention_mask"].shape[1]
        assert new + past == total
        assert past > 1


STFT = """g (float[n, t] wav) => (float[a, b, c, d] y) {
  step = Constant <value = int64 {160}> () length = Constant <value = int64 {400}> ()
  [transform] y = STFT (wav, step, , length)
}"""


def test_sizes_are_found_for_a_model_that_breaks_a_rule_which_a_runtime_lets_pass(pretended: Any) -> None:
    runtime = pretended(lambda given: TrialRun("too short" if given["wav"].shape[1] < 600 else "", outputs={}))
    plan = plan_inputs(made(STFT), runtime=runtime)
    assert shapes(plan, "wav")[0][1] >= 600
    assert not plan.why_not


def test_a_broken_rule_that_no_runtime_lets_pass_is_the_reason(pretended: Any) -> None:
    plan = plan_inputs(made(STFT), runtime=pretended(lambda given: TrialRun("refused")))
    assert not plan.variants
    assert "signal: expected rank 3" in plan.why_not
    assert "signal: expected rank 3" in plan_inputs(made(STFT)).why_not
