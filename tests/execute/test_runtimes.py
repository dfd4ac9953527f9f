"""Runtime targets, each with a program that it runs and one that it really refuses, and where it did."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx.parser
import pytest

from irfuzz.execute.run_types import Exit, RunResult, Stage
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import describe, resolve
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits

pytestmark = pytest.mark.backend

LIMITS = Limits(seconds=60.0)


def program(text: str, opset: int = 17) -> Program:
    return Program.from_proto(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {text}'))


FINE = program("g (float[2,3] x) => (float[2,3] y) { a = Relu(x) b = Exp(a) y = Softmax(b) }")
MISFIT = program("g (float[a,b] x, float[c,d] z) => (y) { y = MatMul(x, z) }")
BRANCH = program(
    "g (float[2,3] x, bool c) => (float[n,m] y, seq(float[2,3]) s) { s = SequenceConstruct(x, x) y = If(c) <"
    "then_branch = t () => (u) { u = Neg(x) }, else_branch = e () => (v) { v = Transpose(x) }> }"
)
WORDS = program("g (string[2] x) => (string[2] y) { y = Identity(x) }")
X = np.array([[-1, 0, 1], [2, -3, 0.5]], np.float32)

QUICK = ("reference", "onnxruntime:disabled", "onnxruntime:all", "torch:eager", "torch:jit", "tensorflow:eager")
SLOW = ("torch:export", "torch:compile", "tensorflow:function", "tensorflow:xla")
TRACED = ("torch:jit", *SLOW)


@pytest.fixture(scope="module")
def quick() -> Iterator[Runner]:
    with Runner(resolve(QUICK), LIMITS) as runner:
        yield runner


@pytest.fixture(scope="module")
def slow() -> Iterator[Runner]:
    with Runner(resolve(SLOW), LIMITS) as runner:
        yield runner


def one(runner: Runner, name: str, model: Program, **inputs: np.ndarray) -> RunResult:
    (result,) = runner.run(model, inputs, [t for t in runner.targets if t.name == name])
    return result


def check(runner: Runner, name: str, refused_at: Stage) -> None:
    result = one(runner, name, FINE, x=X)
    assert (result.exit, result.stage) == (Exit.OK, Stage.RUN), result.error
    raised = np.exp(np.exp(np.maximum(X, 0)))
    np.testing.assert_allclose(result.outputs["y"], raised / raised.sum(1, keepdims=True), rtol=1e-5)  # type: ignore[arg-type]
    refused = one(runner, name, MISFIT, x=X, z=X)
    assert (refused.exit, refused.stage, refused.outputs) == (Exit.REJECTED, refused_at, {}), refused.error


@pytest.mark.parametrize("name", QUICK)
def test_quick_ones(quick: Runner, name: str) -> None:
    check(quick, name, Stage.CONVERT if name in TRACED else Stage.RUN)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n == "torch:compile" else []) for n in SLOW]
)
def test_slow_ones(slow: Runner, name: str) -> None:
    assert all(t.slow for t in slow.targets)
    check(slow, name, Stage.CONVERT)


@pytest.mark.parametrize("name", ["torch:jit", "torch:export", "tensorflow:function"])
@pytest.mark.parametrize("c", [True, False])
def test_branches_and_sequences_are_those_of_this_input(quick: Runner, slow: Runner, name: str, c: bool) -> None:
    result = one(slow if name in SLOW else quick, name, BRANCH, x=X, c=np.array(c))
    assert result.exit is Exit.OK, result.error
    np.testing.assert_array_equal(result.outputs["y"], -X if c else X.T)  # type: ignore[arg-type]
    first, second = result.outputs["s"]  # type: ignore[misc]
    np.testing.assert_array_equal(first, X)
    np.testing.assert_array_equal(second, X)


def test_what_no_lowering_expresses_is_unsupported(quick: Runner) -> None:
    result = one(quick, "torch:jit", WORDS, x=np.array(["a", "b"], object))
    assert (result.exit, result.stage) == (Exit.UNSUPPORTED, Stage.CONVERT)
    assert "STRING" in result.error


def test_bits_that_are_read_as_another_type_cannot_be_traced(quick: Runner) -> None:
    narrow = program("g (uint8[1,1] x) => (float16[1,1] y) { y = Cast <to: int = 10> (x) }")
    result = one(quick, "torch:jit", narrow, x=np.array([[3]], np.uint8))
    assert (result.exit, result.stage) == (Exit.UNSUPPORTED, Stage.CONVERT), result.error
    assert one(quick, "torch:eager", narrow, x=np.array([[3]], np.uint8)).exit is Exit.OK


def test_what_only_an_eager_run_knows_is_unsupported_in_a_graph(slow: Runner) -> None:
    reshaped = program("g (float[2,3] x, int64[2] s) => (float[n,m] y) { y = Reshape(x, s) }")
    result = one(slow, "tensorflow:function", reshaped, x=X, s=np.array([3, 2]))
    assert (result.exit, result.stage) == (Exit.UNSUPPORTED, Stage.CONVERT), result.error
    result = one(slow, "torch:export", reshaped, x=X, s=np.array([3, 2]))
    assert result.exit is Exit.OK, result.error


def test_what_xla_has_no_kernel_for_is_unsupported(slow: Runner) -> None:
    result = one(slow, "tensorflow:xla", WORDS, x=np.array(["a", "b"], object))
    assert (result.exit, result.stage) == (Exit.UNSUPPORTED, Stage.COMPILE), result.error


def test_iree() -> None:
    pytest.importorskip("iree")
    doubles = program("g (double[2] x) => (double[2] y) { y = Add(x, x) }")
    words = program("g (string[2] x) => (string[2] y) { y = Identity(x) }")
    unsigned = program("g (uint8[3,4,5] x) => (uint8[3,4,5] y) { y = Sub(x, x) }")
    with Runner(resolve(["iree"]), LIMITS) as runner:
        exact = np.exp(np.maximum(X, 0))
        fine = one(runner, "iree", FINE, x=X).outputs["y"]
        np.testing.assert_allclose(fine, np.exp(exact) / np.exp(exact).sum(-1, keepdims=True), rtol=1e-5)  # type: ignore[arg-type]
        assert one(runner, "iree", doubles, x=np.array([1e300, 1.0])).outputs["y"].tolist() == [2e300, 2.0]  # type: ignore[union-attr]
        assert one(runner, "iree", words, x=np.array(["a", "b"], object)).exit is Exit.UNSUPPORTED
        zeros = one(runner, "iree", unsigned, x=np.full((3, 4, 5), 200, np.uint8)).outputs["y"]
        assert isinstance(zeros, np.ndarray)
        assert (zeros.dtype, zeros.any()) == (np.uint8, False)


def test_openvino() -> None:
    pytest.importorskip("openvino")
    integers = program("g (int64[2] x) => (int64[2] y, int64[2] z) { y = Mul(x, x) z = Identity(x) }")
    doubles = program("g (double[2] x) => (double[2] y) { y = Exp(x) }")
    unread = program("g (float[2,3] x, float[2] z) => (float[2,3] y) { y = Neg(x) }")
    det = program("g (float[2,2] x) => (float y) { y = Det(x) }")
    eighth = program("g (int8[2] x) => (float8e5m2[2] y) { y = Cast<to = 19>(x) }", opset=19)
    dropout = program("g (float[2,3] x) => (float[2,3] y) { y = Dropout(x) }", opset=12)
    with Runner(resolve(["openvino"]), LIMITS) as runner:
        assert runner.targets[0].opset >= 21
        result = one(runner, "openvino", FINE, x=X)
        assert (result.exit, result.stage) == (Exit.OK, Stage.RUN), result.error
        raised = np.exp(np.exp(np.maximum(X, 0)))
        np.testing.assert_allclose(result.outputs["y"], raised / raised.sum(1, keepdims=True), rtol=1e-5)  # type: ignore[arg-type]
        np.testing.assert_array_equal(one(runner, "openvino", unread, x=X, z=X[0, :2]).outputs["y"], -X)  # type: ignore[arg-type]
        nameless = one(runner, "openvino", dropout, x=X)  # the input takes the name of the output
        assert nameless.exit is Exit.REJECTED
        assert "name x was not found" in nameless.error
        (rejected,) = runner.run(b"\x08\x08rubbish", {})
        assert (rejected.exit, rejected.stage) == (Exit.REJECTED, Stage.IMPORT)
        gaps = {
            "No conversion rule found": one(runner, "openvino", det, x=X[:, :2]),
            "computes f64 in float": one(runner, "openvino", doubles, x=np.ones(2)),
            "Multiply may leave": one(runner, "openvino", integers, x=np.array([1, 70000])),
            "larger numbers": one(runner, "openvino", integers, x=np.array([1, 2**40])),
            "gives f8e5m2 as bytes": one(runner, "openvino", eighth, x=np.array([1, 2], np.int8)),
            "cannot feed": one(runner, "openvino", WORDS, x=np.array(["a", "b"], object)),
        }
        for words, gap in gaps.items():
            assert (gap.exit, words in gap.error) == (Exit.UNSUPPORTED, True), gap.error


def test_slow_ones_run_only_where_named() -> None:
    assert not any(t.slow for t in resolve(None))
    assert {t.name for t in resolve(None, slow=True) if t.slow} >= set(SLOW)
    assert {t.name for t in resolve(["torch"])} >= {"torch:eager", *(n for n in SLOW if n.startswith("torch:"))}


def test_a_compiler_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    with Runner(resolve(["torch:compile", "reference"]), LIMITS, required=False) as runner:
        assert [t.name for t in runner.targets] == ["reference"]
        assert "install g++" in runner.absent[0].why_not
    assert {a.target.name for a in describe() if a.target.slow} >= set(SLOW)
