"""What a graph input may be given: it is written into the input's metadata, so that it travels with the model."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir

from irfuzz.errors import InvalidProgram

KEY = "irfuzz.domain"
"""Metadata of an input: a JSON object with ``exact`` or with ``low`` and ``high``."""

SIZES = "irfuzz.sizes"
"""Metadata of an input: a JSON object that gives the allowed sizes for names of dimensions."""

VARIANTS = "irfuzz.variants"
"""Metadata of an input: a JSON list of objects with ``shape`` and perhaps ``exact``; equal places belong together."""

MOST_ELEMENTS = 1 << 26
"""Larger inputs are not made: drawing one takes eight bytes an element, and more than one of them is held."""


@dataclass(frozen=True, slots=True)
class InputDomain:
    """Elements with which a program is valid.

    Attributes:
        low: the smallest.
        high: the largest.
        exact: all of them in row-major order, if no others will do (a shape, axes).
        order: how they follow each other along the last axis, one of ``ORDERS``; empty if nothing is said.
    """

    low: float
    high: float
    exact: tuple[float, ...] | None = None
    order: str = ""


ORDERS = ("prefix", "ascending")
"""``prefix``: some of ``high``, then ``low`` (a mask); ``ascending``: ``low`` and the whole numbers behind it."""


@dataclass(frozen=True, slots=True)
class InputVariant:
    """One shape of an input that was found to go with the same place in the lists of the other inputs.

    Attributes:
        shape: all sizes.
        exact: its elements in row-major order, if they go with the shapes (a length, a rate); ``None``: drawn.
    """

    shape: tuple[int, ...]
    exact: tuple[float, ...] | None = None


def input_domain(value: ir.Value) -> InputDomain | None:
    """What is written of an input's elements, ``None`` if nothing is.

    If all elements are prescribed (``exact``), ``low`` and ``high`` are the least and the largest of them.

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
    order = data.get("order", "")
    if order not in ("", *ORDERS):
        raise InvalidProgram(
            f"input {value.name!r}: metadata {KEY}: expected one of {', '.join(ORDERS)}, got {order!r}"
        )
    return InputDomain(low, high, order=order)


def set_input_domain(value: ir.Value, domain: InputDomain) -> None:
    """Write what an input's elements may be into its metadata, over what was written there.

    Args:
        value: a graph input.
        domain: of one with ``exact`` these elements alone are written, else its range and order.
    """
    if domain.exact is not None:
        value.metadata_props[KEY] = json.dumps({"exact": domain.exact})
    else:
        order = {"order": domain.order} if domain.order else {}
        value.metadata_props[KEY] = json.dumps({"low": domain.low, "high": domain.high, **order})


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
    """Write the allowed sizes of names into an input's metadata; an empty dictionary takes back what was written.

    Args:
        value: a graph input.
        sizes: by names of its dimensions, at least one size each.
    """
    if sizes:
        value.metadata_props[SIZES] = json.dumps(sizes)
    else:
        value.metadata_props.pop(SIZES, None)


def input_variants(value: ir.Value) -> tuple[InputVariant, ...]:
    """The shapes that were found to fit, in the order of all inputs' lists; empty if nothing is written.

    Raises:
        InvalidProgram: it is not what ``set_input_variants`` writes.
    """
    data = _parsed(value, VARIANTS)
    if data is None:
        return ()
    try:
        found = tuple(_variant(entry) for entry in data)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidProgram(f"input {value.name!r}: metadata {VARIANTS} is {data!r:.80}: {error!r}") from None
    return found


def set_input_variants(value: ir.Value, variants: Sequence[InputVariant]) -> None:
    """Write the shapes that fit into an input's metadata; none takes back what was written.

    Args:
        value: a graph input.
        variants: in the same order for all inputs of a graph: the same place belongs together.
    """
    if not variants:
        value.metadata_props.pop(VARIANTS, None)
        return
    rows = [{"shape": v.shape} if v.exact is None else {"shape": v.shape, "exact": v.exact} for v in variants]
    value.metadata_props[VARIANTS] = json.dumps(rows)


def _variant(entry: Any) -> InputVariant:
    shape, exact = entry["shape"], entry.get("exact")
    if not isinstance(shape, list) or not all(type(s) is int and s >= 0 for s in shape):
        raise ValueError(f"expected sizes, got {shape!r}")
    return InputVariant(tuple(shape), None if exact is None else tuple(float(e) for e in exact))


def _read(value: ir.Value, key: str) -> dict[str, Any] | None:
    data = _parsed(value, key)
    if data is not None and not isinstance(data, dict):
        raise InvalidProgram(f"input {value.name!r}: metadata {key}: expected an object, got {json.dumps(data)[:80]!r}")
    return data


def _parsed(value: ir.Value, key: str) -> Any:
    text = value.metadata_props.get(key) if value.metadata_props else None
    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidProgram(f"input {value.name!r}: metadata {key} is not JSON: {error}") from None
