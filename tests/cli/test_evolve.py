"""``irfuzz evolve``: NaN and inconsistencies at each level, witnesses that replay alone, bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from benchmarks.numeric.programs import PAIRS
from irfuzz.cli.main import main

pytestmark = pytest.mark.backend
pytest.importorskip("onnxruntime")

FAULTS = Path(__file__).parents[1] / "planted_targets" / "faults.py"

NORMALISED = """<ir_version: 8, opset_import: ["" : 17]> normalised (float[1,3,4] x) => (float[1,3,4] y)
<float[3] s = {1, 1, 1}, float[3] b = {0, 0, 0}, float[3] m = {0, 0, 0}, float[3] v = {1, 1, 1}>
{ n = BatchNormalization<epsilon = 0.1>(x, s, b, m, v) y = Softmax(n) }"""

EPSILON = '''
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator


class OffByX:
    """Adds a tenth of the largest element to the first score: a wrong label only where two are near."""

    def run(self, model, inputs):
        model = onnx.load_model_from_string(model)
        values = ReferenceEvaluator(model).run(None, inputs)
        made = dict(zip([o.name for o in model.graph.output], values))
        for value in made.values():
            value[..., 0] += 0.1 * np.abs(value).max()
        return made
'''


def model_of(name: str, folder: Path) -> Path:
    (pair,) = (p for p in PAIRS if p.faulty.name == name)
    onnx.save(pair.faulty.model(), folder / "model.onnx")
    return folder / "model.onnx"


def replay(folder: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "repro.py"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_nan_is_found_and_replays_alone(tmp_path: Path, capsys) -> None:
    model, out = model_of("unit-vector", tmp_path), tmp_path / "out"
    assert main(["evolve", str(model), "--range", "x=-1,1", "-o", str(out)]) == 1
    assert "nan: y is NaN" in capsys.readouterr().out
    with np.load(out / "inputs.npz") as arrays:
        given = arrays["x"]
    assert np.abs(given).max() <= 1
    assert (given == 0).all(axis=1).any(), "a row without length"
    done = replay(out)
    assert (done.returncode, "the fault shows" in done.stdout) == (1, True), done.stdout + done.stderr


def test_a_mended_program_has_none(tmp_path: Path, capsys) -> None:
    (pair,) = (p for p in PAIRS if p.faulty.name == "unit-vector")
    onnx.save(pair.mended.model(), tmp_path / "m.onnx")
    assert main(["evolve", str(tmp_path / "m.onnx"), "--range", "x=-1,1", "--generations", "10", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["found"], told["generations"], told["runs"]) == (None, 10, 32 + 9 * 24)


def test_weights_with_nan_stand_in_the_model(tmp_path: Path, capsys) -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]> rooted (float[2] x) => (float[2] y)
    <float[2] w = {4.0, 9.0}> { s = Sqrt(w) y = Mul(x, s) }"""
    onnx.save(parser.parse_model(text), tmp_path / "m.onnx")
    words = ["evolve", str(tmp_path / "m.onnx"), "--level", "weights", "--range", "x=0,1", "-o", str(tmp_path / "o")]
    assert main([*words, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["found"]["kind"], told["found"]["value"]) == ("nan", "s")
    (weight,) = onnx.load(tmp_path / "o" / "model.onnx").graph.initializer
    assert onnx.numpy_helper.to_array(weight).min() < 0
    assert replay(tmp_path / "o").returncode == 1
    assert main([*words[:-2], "--range", "w=1,9", "--generations", "5"]) == 0, "within the range nothing goes wrong"


def test_an_inconsistency_of_a_wrong_target_is_found_and_replays(tmp_path: Path, capsys, monkeypatch) -> None:
    (tmp_path / "wrong.py").write_text(EPSILON)
    onnx.save(parser.parse_model(NORMALISED), tmp_path / "m.onnx")
    monkeypatch.chdir(tmp_path)
    targets = "reference,wrong.py:OffByX"
    words = ["evolve", "m.onnx", "--level", "both", "--fitness", "inconsistency", "--range", "x=-1,1"]
    assert main([*words, "--targets", targets, "--json", "-o", "out"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["found"]["kind"] == "inconsistency"
    assert "label" in told["found"]["shown"]
    done = replay(tmp_path / "out")
    assert done.returncode == 1, done.stdout + done.stderr


def test_healthy_targets_agree(tmp_path: Path, capsys) -> None:
    onnx.save(parser.parse_model(NORMALISED), tmp_path / "m.onnx")
    words = ["evolve", str(tmp_path / "m.onnx"), "--level", "both", "--fitness", "inconsistency", "--range", "x=-1,1"]
    assert main([*words, "--targets", "reference,onnxruntime:disabled,onnxruntime:all", "--generations", "6"]) == 0
    assert "nothing found" in capsys.readouterr().out


def test_a_crash_is_found(tmp_path: Path, capsys) -> None:
    model = model_of("unit-vector", tmp_path)
    words = ["evolve", str(model), "--range", "x=-1,1", "--population", "4", "--generations", "1"]
    assert main([*words, "--targets", f"{FAULTS}:Segfault"]) == 1
    assert "crash: " in capsys.readouterr().out


def test_equal_seeds_find_the_same(tmp_path: Path, capsys) -> None:
    model = model_of("tanh", tmp_path)
    told = []
    for _ in range(2):
        assert main(["evolve", str(model), "--range", "x=-200,200", "--seed", "5", "--json"]) == 1
        found = json.loads(capsys.readouterr().out)
        told.append((found["found"], found["runs"], found["best"]))
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--range", "x=2,1"], "LO <= HI"),
        (["--range", "nothing=0,1"], "no such input"),
        (["--level", "weights"], "model.onnx: the model has no weight that can evolve"),
        (["--level", "layers"], "layers"),
        (["--population", "3"], "at least 4"),
        (["--fitness", "inconsistency", "--targets", "reference"], "give two"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(tmp_path: Path, words: list[str], said: str, capsys) -> None:
    model = model_of("unit-vector", tmp_path)
    assert main(["evolve", str(model), *words, "-o", str(tmp_path / "out")]) == 2
    assert not (tmp_path / "out").exists()
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error
