"""Maps, as scikit-learn's classifiers give them, are compared: keys exactly, values numerically."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from irfuzz.cli.main import main
from tests.contrib import saved

pytestmark = pytest.mark.skipif(importlib.util.find_spec("onnxruntime") is None, reason="onnxruntime is not installed")

_T = onnx.TensorProto

TARGETS = """
import numpy as np


def rows(x, keys, off=0.0):
    weights = np.arange(12, dtype=np.float32).reshape(4, 3) / 10
    scores = x @ weights
    odds = np.exp(scores - scores.max(-1, keepdims=True))
    odds = odds / odds.sum(-1, keepdims=True) + np.float32(off)
    return [dict(zip(keys, row.tolist())) for row in odds.astype(np.float32)]


class Right:
    def run(self, model_bytes, inputs):
        return {"z": rows(inputs["x"], ["c", "a", "b"])}


class Far(Right):
    def run(self, model_bytes, inputs):
        return {"z": rows(inputs["x"], ["c", "a", "b"], 0.25)}


class OtherKeys(Right):
    def run(self, model_bytes, inputs):
        return {"z": rows(inputs["x"], ["c", "a", "d"])}
"""


def classifier() -> onnx.ModelProto:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["s"]),
        helper.make_node("Softmax", ["s"], ["p"], axis=-1),
        helper.make_node("ZipMap", ["p"], ["z"], domain="ai.onnx.ml", classlabels_strings=["c", "a", "b"]),
    ]
    floats = helper.make_tensor_type_proto(_T.FLOAT, [])
    maps = helper.make_sequence_type_proto(helper.make_map_type_proto(_T.STRING, floats))
    weights = numpy_helper.from_array(np.arange(12, dtype=np.float32).reshape(4, 3) / 10, "w")
    x = helper.make_tensor_value_info("x", _T.FLOAT, [2, 4])
    graph = helper.make_graph(nodes, "maps", [x], [helper.make_value_info("z", maps)], [weights])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(TARGETS)
    monkeypatch.chdir(tmp_path)
    return saved(classifier(), tmp_path / "maps.onnx")


def check(model: Path, *more: str) -> int:
    return main(["check", model.name, "--seeds", "2", "--no-localise", *more])


def test_equal_maps_agree(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(model, "--targets", "onnxruntime:disabled,onnxruntime:all,mine.py:Right") == 0
    assert "3 targets agree" in capsys.readouterr().out


@pytest.mark.parametrize("fixed", [[], ["--rtol", "1e-4"]])
def test_values_beyond_the_bound_are_told(model: Path, capsys: pytest.CaptureFixture[str], fixed: list[str]) -> None:
    assert check(model, "--targets", "onnxruntime:disabled,mine.py:Right,mine.py:Far", *fixed) == 1
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "maps.onnx: 1 of 3 targets DISAGREE on 2 of 2 inputs"
    assert "mine.py:Far" in out
    assert "z[1]" in out


@pytest.mark.parametrize("fixed", [[], ["--rtol", "1e-4"]])
def test_other_keys_are_told(model: Path, capsys: pytest.CaptureFixture[str], fixed: list[str]) -> None:
    assert check(model, "--targets", "onnxruntime:disabled,mine.py:Right,mine.py:OtherKeys", *fixed) == 1
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "maps.onnx: 1 of 3 targets DISAGREE on 2 of 2 inputs"
    assert "mine.py:OtherKeys" in out


def test_saved_maps_are_compared_too(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    targets = ["--targets", "onnxruntime:disabled,onnxruntime:all"]
    assert check(model, *targets, "--save-outputs", "kept.npz") == 0
    assert check(model, *targets, "--load-outputs", "kept.npz") == 0
    capsys.readouterr()


def test_who_has_no_maps_is_told_once(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(model, "--targets", "onnxruntime:disabled,onnxruntime:all,torch:eager") == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "ZipMap" in line]
    assert len(lines) == 1
    assert lines[0].startswith("torch:eager")


def test_equiv_mutate_and_fuzz_take_them(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["equiv", model.name, "--targets", "onnxruntime:all", "--forms", "3", "--ways", "reload", "--json"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["answers"]["onnxruntime:all"]["same"] >= 2
    assert main(["mutate", model.name, "-o", "mutants", "-n", "3"]) == 0
    assert len(list(Path("mutants").glob("*.onnx"))) == 3
