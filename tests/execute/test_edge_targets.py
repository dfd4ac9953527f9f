"""Converters to what phones run: a program that each converts, a fault that it has, its gaps, and what it leaves."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

from irfuzz.execute.run_types import Exit, RunResult, Stage, Target, TargetRole
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import describe, resolve
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.oracle import Symptom, judge
from irfuzz.report.finding_folder_writer import write_bundle
from irfuzz.report.script_replay import replays
from tests.report.conftest import finding_of

pytestmark = [pytest.mark.backend, pytest.mark.slow]

LIMITS = Limits(seconds=300.0, start_seconds=900.0)
F = np.float32
X = np.array([[-1, 0, 1], [2, -3, 0.5]], F)
PAIR = np.array([1, 2], F)


@dataclass(frozen=True)
class Converted:
    """What is known of a target.

    Attributes:
        how: it is installed.
        fault: a program that it gets wrong, which is to be replaced once that is mended; empty if none is known.
        inputs: of that program.
        symptom: of the verdict on it.
        gaps: programs with one input ``x`` that it says it does not take, a value for that, and its words.
    """

    how: str
    fault: str
    inputs: dict[str, Any]
    symptom: Symptom
    gaps: tuple[tuple[str, Any, str], ...]


TAN = "g (float[2] x) => (float[2] y) { y = Tan(x) }"
EMPTY = "g (float[0,2] x) => (float[0,2] y) { y = Neg(x) }"

EXECUTORCH = Converted(
    "irfuzz env add executorch==1.5.1 --with torch==2.13.0",
    "",
    {},
    Symptom.DIFFERENCE,
    (("g (seq(float[2]) x) => (int64 y) { y = SequenceLength(x) }", [PAIR], "it is no tensor"),),
)

CONVERTED: dict[str, Converted] = {
    "litert:xnnpack": Converted(
        "irfuzz env add ai-edge-litert==2.3.0 --with tensorflow-cpu",
        "",
        {},
        Symptom.DIFFERENCE,
        (
            (TAN, PAIR, "no kernel of its own for TensorFlow's Tan"),
            (EMPTY, np.ones((0, 2), F), "Invalid tensor size"),
            ("g (seq(float[2]) x) => (int64 y) { y = SequenceLength(x) }", [PAIR], "it is no tensor"),
        ),
    ),
    "litert:builtin": Converted(
        "irfuzz env add ai-edge-litert==2.3.0 --with tensorflow-cpu",
        "g (float[4] x, float[4] w) => (float[4] y) { y = Mul(x, w) }",
        {"x": np.array([-np.inf, -1, 0, 2], F), "w": np.array([2, 1, 3, 0.5], F)},
        Symptom.NAN_INF,
        ((TAN, PAIR, "no kernel of its own for TensorFlow's Tan"),),
    ),
    "executorch:xnnpack": EXECUTORCH,
    "executorch:portable": EXECUTORCH,
    "coremltools": Converted(
        "irfuzz env add coremltools==9.0 --with torch==2.13.0",
        "g (float[3] x, float[3] w) => (float y) { y = MatMul(x, w) }",
        {"x": np.array([1, 2, 3], F), "w": np.array([1, 0, 2], F)},
        Symptom.REJECTION,
        (
            ("g (float[2] x) => (float[2] y) { y = Acosh(x) }", PAIR + 2, "no attribute 'acosh'"),
            ("g (int8[2] x) => (int8[2] y) { y = Neg(x) }", np.array([1, 2], np.int8), "torch.int8"),
        ),
    ),
    "onnx2keras": Converted(
        "irfuzz env add onnx2keras==0.0.25 --with tensorflow-cpu",
        "g (float[2,3] x) => (float[2] y) <int64[1] axes = {1}> { y = ReduceSum <keepdims = 0>(x, axes) }",
        {"x": X},
        Symptom.WRONG_SHAPE,
        (
            (TAN, PAIR, "no converter for Tan"),
            ("g (int64[2] x) => (int64[2] y) { y = Identity(x) }", np.array([1, 2]), "one of single precision"),
            ("g (float x) => (float y) { y = Relu(x) }", np.array(1, F), "an axis for the batch"),
        ),
    ),
}
"""By component and variant."""

FINE = """g (float[2,3] x) => (float[2,3] y, float[2,3] z) {
    a = Relu(x) b = Exp(a) y = Softmax <axis = 1>(b) z = Sub(a, b)
}"""


def program(text: str) -> Program:
    return Program.from_proto(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}'))


def usable(name: str) -> Target:
    """The target in irfuzz's own environment, or the first that has it."""
    component, _, variant = name.partition(":")
    known = [a for a in describe() if a.target.component == component and a.target.name.partition(":")[2] == variant]
    there = [a.target for a in known if not a.why_not]
    if not there:
        pytest.skip(f"{known[0].why_not}; or {CONVERTED[name].how}")
    return there[0]


