"""Crash, hang, memory and rejection: who is blamed, what is only suspect, and what is no verdict at all."""

from __future__ import annotations

import numpy as np
import pytest

from irfuzz.execute.run_types import Exit, Stage
from irfuzz.oracle import Symptom, judge, signature, title

pytestmark = pytest.mark.unit

Y = np.full((2, 3), 0.5, np.float32)


@pytest.mark.parametrize(
    ("ending", "symptom"),
    [(Exit.CRASH, Symptom.CRASH), (Exit.EXITED, Symptom.CRASH), (Exit.PROTOCOL, Symptom.PROTOCOL)],
)
@pytest.mark.parametrize("invalid", [False, True])
def test_a_dead_process_is_a_finding_without_witnesses_and_on_invalid_programs(
    gemm, fed, run, ending, symptom, invalid
):
    results = [run("onnxruntime:all", exit=ending, error="SIGSEGV"), run("reference", exit=Exit.REJECTED, error="bad")]
    (verdict,) = [v for v in judge(gemm, fed, results, expected_invalid=invalid) if v.oracle == "crash"]
    assert (verdict.symptom, verdict.target, verdict.suspect) == (symptom, "onnxruntime:all", False)
    assert ("invalid on purpose" in title(verdict, gemm)) == invalid


def test_one_crash_at_five_levels_is_one_verdict_on_the_plainest(gemm, fed, run):
    levels = ["all", "layout", "extended", "basic", "disabled"]
    results = [run(f"onnxruntime:{level}", exit=Exit.CRASH, error="SIGFPE") for level in levels]
    (verdict,) = judge(gemm, fed, [*results, run("reference", Y)])
    assert verdict.target == "onnxruntime:disabled"
    assert ", ".join(verdict.also) == "onnxruntime:basic, onnxruntime:extended, onnxruntime:layout, onnxruntime:all"


def test_two_different_crashes_of_one_component_are_two(gemm, fed, run):
    results = [run("a:x", exit=Exit.CRASH, error="SIGFPE"), run("a:y", exit=Exit.CRASH, error="SIGSEGV")]
    assert [v.target for v in judge(gemm, fed, results)] == ["a:x", "a:y"]


def test_targets_that_did_not_run_are_no_witnesses(gemm, fed, run):
    not_run = run("onnxruntime:all", outputs={}, stage=Stage.IMPORT, error="not run")
    assert judge(gemm, fed, [not_run, run("reference", Y), run("torch:eager", Y)]) == []


@pytest.mark.parametrize(
    ("target", "others", "seconds", "suspect"),
    [
        ("torch:eager", ["reference", "onnxruntime:all"], 0.01, False),
        ("torch:eager", ["onnxruntime:all", "onnxruntime:disabled"], 0.01, True),
        ("torch:eager", [], 0.01, True),
        ("torch:eager", ["reference", "onnxruntime:all"], 5.0, True),
        ("reference", ["torch:eager", "onnxruntime:all"], 0.01, True),
    ],
)
@pytest.mark.parametrize("ending", [Exit.HANG, Exit.MEMORY])
def test_limits(gemm, fed, run, target, others, seconds, suspect, ending):
    results = [run(target, exit=ending, seconds=10.0), *(run(o, Y, seconds=seconds) for o in others)]
    (verdict,) = judge(gemm, fed, results)
    assert (verdict.symptom.value, verdict.target, verdict.suspect) == (ending.value, target, suspect)
    assert bool(verdict.doubt) == suspect


@pytest.mark.parametrize(
    ("message", "accepting", "found"),
    [
        ("Fail: no such fusion", ["reference", "torch:eager"], "finding"),
        # Its own plainer level and another component are two independent witnesses: an optimiser bug.
        ("Fail: no such fusion", ["reference", "onnxruntime:disabled"], "finding"),
        # What the optimiser alone refuses it has made itself; its own plainer level is enough to see that.
        ("Fail: no such fusion", ["onnxruntime:disabled", "onnxruntime:basic"], "finding"),
        ("Fail: no such fusion", ["reference"], "suspect"),
        ("Fail: no such fusion", [], "nothing"),
        ("indices element out of data bounds, idx=9", ["reference", "torch:eager"], "finding"),  # there is no index
        ("division by zero", ["reference", "torch:eager"], "suspect"),
    ],
)
def test_rejection(gemm, fed, run, message, accepting, found):
    results = [run("onnxruntime:all", exit=Exit.REJECTED, stage=Stage.COMPILE, error=message)]
    results += [run(name, Y) for name in accepting]
    verdicts = judge(gemm, fed, results)
    assert [("suspect" if v.suspect else "finding") for v in verdicts] == ([] if found == "nothing" else [found])
    assert all(v.symptom is Symptom.REJECTION and v.target == "onnxruntime:all" for v in verdicts)


