"""What a seed script hands over: a model, what it eats, where it comes from and how well it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx

OPSET = 17
"""Opset of the default domain that every seed here uses."""

IR_VERSION = 8
"""ONNX IR version of every seed here: the one that belongs to opset 17."""


@dataclass(frozen=True, slots=True)
class Input:
    """What one model input means.

    Attributes:
        name: its name in the model; dtype and shape are read from there.
        low: smallest element that makes sense, inclusive; ``None`` for strings.
        high: largest element that makes sense, inclusive; ``None`` for strings.
        meaning: one line for a reader.
    """

    name: str
    low: float | None
    high: float | None
    meaning: str


@dataclass(frozen=True, slots=True)
class Data:
    """Where samples come from.

    Attributes:
        origin: data set and who made it, or how they were drawn.
        licence: of the samples.
    """

    origin: str
    licence: str


DIGITS = Data(
    "Alpaydin, Kaynak: Optical Recognition of Handwritten Digits, UCI 1998, as shipped by scikit-learn", "CC-BY-4.0"
)
DRAWN = Data("drawn by its script from a seeded generator", "Apache-2.0")


@dataclass(frozen=True, slots=True)
class Seed:
    """One seed model with samples of its inputs.

    Attributes:
        name: file stem.
        title: one line for a reader.
        origin: how it was made, one sentence.
        reference: the definition or paper it follows.
        model: the checked model.
        inputs: what each model input means, in the model's order.
        output: what the only output means, or each of them in the model's order.
        samples: one array an input. Sample ``i`` of an input is ``array[i : i + 1]`` with labels, ``array[i]`` without.
        labels: the right class (int64[N]) or target (float32[N]) of each held-out sample; ``None`` where nothing was
            learned.
        data: where the samples come from.
        packages: what it is built with, whose versions the index records.
        licence: of the model.
    """

    name: str
    title: str
    origin: str
    reference: str
    model: onnx.ModelProto
    inputs: tuple[Input, ...]
    output: str | tuple[str, ...]
    samples: Mapping[str, np.ndarray]
    labels: np.ndarray | None = None
    data: Data = DIGITS
    packages: tuple[str, ...] = ("numpy", "onnx", "scikit-learn", "torch")
    licence: str = "Apache-2.0"
