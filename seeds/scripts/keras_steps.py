"""Classifiers of sequences as Keras defines them: SimpleRNN, GRU and bidirectional LSTM, each in two layers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import keras_export
from .keras_export import keras
from .keras_images import PACKAGES
from .seed import DRAWN, Input, Seed

STEPS, FEATURES, CLASSES = 8, 6, 4


def walks(count: int, seed: int) -> np.ndarray:
    """float32[count, 1, STEPS, FEATURES]: random walks in [-2, 2], in steps of 1/64."""
    rng = np.random.default_rng(seed)
    steps = rng.normal(0, 0.7, (count, 1, STEPS, FEATURES)).cumsum(axis=2)
    return (np.rint(np.clip(steps, -2, 2) * 64) / 64).astype(np.float32)


def _build(
    name: str, title: str, reference: str, layers: Callable[[], list[keras.Layer]], seed: int, batch: int | None
) -> Seed:
    def make() -> keras.Model:
        steps = keras.Input((STEPS, FEATURES), batch_size=batch, name="steps")
        x = steps
        for layer in (*layers(), keras.layers.Dense(CLASSES, name="head")):
            x = layer(x)
        return keras.Model(steps, x, name=name)

    return Seed(
        name=name,
        title=title,
        origin="defined in Keras, converted by tf2onnx, with weights drawn from a seeded generator",
        reference=reference,
        model=keras_export.export(make, seed, ("steps", "scores")),
        inputs=(Input("steps", -2.0, 2.0, "features of each step"),),
        output="score of each class, before softmax",
        samples={"steps": walks(4, seed)},
        data=DRAWN,
        packages=PACKAGES,
    )


def simplernn() -> Seed:
    """Loops over the steps, the second one backwards."""
    layer = keras.layers.SimpleRNN
    return _build(
        "simplernn",
        "Two recurrent layers with tanh as Loops, the second one reading backwards",
        "Elman: Finding Structure in Time, 1990",
        lambda: [layer(12, return_sequences=True, name="first"), layer(10, go_backwards=True, name="second")],
        seed=31,
        batch=1,
    )


def gru() -> Seed:
    """Both forms of the candidate: the reset gate after and before the matrix product."""
    layer = keras.layers.GRU
    return _build(
        "gru",
        "Two GRU layers as Loops: reset gate after the matrix product, then before it",
        "Cho et al.: Learning Phrase Representations using RNN Encoder-Decoder, 2014, section 2.3",
        lambda: [layer(12, return_sequences=True, name="first"), layer(10, reset_after=False, name="second")],
        seed=32,
        batch=1,
    )


def bilstm() -> Seed:
    """LSTM operators in both directions, whose answers are joined once and added once."""

    def layers() -> list[keras.Layer]:
        both, lstm = keras.layers.Bidirectional, keras.layers.LSTM
        return [
            both(lstm(12, return_sequences=True), name="first"),
            both(lstm(8), merge_mode="sum", name="second"),
        ]

    return _build(
        "bilstm",
        "Two bidirectional LSTM layers with initial states of computed shape, named batch",
        "Graves, Schmidhuber: Framewise Phoneme Classification with Bidirectional LSTM and Other Neural Network "
        "Architectures, 2005",
        layers,
        seed=33,
        batch=None,
    )
