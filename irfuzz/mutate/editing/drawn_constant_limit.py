"""How large a constant may be that an edit draws."""

from __future__ import annotations

import math

from irfuzz.errors import InvalidProgram

MOST_DRAWN = 1 << 24
"""Elements: drawn in float64 and then converted, these take 256 MiB."""


def drawable(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape, if its elements may be drawn.

    Raises:
        InvalidProgram: they are too many, which is told before any memory is taken.
    """
    if (count := math.prod(shape)) > MOST_DRAWN:
        raise InvalidProgram(f"a constant of {count} elements; at most {MOST_DRAWN} are drawn")
    return shape
