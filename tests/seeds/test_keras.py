"""Seeds that tf2onnx makes from Keras: the same bytes in every process, in an order and with names that repeat."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.seeds.shipped import BY_NAME, ROOT, SEEDS, load

KERAS = ("inceptionv3", "inceptionresnetv2", "xception", "mobilenetv3", "simplernn", "gru", "bilstm")

needs_tensorflow = pytest.mark.skipif(
    not all(importlib.util.find_spec(m) for m in ("tensorflow", "tf2onnx")), reason="needs irfuzz[tensorflow]"
)


@pytest.mark.parametrize("name", KERAS)
def test_they_come_from_tf2onnx(name: str) -> None:
    model = load(name)
    assert model.producer_name == "tf2onnx"
    assert "tf2onnx" in BY_NAME[name]["built_with"]
    names = [v for node in model.graph.node for v in (node.name, *node.output)]
    assert not [n for n in names if "__" in n], "a number that tf2onnx counted"


def test_recurrent_layers_are_loops_and_operators() -> None:
    loops = {name: [n.op_type for n in load(name).graph.node].count("Loop") for name in ("simplernn", "gru", "bilstm")}
    assert loops == {"simplernn": 2, "gru": 2, "bilstm": 0}
    assert "LSTM" in BY_NAME["bilstm"]["operators"]


@needs_tensorflow
@pytest.mark.backend
def test_a_keras_script_builds_the_committed_bytes(tmp_path: Path) -> None:
    """Whatever text hashes to; the other scripts differ in what they build, not in how."""
    command = [sys.executable, "-m", "seeds.scripts.build", "gru", "-o", str(tmp_path)]
    env = {**os.environ, "PYTHONHASHSEED": "9", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in ("gru.onnx", "gru.inputs.npz"):
        assert (tmp_path / name).read_bytes() == (SEEDS / name).read_bytes(), name
