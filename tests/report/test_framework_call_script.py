"""Short scripts of a framework's own calls: what the generated source calls, in less than 40 lines."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from irfuzz.execute.adapters.tool_table import TOOL_ADAPTERS
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding, TargetRun
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.report import finding_folder_writer
from irfuzz.report.finding_folder_writer import module_files, write_shown
from irfuzz.report.repro_scripts.framework_call_script import FORMS, calls_in, calls_source, form_of
from irfuzz.report.repro_scripts.full_script import ReproSpec
from irfuzz.store.database import Status
from irfuzz.store.npz_tensors import pack

pytestmark = pytest.mark.backend

TEXT = (
    '<ir_version: 8, opset_import: ["" : 17]> g (float[1,2,4] x, float z) => (float[1,2,4] n, float[1,2,2] y)'
    " <float[2,2] w = {1, 2, 3, 4}> { a, b = Split <axis = 2> (x) c = MatMul (a, w) y = Sub (b, c) n = Mul (x, z) }"
)
INPUTS = {"x": np.array([[[1, -2, 3, -4], [0.5, 2, -1, 8]]], np.float32), "z": np.array(2, np.float32)}
RIGHT = -1.0  # of y[0, 1, 1]: 8 - (0.5 * 2 + 2 * 4)


def parsed(text: str = TEXT) -> Program:
    return Program.from_bytes(onnx.parser.parse_model(text).SerializeToString())


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, dict[str, Any]]]:
    """By framework: the files of a finding, and the calls in them."""
    found: dict[str, tuple[Path, dict[str, Any]]] = {}
    for framework in ("torch", "tensorflow"):
        folder = tmp_path_factory.mktemp(framework)
        for name, data in {**module_files(parsed(), framework), "inputs.npz": pack(INPUTS)}.items():
            (folder / name).write_bytes(data)
        calls = calls_in(folder, framework)
        assert calls is not None
        found[framework] = folder, calls
    return found


def party(component: str, mode: str) -> TargetRun:
    tool = next((a for a in TOOL_ADAPTERS if a.tool == component), None)
    if tool is None:
        return TargetRun(f"{component}:{mode}", component, {"mode": mode}, "1")
    return TargetRun(tool.component, tool.component, {**tool.variants.get(mode, {}), "tool": component}, "1")


def source(folders: Any, blamed: TargetRun, *, answer: str, witness: str = "reference") -> str | None:
    form = form_of(blamed)
    assert form is not None
    folder, calls = folders[form.framework]
    with np.load(folder / f"{form.framework}_weights.npz") as members:
        weights = {name.removesuffix(".npy"): members[name] for name in members.files}
    seen = TargetRun(witness, witness.partition(":")[0], {}, "2", answer=answer)
    scene = ReproSpec("it", Symptom.DIFFERENCE, blamed, [seen], "y", ((), (0, 1, 1)), 1e-3, ["n", "y"])
    return calls_source(scene, onnx.parser.parse_model(TEXT), calls, INPUTS, weights)


@pytest.mark.parametrize(("component", "mode"), FORMS)
def test_it_computes_what_the_target_does(tmp_path: Path, folders: Any, component: str, mode: str) -> None:
    text = source(folders, party(component, mode), answer="6.0")
    assert text is not None
    assert len(text.splitlines()) < 40
    (tmp_path / "repro.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-P", "repro.py"], cwd=tmp_path, check=False, capture_output=True, text=True, timeout=200,
        env={"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", "HOME": str(tmp_path)},
    )  # fmt: skip
    assert "expected 6.0 got -1.0" in done.stdout, done.stderr
    assert done.returncode == 1


def test_the_framework_by_itself_is_run_where_it_bears_witness(tmp_path: Path, folders: Any) -> None:
    text = source(folders, party("torch", "jit"), answer="6.0", witness="torch:eager")
    assert text is not None
    (tmp_path / "repro.py").write_text(text)
    done = subprocess.run([sys.executable, "-P", tmp_path / "repro.py"], check=False, capture_output=True, text=True)
    assert "expected -1.0 got -1.0" in done.stdout, done.stderr
    assert done.returncode == 0


def test_what_is_called_is_written_in_its_own_words(folders: Any) -> None:
    _, calls = folders["torch"]
    assert calls["arguments"] == {"x": "x0", "z": "x1"}
    assert [name for name, _ in calls["outputs"]] == ["n", "y"]
    assert calls["body"] == ["t1, t2 = x0.split([2, 2], dim=2)", "t3 = t1.matmul(w0)", "t4 = t2 - t3", "t5 = x0 * x1"]
    _, calls = folders["tensorflow"]
    assert any(line.split(" = ")[1].startswith("tf.raw_ops.BatchMatMul") for line in calls["body"])


def test_random_numbers_and_whatever_fails_are_not_told(tmp_path: Path) -> None:
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = RandomNormalLike (x) }'
    for name, data in {**module_files(parsed(text), "torch"), "inputs.npz": pack({"x": INPUTS["x"][0, 0, :2]})}.items():
        (tmp_path / name).write_bytes(data)
    assert calls_in(tmp_path, "torch") is None
    (tmp_path / "torch_model.py").write_text("import os\nos.abort()\n")
    assert calls_in(tmp_path, "torch") is None
    (tmp_path / "torch_model.py").write_text("while True:\n    pass\n")
    assert calls_in(tmp_path, "torch", seconds=1.0) is None


def row(symptom: Symptom, error: str = "") -> Finding:
    """A finding in ``torch:eager``, which the reference is said to contradict."""

    def result(name: str, value: float, error: str = "") -> RunResult:
        target = Target(name, name.partition(":")[0], "1", options={"mode": "eager"} if ":" in name else {})
        outputs = {} if error else {"y": np.full((1, 2, 2), value, np.float32), "n": 2 * INPUTS["x"]}
        return RunResult(target, Stage.RUN, Exit.REJECTED if error else Exit.OK, outputs=outputs, error=error)

    verdict = Verdict(
        "o",
        symptom,
        "torch:eager",
        ("reference",),
        output="" if error else "y",
        bound=1e-3,
        element="" if error else "y[0, 1, 1]",
    )
    program = parsed()
    case = FailingCase(program, INPUTS)
    return Finding(verdict, case, case, [result("torch:eager", RIGHT, error), result("reference", 6.0)]).signed()


def test_a_finding_has_it_beside_the_long_one(tmp_path: Path) -> None:
    stored = write_shown(tmp_path / "it", row(Symptom.DIFFERENCE), seconds=120)
    assert stored.status is Status.CONFIRMED, stored.printed
    short = (tmp_path / "it" / "repro.py").read_text()
    assert "x0.split(" in short
    assert "torch_model" in (tmp_path / "it" / "compare.py").read_text()
    assert "calls" not in json.loads((tmp_path / "it" / "finding.json").read_text())["verdict"]
    finding_folder_writer.write_bundle(tmp_path / "again", stored)
    assert (tmp_path / "again" / "repro.py").read_text() == short


def test_calls_refused_for_another_reason_do_not_stand_for_the_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = {"arguments": {"x": "x0", "z": "x1"}, "weights": {}, "outputs": [["n", "x0"], ["y", "x0"]]}
    monkeypatch.setattr(
        finding_folder_writer, "calls_in", lambda *_, **__: {**calls, "body": ["raise KeyError('gone')"]}
    )
    found = row(Symptom.REJECTION, "KeyError: 'gone'")
    assert not write_shown(tmp_path / "same", found, seconds=120).printed
    assert (tmp_path / "same" / "compare.py").exists()
    other = replace(found, runs=[replace(found.runs[0], error="ValueError: no"), *found.runs[1:]])
    stored = write_shown(tmp_path / "other", other, seconds=120)
    assert (stored.status, bool(stored.printed)) == (Status.UNREPLAYED, True)  # the long one runs torch, which answers
    assert not (tmp_path / "other" / "compare.py").exists()
