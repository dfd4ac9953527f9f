"""What is invalid on purpose: one who answers while two refuse is a finding, one beside one a suspect."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

from irfuzz.execute.run_types import Exit, Stage
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


def kernel_refuses(run, name, stage=Stage.RUN):
    return run(name, exit=Exit.REJECTED, stage=stage, error="dimension out of range")


def leniency(program, fed, results):
    (verdict,) = [v for v in judge(program, fed, results, expected_invalid=True) if v.oracle == "leniency"]
    return verdict


def test_one_answers_and_two_refuse_is_a_finding_of_the_rule(broken, fed, run):
    answers, refuses = run("reference", outputs={}), refused(run, "onnxruntime:all")
    verdict = leniency(broken, fed, [answers, refuses, kernel_refuses(run, "torch:eager")])
    assert not verdict.suspect
    assert verdict.witnesses == ("onnxruntime:all", "torch:eager")
    assert verdict.rule == "axis <= (len(S) if version < 13 else len(S) - 1)"
    assert str(verdict.evidence["call"]).endswith("does not hold (S = (2, 3), axis = 7, version = 13)")
    assert signature(verdict, broken) == f"leniency|reference|Softmax|{verdict.rule}"
    other = leniency(broken, fed, [answers, refuses, refused(run, "openvino")])
    assert not other.suspect
    assert other.witnesses == ("onnxruntime:all", "openvino")


def test_what_irfuzz_writes_is_no_second_opinion_before_its_kernels_run(broken, fed, run):
    answers, refuses = run("reference", outputs={}), refused(run, "onnxruntime:all")
    verdict = leniency(broken, fed, [answers, refuses, kernel_refuses(run, "torch:eager", Stage.CONVERT)])
    assert verdict.doubt == "only onnxruntime refuses it"
    verdict = leniency(broken, fed, [answers, refuses, kernel_refuses(run, "numpy:eager")])
    assert verdict.doubt == "only onnxruntime refuses it"
    both = [kernel_refuses(run, "torch:eager"), run("tensorflow:eager", outputs={})]
    assert leniency(broken, fed, [answers, refuses, *both]).doubt == "the kernels of a framework answer, too"
    two = [answers, run("openvino", outputs={}), refuses, kernel_refuses(run, "torch:eager")]
    doubts = {v.doubt for v in judge(broken, fed, two, expected_invalid=True) if v.oracle == "leniency"}
    assert doubts == {"more than one component answers"}


def test_flags_and_rules_that_onnx_does_not_spell_out_stay_suspects(parse, fed, run):
    twice = "g (float[2, 3] x) => (float[1, 1] y) { y = ReduceMax <axes = [0, 1]> (x) }"
    for name, value, doubt in (
        ("axes", [1, 1], "ONNX's text does not spell the rule out"),
        ("keepdims", 2, "a flag that is neither 0 nor 1 may be read as set"),
        ("axes", [0, 2], ""),
    ):
        program = parse(twice)
        program.set_attr(program.node("y"), name, value, infer=False)
        results = [run("reference", outputs={}), refused(run, "onnxruntime:all"), kernel_refuses(run, "torch:eager")]
        assert leniency(program, fed, results).doubt == doubt


def test_a_spoilt_constant_is_looked_into(parse, fed, run):
    program = parse("g (float[2, 3] x) => (float[2, 3] y) <int64 axis = {1}> { y = CumSum (x, axis) }")
    program.node("y").inputs[1].const_value = ir.Tensor(np.array(5, np.int64), name="axis")
    results = [run("reference", outputs={}), refused(run, "onnxruntime:all"), kernel_refuses(run, "torch:eager")]
    verdict = leniency(program, fed, results)
    assert (verdict.operator, verdict.suspect) == ("CumSum", False)
    assert verdict.rule == "axis: expected at most"
