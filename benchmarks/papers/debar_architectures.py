"""The nine buggy architectures of DEBAR's first data set (table 1) as TensorFlow code, each with its mended twin.

Rebuilt from the public descriptions: six questions and programs of the study of TensorFlow bugs (Zhang et al., ISSTA
2018: GitHub-IPS-1, 6, 9 and StackOverflow-IPS-1, 2, 6, 7, 14) and TensorFuzz's network. Each class makes its
variables with TensorFlow 1's initialisers and computes the loss in ``__call__``, with the fault or without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

Ends = tuple[float, float]
DIGIT, ONE_HOT = (0.0, 1.0), (0.0, 1.0)


def normal(*shape: int, stddev: float = 0.1) -> tf.Variable:
    """``tf.truncated_normal``, which stays within two deviations."""
    seed = (29, len(shape))
    return tf.Variable(tf.random.stateless_truncated_normal(shape, seed, stddev=stddev), name="weight")


def constant(value: float, *shape: int) -> tf.Variable:
    """A bias, say."""
    return tf.Variable(tf.fill(shape, value), name="bias")


def zeros(*shape: int) -> tf.Variable:
    """As ``tf.Variable(tf.zeros(shape))``, how most tutorials begin."""
    return constant(0.0, *shape)


def cross_entropy(labels: Any, p: Any) -> Any:
    """As the manual of TensorFlow 1 wrote it: infinite where a probability underflows to 0."""
    return -tf.reduce_sum(labels * tf.math.log(p))


def stable_cross_entropy(labels: Any, logits: Any) -> Any:
    """The mended form that the answers give."""
    return tf.reduce_sum(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits))


class SpatialTransformer(tf.Module):
    """GitHub-IPS-1: a localisation network turns pictures of 40x40; the classifier ends in log(softmax)."""

    def __init__(self, *, mended: bool) -> None:
        super().__init__()
        self.mended = mended
        self.w_loc1, self.b_loc1 = normal(1600, 20), constant(0.1, 20)
        self.w_loc2 = zeros(20, 6)
        self.b_loc2 = tf.Variable(np.array([1, 0, 0, 0, 1, 0], np.float32), name="b_loc2")
        self.w_conv1, self.b_conv1 = normal(3, 3, 1, 16), constant(0.1, 16)
        self.w_conv2, self.b_conv2 = normal(3, 3, 16, 16), constant(0.1, 16)
        self.w_fc1, self.b_fc1 = normal(10 * 10 * 16, 64), constant(0.1, 64)
        self.w_fc2, self.b_fc2 = normal(64, 10), constant(0.1, 10)

    def __call__(self, x: Any, y: Any) -> Any:
        hidden = tf.tanh(x @ self.w_loc1 + self.b_loc1)
        theta = tf.reshape(tf.tanh(hidden @ self.w_loc2 + self.b_loc2), [-1, 2, 3])
        image = tf.reshape(x, [-1, 40, 40, 1])
        moved = image * tf.reshape(theta[:, 0, 0], [-1, 1, 1, 1]) + tf.reshape(theta[:, 0, 2], [-1, 1, 1, 1])
        h = tf.nn.relu(tf.nn.conv2d(moved, self.w_conv1, strides=2, padding="SAME") + self.b_conv1)
        h = tf.nn.relu(tf.nn.conv2d(h, self.w_conv2, strides=2, padding="SAME") + self.b_conv2)
        h = tf.nn.relu(tf.reshape(h, [-1, 10 * 10 * 16]) @ self.w_fc1 + self.b_fc1)
        logits = h @ self.w_fc2 + self.b_fc2
        return stable_cross_entropy(y, logits) if self.mended else cross_entropy(y, tf.nn.softmax(logits))


class LogisticRegression(tf.Module):
    """GitHub-IPS-6: both logarithms of a sigmoid's cross entropy."""

    def __init__(self, *, mended: bool) -> None:
        super().__init__()
        self.mended = mended
        self.w, self.b = normal(100, 1, stddev=1.0), zeros(1)

    def __call__(self, x: Any, y: Any) -> Any:
        p = tf.sigmoid(x @ self.w + self.b)
        if self.mended:
            p = tf.clip_by_value(p, 1e-6, 1 - 1e-6)
        return -tf.reduce_mean(y * tf.math.log(p) + (1 - y) * tf.math.log(1 - p))


class SoftmaxRegression(tf.Module):
    """GitHub-IPS-9 and StackOverflow-IPS-14: the tutorial's classifier of digits."""

    def __init__(self, *, mended: bool) -> None:
        super().__init__()
        self.mended = mended
        self.w, self.b = zeros(784, 10), zeros(10)

    def __call__(self, x: Any, y: Any) -> Any:
        p = tf.nn.softmax(x @ self.w + self.b)
        if self.mended:
            p = tf.clip_by_value(p, 1e-10, 1.0)
        return cross_entropy(y, p)


class ConvolutionalNetwork(tf.Module):
    """StackOverflow-IPS-1, 2 and 6: the tutorial's network with dropout; they differ in how they are mended."""

    def __init__(self, mend: Callable[[Any, Any], Any] | None, *, fan: int = 5) -> None:
        super().__init__()
        self.mend = mend
        self.w1, self.b1 = normal(fan, fan, 1, 32), constant(0.1, 32)
        self.w2, self.b2 = normal(fan, fan, 32, 64), constant(0.1, 64)
        self.w3, self.b3 = normal(7 * 7 * 64, 1024), constant(0.1, 1024)
        self.w4, self.b4 = normal(1024, 10), constant(0.1, 10)

    def __call__(self, x: Any, y: Any, keep: Any) -> Any:
        h = tf.reshape(x, [-1, 28, 28, 1])
        for w, b in ((self.w1, self.b1), (self.w2, self.b2)):
            h = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(h, w, strides=1, padding="SAME") + b), 2, 2, "SAME")
        h = tf.nn.relu(tf.reshape(h, [-1, 7 * 7 * 64]) @ self.w3 + self.b3) / keep
        logits = h @ self.w4 + self.b4
        return cross_entropy(y, tf.nn.softmax(logits)) if self.mend is None else self.mend(y, logits)


