"""Generators of whole tensors (masks, regions, places) of known sizes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from irfuzz.choices import Choices

Vector = tuple[int, ...]

_PLAIN = ("float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
"""Element types of attributes that hold a tensor, besides ``bool``."""


def mask(choices: Choices, length: int) -> np.ndarray | None:
    """Truth values of which at least one is true (Compress); ``None`` if ``length`` is 0."""
    if length < 1:
        return None
    chosen = np.array([choices.boolean(0.6) for _ in range(length)])
    if not chosen.any():
        chosen[choices.index(length)] = True
    return chosen


def one_element(choices: Choices) -> np.ndarray:
    """A tensor of one number, of any plain type (the value of ConstantOfShape)."""
    return _numbers(choices, (1,))


def small_tensor(choices: Choices) -> np.ndarray:
    """A tensor of rank 0 to 3 and any plain type (the value of Constant)."""
    return _numbers(choices, tuple(choices.integer(1, 4) for _ in range(choices.integer(0, 3))))


def _numbers(choices: Choices, shape: Vector) -> np.ndarray:
    name = choices.pick((*_PLAIN, "bool"))
    rng = np.random.default_rng(choices.seed())
    if name == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if name.startswith("float"):
        return np.asarray(rng.standard_normal(shape)).astype(name)
    return rng.integers(0 if name.startswith("u") else -4, 6, shape).astype(name)


def regions(choices: Choices, batch: int, height: int, width: int, count: int, with_image: bool) -> np.ndarray | None:
    """Rows ``[x1, y1, x2, y2]`` inside an image, before them the image's number if wanted (RoiAlign, MaxRoiPool).

    MaxRoiPool rounds corners, so those with image numbers are whole; the others are multiples of a quarter.

    Args:
        choices: draws.
        batch: number of images.
        height: of an image.
        width: of an image.
        count: of rows.
        with_image: whether the number comes first.

    Returns:
        A float64 array with a row for each region; ``None`` if there are no images or they are empty.
    """
    if min(batch, height, width) < 1:
        return None
    rows: list[list[float]] = []
    for _ in range(count):
        x = sorted(choices.integer(0, 4 * width - 4) / 4 for _ in range(2))
        y = sorted(choices.integer(0, 4 * height - 4) / 4 for _ in range(2))
        row = [x[0], y[0], x[1] + 0.75, y[1] + 0.75]
        rows.append([choices.integer(0, batch - 1), *(math.floor(v) for v in row)] if with_image else row)
    return np.array(rows, dtype=np.float64)


def places(choices: Choices, batch: int, channels: int, inner: Vector, sizes: Vector) -> np.ndarray | None:
    """Linear indices of MaxUnpool, ``(batch, channels, *inner)``: those of a channel lie in it, no two are equal.

    Args:
        choices: draws one seed.
        batch: number of images.
        channels: of an image.
        inner: spatial sizes of the input.
        sizes: spatial sizes of the output.

    Returns:
        ``None`` if a channel of the output has fewer elements than one of the input, or there is none.
    """
    outer = batch * channels
    area, count = math.prod(sizes), math.prod(inner)
    if area < count or outer < 1 or any(s < 1 for s in sizes):
        return None
    rng = np.random.default_rng(choices.seed())
    rows = [image * area + rng.permutation(area)[:count] for image in range(outer)]
    return np.stack(rows).reshape(batch, channels, *inner)


def upsample_scales(choices: Choices, sizes: Vector, inner: int) -> tuple[float, ...]:
    """Scale factors of Upsample, none below 1, of the ``inner`` last axes; 1 before.

    Args:
        choices: draws.
        sizes: of the input; only how many there are counts.
        inner: how many of the last axes are scaled.
    """
    factors = (1.0, 2.0, 1.5, 3.0, 1.25)
    return tuple(choices.pick(factors) if i >= len(sizes) - inner else 1.0 for i in range(len(sizes)))


def affine_size(choices: Choices, batch: int, spatial: int) -> Vector:
    """The image size that AffineGrid takes: batch, channels, two or three spatial sizes.

    Args:
        choices: draws one to three channels and sizes of 2 to 6.
        batch: number of images.
        spatial: number of spatial axes.
    """
    return (batch, choices.integer(1, 3), *(choices.integer(2, 6) for _ in range(spatial)))


def mask_shape(choices: Choices, batch: int, heads: int, queries: int, keys: int) -> Vector:
    """Shape of an attention mask that broadcasts to ``(batch, heads, queries, keys)``.

    Leading sizes may be left out or 1; the last two always stand.
    """
    full = (batch, heads, queries, keys)
    shape = full[choices.integer(0, 2) :]
    return tuple(1 if i < len(shape) - 2 and choices.boolean(0.3) else d for i, d in enumerate(shape))


def write_places(choices: Choices, batch: int, room: int, written: int) -> Vector | None:
    """A place for each row of a batch at which ``written`` elements fit into ``room`` (TensorScatter).

    ``None`` if they fit nowhere.
    """
    if written > room:
        return None
    return tuple(choices.integer(0, room - written) for _ in range(batch))


def shortened(choices: Choices, sizes: Vector, axis: int) -> Vector | None:
    """The same sizes, that of one axis possibly smaller (at least 1).

    Returns:
        ``None`` if ``axis``, which may count from the end, is outside or empty.
    """
    if not -len(sizes) <= axis < len(sizes) or sizes[axis] < 1:
        return None
    out = list(sizes)
    out[axis] = choices.integer(1, out[axis])
    return tuple(out)


def multiple(choices: Choices, factor: int, most: int) -> int:
    """A multiple of ``factor``, from once up to ``most`` times it."""
    return factor * choices.integer(1, most)


def either(choices: Choices, one: int, other: int) -> int:
    """One of two numbers, both equally likely."""
    return choices.pick((one, other))


GENERATORS: dict[str, Any] = {
    "mask": mask,
    "one_element": one_element,
    "small_tensor": small_tensor,
    "regions": regions,
    "places": places,
    "upsample_scales": upsample_scales,
    "affine_size": affine_size,
    "mask_shape": mask_shape,
    "write_places": write_places,
    "shortened": shortened,
    "multiple": multiple,
    "either": either,
}
"""As in ``irfuzz/spec/sampling/parameter_generators.py``, which includes them."""
