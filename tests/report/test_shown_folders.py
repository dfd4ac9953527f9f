"""Which script a finding's folder ends up with, in the time that is left, and what of a finding decides that."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx.parser
import pytest

from irfuzz.errors import InternalError
from irfuzz.execute.run_types import Exit, Stage
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding, TargetRun
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.report import finding_folder_writer as writer
from irfuzz.report.finding_folder_writer import HANG_SECONDS, MEMORY, PRINTED, need_manifest, write_shown
from irfuzz.report.script_replay import IMPORTS
from irfuzz.store.database import Status

pytestmark = pytest.mark.unit

TEXT = '<ir_version: 8, opset_import: ["" : 17]> g ({0}[2] x) => ({0}[2] y) {{ y = Neg(x) }}'
PROGRAM = Program.from_proto(onnx.parser.parse_model(TEXT.format("float")))
CASE = FailingCase(PROGRAM, {"x": np.array([1, 2], np.float32)})
OK = {"stage": Stage.RUN.value, "exit": Exit.OK.value}
BLAMED = TargetRun("torch:jit", "torch", {"mode": "jit"}, error="RuntimeError: it does not like that", **OK)
WITNESS = TargetRun("reference", "reference", **OK)


def finding(*runs: TargetRun, **fields: Any) -> Finding:
    named = tuple(run.name for run in runs or (WITNESS,))
    verdict = Verdict("numeric", fields.pop("symptom", Symptom.DIFFERENCE), "torch:jit", named, output="y", **fields)
    return Finding(verdict, CASE, CASE, runs=(BLAMED, *(runs or (WITNESS,))), title="t")


class Folder:
    """Stands in for what writes and replays folders: what is said for each script, in turn."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, told: Sequence[tuple[bool, str]], *, short: bool) -> None:
        self.written: list[Finding] = []
        self.seconds: list[float] = []
        self.told = list(told)
        self.short = short
        self.calls: dict[str, Any] | None = None
        monkeypatch.setattr(writer, "write_bundle", self.write)
        monkeypatch.setattr(writer, "replays", self.replay)
        monkeypatch.setattr(writer, "_calls", self.call)

    def write(self, folder: Path, finding: Finding) -> None:
        self.written.append(finding)
        compare = folder / "compare.py"
        compare.unlink(missing_ok=True)
        if not finding.long_script and (self.short or finding.calls is not None):
            compare.write_text("")

    def replay(self, folder: Path, *, seconds: float, python: str, limits: object, allowed: object) -> tuple[bool, str]:
        assert python == "python"
        self.seconds.append(seconds)
        return self.told.pop(0)

    def call(self, folder: Path, finding: Finding, seconds: float) -> dict[str, Any] | None:
        self.seconds.append(seconds)
        return self.calls


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., tuple[Folder, Finding]]:
    def show(*told: tuple[bool, str], short: bool = False, calls: Any = None, **more: Any) -> tuple[Folder, Finding]:
        folder = Folder(monkeypatch, told, short=short)
        folder.calls = calls
        symptom = more.pop("symptom", Symptom.DIFFERENCE)
        return folder, write_shown(tmp_path, finding(symptom=symptom), **{"seconds": 5.0, "python": "python", **more})

    return show


def test_a_long_script_that_shows_it(shown) -> None:
    folder, found = shown((True, "the fault shows"))
    assert (found.status, found.long_script, found.printed) == (Status.CONFIRMED, False, "")
    assert len(folder.written) == 1
    assert folder.seconds == [5.0, 5.0]


def test_a_short_script_that_shows_it_is_kept_and_needs_no_calls(shown) -> None:
    folder, found = shown((True, "the fault shows"), short=True)
    assert (len(folder.written), found.long_script, found.status) == (1, False, Status.CONFIRMED)
    assert folder.seconds == [5.0]


def test_a_short_script_that_does_not_is_replaced(shown) -> None:
    folder, found = shown((False, "no"), (True, "yes"), short=True)
    assert [f.long_script for f in folder.written] == [False, True]
    assert (found.long_script, found.status, found.printed) == (True, Status.CONFIRMED, "")


def test_the_calls_of_a_framework_make_a_short_script(shown) -> None:
    calls = {"body": ["a"]}
    folder, found = shown((True, "yes"), calls=calls)
    assert [f.calls for f in folder.written] == [None, calls]
    assert (found.calls, found.long_script) == (calls, False)


