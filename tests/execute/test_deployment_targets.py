"""Runtimes and tools that models are deployed with: a program that each runs, a fault that it has, and its gaps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

from irfuzz.execute.run_types import Exit, RunResult, Stage, TargetRole
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import describe, resolve
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.oracle import Symptom, judge
from irfuzz.report.finding_folder_writer import write_bundle
from irfuzz.report.script_replay import replays
from tests.report.conftest import finding_of

pytestmark = pytest.mark.backend

LIMITS = Limits(seconds=120.0)
BESIDE = ("reference", "onnxruntime:disabled")
F = np.float32


@dataclass(frozen=True)
class Deployed:
    """What is known of a target.

    Attributes:
        fault: a program that it gets wrong, which is to be replaced once that is mended.
        inputs: of that program.
        symptom: of the verdict on it.
        gaps: programs with one input ``x`` that it says it does not take, a value for that, and its words.
        rtol: that its values keep.
    """

    fault: str
    inputs: dict[str, Any]
    symptom: Symptom
    gaps: tuple[tuple[str, Any, str], ...] = ()
    rtol: float = 1e-5


WORDS = ("g (string[2] x) => (string[2] y) { y = Identity(x) }", np.array(["a", "b"], object))
DRAWN = "g (float[2] x) => (float[2] y) { y = Bernoulli(x) }"
PAIR = np.array([1, 2], F)

DEPLOYED = {
    "opencv": Deployed(
        "g (float[1,2,4] x) => (float[1,2,4] y) { y = Tanh(x) }",
        {"x": np.array([1e5, 0, -3e5, -590, -1, 1, -1.4e14, -1.9e15], F).reshape(1, 2, 4)},
        Symptom.NAN_INF,
        (
            (*WORDS, "no element type STRING"),
            ("g (double[2] x) => (double[2] y) { y = Neg(x) }", np.ones(2), "no element type DOUBLE"),
            ("g (float[0,2] x) => (float[0,2] y) { y = Neg(x) }", np.ones((0, 2), F), "without elements"),
            ("g (int64[1] x) => (int64[1] y) { y = Tile(x, x) }", np.array([2**40]), "int64 in int32"),
            ("g (float[2] x) => (float y) { y = ReduceSum <keepdims = 0>(x) }", PAIR, "without dimensions"),
            (DRAWN, PAIR, "Can't create layer"),
        ),
    ),
    "tract": Deployed(
        "g (float[4] x) => (float[4] y) { p = Constant <value: tensor = int64[2] {1, -1}> () y = Pad(x, p) }",
        {"x": np.arange(4, dtype=F)},
        Symptom.CRASH,
        (
            (*WORDS, "no element type STRING"),
            (DRAWN, PAIR, "Unimplemented(Bernoulli)"),
            ("g (int64[2] x) => (int64[1] y) { y = ReduceSumSquare(x) }", np.array([1, 2]), "does not support I64"),
            (
                "g (float[N,M] x) => (float[L] y) { s = Shape(x) p = ReduceProd(s) y = Reshape(x, p) }",
                PAIR[:, None],
                "shape input is variable",
            ),
        ),
    ),
    "mnn": Deployed(
        """g (float[1,1,4] x, float[1,1,2] w) => (float[1,1,2] y) {
            p = Constant <value: tensor = int64[6] {0, 0, 0, 0, 0, 1}> ()
            v = Pad(w, p)
            y = Conv(x, v)
        }""",
        {"x": np.arange(4, dtype=F).reshape(1, 1, 4), "w": np.ones((1, 1, 2), F)},
        Symptom.WRONG_SHAPE,
        (
            (*WORDS, "no element type STRING"),
            ("g (double[2] x) => (double[2] y) { y = Neg(x) }", np.ones(2), "no element type DOUBLE"),
            ("g (int64[1] x) => (int64[1] y) { y = Tile(x, x) }", np.array([2**40]), "int64 in int32"),
            (DRAWN, PAIR, "These Op Not Support: ONNX::Bernoulli"),
        ),
        rtol=1e-4,
    ),
    "ncnn": Deployed(
        "g (float[4] x) => (float[4] y) { y = Shrink <lambd = 1.5>(x) }",
        {"x": np.array([-2, -1, 1, 2], F)},
        Symptom.DIFFERENCE,
        (
            (*WORDS, "its documentation does not list the operator"),
            (DRAWN, PAIR, "its documentation does not list the operator"),
            ("g (double[2] x) => (double[2] y) { y = Neg(x) }", np.ones(2), "no element type DOUBLE"),
            ("g (float[0,2] x) => (float[0,2] y) { y = Neg(x) }", np.ones((0, 2), F), "without elements"),
            (
                "g (float[2,3,4] x) => (float[4,3,2] y) { y = Transpose(x) }",
                np.ones((2, 3, 4), F),
                "ncnn has no layer Transpose",
            ),
        ),
    ),
    "tinygrad": Deployed(
        """g (float[2] x) => (float[2] y) {
            a = Constant <value: tensor = int64[0] {}> ()
            y = ReduceSum <noop_with_empty_axes = 1>(x, a)
        }""",
        {"x": PAIR},
        Symptom.REJECTION,
        ((*WORDS, "no element type STRING"), (DRAWN, PAIR, "op='Bernoulli' is not supported")),
    ),
    "tvm": Deployed(
        "g (float[3] x) => (bool[3] y) { y = IsInf <detect_negative = 0>(x) }",
        {"x": np.array([np.inf, -np.inf, 1], F)},
        Symptom.DIFFERENCE,
        (
            (*WORDS, "no element type STRING"),
            (DRAWN, PAIR, "operators are not supported for frontend ONNX: Bernoulli"),
        ),
    ),
    "onnxoptimizer:all": Deployed(
        "g (optional(float[2]) x) => (float[2] y) { y = OptionalGetElement(x) }",
        {"x": PAIR},
        Symptom.REJECTION,
    ),
}
FINE = "g (float[2,3] x) => (float[2,3] y, float[2,3] z) { a = Relu(x) b = Exp(a) y = Softmax(b) z = Neg(a) }"
X = np.array([[-1, 0, 1], [2, -3, 0.5]], F)


def program(text: str) -> Program:
    return Program.from_proto(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> {text}'))


@pytest.fixture(scope="module", params=DEPLOYED)
def name(request: pytest.FixtureRequest) -> str:
    why = next(a.why_not for a in describe() if a.target.name == request.param)
    if why:
        pytest.skip(why)
    return str(request.param)


@pytest.fixture(scope="module")
def runner(name: str) -> Iterator[Runner]:
    with Runner(resolve([*BESIDE, name]), LIMITS) as made:
        yield made


def own(runner: Runner, name: str, text: str, inputs: dict[str, Any]) -> RunResult:
    (result,) = runner.run(program(text), inputs, [t for t in runner.targets if t.name == name])
    return result


def test_a_program_that_it_runs(runner: Runner, name: str) -> None:
    result = own(runner, name, FINE, {"x": X})
    assert (result.exit, result.stage) == (Exit.OK, Stage.RUN), result.error
    assert result.target.version
    raised = np.exp(np.exp(np.maximum(X, 0)))
    np.testing.assert_allclose(result.outputs["y"], raised / raised.sum(1, keepdims=True), DEPLOYED[name].rtol)  # type: ignore[arg-type]
    np.testing.assert_array_equal(result.outputs["z"], -np.maximum(X, 0))  # type: ignore[arg-type]


def test_a_fault_that_it_has_is_blamed_on_it_and_replays_without_irfuzz(
    runner: Runner, name: str, tmp_path: Path
) -> None:
    known = DEPLOYED[name]
    model = program(known.fault)
    results = runner.run(model, known.inputs)
    verdicts = judge(model, known.inputs, results, rerun=lambda x, p=None: runner.run(p or model, x))
    (verdict,) = [v for v in verdicts if v.target == name and not v.suspect]
    assert verdict.symptom == known.symptom
    write_bundle(tmp_path / "it", finding_of(model, known.inputs, results, verdict))
    assert "irfuzz" not in (tmp_path / "it" / "repro.py").read_text().replace("__irfuzz__", "")
    shown, log = replays(tmp_path / "it", seconds=300)
    assert shown, log


def test_what_it_does_not_take_is_unsupported(runner: Runner, name: str) -> None:
    for text, value, words in DEPLOYED[name].gaps:
        result = own(runner, name, text, {"x": value})
        assert result.exit is Exit.UNSUPPORTED, (text, result.error)
        assert words in result.error


def test_runtimes_that_are_deployed_to_run_where_they_are_named() -> None:
    named = {a.target.name for a in describe() if a.target.only_named and a.target.role is TargetRole.RUNTIME}
    assert named >= {"webgpu"} | {n for n in DEPLOYED if not n.startswith("onnxoptimizer")}
    assert not {t.name for t in resolve()} & named


@pytest.mark.parametrize(("name", "word"), [("webgpu", "webgpu"), ("onnxruntime-openvino", "openvino-provider")])
def test_providers_say_that_they_need_an_environment_of_their_own(name: str, word: str) -> None:
    (why,) = [a.why_not for a in describe() if a.target.name == name]
    assert f"run `irfuzz env add {word}`, then name {name}@VERSION" in why


def test_webgpu_in_its_environment_and_what_it_computes_wrong() -> None:
    there = [a.target.name for a in describe() if a.target.component == "webgpu" and not a.why_not]
    if not there:
        pytest.skip("no environment of onnxruntime-webgpu; irfuzz env add onnxruntime-webgpu==1.27.0")
    vector = program("g (float[2,3] x, float[3] w) => (float[2] y) { y = MatMul(x, w) }")
    with Runner(resolve([*BESIDE, there[0]]), LIMITS) as runner:
        assert own(runner, there[0], FINE, {"x": X}).exit is Exit.OK
        lacking = own(runner, there[0], "g (float[2,2] x) => (float y) { y = Det(x) }", {"x": X[:, :2]})
        assert lacking.exit is Exit.UNSUPPORTED, lacking.error
        inputs = {"x": X, "w": X[0]}
        verdicts = judge(vector, inputs, runner.run(vector, inputs))
        assert [(v.target, v.symptom) for v in verdicts if not v.suspect] == [(there[0], Symptom.DIFFERENCE)]


PADDED = """g (float[1,1,4] x) => (float[1,1,2] y) {
    y = AveragePool <kernel_shape = [3], strides = [3], pads = [1, 0], ceil_mode = 1, count_include_pad = 1> (x)
}"""


def test_onnxruntime_openvino_in_its_environment_falls_back_nowhere(tmp_path: Path) -> None:
    there = [a.target.name for a in describe() if a.target.component == "onnxruntime-openvino" and not a.why_not]
    if not there:
        pytest.skip("no environment of onnxruntime-openvino; irfuzz env add openvino-provider")
    inputs = {"x": np.array([1, 2, 3, 4], F).reshape(1, 1, 4)}
    with Runner(resolve([*BESIDE, there[0]]), LIMITS) as runner:
        assert own(runner, there[0], FINE, {"x": X}).exit is Exit.OK
        for text in (DRAWN, "g (float[2] x, float[2] z) => (float[2] y, float[2] w) { y = Relu(x) w = Bernoulli(z) }"):
            lacking = own(runner, there[0], text, {"x": PAIR, "z": PAIR} if "z" in text else {"x": PAIR})
            assert lacking.exit is Exit.UNSUPPORTED, lacking.error
            assert "fallback to CPU EP has been explicitly disabled" in lacking.error
        results = runner.run(program(PADDED), inputs)
        (verdict,) = [v for v in judge(program(PADDED), inputs, results) if not v.suspect]
        assert (verdict.target, verdict.symptom) == (there[0], Symptom.DIFFERENCE)
    write_bundle(tmp_path / "it", finding_of(program(PADDED), inputs, results, verdict))
    shown, log = replays(tmp_path / "it", seconds=200, python=resolve(there)[0].interpreter)
    assert shown, log
