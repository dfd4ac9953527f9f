"""Commands draw inputs that a model means, and say what they drew and what to give instead."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from irfuzz.cli.main import main
from irfuzz.store.npz_tensors import pack, unpack
from tests.generate.planning import models

pytestmark = pytest.mark.backend

TARGETS = ("--targets", "ort:disabled,reference")


def written(text: str, path: Path) -> str:
    path.write_bytes(models.program(models.filled(text)).to_bytes())
    return str(path)


def test_samples_of_check_differ_in_size_and_are_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = written(models.PYRAMID, tmp_path / "m.onnx")
    assert main(["check", model, *TARGETS, "--seeds", "4", "--json", "--save-inputs", str(tmp_path / "in.npz")]) == 0
    assert json.loads(capsys.readouterr().out)["agree"]
    (rows,) = unpack((tmp_path / "in.npz").read_bytes(), "in").values()
    assert rows is not None
    shapes = [np.shape(row) for row in rows]  # type: ignore[arg-type]
    assert len(shapes) == 4
    assert len(set(shapes)) > 1
    assert all(min(shape[2:]) >= 32 for shape in shapes)
    assert main(["check", model, *TARGETS, "--data", str(tmp_path / "in.npz"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["samples"] == 4


def test_saved_samples_fit_the_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = written(models.PYRAMID, tmp_path / "m.onnx")
    rows = [np.zeros((1, 3, 64, 64), np.float32), np.zeros((1, 2, 64, 64), np.float32)]
    (tmp_path / "in.npz").write_bytes(pack({"image": list(rows)}))
    assert main(["check", model, *TARGETS, "--data", str(tmp_path / "in.npz")]) == 2
    assert "sample 1: 'image' has shape [1, 2, 64, 64]" in capsys.readouterr().err


def test_a_model_that_runs_with_nothing_names_inputs_and_flags(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "g (float[n, k] x) => (float[a, b] y) <int64[2] s = {7, 13}> { y = Reshape (x, s) }"
    model = written(text, tmp_path / "m.onnx")
    assert main(["check", model, *TARGETS]) == 2
    told = capsys.readouterr().err
    assert "x float32[" in told
    assert "--input-shapes x:NxN, --size n=N, --range x=LO,HI, or --data FILE.npz" in told


def test_seeds_with_an_index_are_left_as_they_are(root: Path) -> None:
    from irfuzz.api.unstated_input_planning import planned
    from irfuzz.cli.model_reading_and_output_checks import seeds_of

    loaded = seeds_of([root / "seeds" / "transformer.onnx"])
    assert planned(loaded) == loaded


def test_mutants_carry_the_plan_of_their_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from irfuzz.ir.input_domain import VARIANTS

    model = written(models.CACHE, tmp_path / "m.onnx")
    assert main(["mutate", model, "-o", str(tmp_path / "out"), "-n", "3"]) == 0
    capsys.readouterr()
    for path in (tmp_path / "out").glob("*.onnx"):
        inputs = onnx.load(path).graph.input
        assert any(entry.key == VARIANTS for value in inputs for entry in value.metadata_props)