@pytest.mark.parametrize(("told", "kept"), [("no", "no"), ("", "nothing"), ("x" + "y" * PRINTED, "y" * PRINTED)])
def test_what_no_script_shows_is_unreplayed(shown, told: str, kept: str) -> None:
    _, found = shown((False, told))
    assert (found.status, found.printed) == (Status.UNREPLAYED, kept)
    assert PRINTED == 2000
    folder, found = shown((False, "short"), (False, told), short=True)
    assert (found.status, found.printed, found.long_script) == (Status.UNREPLAYED, kept, True)
    assert len(folder.written) == 2


@pytest.mark.parametrize(
    ("told", "long_script"), [("RuntimeError: it does not like that", False), ("TypeError: something else", True)]
)
def test_a_short_script_refused_for_another_reason_is_replaced(shown, told: str, long_script: bool) -> None:
    _, found = shown((True, told), (True, "yes"), short=True, symptom=Symptom.REJECTION)
    assert found.long_script == long_script
    _, found = shown((True, told), (True, "yes"), short=True)
    assert not found.long_script


def test_scripts_have_the_time_that_is_left(shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    for until, seconds in ((102.0, 2.0), (200.0, 5.0), (100.0, 0.0), (90.0, 0.0)):
        folder, _ = shown((True, "yes"), until=until)
        assert folder.seconds == [seconds, seconds]


@pytest.mark.parametrize(
    ("error", "told", "same"),
    [
        ("RuntimeError: it is bad", "x RuntimeError: it is bad y", True),
        ("RuntimeError: it is bad", "RuntimeError: it is good", False),
        ("RuntimeError: it is bad", "ValueError: it is bad", False),
        ("RuntimeError: it is bad", "RuntimeError at line 7: it is bad", True),
        ("RuntimeError: " + "a" * 40 + "b", "RuntimeError: " + "a" * 40 + "c", True),
        ("RuntimeError: " + "a" * 39 + "b", "RuntimeError: " + "a" * 39 + "c", False),
        ("", "anything", True),
    ],
)
def test_an_error_is_known_by_its_beginning(error: str, told: str, same: bool) -> None:
    found = finding()
    found = replace(found, runs=(replace(BLAMED, error=error), WITNESS))
    assert writer._tells_error(found, told) == same


@pytest.mark.parametrize(
    ("fields", "runs", "memory"),
    [
        ({}, 1, MEMORY),
        ({"runs": 3}, 3, MEMORY),
        ({"symptom": Symptom.MEMORY}, 1, MEMORY),
        ({"symptom": Symptom.MEMORY, "runs": 4, "limit": 1 << 30}, 16, (1 << 30) + IMPORTS),
        ({"symptom": Symptom.MEMORY, "runs": 4, "limit": 1 << 40}, 4, MEMORY),
        ({"symptom": Symptom.MEMORY, "runs": 4}, 8, MEMORY),
    ],
)
def test_how_often_a_script_runs_the_model(fields: dict[str, Any], runs: int, memory: int) -> None:
    assert writer._runs(finding(**fields).verdict) == (runs, memory)
    scene = writer._scene(finding(**fields), BLAMED, [WITNESS], copied=False)
    assert (scene.runs, scene.memory, scene.seconds) == (runs, memory, HANG_SECONDS * (15 + runs) / 16)


def case(kind: str, dtype: Any) -> FailingCase:
    program = Program.from_proto(onnx.parser.parse_model(TEXT.format(kind)))
    return FailingCase(program, {"x": np.array([1, 2], dtype)})


@pytest.mark.parametrize(
    ("kind", "dtype", "types", "manifest"),
    [
        ("float", np.float32, False, False),
        ("double", np.float64, False, False),
        ("int64", np.int64, False, False),
        ("bfloat16", ml_dtypes.bfloat16, True, True),
    ],
)
def test_types_that_numpy_lacks(kind: str, dtype: Any, types: bool, manifest: bool) -> None:
    made = case(kind, dtype)
    scene = writer._scene(replace(finding(), case=made), BLAMED, [WITNESS], copied=False)
    assert (scene.odd_types, scene.odd_inputs, need_manifest(made)) == (types, manifest, manifest)
    assert (scene.title, scene.output, scene.outputs, scene.blamed) == ("t", "y", ["y"], BLAMED)


def test_inputs_that_are_no_plain_arrays_need_the_manifest() -> None:
    assert need_manifest(FailingCase(PROGRAM, {"x": [np.array([1.0])]}))
    assert need_manifest(FailingCase(PROGRAM, {"x": None}))
    assert need_manifest(FailingCase(PROGRAM, {"x": np.array(["a"], object)}))
    assert not need_manifest(CASE)


def run(name: str, *, environment: str = "", **ended: str) -> TargetRun:
    component = name.partition(":")[0].partition("@")[0]
    return TargetRun(name, component, environment=environment, **{**OK, **ended})


@pytest.mark.parametrize(
    ("runs", "fields", "witnesses"),
    [
        ((run("onnxruntime:all"), run("reference")), {}, ["reference", "onnxruntime:all"]),
        ((run("onnxruntime:all"), run("torch:eager")), {}, ["torch:eager", "onnxruntime:all"]),
        ((run("reference"), run("torch@1:jit", environment="e")), {}, ["reference", "torch@1:jit"]),
        ((run("onnxruntime:all"), run("onnxruntime:disabled")), {}, ["onnxruntime:all"]),
        ((run("onnxruntime:all"), run("onnxruntime@1:all", environment="e")), {},
         ["onnxruntime:all", "onnxruntime@1:all"]),
        ((run("onnxruntime:all", exit=Exit.REJECTED.value), run("reference")), {}, ["reference"]),
        ((run("onnxruntime:all", stage=Stage.COMPILE.value), run("reference")), {}, ["reference"]),
        ((run("onnxruntime:all", exit=Exit.REJECTED.value), run("reference")), {"symptom": Symptom.LENIENCY},
         ["onnxruntime:all"]),
        ((run("reference"),), {"symptom": Symptom.CRASH}, []),
        ((run("reference"),), {"symptom": Symptom.PROTOCOL}, []),
        ((run("reference"),), {"symptom": Symptom.HANG}, ["reference"]),
    ],
)  # fmt: skip
def test_whom_a_script_compares_with(runs: Any, fields: dict[str, Any], witnesses: list[str]) -> None:
    blamed, found = writer._parties(finding(*runs, **fields))
    assert blamed == BLAMED
    assert [p.name for p in found] == witnesses


def test_a_finding_without_its_target_contradicts_itself() -> None:
    with pytest.raises(InternalError, match="its runs lack the blamed target 'torch:jit'"):
        writer._parties(replace(finding(), runs=(WITNESS,)))


@pytest.mark.parametrize(
    ("made", "body", "found"),
    [
        (finding(), 1, True),
        (finding(), writer.LINES - 1, True),
        (finding(), writer.LINES, False),
        (finding(), None, False),
        (finding(symptom=Symptom.HANG), 1, False),
        (finding(symptom=Symptom.MEMORY), 1, False),
        (replace(finding(), runs=(replace(BLAMED, environment="e"), WITNESS)), 1, False),
        (replace(finding(), runs=(replace(BLAMED, component="onnxruntime"), WITNESS)), 1, False),
    ],
)
def test_calls_that_make_a_short_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Finding, body: int | None, found: bool
) -> None:
    asked: list[tuple[str, float]] = []

    def calls_in(folder: Path, framework: str, *, seconds: float) -> dict[str, Any] | None:
        asked.append((framework, seconds))
        return None if body is None else {"body": ["a"] * body}

    monkeypatch.setattr(writer, "calls_in", calls_in)
    assert writer._calls(tmp_path, made, 3.0) is None, "there is no source"
    assert asked == []
    (tmp_path / "torch_model.py").write_text("")
    assert (writer._calls(tmp_path, made, 3.0) is not None) == found
    assert asked in ([("torch", 3.0)], [])


@pytest.mark.parametrize(
    ("fields", "short"), [({}, True), ({"long_script": True}, False), ({"symptom": Symptom.HANG}, False)]
)
def test_a_short_script_has_the_long_one_beside_it(fields: dict[str, Any], short: bool) -> None:
    verdict = Verdict("numeric", fields.pop("symptom", Symptom.DIFFERENCE), "reference", ("onnxruntime:all",),
                      output="y", element="y[0]", bound=0.5)  # fmt: skip
    runs = (run("reference"), replace(run("onnxruntime:all"), answer="2.0", options={"level": "all"}))
    files = writer._files(Finding(verdict, CASE, CASE, runs=runs, title="t", **fields))
    assert ("compare.py" in files) == short
    assert (b"python compare.py " in files.get("compare.py", b"")) == short
    assert (b"TARGETS = {" in files["repro.py"]) == (not short)


def test_a_model_as_source_and_its_arrays() -> None:
    files = writer.module_files(PROGRAM, "numpy")
    assert set(files) == {"numpy_model.py", "numpy_weights.npz"}
    assert b"def " in files["numpy_model.py"]
    assert files["numpy_weights.npz"].startswith(b"PK")