@pytest.fixture(scope="module", params=CONVERTED)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def target(name: str) -> Target:
    return usable(name)


@pytest.fixture(scope="module")
def runner(target: Target) -> Iterator[Runner]:
    with Runner(resolve(["reference", "onnxruntime:disabled", target.before, target.name]), LIMITS) as made:
        yield made


def own(runner: Runner, target: Target, text: str, inputs: dict[str, Any]) -> RunResult:
    (result,) = runner.run(program(text), inputs, [t for t in runner.targets if t.name == target.name])
    return result


def test_a_program_that_it_converts(runner: Runner, target: Target) -> None:
    result = own(runner, target, FINE, {"x": X})
    assert (result.exit, result.stage) == (Exit.OK, Stage.RUN), result.error
    assert result.target.version
    raised = np.exp(np.maximum(X, 0))
    twice = np.exp(raised)
    np.testing.assert_allclose(result.outputs["y"], twice / twice.sum(1, keepdims=True), 1e-5)  # type: ignore[arg-type]
    np.testing.assert_allclose(result.outputs["z"], np.maximum(X, 0) - raised, 1e-5)  # type: ignore[arg-type]


def test_a_fault_that_it_has_is_blamed_on_it_and_replays_without_irfuzz(
    runner: Runner, name: str, target: Target, tmp_path: Path
) -> None:
    known = CONVERTED[name]
    if not known.fault:
        pytest.skip("no program is known that irfuzz blames on it")
    model = program(known.fault)
    results = runner.run(model, known.inputs)
    verdicts = judge(model, known.inputs, results, rerun=lambda x, p=None: runner.run(p or model, x))
    (verdict,) = [v for v in verdicts if v.target == target.name and not v.suspect]
    assert verdict.symptom == known.symptom
    write_bundle(tmp_path / "it", finding_of(model, known.inputs, results, verdict))
    assert "import irfuzz" not in (tmp_path / "it" / "repro.py").read_text()
    shown, log = replays(tmp_path / "it", seconds=600, python=target.interpreter or sys.executable)
    assert shown, log


def test_what_it_does_not_take_is_unsupported(runner: Runner, name: str, target: Target) -> None:
    for text, value, words in CONVERTED[name].gaps:
        result = own(runner, target, text, {"x": value})
        assert result.exit is Exit.UNSUPPORTED, (text, result.error)
        assert words in result.error


def test_programs_leave_no_process_and_no_file(target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # where workers have their scratch folders
    before = _children()
    with Runner(resolve([target.name]), LIMITS) as runner:
        for index in range(5):
            text = FINE.replace("Relu(x)", f"Relu(x) {' '.join(f'c{i} = Neg(a)' for i in range(index))}")
            assert own(runner, target, text, {"x": X + index}).exit is Exit.OK
        assert _children() - before
    assert _children() == before
    assert list(tmp_path.rglob("*")) == []


def _children() -> set[str]:
    """Processes that this one has started and not waited for."""
    tasks = Path("/proc/self/task")
    return {pid for task in tasks.iterdir() for pid in (task / "children").read_text().split()}


@pytest.mark.parametrize("name", ["litert:xnnpack", "onnx2keras", "executorch:xnnpack", "coremltools"])
def test_it_runs_where_it_is_named_and_says_what_it_lacks(name: str) -> None:
    (known,) = [a for a in describe() if a.target.name == name]
    assert known.target.only_named
    assert known.target.slow
    assert known.target.role is TargetRole.CONVERTER
    assert known.why_not == "" or "pip install" in known.why_not
