"""What a graph input may be given: it is written into the input's metadata, so that it travels with the model."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir

from irfuzz.errors import InvalidProgram

KEY = "irfuzz.domain"
"""Metadata of an input: a JSON object with ``exact`` or with ``low`` and ``high``."""

SIZES = "irfuzz.sizes"
"""Metadata of an input: a JSON object that gives the allowed sizes for names of dimensions."""

MOST_ELEMENTS = 1 << 26
"""Larger inputs are not made: drawing one takes eight bytes an element, and more than one of them is held."""


@dataclass(frozen=True, slots=True)
class InputDomain:
    """Elements with which a program is valid.

    Attributes:
        low: the smallest.
        high: the largest.
        exact: all of them in row-major order, where no others will do (a shape, axes).
    """

    low: float
    high: float
    exact: tuple[float, ...] | None = None


def input_domain(value: ir.Value) -> InputDomain | None:
    """What is written of an input's elements, ``None`` where nothing is.

    Raises:
        InvalidProgram: it is not what ``set_input_domain`` writes.
    """
    data = _read(value, KEY)
    if data is None:
        return None
    try:
        if "exact" in data:
            exact = tuple(data["exact"])
            return InputDomain(float(min(exact, default=0)), float(max(exact, default=0)), exact)
        low, high = float(data["low"]), float(data["high"])
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidProgram(f"input {value.name!r}: metadata {KEY} is {data}: {error!r}") from None
    if not math.isfinite(low) or not math.isfinite(high) or low > high:
        raise InvalidProgram(f"input {value.name!r}: metadata {KEY}: expected low <= high, got {data}")
    return InputDomain(low, high)


def set_input_domain(value: ir.Value, domain: InputDomain) -> None:
    """Write it down."""
    if domain.exact is not None:
        value.metadata_props[KEY] = json.dumps({"exact": domain.exact})
    else:
        value.metadata_props[KEY] = json.dumps({"low": domain.low, "high": domain.high})


def input_sizes(value: ir.Value) -> dict[str, tuple[int, ...]]:
    """Sizes that are allowed for names among an input's dimensions; a name that is not there may have any.

    Raises:
        InvalidProgram: it is not what ``set_input_sizes`` writes.
    """
    data = _read(value, SIZES)
    if data is None:
        return {}
    for name, sizes in data.items():
        if not isinstance(sizes, list) or not sizes or not all(type(s) is int and s >= 0 for s in sizes):  # pyright: ignore[reportUnknownVariableType]
            raise InvalidProgram(f"input {value.name!r}: metadata {SIZES}: expected sizes for {name!r}, got {sizes!r}")
    return {name: tuple(sizes) for name, sizes in data.items()}


def set_input_sizes(value: ir.Value, sizes: dict[str, tuple[int, ...]]) -> None:
    """Write them down; an empty dictionary takes back what was written."""
    if sizes:
        value.metadata_props[SIZES] = json.dumps(sizes)
    else:
        value.metadata_props.pop(SIZES, None)


def _read(value: ir.Value, key: str) -> dict[str, Any] | None:
    text = value.metadata_props.get(key) if value.metadata_props else None
    if text is None:
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidProgram(f"input {value.name!r}: metadata {key} is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise InvalidProgram(f"input {value.name!r}: metadata {key}: expected an object, got {text[:80]!r}")
    return data  # pyright: ignore[reportUnknownVariableType]
