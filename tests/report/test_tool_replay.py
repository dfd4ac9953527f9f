"""Faults of converters and tools show in a fresh process, through the tool's own file beside the script."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.findings.finding import TargetRun
from irfuzz.isolate import Limits
from irfuzz.oracle import judge
from irfuzz.oracle.verdict import Symptom
from irfuzz.report.finding_folder_writer import write_bundle
from irfuzz.report.repro_scripts.full_script import ReproSpec, repro_source
from irfuzz.report.script_replay import replays
from tests.report.conftest import finding_of, parse

pytestmark = pytest.mark.backend

X = np.array([1, -2, 3], np.float32)
FAULTS: dict[str, tuple[str, dict[str, Any], Symptom]] = {
    "onnx2torch": (
        "g (float[3] x) => (float[3] y) <int64 axis = {0}> { y = CumSum(x, axis) }", {"x": X}, Symptom.DIFFERENCE,
    ),
    "onnx-inliner:schema": (
        "g (float[1,3] x) => (float[1,3] y) <float[3] s = {1, 2, 3}> { y = LayerNormalization(x, s) }",
        {"x": X.reshape(1, 3)}, Symptom.REJECTION,
    ),
    "onnx-compose:prefix": (
        """g (float[3] x, bool c) => (float[3] y) <float[3] d = {1, 2, 3}> {
            y = If(c) <then_branch = t () => (float[3] p) { p = Add(x, d) },
                       else_branch = e () => (float[3] q) { q = Sub(x, d) }>
        }""",
        {"x": X, "c": np.array(True)}, Symptom.REJECTION,
    ),
    "onnxruntime-quantization:qdq": (
        "g (float16[3] x) => (float16[3] y) { y = Softmax(x) }", {"x": X.astype(np.float16)}, Symptom.REJECTION,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_shows_again(tmp_path: Path, name: str) -> None:
    text, inputs, symptom = FAULTS[name]
    program = parse(text)
    with Runner(resolve([name, "reference", "onnxruntime:disabled"]), Limits(seconds=120)) as runner:
        results = runner.run(program, inputs)
    (verdict,) = judge(program, inputs, results)
    assert (verdict.target, verdict.symptom, verdict.suspect) == (name, symptom, False)
    write_bundle(tmp_path / "it", finding_of(program, inputs, results, verdict))
    shown, log = replays(tmp_path / "it", seconds=200)
    assert shown, log
    assert len((tmp_path / "it" / "repro.py").read_text().splitlines()) < 200


@pytest.mark.unit
def test_an_old_tool_comes_with_what_runs_its_models() -> None:
    """An environment that was made without the runtime is not all that a script needs."""
    name, options = "onnxslim@0.1.9", {"tool": "onnxslim"}
    blamed = TargetRun(name, "onnxslim", options, version="0.1.9", requirement="onnxslim==0.1.9 numpy onnx ml-dtypes")
    source = repro_source(ReproSpec("it fails", Symptom.REJECTION, blamed, []))
    assert "old/bin/pip install onnxslim==0.1.9 numpy onnx ml-dtypes onnxruntime;" in source
    assert "`irfuzz env add onnxslim==0.1.9` makes" in source
