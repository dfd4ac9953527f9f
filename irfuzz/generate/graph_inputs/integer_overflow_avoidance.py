"""Makes large whole numbers among a program's inputs as much smaller as lets its exact results fit their types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from irfuzz.ir.evaluation.exact_integer_evaluation import ExactIntegers

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

Value: TypeAlias = "np.ndarray | list[Value] | None"


def fitted(program: Program, inputs: Mapping[str, Value], large: frozenset[str]) -> dict[str, Value]:
    """The inputs with the large ones shifted right by so few bits that no known result leaves its type.

    A result just within the range of its type has more digits than any type of floating point holds, and no component
    may be excused for what it makes of it.

    Args:
        program: reads them.
        inputs: all, by name.
        large: names of the arrays of integers that may become smaller.

    Returns:
        ``inputs`` as they are if they fit, or if no shift makes them fit.
    """
    if not large or ExactIntegers(program, inputs).fit:
        return dict(inputs)
    bits = max(array.dtype.itemsize * 8 for name in large if isinstance(array := inputs[name], np.ndarray))
    fits, least, most = dict(inputs), 1, bits - 2
    while least <= most:
        shift = (least + most) // 2
        tried = {**inputs, **{name: _smaller(inputs[name], shift) for name in large}}
        if ExactIntegers(program, tried).fit:
            fits, most = tried, shift - 1
        else:
            least = shift + 1
    return fits


def _smaller(array: Value, shift: int) -> Value:
    """Rounded down, by no more bits than the type has."""
    assert isinstance(array, np.ndarray)
    by = np.asarray(min(shift, array.dtype.itemsize * 8 - 1)).astype(array.dtype)
    return np.asarray(np.right_shift(array, by))
