"""The commands take models with operators that irfuzz has no schema for, and say once who lacks them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import onnx
import pytest
from onnx import helper

from irfuzz.cli.main import main
from tests.contrib import DOMAIN, embedded, fused, opaque_in, quantised, saved, unknown

pytestmark = pytest.mark.skipif(importlib.util.find_spec("onnxruntime") is None, reason="onnxruntime is not installed")

LEVELS = "onnxruntime:disabled,onnxruntime:all"


def test_check_compares_who_knows_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(quantised(), tmp_path / "m.onnx")
    assert main(["check", str(path), "--targets", f"{LEVELS},reference", "--seeds", "2"]) == 0
    out = capsys.readouterr().out
    assert "2 targets agree" in out
    assert f"reference: cannot run it: no {DOMAIN}.DynamicQuantizeMatMul" in out


def test_who_lacks_them_stands_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(fused(), tmp_path / "m.onnx")
    assert main(["check", str(path), "--targets", f"{LEVELS},reference,torch:eager", "--seeds", "1"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "cannot run it" in line]
    assert lines in (
        [f"{names}: cannot run it: no {DOMAIN}.FusedMatMul"]
        for names in ("reference, torch:eager", "torch:eager, reference")
    )


def test_check_of_what_nobody_knows_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(unknown(), tmp_path / "m.onnx")
    assert main(["check", str(path), "--targets", f"{LEVELS},reference", "--seeds", "1"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert "node 'nod': the types of what org.example.Nod gives are not known" in lines[0]
    assert "loads the library with it (docs/extending.md)" in lines[0]
    assert "onnxruntime:all, reference: no org.example.Nod" in lines[-1]


def test_mutate_replay_and_coverage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(fused(), tmp_path / "m.onnx")
    assert main(["mutate", str(path), "-o", str(tmp_path / "out"), "-n", "4"]) == 0
    for file in sorted((tmp_path / "out").glob("*.onnx")):
        assert set(opaque_in(onnx.load(file))) >= set(opaque_in(fused()))
        trace = file.with_suffix("").with_suffix(".trace.json")
        assert main(["replay", str(trace), "-o", str(tmp_path / "again.onnx")]) == 0
        assert (tmp_path / "again.onnx").read_bytes() == file.read_bytes()
    assert main(["coverage", str(path)]) == 0
    assert f"nodes of other domains, not counted: 3 of {DOMAIN}" in capsys.readouterr().out


def test_equiv_rewrites_what_stands_around(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(embedded(), tmp_path / "m.onnx")
    assert main(["equiv", str(path), "--targets", "onnxruntime:all", "--forms", "4", "--ways", "reload", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["contradictions"] == []
    assert found["answers"]["onnxruntime:all"]["same"] >= 3


def test_reduce_keeps_what_is_interesting(tmp_path: Path) -> None:
    path = saved(fused(), tmp_path / "m.onnx")
    script = tmp_path / "check.py"
    script.write_text(
        "import sys, onnx\n"
        "model = onnx.load(sys.argv[-1])\n"
        "sys.exit(not any(n.op_type == 'SkipLayerNormalization' for n in model.graph.node))\n"
    )
    out = tmp_path / "small.onnx"
    command = f"{__import__('sys').executable} {script}"
    assert main(["reduce", str(path), "--check", command, "-o", str(out), "--time", "60s", "--jobs", "1"]) == 0
    small = onnx.load(out)
    assert opaque_in(small) == ["SkipLayerNormalization"]
    assert len(small.graph.node) == 1
    assert (DOMAIN, 1) in {(entry.domain, entry.version) for entry in small.opset_import}


def test_old_models_are_mutated_and_their_conversion_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [2, 3]) for n in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "old", value[:1], value[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 7)], ir_version=3)
    path = saved(model, tmp_path / "old.onnx")
    assert main(["mutate", str(path), "-o", str(tmp_path / "out"), "-n", "2"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert told.count(f"irfuzz: {path}: opset 7, converted to 9: irfuzz edits no older one") == 1


CUSTOM = """
import onnx
from onnx.reference import ReferenceEvaluator


class WithLibrary:
    def run(self, model_bytes, inputs):
        model = onnx.ModelProto.FromString(model_bytes)
        for node in model.graph.node:
            if node.domain == "org.example":
                node.domain, node.op_type = "", "Neg"
        evaluator = ReferenceEvaluator(model)
        return dict(zip(evaluator.output_names, evaluator.run(None, inputs)))


class Another(WithLibrary):
    pass
"""


def test_a_target_of_ones_own_runs_what_it_knows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "custom.py").write_text(CUSTOM)
    monkeypatch.chdir(tmp_path)
    saved(unknown(typed=True), tmp_path / "m.onnx")
    targets = "custom.py:WithLibrary,custom.py:Another,reference"
    assert main(["check", "m.onnx", "--targets", targets, "--seeds", "2"]) == 0
    captured = capsys.readouterr()
    assert "2 targets agree" in captured.out
    assert "reference: cannot run it: no org.example.Nod" in captured.out
    progress = ("irfuzz: workers: ", "irfuzz: comparing: ")  # the second one if it takes longer than usual
    assert [line for line in captured.err.splitlines() if not line.startswith(progress)] == []
