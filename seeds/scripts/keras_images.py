"""Classifiers of images as Keras defines them: InceptionV3, Inception-ResNet-v2, Xception and MobileNetV3."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from . import images, keras_export, weights
from .keras_export import keras
from .seed import DRAWN, Input, Seed

PACKAGES = ("keras", "numpy", "onnx", "tensorflow-cpu", "tf2onnx")

Repeats = Callable[[Mapping[str, Any]], Mapping[str, str]]


def _none(_config: Mapping[str, Any]) -> Mapping[str, str]:
    return {}


def _build(
    name: str,
    title: str,
    reference: str,
    definition: Callable[..., keras.Model],
    size: int,
    divisor: int,
    seed: int,
    *,
    repeats: Repeats = _none,
    width: str = "",
    high: float = 1.0,
) -> Seed:
    """The network of ``keras.applications`` with its own wiring and fewer channels.

    Args:
        name: file stem.
        title: one line for a reader.
        reference: the definition it follows.
        definition: of ``keras.applications``.
        size: of the picture.
        divisor: of the number of channels.
        seed: of weights and pictures.
        repeats: which blocks are left out, as in ``keras_export.shortened``.
        width: what differs from the definition beside the channels.
        high: value of a full pixel.
    """

    def make() -> keras.Model:
        whole = definition(weights=None, input_shape=(size, size, 3), classes=10, classifier_activation=None)
        config = whole.get_config()
        short = keras_export.shortened(config, repeats(config))
        keras.backend.clear_session()
        return type(whole).from_config(keras_export.narrowed(short, divisor))

    model = keras_export.export(make, seed, ("image", "scores"))
    pictures = np.moveaxis(images.gratings(8, (3, size, size), seed), 2, -1)
    samples = {"image": np.ascontiguousarray(pictures * np.float32(high))}
    return Seed(
        name=name,
        title=title,
        origin=f"keras.applications.{definition.__name__} with 1/{divisor} of the channels{width}, converted by "
        "tf2onnx, with weights drawn from a seeded generator and scaled so that values stay alive",
        reference=reference,
        model=weights.calibrate(model, samples),
        inputs=(Input("image", 0.0, high, "brightness of each pixel in each channel, channels last"),),
        output="score of each class, before softmax",
        samples={"image": samples["image"][:2]},
        data=DRAWN,
        packages=PACKAGES,
    )


def inceptionv3() -> Seed:
    """All eleven mixed blocks."""
    return _build(
        "inceptionv3",
        "InceptionV3: eleven mixed blocks of parallel 1x1, 3x3, 5x5, 1x7 and 7x1 convolutions",
        "Szegedy et al.: Rethinking the Inception Architecture for Computer Vision, 2016, section 6",
        keras.applications.InceptionV3,
        size=75,
        divisor=20,
        seed=21,
    )


def inceptionresnetv2() -> Seed:
    """The repeats of each residual block but the first are left out; the last block of all has no activation."""
    return _build(
        "inceptionresnetv2",
        "Inception-ResNet-v2: Inception blocks with scaled residuals, two reductions, factorised convolutions",
        "Szegedy, Ioffe, Vanhoucke, Alemi: Inception-v4, Inception-ResNet and the Impact of Residual Connections on "
        "Learning, 2017, section 3.2",
        keras.applications.InceptionResNetV2,
        size=75,
        divisor=16,
        seed=22,
        repeats=lambda _: {
            "block35_10_ac": "block35_1_ac",
            "block17_20_ac": "block17_1_ac",
            "block8_9_ac": "block8_1_ac",
        },
        width=" and each block once",
    )


def xception() -> Seed:
    """Two of the eight blocks of the middle flow."""

    def repeats(config: Mapping[str, Any]) -> Mapping[str, str]:
        sums = [layer["name"] for layer in config["layers"] if layer["class_name"] == "Add"]
        entry, middle = 3, 8
        return {sums[entry + middle - 1]: sums[entry + 1]}

    return _build(
        "xception",
        "Xception: depthwise-separable convolutions with linear residual connections, entry, middle and exit flow",
        "Chollet: Xception: Deep Learning with Depthwise Separable Convolutions, 2017, figure 5",
        keras.applications.Xception,
        size=71,
        divisor=16,
        seed=23,
        repeats=repeats,
        width=" and two of eight middle blocks",
    )


def mobilenetv3() -> Seed:
    """Rescaling, hard swish and squeeze-and-excitation as Keras writes them."""
    return _build(
        "mobilenetv3",
        "MobileNetV3-Small: inverted residuals, squeeze-and-excitation with hard sigmoid, hard swish, padding by hand",
        "Howard et al.: Searching for MobileNetV3, 2019, table 2",
        keras.applications.MobileNetV3Small,
        size=32,
        divisor=6,
        seed=24,
        high=255.0,
    )
