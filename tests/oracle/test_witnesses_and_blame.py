"""Who counts as an independent witness."""

from __future__ import annotations

import numpy as np
import pytest

from irfuzz.execute.run_types import Exit, Target
from irfuzz.oracle import judge
from irfuzz.oracle.witnesses_and_blame import checkers_of, shadow_target, witnesses_of

pytestmark = pytest.mark.unit

TEXT = "g (int64[2] x) => (int64[2] y) { y = Mul(x, x) }"
X = np.array([2, 3])
RIGHT, WRONG = X * X, X + X


@pytest.mark.parametrize("wrong", ["onnxruntime", "reference"])
def test_two_lowerings_alone_prove_nothing(parse, run, wrong):
    results = [run("torch:eager", RIGHT), run("tensorflow:eager", RIGHT), run(wrong, WRONG)]
    (verdict,) = judge(parse(TEXT), {"x": X}, results)
    assert (verdict.target, verdict.suspect) == (wrong, True)


def test_two_lowerings_against_two_who_read_the_model_are_a_dispute(parse, run):
    results = [run("torch:eager", WRONG), run("tensorflow:eager", WRONG), run("onnxruntime", RIGHT)]
    verdicts = judge(parse(TEXT), {"x": X}, [*results, run("reference", RIGHT)])
    assert {v.target for v in verdicts} <= {"torch:eager", "tensorflow:eager"}
    assert verdicts
    assert all(v.suspect for v in verdicts)


@pytest.mark.parametrize("beside", ["torch:eager", "tensorflow:eager", "openvino"])
def test_one_of_them_beside_one_who_reads_the_model_does(parse, run, beside):
    results = [run(beside, RIGHT), run("reference", RIGHT), run("onnxruntime", WRONG)]
    (verdict,) = judge(parse(TEXT), {"x": X}, results)
    assert (verdict.target, verdict.suspect) == ("onnxruntime", False)


def test_what_only_lowerings_accept_is_no_finding(parse, run):
    refused = run("reference", exit=Exit.REJECTED, error="ValueError: no")
    accepted = [run("torch:eager", RIGHT), run("tensorflow:eager", RIGHT)]
    (verdict,) = judge(parse(TEXT), {"x": X}, [*accepted, refused])
    assert verdict.suspect
    assert verdict.doubt == "only tensorflow and torch accepts it"
    (verdict,) = judge(parse(TEXT), {"x": X}, [*accepted, run("onnxruntime", RIGHT), refused])
    assert not verdict.suspect


@pytest.mark.parametrize(("second", "suspect"), [("numpy:eager", False), ("tensorflow:eager", True)])
def test_numpy_reads_onnx_for_itself(parse, run, second, suspect):
    results = [run("torch:eager", RIGHT), run(second, RIGHT), run("onnxruntime", WRONG)]
    (verdict,) = judge(parse(TEXT), {"x": X}, results)
    assert (verdict.target, verdict.suspect) == ("onnxruntime", suspect)


def test_numpy_and_torch_against_each_other_leave_it_to_the_third(parse, run):
    results = [run("torch:eager", WRONG), run("numpy:eager", RIGHT), run("onnxruntime", RIGHT)]
    (verdict,) = judge(parse(TEXT), {"x": X}, results)
    assert (verdict.target, verdict.suspect) == ("torch:eager", False)


@pytest.mark.parametrize("second", ["numpy:eager", "tensorflow:eager"])
def test_of_what_is_allowed_and_of_shapes_all_lowerings_are_one_witness(parse, run, second):
    accepted = [run("torch:eager", RIGHT), run(second, RIGHT)]
    (verdict,) = judge(parse(TEXT), {"x": X}, [*accepted, run("onnxruntime", exit=Exit.REJECTED, error="no")])
    assert verdict.suspect
    # Nobody fits what is known of it, so that the majority decides.
    results = [run("torch:eager", RIGHT[:1]), run(second, RIGHT[:1]), run("onnxruntime", np.append(RIGHT, 1))]
    assert all(v.suspect for v in judge(parse(TEXT), {"x": X}, results))


@pytest.mark.parametrize(
    ("target", "framework", "count"),
    [
        ("torch:eager", "torch", 1),
        ("numpy:eager", "torch", 2),
        ("numpy:eager", "numpy", 1),
        ("torch:eager", "numpy", 2),
        ("onnxruntime", "numpy", 2),
    ],
)
def test_a_shadow_is_a_witness_of_the_framework_that_computes_it(target, framework, count):
    beside = Target(name=target, component=target.partition(":")[0])
    assert len(witnesses_of([shadow_target(framework), beside])) == count


@pytest.mark.parametrize(("other", "count"), [("openvino", 1), ("onnxruntime", 2)])
def test_the_provider_of_openvino_is_one_witness_with_openvino(other, count):
    targets = [Target(name=n, component=n) for n in ("onnxruntime-openvino", other)]
    assert len(witnesses_of(targets)) == len(checkers_of(targets)) == count


TINY = "g (float[2] x) => (float[2] y) { a = Exp(x)  b = Sign(a)  y = Add(b, x) }"


@pytest.mark.parametrize(
    ("target", "suspect"),
    [
        ("tensorflow:eager", True),
        ("openvino", True),
        ("onnxruntime-openvino", True),
        ("ncnn", True),
        ("torch:compile", True),
        ("onnxruntime", False),
    ],
)
def test_who_flushes_subnormal_numbers_is_not_blamed_for_it(parse, run, target, suspect):
    def rerun(inputs, program=None):
        x = inputs["x"]
        right, flushed = x + np.float32(1), x + (x > -87).astype(np.float32)
        return [run("reference", right), run("a", right), run(target, flushed)]

    fed = {"x": np.array([-95.0, 1.0], np.float32)}
    (verdict,) = judge(parse(TINY), fed, rerun(fed), rerun=rerun)
    assert verdict.suspect == suspect
    assert not suspect or "flushes subnormal numbers" in verdict.doubt
