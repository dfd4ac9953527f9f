"""A Keras model as a graph of its layers, and the same layers on the back ends of Keras."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from irfuzz.errors import InvalidProgram
from irfuzz.execute.run_types import Exit
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import describe, resolve
from irfuzz.frontends.onnx_file import load_seed
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits

pytestmark = pytest.mark.backend
pytest.importorskip("keras")
pytest.importorskip("tensorflow")
pytest.importorskip("tf2onnx")

NETS = """
import keras
from keras import layers


def cells(x):
    x = layers.Conv2D(4, 3, activation="relu", padding="same", name="conv")(x)
    x = layers.BatchNormalization(name="norm")(x)
    return layers.Add(name="add")([layers.AveragePooling2D(2, name="mean")(x), layers.MaxPooling2D(2, name="max")(x)])


def net():
    image = keras.Input((8, 8, 3), name="image")
    inner_image = keras.Input((8, 8, 3))
    inner = keras.Model(inner_image, cells(inner_image), name="inner")
    x = inner(image) * 2.0
    x = layers.Reshape((8, 8), name="rows")(x)
    x = layers.LSTM(5, name="lstm")(x)
    return keras.Model(image, layers.Dense(3, activation="softmax", name="scores")(x))


def stacked():
    series = keras.Input((6, 3), name="series")
    x = layers.LSTM(4, return_sequences=True, name="first")(series)
    x = layers.GRU(5, return_sequences=True, name="second")(x)
    return keras.Model(series, layers.Dense(2, name="scores")(layers.GlobalMaxPooling1D(name="most")(x)))


def masked():
    words = keras.Input((6,), dtype="int32")
    return keras.Model(words, layers.LSTM(3)(layers.Embedding(10, 4, mask_zero=True)(words)))
"""
X = np.random.default_rng(0).normal(size=(2, 8, 8, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def nets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nets") / "nets.py"
    path.write_text(NETS)
    return path


@pytest.fixture(scope="module")
def net(nets: Path) -> Program:
    return load_seed(Path(f"{nets}:net"), layers=True)


def test_a_node_is_a_layer_also_of_a_model_inside(net: Program) -> None:
    kinds = ["Conv2D", "BatchNormalization", "AveragePooling2D", "MaxPooling2D", "Add", "Multiply"]
    assert sorted(n.op_type for n in net.graph) == sorted([*kinds, "Reshape", "LSTM", "Dense"])
    assert {n.domain for n in net.graph} == {"keras"}
    assert {"conv", "norm", "mean", "max", "add", "rows", "lstm", "scores"} <= {n.outputs[0].name for n in net.graph}


def test_every_back_end_computes_what_the_bodies_say(net: Program) -> None:
    there = [a.target.name for a in describe() if a.target.component == "keras" and not a.why_not]
    names = [n for n in there if "@" not in n]
    assert "keras:tensorflow" in names
    with Runner(resolve([*names, "onnxruntime:disabled"]), Limits(seconds=120), longest=600) as runner:
        *own, other = runner.run(net, {"image": X})
    assert [(r.target.name, r.exit, r.error) for r in own] == [(n, Exit.OK, "") for n in names]
    for result in own:
        found, expected = result.outputs["scores"], other.outputs["scores"]
        assert isinstance(found, np.ndarray)
        assert isinstance(expected, np.ndarray)
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_recurrent_layers_may_stand_behind_one_another(nets: Path) -> None:
    net = load_seed(Path(f"{nets}:stacked"), layers=True)
    sizes = {n.outputs[0].name: (net.tensor(n.outputs[0]) or pytest.fail("no tensor")).shape for n in net.graph}
    assert [sizes[name][1:] for name in ("first", "second", "most")] == [(6, 4), (6, 5), (5,)]
    series = np.random.default_rng(1).normal(size=(2, 6, 3)).astype(np.float32)
    with Runner(resolve(["keras:tensorflow", "onnxruntime:disabled"]), Limits(seconds=120), longest=600) as runner:
        own, other = runner.run(net, {"series": series})
    assert (own.exit, own.error) == (Exit.OK, "")
    np.testing.assert_allclose(own.outputs["scores"], other.outputs["scores"], atol=1e-5)  # type: ignore[arg-type]


def test_without_layers_the_model_is_what_tf2onnx_makes_of_it(nets: Path) -> None:
    assert not load_seed(Path(f"{nets}:net")).model.functions


def test_a_model_that_passes_masks_is_refused(nets: Path) -> None:
    with pytest.raises(InvalidProgram, match="passes a mask"):
        load_seed(Path(f"{nets}:masked"), layers=True)
