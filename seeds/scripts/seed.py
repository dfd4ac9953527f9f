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
        low: smallest element that makes sense, inclusive.
        high: largest element that makes sense, inclusive.
        meaning: one line for a reader.
    """

    name: str
    low: float
    high: float
    meaning: str


@dataclass(frozen=True, slots=True)
class Seed:
    """One seed model with its labelled, held-out samples.

    Attributes:
        name: file stem.
        title: one line for a reader.
        origin: how it was made, one sentence.
        reference: the definition or paper it follows.
        model: the checked model.
        inputs: what each model input means, in the model's order.
        output: what the only output means.
        samples: one array an input; sample ``i`` of an input is ``array[i : i + 1]``.
        labels: int64[N], the right class of each sample.
    """

    name: str
    title: str
    origin: str
    reference: str
    model: onnx.ModelProto
    inputs: tuple[Input, ...]
    output: str
    samples: Mapping[str, np.ndarray]
    labels: np.ndarray
