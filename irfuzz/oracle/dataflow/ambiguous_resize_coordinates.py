"""Whether correct components may read the coordinates of a Resize differently."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from irfuzz.oracle.dataflow.operand_values_and_bounds import FedCall
from irfuzz.spec import trait_values

_BY_LENGTH = frozenset({"align_corners", "pytorch_half_pixel", "tf_crop_and_resize"})
"""Transformations that ask for the length of the resized axis, of which ONNX does not say whether it is whole."""


def fractional_length(call: FedCall) -> bool:
    """True if a coordinate hangs on a length that is a size times a scale, unless all are known to be whole."""
    if _text(call, "coordinate_transformation_mode", "half_pixel") not in _BY_LENGTH or not _scaled(call):
        return False
    axes = _axes(call)
    return axes is None or any(float(size * scale) % 1 for size, scale, _ in axes)


def rounded_coordinate(call: FedCall) -> bool:
    """True if rounding decides which element the nearest one is, unless all coordinates are known to be clear.

    False for Resize in a mode other than ``nearest``. Axes without elements do not count, nor do those that keep their
    length at a scale of 1; if nothing is known of the axes the answer is true.
    """
    if _text(call, "mode", "nearest") != "nearest":
        return False
    axes = _axes(call)
    return axes is None or any(
        _unclear(call, size, scale, length) for size, scale, length in axes if size and (length, scale) != (size, 1)
    )


def rounds_sums(call: FedCall) -> bool:
    """True if a Resize makes whole numbers of weighted sums: ONNX does not say whether they are rounded or cut off."""
    dtype = call.dtype(call.input(0))
    resizes = trait_values("decided").get(call.node.op_type) == "resize"
    return resizes and dtype is not None and dtype.kind in "iu" and _text(call, "mode", "nearest") != "nearest"


def _scaled(call: FedCall) -> bool:
    place = 1 if call.spec.since < 11 else 2
    value = call.input(place)
    fact = call.program.tensor(value)
    return value is not None and not (fact is not None and fact.size() == 0)


def _text(call: FedCall, name: str, default: str) -> str:
    value = call.program.attrs(call.node).get(name, default)
    return value.decode() if isinstance(value, bytes) else str(value)


def _axes(call: FedCall) -> list[tuple[int, np.float32, int]] | None:
    """Size, scale and length of every axis that is resized; ``None`` if they are not known."""
    fact = call.program.tensor(call.input(0))
    shape = None if fact is None else fact.static_shape
    if shape is None:
        return None
    chosen = call.program.attrs(call.node).get("axes")
    sizes = [shape[int(a)] for a in chosen] if chosen is not None else list(shape)
    if not _scaled(call):
        lengths = call.array(3)
        if lengths is None or len(lengths) != len(sizes) or 0 in sizes:
            return None
        return [(s, np.float32(n / s), int(n)) for s, n in zip(sizes, lengths, strict=True)]
    scales = call.array(1 if call.spec.since < 11 else 2)
    if scales is None or len(scales) != len(sizes):
        return None
    return [(s, np.float32(f), int(np.floor(float(f) * s))) for s, f in zip(sizes, scales, strict=True)]


def _unclear(call: FedCall, size: int, scale: np.float32, length: int) -> bool:
    """Whether the same formula, computed in other orders and precisions, finds other elements."""
    rounding = _text(call, "nearest_mode", "round_prefer_floor") if call.spec.since >= 11 else "floor"
    mode = _text(call, "coordinate_transformation_mode", "half_pixel") if call.spec.since >= 11 else "asymmetric"
    if mode == "tf_crop_and_resize":
        return True
    found = {
        _nearest(c + moved, rounding, size).tobytes()
        for c in _coordinates(mode, size, scale, length)
        for moved in _errors(mode, size, scale, length)
    }
    return len(found) > 1


def _errors(mode: str, size: int, scale: np.float32, length: int) -> tuple[float, ...]:
    """What rounding may move coordinates by: nothing if scales are powers of two, so that every formula is exact."""
    parts = (size - 1, max(1, length - 1)) if mode == "align_corners" else (size, length)
    exact = Fraction(*parts) if parts[1] else Fraction(1)
    scales = (exact,) if mode == "align_corners" else (exact, Fraction(float(scale)))
    if all(_is_power(f.numerator) and _is_power(f.denominator) for f in scales):
        return (0.0,)
    error = 4 * float(np.finfo(np.float32).eps) * max(1, size)
    return (-error, 0.0, error)


def _is_power(number: int) -> bool:
    """Whether a number is a power of two, or nothing."""
    return number & (number - 1) == 0


def _coordinates(mode: str, size: int, scale: np.float32, length: int) -> Iterator[np.ndarray]:
    exact = length / size
    # A scale that is not the quotient of the sizes, but for rounding, stays what it is.
    factors = (scale, exact) if abs(float(scale) - exact) <= 1e-6 * exact else (scale,)
    for kind, factor in itertools.product((np.float32, np.float64), factors):
        place, by = np.arange(length).astype(kind), kind(factor)
        half = kind(0.5)
        if mode == "align_corners":
            yield place * kind(size - 1) / kind(max(1, length - 1))
            yield place * (kind(size - 1) / kind(max(1, length - 1)))
        elif mode == "asymmetric":
            yield place / by
            yield place * (kind(1) / by)
        elif mode == "tf_half_pixel_for_nn":
            yield (place + half) / by
            yield (place + half) * (kind(1) / by)
        elif mode == "half_pixel_symmetric":
            for whole in (kind(length) / (by * kind(size)), kind(length) / kind(float(factor) * size)):
                offset = kind(size) / kind(2) * (kind(1) - whole)
                yield offset + (place + half) / by - half
                yield offset + ((place + half) * (kind(1) / by) - half)
        else:
            yield (place + half) / by - half
            yield (place + half) * (kind(1) / by) - half


_ROUNDINGS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "round_prefer_floor": lambda c: np.ceil(c - 0.5),
    "round_prefer_ceil": lambda c: np.floor(c + 0.5),
}


def _nearest(coordinates: np.ndarray, rounding: str, size: int) -> np.ndarray:
    return np.clip(_ROUNDINGS[rounding](coordinates), 0, size - 1).astype(np.int64)
