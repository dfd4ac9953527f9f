"""``irfuzz analyze``: reports, ranges from everywhere, witnesses on disk that replay alone, bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import irfuzz
from benchmarks.numeric.programs import OTHERS
from irfuzz.cli.main import main

pytestmark = pytest.mark.backend
pytest.importorskip("onnxruntime")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (pair,) = (p for p in OTHERS if p.faulty.name == "unit-vector")
    onnx.save(pair.faulty.model(), tmp_path / "unit.onnx")
    return tmp_path / "unit.onnx"


def test_a_warning_with_witness_is_printed_and_replays_alone(model: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "witnesses"
    assert main(["analyze", str(model), "--range", "x=-1,1", "-o", str(out), "--html", str(tmp_path / "r.html")]) == 1
    text = capsys.readouterr().out
    assert "confirmed: division in Div" in text
    assert "depends on x" in text
    assert "<table>" in (tmp_path / "r.html").read_text()
    (folder,) = out.iterdir()
    done = subprocess.run(
        [sys.executable, "repro.py"], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "nan" in done.stdout


def test_json_names_node_interval_and_precondition(model: Path, capsys) -> None:
    assert main(["analyze", str(model), "--range", "x=0,1", "--json", "--no-witness"]) == 1
    found = json.loads(capsys.readouterr().out)
    (warning,) = found["warnings"]
    assert (warning["op"], warning["kind"], warning["depends_on"]) == ("Div", "division", ["x"])
    assert warning["low"] == 0
    (condition,) = warning["preconditions"]
    assert condition["input"] == "x"
    assert condition["low"] > 0


def test_ranges_come_from_data_and_files(model: Path, tmp_path: Path, capsys) -> None:
    np.savez(tmp_path / "in.npz", x=np.full((4, 10), 2.0, np.float32))
    assert main(["analyze", str(model), "--data", str(tmp_path / "in.npz")]) == 0
    (tmp_path / "r.toml").write_text("x = [1.0, 2.0]\n")
    assert main(["analyze", str(model), "--ranges", str(tmp_path / "r.toml")]) == 0
    assert main(["analyze", str(model), "--no-witness"]) == 1
    capsys.readouterr()


def test_a_range_of_truth_values_is_refused(model: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "r.toml").write_text("x = [true, true]\n")
    assert main(["analyze", str(model), "--ranges", str(tmp_path / "r.toml"), "--no-witness"]) == 2
    assert "x: expected [LO, HI]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--range", "x=1"], "NAME=LO,HI"),
        (["--range", "x=2,1"], "LO <= HI"),
        (["--range", "nothing=0,1"], "no such input"),
        (["--ranges", "missing.toml"], "missing.toml"),
        (["--data", "missing.npz"], "missing.npz"),
        (["--domain", "octagon"], "octagon"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(model: Path, words: list[str], said: str, capsys) -> None:
    assert main(["analyze", str(model), *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "not an npz"),
        (np.zeros(3, np.float32), "not an npz"),
        ({"x": np.full((2, 4, 10), np.nan, np.float32)}, "x: holds NaN"),
        ({"x": np.full((2, 4, 10), np.inf, np.float32)}, "x: holds an infinity"),
        ({"x": np.zeros(3, np.float32)}, "'x' has shape [3], expected samples of [4,10]"),
        ({"other": np.zeros(3, np.float32)}, "no array for input 'x'; it has other"),
    ],
)
def test_data_that_says_nothing_of_the_inputs_is_refused(model: Path, tmp_path: Path, capsys, content, said) -> None:
    path = tmp_path / "data"
    with path.open("wb") as file:
        if isinstance(content, dict):
            np.savez(file, **content)
        elif content is not None:
            np.save(file, content)
    assert main(["analyze", str(model), "--data", str(path), "--no-witness"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"irfuzz: error: --data {path}: ")
    assert said in line


def test_a_range_without_a_number_of_the_type_is_refused(model: Path, capsys) -> None:
    assert main(["analyze", str(model), "--range", "x=1e300,1e301", "--no-witness"]) == 2
    assert "range of 'x': [1e+300, 1e+301] holds no finite number" in capsys.readouterr().err


def test_preconditions_of_warnings_in_a_branch_are_those_of_the_branch(tmp_path: Path, capsys) -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]> g (bool c, float[2] x) => (float[2] y) {
      y = If (c) <then_branch = a () => (float[2] o) { o = Log(x) }, else_branch = b () => (float[2] p) { p = Neg(x) }>
    }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "branch.onnx")
    assert main(["analyze", str(tmp_path / "branch.onnx"), "--json", "--no-witness", "--range", "x=-1,1"]) == 1
    found = json.loads(capsys.readouterr().out)
    ((precondition,),) = [w["preconditions"] for w in found["warnings"]]
    assert precondition["low"] > 0
    assert precondition["high"] == 1


def test_a_page_that_cannot_be_written_is_told_before_the_search(model: Path, tmp_path: Path, capsys) -> None:
    assert main(["analyze", str(model), "--html", str(tmp_path)]) == 2
    out = capsys.readouterr()
    assert (out.out, "--html" in out.err, "is a folder" in out.err) == ("", True, True)


def test_names_of_a_model_do_not_act_on_the_terminal(model: Path, tmp_path: Path, capsys) -> None:
    proto = onnx.load(model)
    proto.graph.node[1].name = "\x1b[31mred"
    onnx.save(proto, tmp_path / "odd.onnx")
    assert main(["analyze", str(tmp_path / "odd.onnx"), "--no-witness"]) == 1
    assert "\x1b" not in capsys.readouterr().out


def test_a_folder_that_cannot_be_made_is_named(model: Path, tmp_path: Path) -> None:
    report = irfuzz.analyze(model, inputs=irfuzz.InputSpec(ranges={"x": (-1.0, 1.0)}))
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(irfuzz.UsageError, match=r"taken.*: cannot be made: "):
        report.write_witnesses(tmp_path / "taken")
