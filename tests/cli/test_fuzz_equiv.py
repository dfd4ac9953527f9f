"""``irfuzz fuzz --equiv``: a target that contradicts itself is a finding, small, named, and replayed by its folder."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from irfuzz.cli.main import main

TARGETS = Path(__file__).resolve().parents[1] / "planted_targets"
MODEL = """<ir_version: 10, opset_import: ["" : 21]> g (float[2, 3, 4] x) => (float[2, 3, 4] y) <float[3] s = {1, 2, 3},
float[3] b = {0, 1, 2}, float[3] m = {1, 2, 3}, float[3] v = {4, 5, 6}>
{ a = Tanh(x) c = BatchNormalization(a, s, b, m, v) y = Relu(c) }"""


@pytest.mark.planted
def test_a_contradiction_becomes_a_finding(tmp_path: Path, capsys) -> None:
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "model.onnx")
    target = f"{TARGETS / 'equivalent.py'}:ForgetsNormalisation"
    words = ["--equiv", "--targets", target, "--programs", "1", "--time", "120s", "--reduce", "5", "--sprouts", "0"]
    code = main(["fuzz", str(tmp_path / "model.onnx"), *words, "-o", str(tmp_path / "out"), "--json"])
    summary = json.loads(capsys.readouterr().out)
    assert code == 1
    (folder,) = (tmp_path / "out" / "findings").iterdir()
    finding = json.loads((folder / "finding.json").read_text())
    assert finding["verdict"]["oracle"] == "equivalence"
    assert finding["verdict"]["evidence"]["rewrite"] == "reload"
    assert finding["verdict"]["evidence"]["operator"] == "BatchNormalization"
    assert finding["status"] == "confirmed"
    assert len(onnx.load(folder / "model.onnx").graph.node) == 1
    assert (folder / "original" / "model.onnx").exists()
    assert "after reload of BatchNormalization" in (folder / "report.md").read_text()
    assert summary["findings"]