def test_unsupported_is_a_gap_and_an_invalid_program_may_be_rejected(gemm, fed, run):
    others = [run("reference", Y), run("torch:eager", Y)]
    assert judge(gemm, fed, [run("onnxruntime:all", exit=Exit.UNSUPPORTED, error="no kernel"), *others]) == []
    rejected = run("onnxruntime:all", exit=Exit.REJECTED, error="group must divide channels")
    assert judge(gemm, fed, [rejected, *others], expected_invalid=True) == []
    assert len(judge(gemm, fed, [rejected, *others])) == 1


@pytest.mark.parametrize(
    ("missing", "stage", "there", "suspect"),
    [
        ("onnxruntime:all", Stage.COMPILE, "onnxruntime:disabled", False),
        (
            "onnxruntime:disabled",
            Stage.COMPILE,
            "onnxruntime:all",
            True,
        ),  # the optimiser has made what there are kernels for
        ("onnxruntime:all", Stage.RUN, "onnxruntime:disabled", True),
        ("onnxruntime:all@cuda", Stage.COMPILE, "onnxruntime:disabled", True),
    ],
)
def test_a_kernel_that_only_the_optimiser_asks_for_is_missed_by_a_finding(
    gemm, fed, run, missing, stage, there, suspect
):
    gap = run(missing, exit=Exit.UNSUPPORTED, stage=stage, error="NotImplemented: no kernel for FusedConv")
    (verdict,) = judge(gemm, fed, [gap, run(there, Y), run("reference", Y), run("torch:eager", Y)])
    assert (verdict.symptom, verdict.target, verdict.suspect) == (Symptom.REJECTION, missing, suspect)


@pytest.mark.parametrize(("others", "suspect"), [(Exit.UNSUPPORTED, False), (Exit.REJECTED, True)])
def test_a_plainer_level_alone_contradicts_the_optimiser_unless_others_refuse_as_well(gemm, fed, run, others, suspect):
    refused = run("onnxruntime:all", exit=Exit.REJECTED, stage=Stage.COMPILE, error="InvalidGraph: no such input")
    results = [refused, run("onnxruntime:disabled", Y), run("reference", exit=others, error="no")]
    found = [v for v in judge(gemm, fed, results) if v.target == "onnxruntime:all"]
    assert [v.suspect for v in found] == [suspect]


@pytest.mark.parametrize(
    ("op", "message", "body"),
    [
        ("MeanVarianceNormalization", "Type Error: Type parameter (T) of Optype (Add) bound to different types", True),
        (
            "MeanVarianceNormalization",
            "RuntimeTypeError: Input type mismatch: float64 != float32 (operator ''Add'')",
            True,
        ),
        (
            "MeanVarianceNormalization",
            "Type Error: Type parameter (T) of Optype (Conv) bound to different types",
            False,
        ),
        ("MeanVarianceNormalization", "FAIL: Add has no kernel", False),
        ("Neg", "Type Error: Type parameter (T) of Optype (Add) bound to different types", False),
    ],
)
def test_a_type_error_inside_a_function_body_is_blamed_on_the_body(parse, run, op, message, body):
    program = parse(f"g (double[1,1,2,2] x) => (double[1,1,2,2] y) {{ y = {op}(x) }}")
    x = np.arange(4.0).reshape(1, 1, 2, 2)
    refused = run("onnxruntime:disabled", exit=Exit.REJECTED, stage=Stage.COMPILE, error=message)
    (verdict,) = judge(program, {"x": x}, [refused, run("torch:eager", x)])
    assert (verdict.suspect, verdict.operator) == (not body, op if body else "")
    assert f"in {op}: " in title(verdict, program)