def with_epsilon(labels: Any, logits: Any) -> Any:
    """``tf.log(y + 1e-9)``."""
    return -tf.reduce_sum(labels * tf.math.log(tf.nn.softmax(logits) + 1e-9))


def clipped(labels: Any, logits: Any) -> Any:
    """``tf.log(tf.clip_by_value(y, 1e-10, 1.0))``."""
    return -tf.reduce_sum(labels * tf.math.log(tf.clip_by_value(tf.nn.softmax(logits), 1e-10, 1.0)))


class LogOfLogits(tf.Module):
    """StackOverflow-IPS-7: a perceptron whose loss takes logarithms of sigmoids without any limit."""

    def __init__(self, *, mended: bool) -> None:
        super().__init__()
        self.mended = mended
        self.w1, self.b1 = normal(784, 500), zeros(500)
        self.w2, self.b2 = normal(500, 10), zeros(10)

    def __call__(self, x: Any, y: Any) -> Any:
        p = tf.sigmoid(tf.sigmoid(x @ self.w1 + self.b1) @ self.w2 + self.b2)
        one, log = 1.0, tf.math.log
        if self.mended:
            return tf.reduce_mean(-y * log(p + 1e-6) - (1 - y) * log(one - p + 1e-6))
        return tf.reduce_mean(-y * log(p) - (1 - y) * log(one - p))


class TensorFuzz(tf.Module):
    """TensorFuzz's network: exponentials, their quotient and its logarithm, each of them unsafe."""

    def __init__(self, *, mended: bool) -> None:
        super().__init__()
        self.mended = mended
        self.w1, self.b1 = normal(784, 200), zeros(200)
        self.w2, self.b2 = normal(200, 10), zeros(10)

    def __call__(self, x: Any, y: Any) -> Any:
        logits = tf.nn.relu(x @ self.w1 + self.b1) @ self.w2 + self.b2
        if self.mended:
            logits -= tf.reduce_max(logits, axis=1, keepdims=True)
        powers = tf.exp(logits)
        p = powers / tf.reduce_sum(powers, axis=1, keepdims=True)
        if self.mended:
            p += 1e-10
        return -tf.reduce_sum(y * tf.math.log(p))


@dataclass(frozen=True)
class Architecture:
    """One of the nine.

    Attributes:
        name: as table 1 has it.
        make: the module, buggy or mended.
        inputs: shape and range by name, in the order of the call.
        faults: how many operators of each kind are at fault; none in the twin.
    """

    name: str
    make: Callable[[bool], tf.Module]
    inputs: Mapping[str, tuple[tuple[int | None, ...], Ends]]
    faults: Mapping[str, int]


_CLASSES = ((None, 10), ONE_HOT)
_DIGITS = {"x": ((None, 784), DIGIT), "y": _CLASSES}
_DROPOUT = {**_DIGITS, "keep": ((), (0.5, 1.0))}

ARCHITECTURES: tuple[Architecture, ...] = (
    Architecture(
        "TensorFuzz", lambda mended: TensorFuzz(mended=mended), _DIGITS, {"Exp": 1, "Div": 1, "Log": 1}
    ),
    Architecture(
        "GitHub-IPS-1", lambda mended: SpatialTransformer(mended=mended),
        {"x": ((None, 1600), DIGIT), "y": _CLASSES}, {"Log": 1},
    ),
    Architecture(
        "GitHub-IPS-6", lambda mended: LogisticRegression(mended=mended),
        {"x": ((None, 100), (-10.0, 10.0)), "y": ((None, 1), ONE_HOT)}, {"Log": 2},
    ),
    Architecture("GitHub-IPS-9", lambda mended: SoftmaxRegression(mended=mended), _DIGITS, {"Log": 1}),
    Architecture(
        "StackOverflow-IPS-1", lambda mended: ConvolutionalNetwork(stable_cross_entropy if mended else None), _DROPOUT,
        {"Log": 1},
    ),
    Architecture(
        "StackOverflow-IPS-2", lambda mended: ConvolutionalNetwork(with_epsilon if mended else None), _DROPOUT,
        {"Log": 1},
    ),
    Architecture(
        "StackOverflow-IPS-6", lambda mended: ConvolutionalNetwork(clipped if mended else None, fan=3), _DROPOUT,
        {"Log": 1},
    ),
    Architecture("StackOverflow-IPS-7", lambda mended: LogOfLogits(mended=mended), _DIGITS, {"Log": 2}),
    Architecture(
        "StackOverflow-IPS-14", lambda mended: SoftmaxRegression(mended=mended), _DIGITS, {"Log": 1}
    ),
)  # fmt: skip
"""In the order of table 1."""


def converted(architecture: Architecture, *, mended: bool) -> bytes:
    """The architecture as ``irfuzz analyze --architecture`` sees it: no variable folded, none merged."""
    from irfuzz.frontends.workers.tensorflow import concrete_function

    module = architecture.make(mended)
    specs = [tf.TensorSpec(shape, tf.float32, name=name) for name, (shape, _) in architecture.inputs.items()]
    # A wrapper, for tf.function keeps only a weak hold on a module.
    call = tf.function(lambda *args: module(*args), input_signature=specs)  # noqa: PLW0108
    function = call.get_concrete_function()
    return concrete_function(function, list(architecture.inputs), ["loss"], architecture.name, architecture=True)
