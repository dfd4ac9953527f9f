"""``irfuzz fuzz --equiv``: a target that contradicts itself is a finding, small, named, and replayed by its folder."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from irfuzz.campaign.config import Layout
from irfuzz.cli.main import main
from irfuzz.store.database import Database

TARGETS = Path(__file__).resolve().parents[1] / "planted_targets"
MODEL = """<ir_version: 10, opset_import: ["" : 21]> g (float[2, 3, 4] x) => (float[2, 3, 4] y) <float[3] s = {1, 2, 3},
float[3] b = {0, 1, 2}, float[3] m = {1, 2, 3}, float[3] v = {4, 5, 6}>
{ a = Tanh(x) c = BatchNormalization(a, s, b, m, v) y = Relu(c) }"""


@pytest.mark.planted
def test_a_contradiction_becomes_a_finding(tmp_path: Path, capsys) -> None:
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "model.onnx")
    target = f"{TARGETS / 'equivalent.py'}:ForgetsNormalisation"
    words = ["--equiv", "--targets", target, "--programs", "1", "--time", "120s", "--reduce", "5", "--sprouts", "0"]
    words += ["--jobs", "1"]
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


def test_jobs_work_side_by_side_on_other_programs(tmp_path: Path, capsys) -> None:
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "model.onnx")
    words = ["--equiv", "--targets", "reference", "--programs", "6", "--time", "120s", "--jobs", "2"]
    assert main(["fuzz", str(tmp_path / "model.onnx"), *words, "-o", str(tmp_path / "out"), "--json"]) in (0, 1)
    summary = json.loads(capsys.readouterr().out)
    assert summary["jobs"] == 2
    assert summary["programs"] >= 6
    assert summary["counts"]["forms"] >= summary["programs"]
    database = Database(Layout(tmp_path / "out").database)
    assert all(iterations > 0 for _, iterations, _, _ in database.tallies())
    assert len(database.tallies()) == 2
    database.close()


@pytest.mark.parametrize(
    "words", [["--search", "mcmc"], ["--hunt", "nan"], ["--slow-share", "0.5"], ["--python-coverage"]]
)
def test_flags_without_meaning_are_refused(tmp_path: Path, capsys, words: list[str]) -> None:
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "model.onnx")
    out = tmp_path / "out"
    assert main(["fuzz", str(tmp_path / "model.onnx"), "--equiv", *words, "-o", str(out)]) == 2
    assert f"{words[0]}: has no meaning with --equiv" in capsys.readouterr().err
    assert not out.exists()
