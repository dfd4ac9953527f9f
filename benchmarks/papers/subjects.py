"""The models that the papers ran, built of their public definitions with seeded weights.

``python -m benchmarks.papers.subjects FOLDER NAME ...`` saves them as Keras files; without names, all of them. Each is
also a factory: ``irfuzz check benchmarks/papers/subjects.py:lenet5 --targets keras``. Needs Keras, on any back end.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Net = Callable[[], Any]


def seeded(make: Net) -> Net:
    """The same model with the same weights each time, and statistics of normalisations that are no zeros and ones."""

    def made() -> Any:
        import keras

        seed = zlib.crc32(make.__name__.encode())
        keras.utils.set_random_seed(seed)
        model = make()
        rng = np.random.default_rng(seed)
        for layer in model.layers:
            if isinstance(layer, keras.layers.BatchNormalization):
                layer.set_weights([_drawn(rng, weight) for weight in layer.weights])
        return model

    made.__name__, made.__doc__ = make.__name__, make.__doc__
    return made


def _drawn(rng: np.random.Generator, weight: Any) -> np.ndarray:
    positive = weight.path.endswith(("gamma", "variance"))
    return (rng.uniform(0.5, 1.5, weight.shape) if positive else rng.normal(0, 0.1, weight.shape)).astype(np.float32)


@seeded
def lenet5() -> Any:
    """LeNet-5 (LeCun 1998) for MNIST, with the averages and activations of its paper (AUDEE, COMET)."""
    from keras import Sequential, layers

    return Sequential(
        [
            layers.Input((28, 28, 1)),
            layers.Conv2D(6, 5, padding="same", activation="tanh"),
            layers.AveragePooling2D(2),
            layers.Conv2D(16, 5, activation="tanh"),
            layers.AveragePooling2D(2),
            layers.Flatten(),
            layers.Dense(120, activation="tanh"),
            layers.Dense(84, activation="tanh"),
            layers.Dense(10, activation="softmax"),
        ]
    )


@seeded
def alexnet_cifar() -> Any:
    """AlexNet's layers for CIFAR-10 (COMET)."""
    from keras import Sequential, layers

    return Sequential(
        [
            layers.Input((32, 32, 3)),
            layers.Conv2D(96, 3, strides=2, padding="same", activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(256, 5, padding="same", activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(384, 3, padding="same", activation="relu"),
            layers.Conv2D(384, 3, padding="same", activation="relu"),
            layers.Conv2D(256, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            layers.Dense(512, activation="relu"),
            layers.Dropout(0.5),
            layers.Dense(10, activation="softmax"),
        ]
    )


@seeded
def lenet5_fashion() -> Any:
    """LeNet-5 for Fashion-MNIST, with kernels of 2, of a notebook that LEMON's repository names (413K weights)."""
    from keras import Sequential, layers

    return Sequential(
        [
            layers.Input((28, 28, 1)),
            layers.Conv2D(64, 2, padding="same", activation="relu"),
            layers.MaxPooling2D(2),
            layers.Dropout(0.3),
            layers.Conv2D(32, 2, padding="same", activation="relu"),
            layers.MaxPooling2D(2),
            layers.Dropout(0.3),
            layers.Flatten(),
            layers.Dense(256, activation="relu"),
            layers.Dropout(0.5),
            layers.Dense(10, activation="softmax"),
        ]
    )


@seeded
def alexnet_small() -> Any:
    """AlexNet for CIFAR-10 at half its width, of a notebook that LEMON's repository names (1,251K weights)."""
    from keras import Sequential, layers

    return Sequential(
        [
            layers.Input((32, 32, 3)),
            layers.Conv2D(48, 3, strides=2, padding="same", activation="relu"),
            layers.MaxPooling2D(2, strides=2),
            layers.BatchNormalization(),
            layers.Conv2D(96, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(3, strides=2),
            layers.BatchNormalization(),
            layers.Conv2D(192, 3, padding="same", activation="relu"),
            layers.Conv2D(192, 3, padding="same", activation="relu"),
            layers.Conv2D(256, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(3, strides=2),
            layers.BatchNormalization(),
            layers.Flatten(),
            layers.Dense(512, activation="tanh"),
            layers.Dropout(0.5),
            layers.Dense(256, activation="tanh"),
            layers.Dropout(0.5),
            layers.Dense(10, activation="softmax"),
        ]
    )


@seeded
def resnet20() -> Any:
    """ResNet-20 for CIFAR-10 (He 2016, section 4.2) (AUDEE)."""
    from keras import Model, layers

    def convolved(x: Any, width: int, stride: int = 1) -> Any:
        x = layers.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(x)
        return layers.BatchNormalization()(x)

    image = layers.Input((32, 32, 3))
    x = layers.ReLU()(convolved(image, 16))
    for width in (16, 32, 64):
        for block in range(3):
            stride = 2 if width > 16 and not block else 1
            short = x if stride == 1 else layers.Conv2D(width, 1, strides=2, use_bias=False)(x)
            inner = convolved(layers.ReLU()(convolved(x, width, stride)), width)
            x = layers.ReLU()(layers.Add()([short, inner]))
    return Model(image, layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling2D()(x)))


def _application(name: str, size: int, classes: int = 1000) -> Any:
    import keras

    return getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), classes=classes)


@seeded
def vgg16_cifar() -> Any:
    """VGG-16 for CIFAR-10 (AUDEE)."""
    return _application("VGG16", 32, 10)


@seeded
def vgg19() -> Any:
    """VGG-19 (CRADLE)."""
    return _application("VGG19", 224)


@seeded
def resnet50() -> Any:
    """ResNet-50 (CRADLE, COMET)."""
    return _application("ResNet50", 224)


@seeded
def xception() -> Any:
    """Xception (CRADLE, COMET)."""
    return _application("Xception", 299)


@seeded
def mobilenet() -> Any:
    """MobileNet (CRADLE)."""
    return _application("MobileNet", 224)


@seeded
def mobilenetv2() -> Any:
    """MobileNetV2 (CRADLE, AUDEE, COMET)."""
    return _application("MobileNetV2", 224)


@seeded
def inceptionv3() -> Any:
    """InceptionV3 (CRADLE, COMET)."""
    return _application("InceptionV3", 299)


@seeded
def inceptionresnetv2() -> Any:
    """InceptionResNetV2 (CRADLE, COMET)."""
    return _application("InceptionResNetV2", 299)


@seeded
def densenet121() -> Any:
    """DenseNet-121 (CRADLE, COMET)."""
    return _application("DenseNet121", 224)


def _sentiment(cell: str) -> Any:
    from keras import Sequential, layers

    return Sequential(
        [
            layers.Input((80,), dtype="int32"),
            layers.Embedding(20000, 128),
            getattr(layers, cell)(128),
            layers.Dense(1, activation="sigmoid"),
        ]
    )


@seeded
def simple_rnn_sentiment() -> Any:
    """A SimpleRNN on words of IMDB (AUDEE)."""
    return _sentiment("SimpleRNN")


@seeded
def lstm_sentiment() -> Any:
    """An LSTM on words of IMDB (AUDEE)."""
    return _sentiment("LSTM")


@seeded
def gru_sentiment() -> Any:
    """A GRU on words of IMDB (AUDEE)."""
    return _sentiment("GRU")


@seeded
def lstm_stock() -> Any:
    """Two LSTM layers on sixty prices (COMET)."""
    from keras import Sequential, layers

    cells = [layers.LSTM(50, return_sequences=True), layers.Dropout(0.2), layers.LSTM(50), layers.Dense(1)]
    return Sequential([layers.Input((60, 1)), *cells])


@seeded
def lstm_sine() -> Any:
    """An LSTM on a sine (COMET)."""
    from keras import Sequential, layers

    return Sequential([layers.Input((10, 1)), layers.LSTM(64), layers.Dense(1)])


SUBJECTS: dict[str, Net] = {
    net.__name__: net
    for net in (
        *(
            lenet5,
            lenet5_fashion,
            alexnet_cifar,
            alexnet_small,
            resnet20,
            vgg16_cifar,
            vgg19,
            resnet50,
            xception,
            mobilenet,
            mobilenetv2,
        ),
        *(inceptionv3, inceptionresnetv2, densenet121),
        *(simple_rnn_sentiment, lstm_sentiment, gru_sentiment, lstm_stock, lstm_sine),
    )
}
"""By name."""


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers.subjects", description=__doc__)
    parser.add_argument("folder", type=Path, help="Where the files go.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"Which: {', '.join(SUBJECTS)}. Default: all.")
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in SUBJECTS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(SUBJECTS)}")
    args.folder.mkdir(parents=True, exist_ok=True)
    for name in args.names or SUBJECTS:
        path = args.folder / f"{name}.keras"
        SUBJECTS[name]().save(path)
        print(f"{path}: {path.stat().st_size >> 10} KiB", flush=True)


if __name__ == "__main__":
    main()
