"""Workers tell which lines of a component's Python code ran for the first time."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from onnx import parser

from irfuzz.execute.adapters.plugin import PluginAdapter
from irfuzz.execute.line_traced_packages import watched
from irfuzz.execute.run_types import Exit, Target
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import BUILT_IN, REFERENCE, adapter_of, resolve
from irfuzz.isolate import line_tracer as watching

pytestmark = [pytest.mark.backend, pytest.mark.timeout(120)]

CONVERTER = """
import onnx
import onnx.reference

class Own:
    def run(self, model, inputs):
        for node in onnx.load_from_string(model).graph.node:
            if node.op_type == "Relu":
                self.relu()
            else:
                self.others()
        return onnx.reference.ReferenceEvaluator(model).run(None, inputs)

    def relu(self):
        return 1

    def others(self):
        return 2
"""


def model(op: str) -> bytes:
    text = f'<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) {{ y = {op}(x) }}'
    return parser.parse_model(text).SerializeToString()


def texts(source: str, lines: Mapping[str, list[int]] | None) -> list[str]:
    """The lines of the only file."""
    if not lines:
        return []
    ((_, numbers),) = lines.items()
    return [source.splitlines()[n - 1].strip() for n in sorted(numbers)]


def test_what_a_program_runs_first_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(CONVERTER)
    own = PluginAdapter("own", f"{tmp_path / 'own.py'}:Own")
    reference = resolve(["reference"])
    feeds = {"x": np.array([1, -1], np.float32)}
    with Runner([*own.targets, *reference], adapters={"own": own}, lines=True) as runner:
        first, second, third = (runner.run(model(op), feeds) for op in ("Relu", "Relu", "Sin"))
        together = runner.run_all([])
    assert [r.exit for rows in (first, second, third) for r in rows[1:]] == [Exit.OK] * 3
    assert together == []
    (path,) = watched(own)
    assert path == str(tmp_path / "own.py")
    ran = texts(CONVERTER, first[0].lines.get(path))  # type: ignore[arg-type]
    assert {"self.relu()", "return 1"} <= set(ran)
    assert "return 2" not in ran
    assert second[0].lines == {}
    assert texts(CONVERTER, third[0].lines.get(path)) == ["self.others()", "return 2"]  # type: ignore[arg-type]
    # Of onnx's evaluator the same: what computes Sin runs only where there is one.
    assert not any("op_sin" in file for file in first[1].lines["onnx.reference"])
    assert second[1].lines == {}
    assert any(file.endswith("op_sin.py") for file in third[1].lines["onnx.reference"])


def test_nothing_is_counted_unless_asked_for() -> None:
    with Runner(resolve(["reference"])) as runner:
        (result,) = runner.run(model("Relu"), {"x": np.ones(2, np.float32)})
    assert (result.exit, result.lines) == (Exit.OK, {})


def test_which_code_is_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert watched(REFERENCE) == ("onnx.reference",)
    targets = {"onnx2torch": "onnx2torch", "tf2onnx": "tf2onnx", "onnxscript:optimize": "onnxscript"}
    for name, package in targets.items():
        assert watched(adapter_of(_target(name))) == (package,)
    assert watched(adapter_of(_target("onnxruntime:all"))) == ()
    assert "keras" in watched(adapter_of(_target("tensorflow:eager")))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").write_text("")
    monkeypatch.chdir(tmp_path)
    assert watched(PluginAdapter("m", "mine.deep:Class")) == (str(tmp_path / "mine"),)
    assert watched(PluginAdapter("m", "nowhere.deep:Class")) == ()


def _target(name: str) -> Target:
    return next(t for adapter in BUILT_IN for t in adapter.targets if t.name == name)


def test_lines_of_threads_and_of_functions_that_are_left_early(tmp_path: Path) -> None:
    """In a process of its own: tracing is of a whole process."""
    package = tmp_path / "looked"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "work.py").write_text(
        "def f(x):\n    if x:\n        return 1\n    y = 2\n    return y\n\n"
        "def g(x):\n    if x:\n        return 1\n    if x is None:\n        return 2\n    return 3\n"
    )
    code = f"""
import sys, threading
sys.path.insert(0, {str(tmp_path)!r})
import importlib.util
spec = importlib.util.spec_from_file_location("lines", {watching.__file__!r})
lines = importlib.util.module_from_spec(spec); spec.loader.exec_module(lines)
import looked.work
own = lines.LineTracer(["looked", "no.such.package", "json"])
own.start()
looked.work.f(1)
print(own.fresh())
looked.work.f(1)
print(own.fresh())
for _ in range(100): looked.work.g(1)
print(own.fresh(), looked.work.g(0), own.fresh())
for _ in range(100): looked.work.g(1)
for _ in range(40): looked.work.g(0)
thread = threading.Thread(target=looked.work.f, args=(0,)); thread.start(); thread.join()
print(own.fresh())
"""
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "{'looked': {'work.py': [2, 3]}}", "{}",
        "{'looked': {'work.py': [8, 9]}} 3 {'looked': {'work.py': [10, 12]}}",
        "{'looked': {'work.py': [4, 5]}}",
    ]  # fmt: skip
    assert threading.gettrace() is None
