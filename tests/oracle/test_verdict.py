"""Wrong dtype, shape and structure, judged against the facts and against the other components."""

from __future__ import annotations

import numpy as np
import pytest

from irfuzz.oracle import Symptom, judge

pytestmark = pytest.mark.unit

Y = np.full((2, 3), 0.5, np.float32)


@pytest.mark.parametrize(
    ("wrong", "symptom"),
    [
        (Y.astype(np.float64), Symptom.WRONG_DTYPE),
        (Y.reshape(3, 2), Symptom.WRONG_SHAPE),
        (Y.reshape(1, 2, 3), Symptom.WRONG_SHAPE),
        ([Y], Symptom.WRONG_SHAPE),
        (None, Symptom.WRONG_SHAPE),
    ],
)
def test_who_contradicts_the_fact_is_blamed_by_one_witness_that_does_not(gemm, fed, run, wrong, symptom):
    results = [run("reference", wrong), run("onnxruntime:all", Y)]
    (verdict,) = judge(gemm, fed, results)
    assert (verdict.symptom, verdict.target, verdict.suspect) == (symptom, "reference", False)
    assert verdict.output == "y"


def test_two_components_against_fact_and_one_component_are_only_suspect(gemm, fed, run):
    results = [run("a", Y.reshape(3, 2)), run("b", Y.reshape(3, 2)), run("c", Y)]
    verdicts = judge(gemm, fed, results)
    assert {v.target for v in verdicts} == {"a", "b"}
    assert all(v.suspect for v in verdicts)


def test_three_components_that_agree_overrule_the_fact_and_one_component(gemm, fed, run):
    others = [run(name, Y.reshape(3, 2)) for name in ("a", "b", "c")]
    (verdict,) = judge(gemm, fed, [*others, run("d", Y)])
    assert (verdict.target, verdict.symptom, verdict.suspect) == ("d", Symptom.WRONG_SHAPE, False)
    verdicts = judge(gemm, fed, [*others, run("d", Y), run("e", Y)])
    assert {v.target for v in verdicts if not v.suspect} == set()


def test_all_against_the_fact_is_nobodys_fault(gemm, fed, run):
    assert judge(gemm, fed, [run(n, Y.reshape(3, 2)) for n in ("a", "b", "c")]) == []


def test_a_missing_output_is_named(gemm, fed, run):
    results = [run("a", outputs={"z": Y}), run("b", Y), run("c", Y)]
    (verdict,) = judge(gemm, fed, results)
    assert verdict.target == "a"
    assert verdict.got == "no output of this name"


def test_named_sizes_are_decided_by_majority(parse, run):
    program = parse("g (float[N] x) => (float[M] y) { s = Shape(x)  z = ConstantOfShape(s)  y = Add(x, z) }")
    fed = {"x": np.ones(4, np.float32)}
    four, five = np.ones(4, np.float32), np.ones(5, np.float32)
    (verdict,) = judge(program, fed, [run("a", five), run("b", four), run("c", four)])
    assert (verdict.target, verdict.symptom, verdict.suspect) == ("a", Symptom.WRONG_SHAPE, False)
    (verdict,) = judge(program, fed, [run("a", five), run("b", four)])
    assert verdict.suspect


def test_a_shape_that_floats_decide_is_only_suspect(parse, run):
    program = parse("g (float[4] x) => (int64[1, M] y) { m = Mul(x, x)  y = NonZero(m) }")
    results = [run("a", np.array([[0, 1]])), run("b", np.array([[0]])), run("c", np.array([[0]]))]
    (verdict,) = judge(program, {"x": np.ones(4, np.float32)}, results)
    assert verdict.suspect
    assert "NonZero" in verdict.doubt


def test_sequences_are_compared_by_length_and_element(parse, run):
    program = parse("g (float[4] x) => (seq(float[K]) y) { y = SplitToSequence(x) }")
    fed = {"x": np.arange(4, dtype=np.float32)}
    good = [np.array([v], np.float32) for v in range(4)]
    assert judge(program, fed, [run("a", list(good)), run("b", list(good)), run("c", list(good))]) == []
    (verdict,) = judge(program, fed, [run("a", good[:3]), run("b", good), run("c", good)])
    assert (verdict.symptom, verdict.target, verdict.suspect) == (Symptom.WRONG_SHAPE, "a", False)
    swapped = [good[1], good[0], *good[2:]]
    (verdict,) = judge(program, fed, [run("a", swapped), run("b", good), run("c", good)])
    assert (verdict.symptom, verdict.target) == (Symptom.DIFFERENCE, "a")
    assert verdict.element.startswith("y[")


def test_strings_are_compared(parse, run):
    program = parse("g (string[2] x) => (string[2] y) { y = Identity(x) }")
    ab, ac = np.array(["a", "b"], object), np.array(["a", "c"], object)
    assert judge(program, {"x": ab}, [run("a", ab), run("b", np.array(["a", "b"])), run("c", ab.copy())]) == []
    (verdict,) = judge(program, {"x": ab}, [run("a", ac), run("b", ab), run("c", ab)])
    assert (verdict.target, verdict.suspect, verdict.element) == ("a", False, "y[1]")
