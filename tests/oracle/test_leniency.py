"""What is invalid on purpose: who runs it beside somebody who refuses is a suspect, and nobody else is."""

from __future__ import annotations

import pytest

from irfuzz.execute.types import Exit
from irfuzz.oracle import Symptom, judge, signature, title

pytestmark = pytest.mark.unit


@pytest.fixture
def broken(parse):
    program = parse("g (float[2, 3] x) => (float[2, 3] y) { h = Relu(x) y = Softmax <axis = 1> (h) }")
    program.set_attr(program.node("y"), "axis", 7, infer=False)
    return program


def refused(run, name):
    return run(name, exit=Exit.REJECTED, error="axis is out of range")


def test_who_accepts_beside_one_who_refuses_is_a_suspect(broken, fed, run):
    x = {"x": fed["x"]} if "x" in fed else fed
    levels = [refused(run, f"onnxruntime:{level}") for level in ("disabled", "all")]
    (verdict,) = judge(broken, x, [*levels, run("reference", outputs={})], expected_invalid=True)
    assert (verdict.oracle, verdict.symptom, verdict.target) == ("leniency", Symptom.LENIENCY, "reference")
    assert verdict.suspect
    assert verdict.output == "y"
    assert verdict.witnesses == ("onnxruntime:disabled",)
    assert verdict.operator == "Softmax"
    assert "axis" in verdict.rule
    assert title(verdict, broken).startswith("suspect: reference runs what breaks a rule of Softmax: ")
    assert "Softmax" in signature(verdict, broken)


def test_nothing_is_said_of_anybody_else(broken, gemm, fed, run):
    everybody = [run("onnxruntime:all", outputs={}), run("reference", outputs={})]
    assert judge(broken, fed, everybody, expected_invalid=True) == []
    nobody = [refused(run, "onnxruntime:all"), refused(run, "reference")]
    assert judge(broken, fed, nobody, expected_invalid=True) == []
    # One component at several levels, and what irfuzz itself lowers, are no other opinion.
    split = [refused(run, "onnxruntime:all"), run("onnxruntime:disabled", outputs={})]
    assert judge(broken, fed, split, expected_invalid=True) == []
    lowered = [refused(run, "onnxruntime:all"), run("torch:eager", outputs={})]
    assert judge(broken, fed, lowered, expected_invalid=True) == []
    # A program that breaks no rule of ours, and one that nobody declared invalid.
    two = [refused(run, "onnxruntime:all"), run("reference", outputs={})]
    assert judge(gemm, fed, two, expected_invalid=True) == []
    assert not any(v.oracle == "leniency" for v in judge(broken, fed, two))
