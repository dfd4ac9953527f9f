"""``irfuzz export``: what it writes runs without irfuzz and computes the same; what it cannot write it names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser
from onnx.reference import ReferenceEvaluator

from irfuzz.cli.main import main
from irfuzz.resources import seeds_dir

pytestmark = pytest.mark.backend

USE = """
import sys
import numpy as np
import model
outputs = model.run(np.load("weights.npz"), {"image": np.load("image.npy")})
np.save("scores.npy", outputs["scores"])
assert not any(name == "irfuzz" or name.startswith("onnx") for name in sys.modules)
"""


def test_a_torch_module_runs_alone_and_computes_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    seed = seeds_dir() / "lenet5.onnx"
    assert main(["export", str(seed), "--to", "torch", "-o", str(tmp_path)]) == 0
    assert "outputs: scores" in capsys.readouterr().out
    shape = [d.dim_value for d in onnx.load(seed).graph.input[0].type.tensor_type.shape.dim]
    image = np.random.default_rng(0).random(shape, np.float32)
    np.save(tmp_path / "image.npy", image)
    subprocess.run([sys.executable, "-c", USE], cwd=tmp_path, check=True)
    (expected,) = ReferenceEvaluator(str(seed)).run(None, {"image": image})
    np.testing.assert_allclose(np.load(tmp_path / "scores.npy"), expected, rtol=1e-4, atol=1e-5)


def test_onnx_stays_what_it_was(tmp_path: Path) -> None:
    out = tmp_path / "same.onnx"
    assert main(["export", str(seeds_dir() / "qcnn.onnx"), "--to", "onnx", "-o", str(out)]) == 0
    assert onnx.load(out) == onnx.load(seeds_dir() / "qcnn.onnx")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("g (string[2] x) => (string[2] y) { y = Identity(x) }", "torch does not support"),
        (
            "g (float[1,1,4,4] x, float[1,5] r) => (float[1,1,1,1] y) { y = MaxRoiPool <pooled_shape=[1, 1]> (x, r) }",
            "MaxRoiPool",
        ),
    ],
)
def test_what_torch_cannot_express_is_named_and_nothing_is_written(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}'), path)
    assert main(["export", str(path), "--to", "torch", "-o", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_folder_of_several_models_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in "ab":
        (tmp_path / f"{name}.onnx").write_bytes((seeds_dir() / "qcnn.onnx").read_bytes())
    assert main(["export", str(tmp_path), "--to", "onnx", "-o", str(tmp_path / "out.onnx")]) == 2
    assert "expected one model, found 2" in capsys.readouterr().err