def test_a_type_error_about_a_node_of_the_program_is_none_of_a_body(parse, run):
    program = parse("g (double[2,2] x) => (double[2,2] y) { a = Add(x, x) y = MeanVarianceNormalization<axes=[0]>(a) }")
    x = np.arange(4.0).reshape(2, 2)
    message = "Type Error: Type parameter (T) of Optype (Add) bound to different types"
    refused = run("onnxruntime:disabled", exit=Exit.REJECTED, stage=Stage.COMPILE, error=message)
    (verdict,) = judge(program, {"x": x}, [refused, run("torch:eager", x)])
    assert verdict.suspect


@pytest.mark.parametrize("fed_index", [True, False])
@pytest.mark.parametrize(("index", "message", "suspect"), [
    (1, "indices element out of data bounds, idx=1 must be within the inclusive range [-2,1]", False),
    (-2, "IndexError: index -2 is out of bounds for axis 0 with size 2", False),
    (2, "indices element out of data bounds, idx=2", True),
    (1, "division by zero", True),
])  # fmt: skip
def test_an_index_that_the_rule_allows_is_no_excuse(parse, run, fed_index, index, message, suspect):
    given, constant = ("float[2] x, int64[1] i", "") if fed_index else ("float[2] x", f"<int64[1] i = {{{index}}}>")
    program = parse(f"g ({given}) => (float[1] y) {constant} {{ y = Gather(x, i) }}")
    fed = {"x": np.ones(2, np.float32), **({"i": np.array([index])} if fed_index else {})}
    one = np.ones(1, np.float32)
    refused = run("onnxruntime:all", exit=Exit.REJECTED, error=message)
    (verdict,) = judge(program, fed, [refused, run("reference", one), run("torch:eager", one)])
    assert verdict.suspect == suspect


@pytest.mark.parametrize(
    ("node", "suspect"), [("j = Add(i, i)", False), ("k = Cast<to=1>(i)  r = Sin(k)  j = Cast<to=7>(r)", True)]
)
def test_an_index_that_floats_decide_may_be_out_of_range(parse, run, node, suspect):
    program = parse(f"g (float[2] x, int64[1] i) => (float[1] y) {{ {node}  y = Gather(x, j) }}")
    fed = {"x": np.ones(2, np.float32), "i": np.array([0])}
    one = np.ones(1, np.float32)
    refused = run("onnxruntime:all", exit=Exit.REJECTED, error="indices element out of data bounds, idx=5")
    (verdict,) = judge(program, fed, [refused, run("reference", one), run("torch:eager", one)])
    assert verdict.suspect == suspect


def test_as_many_rejecting_as_accepting_components_is_only_suspect(gemm, fed, run):
    results = [run(n, exit=Exit.REJECTED, error="bad pads") for n in ("a", "b", "c")] + [run(n, Y) for n in ("d", "e")]
    assert {(v.target, v.suspect) for v in judge(gemm, fed, results)} == {("a", True), ("b", True), ("c", True)}


def test_undefined_behaviour_makes_a_rejection_suspect(parse, run):
    program = parse("g (int32[2] x, int32[2] d) => (int32[2] y) { y = Div(x, d) }")
    rejected = run("onnxruntime:all", exit=Exit.REJECTED, error="refused")
    y = np.array([1, 2], np.int32)
    results = [rejected, run("reference", y), run("torch:eager", y)]
    by_zero = {"x": np.array([1, 2], np.int32), "d": np.array([0, 1], np.int32)}
    (verdict,) = judge(program, by_zero, results)
    assert verdict.suspect
    assert "integer_division_by_zero" in verdict.doubt
    (verdict,) = judge(program, {**by_zero, "d": np.array([3, 1], np.int32)}, results)
    assert not verdict.suspect


@pytest.mark.parametrize(("element", "undefined"), [(-0.1, True), (0.5, False)])
def test_what_only_a_shape_reads_is_run_too(parse, run, element, undefined):
    program = parse("g (float[1] x) => (int64[1] y) { a = Bernoulli(x)  y = Shape(a) }")
    one = np.array([1])
    refused = run("reference", exit=Exit.REJECTED, error="ValueError: p < 0, p > 1 or p contains NaNs")
    results = [run("onnxruntime:disabled", one), run("torch:eager", one), refused]
    (verdict,) = judge(program, {"x": np.array([element], np.float32)}, results)
    assert verdict.target == "reference"
    assert verdict.suspect == undefined


