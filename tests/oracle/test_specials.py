"""NaN and infinity: whose fault, and the many ways in which nobody is at fault."""

from __future__ import annotations

import numpy as np
import pytest

from irfuzz.oracle import Symptom, judge

pytestmark = pytest.mark.unit

Y = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
NAN = np.array([1.0, np.nan, 3.0, 4.0], np.float32)
INF = np.array([1.0, np.inf, 3.0, 4.0], np.float32)

HALF = "g (float[4] x) => (float[4] y) { a = Cast<to=10>(x)  y = Cast<to=1>(a) }"
PLAIN = "g (float[4] x) => (float[4] y) { a = Neg(x)  y = Add(a, x) }"


@pytest.mark.parametrize("wrong", [NAN, INF])
def test_nan_or_inf_against_two_finite_witnesses_is_a_finding(parse, run, wrong):
    results = [run("a", Y), run("b", Y), run("onnxruntime:all", wrong), run("onnxruntime:disabled", Y)]
    (verdict,) = judge(parse(PLAIN), {"x": Y}, results)
    assert (verdict.symptom, verdict.target, verdict.suspect) == (Symptom.NAN_INF, "onnxruntime:all", False)
    assert verdict.element == "y[1]"


def test_the_same_nan_everywhere_is_nothing(parse, run):
    other = NAN.copy()
    other.view(np.uint32)[1] ^= 1  # another payload
    assert judge(parse(PLAIN), {"x": Y}, [run("a", NAN), run("b", other), run("c", NAN)]) == []


@pytest.mark.parametrize(
    ("text", "fed", "witness", "wrong", "why"),
    [
        ("g (float[4] x) => (float[4] y) { y = LpNormalization(x) }", NAN, NAN, Y, "LpNormalization"),
        ("g (float[4] x) => (float[4] y) { y = Exp(x) }", Y, Y, INF, "may overflow inside"),
        ("g (float[4] x) => (float[4] y) { y = Sqrt(x) }", Y, Y, NAN, "could not be measured"),
        (PLAIN, Y * np.float32(1e32), Y, INF, "close to an overflow"),
        (HALF, Y / 7, Y / 7, np.where(np.isinf(INF), INF, Y / 7), "half precision"),
    ],
)
def test_open_semantics_and_overflow_are_suspect(parse, run, text, fed, witness, wrong, why):
    results = [run("a", witness), run("b", witness), run("c", wrong)]
    (verdict,) = judge(parse(text), {"x": fed}, results)
    assert verdict.suspect
    assert why in verdict.doubt


def test_nan_through_ieee_operators_alone_is_decided(parse, run):
    (verdict,) = judge(parse(PLAIN), {"x": NAN}, [run("a", NAN), run("b", NAN), run("c", Y)])
    assert (verdict.target, verdict.suspect, verdict.symptom) == ("c", False, Symptom.NAN_INF)


def test_an_edge_that_rounding_crosses_is_undecided(parse, run):
    program = parse("g (float[4] x) => (float[4] y) <float[1] c = {1.0}> { a = Sub(x, c)  y = Sqrt(a) }")
    x = np.array([1.0, 2.0, 3.0, 4.0], np.float32)

    def fused(x):
        return np.sqrt(x.astype(np.float64) - 1 - 1e-9).astype(np.float32)

    def rerun(fed, *_):
        with np.errstate(invalid="ignore"):
            return [run("a", np.sqrt(fed["x"] - 1)), run("b", np.sqrt(fed["x"] - 1)), run("c", fused(fed["x"]))]

    verdicts = judge(program, {"x": x}, rerun({"x": x}), rerun=rerun)
    assert [v.suspect for v in verdicts] == [True]
    assert verdicts[0].symptom is Symptom.NAN_INF


def test_a_steady_nan_behind_a_measured_edge_is_a_finding(parse, run):
    program = parse("g (float[4] x) => (float[4] y) { y = Sqrt(x) }")
    x = np.array([1.0, 2.0, 3.0, 4.0], np.float32)

    def rerun(fed, *_):
        y = np.sqrt(fed["x"])
        return [run("a", y), run("b", y), run("c", np.where(np.arange(4) == 1, np.float32(np.nan), y))]

    (verdict,) = judge(program, {"x": x}, rerun({"x": x}), rerun=rerun)
    assert not verdict.suspect


def test_one_fault_with_nan_and_wrong_numbers_is_one_finding(parse, run):
    wrong = np.array([9.0, np.nan, 3.0, 4.0], np.float32)
    verdicts = judge(parse(PLAIN), {"x": Y}, [run("a", Y), run("b", Y), run("c", wrong)])
    assert [(v.symptom, v.suspect) for v in verdicts] == [(Symptom.NAN_INF, False)]
