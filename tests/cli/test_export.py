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
from irfuzz.shipped_folders import seeds_dir

pytestmark = pytest.mark.backend

USE = """
import sys
import numpy as np
import model
outputs = model.run(np.load("weights.npz"), {"image": np.load("image.npy")})
np.save("scores.npy", outputs["scores"])
assert not any(name == "irfuzz" or name.startswith("onnx") for name in sys.modules)
"""


USE_SAVED = """
import numpy as np
import tensorflow as tf
serve = tf.saved_model.load(".").signatures["serving_default"]
np.save("scores.npy", serve(image=tf.constant(np.load("image.npy")))["scores"].numpy())
"""


@pytest.mark.parametrize("form", ["torch", "tensorflow", "savedmodel"])
def test_what_is_written_runs_alone_and_computes_the_same(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch" if form == "torch" else "tensorflow")
    seed = seeds_dir() / "lenet5.onnx"
    assert main(["export", str(seed), "--to", form, "-o", str(tmp_path)]) == 0
    assert "outputs: scores" in capsys.readouterr().out
    shape = [d.dim_value for d in onnx.load(seed).graph.input[0].type.tensor_type.shape.dim]
    image = np.random.default_rng(0).random(shape, np.float32)
    np.save(tmp_path / "image.npy", image)
    subprocess.run([sys.executable, "-c", USE_SAVED if form == "savedmodel" else USE], cwd=tmp_path, check=True)
    (expected,) = ReferenceEvaluator(str(seed)).run(None, {"image": image})
    np.testing.assert_allclose(np.load(tmp_path / "scores.npy"), expected, rtol=1e-4, atol=1e-5)


def test_onnx_stays_what_it_was(tmp_path: Path) -> None:
    out = tmp_path / "same.onnx"
    assert main(["export", str(seeds_dir() / "qcnn.onnx"), "--to", "onnx", "-o", str(out)]) == 0
    assert onnx.load(out) == onnx.load(seeds_dir() / "qcnn.onnx")


ROI_POOL = "g (float[1,1,4,4] x, float[1,5] r) => (float[1,1,1,1] y) { y = MaxRoiPool <pooled_shape=[1, 1]> (x, r) }"


@pytest.mark.parametrize(
    ("form", "text", "words"),
    [
        ("torch", "g (string[2] x) => (string[2] y) { y = Identity(x) }", "torch does not support"),
        ("torch", ROI_POOL, "MaxRoiPool"),
        ("tensorflow", ROI_POOL, "MaxRoiPool"),
        ("keras", ROI_POOL, "MaxRoiPool"),
        ("keras", "g (float[N,4] x) => (float[M,2] y) <int64[2] s = {-1, 2}> { y = Reshape(x, s) }", "not known"),
        (
            "savedmodel",
            "g (float[4] x, int64[2] s) => (float[A, B] y) { y = Reshape(x, s) }",
            "only eager runs know it",
        ),
        ("savedmodel", "g (seq(float[4]) x) => (int64 y) { y = SequenceLength(x) }", "it is no tensor"),
    ],
)
def test_what_a_framework_cannot_express_is_named_and_nothing_is_written(
    form: str,
    text: str,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("irfuzz.cli.progress_display.FIRST", 600.0)  # TensorFlow alone takes longer to start
    path = tmp_path / "m.onnx"
    onnx.save(parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}'), path)
    if form != "torch":
        pytest.importorskip("tensorflow")
    assert main(["export", str(path), "--to", form, "-o", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_folder_of_several_models_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in "ab":
        (tmp_path / f"{name}.onnx").write_bytes((seeds_dir() / "qcnn.onnx").read_bytes())
    assert main(["export", str(tmp_path), "--to", "onnx", "-o", str(tmp_path / "out.onnx")]) == 2
    assert "expected one model, found 2" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["torch", "tensorflow", "savedmodel"])
def test_a_file_where_the_folder_should_be_is_refused(form: str, tmp_path: Path, capsys) -> None:
    pytest.importorskip("torch" if form == "torch" else "tensorflow")
    taken = tmp_path / "taken"
    taken.write_text("mine")
    assert main(["export", str(seeds_dir() / "lenet5.onnx"), "--to", form, "-o", str(taken)]) == 2
    assert capsys.readouterr().err == f"irfuzz: error: --out {taken}: cannot be written: File exists\n"
    assert taken.read_text() == "mine"