@pytest.mark.parametrize(("element", "undefined"), [(np.nan, True), (7.5, False)])
def test_nan_is_no_probability_behind_a_clip_either(parse, run, element, undefined):
    program = parse("g (float[1] x) => (int64[1] y) { l = Constant<value=float{0}>() h = Constant<value=float{1}>()"
                    " c = Clip(x, l, h) a = Bernoulli(c) y = Shape(a) }")  # fmt: skip
    one = np.array([1])
    refused = run("reference", exit=Exit.REJECTED, error="ValueError: p < 0, p > 1 or p contains NaNs")
    results = [run("onnxruntime:disabled", one), run("torch:eager", one), refused]
    (verdict,) = judge(program, {"x": np.array([element], np.float32)}, results)
    assert verdict.suspect == undefined


@pytest.mark.parametrize(("maker", "undefined"), [("Acosh", True), ("Tanh", False)])
def test_nan_that_is_made_is_no_probability_behind_a_clip(parse, run, maker, undefined):
    program = parse("g (float[1] x) => (int64[1] y) { l = Constant<value=float{0}>() h = Constant<value=float{1}>()"
                    f" m = {maker}(x) c = Clip(m, l, h) a = Bernoulli(c) y = Shape(a) }}")  # fmt: skip
    one = np.array([1])
    refused = run("reference", exit=Exit.REJECTED, error="ValueError: p < 0, p > 1 or p contains NaNs")
    results = [run("onnxruntime:disabled", one), run("torch:eager", one), refused]
    (verdict,) = judge(program, {"x": np.zeros(1, np.float32)}, results)
    assert verdict.suspect == undefined


@pytest.mark.parametrize(("node", "suspect"), [("c = Compress(x, b)", True), ("c = Neg(x)", False)])
@pytest.mark.parametrize("stage", [Stage.COMPILE, Stage.RUN])
def test_sizes_that_elements_decide_may_be_too_much_for_a_compiler(parse, run, node, stage, suspect):
    program = parse(f"g (float[2] x, bool[2] b) => (float[k] y) {{ {node} y = Abs(c) }}")
    right = np.array([1, 2], np.float32)
    refused = run("tensorflow:xla", exit=Exit.REJECTED, error="Incompatible shapes: [2] vs. [1]", stage=stage)
    results = [run("onnxruntime:disabled", right), run("torch:eager", right), run("reference", right), refused]
    (verdict,) = judge(program, {"x": right, "b": np.array([True, True])}, results)
    assert verdict.suspect == (suspect and stage is Stage.COMPILE)


@pytest.mark.parametrize(("element", "undefined"), [(np.nan, True), (np.inf, True), (-7.5, False)])
def test_no_distribution_is_drawn_from_what_is_not_finite(parse, run, element, undefined):
    program = parse("g (float[1,1] x) => (int32[1,2] y) { y = Multinomial<sample_size=2>(x) }")
    drawn = np.array([[0, 0]], np.int32)
    refused = run("torch:eager", exit=Exit.REJECTED, error="RuntimeError: invalid multinomial distribution")
    results = [run("onnxruntime:disabled", drawn), run("tensorflow:eager", drawn), refused]
    (verdict,) = judge(program, {"x": np.array([[element]], np.float32)}, results)
    assert (verdict.target, verdict.suspect) == ("torch:eager", undefined)


def test_titles_and_signatures_say_target_symptom_and_message(gemm, fed, run):
    error = "Fail: [ONNXRuntimeError] : 1 : FAIL : /src/core/fuse.cc:88 bad shape {2,3} of node 'n_17'"
    results = [run("onnxruntime:all", exit=Exit.REJECTED, stage=Stage.COMPILE, error=error), run("reference", Y)]
    (verdict,) = judge(gemm, fed, results)
    assert signature(verdict, gemm) == (
        "rejection|onnxruntime:all|compile|"
        "Fail: [ONNXRuntimeError] : # : FAIL : PATH bad shape [#] of node '_'|MatMul,Tanh"
    )
    line = title(verdict, gemm)
    assert line.startswith("suspect: onnxruntime:all rejects a program that others run in MatMul, Tanh: Fail")
    assert "\n" not in line
