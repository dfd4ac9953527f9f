"""Source text of what a target gave for the output at fault, if it is short enough."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from irfuzz.execute.run_types import Value
from irfuzz.frontends.toml_file_reading import is_list
from irfuzz.oracle.verdict import Symptom

MOST = 64
"""Elements of an output that are kept."""

_WORDS = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\b(nan|inf)\b"
"""Strings, and names of numbers outside of them."""


def answer_text(
    outputs: Mapping[str, Value],
    output: str,
    symptom: Symptom,
    place: tuple[tuple[int, ...], tuple[int, ...]] | None,
) -> str:
    """The value that a script's ``look`` would give for a run with these outputs, as Python source.

    Args:
        outputs: of one run.
        output: the one at fault.
        symptom: what is wrong with it.
        place: of the element that shows it, as ``element_place`` gives it; ``None`` for the whole output.

    Returns:
        Empty if it cannot be written down: more than ``MOST`` elements, or none of that name.
    """
    if output not in outputs:
        return ""
    value: Any = outputs[output]
    if symptom in (Symptom.WRONG_DTYPE, Symptom.WRONG_SHAPE):
        return repr(_kind(value))
    try:
        for index in place[0] if place is not None else ():
            value = value[index]
        array = np.asarray(value)
        if place is not None and isinstance(array[place[1]], str):
            return repr(str(array[place[1]]))
        if array.dtype.kind in "OUSVc" and array.dtype.isbuiltin in (0, 1):
            return ""
        if place is not None:
            array = array[place[1]]
    except (IndexError, TypeError, ValueError):
        return ""
    if array.dtype.isbuiltin != 1:  # of ml_dtypes: a script that reads the answer may lack it
        array = array.astype(np.float64)
    if array.ndim == 0:
        return special(repr(array.item()))
    if array.size > MOST:
        return ""
    return f"np.array({special(repr(array.tolist()))}, {array.dtype.name!r})"


def element_place(element: str, output: str) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """``"y[2][0, 3]"`` of output ``y`` as ``((2,), (0, 3))``; ``None`` if it is no such place.

    Args:
        element: place of an element, as verdicts have it.
        output: its name, which may itself hold brackets.

    Returns:
        Places in sequences, outermost first, and the index in the tensor; that of a scalar is empty.
    """
    groups = re.fullmatch(r"((?:\[\d+\])*)\[([\d, ]*)\]", element.removeprefix(output))
    if not element.startswith(output) or groups is None:
        return None
    return tuple(map(int, re.findall(r"\d+", groups[1]))), tuple(map(int, re.findall(r"\d+", groups[2])))


def special(text: str) -> str:
    """Source text of numbers with NaN and infinities spelled as numpy has them, and of strings as they are."""
    return re.sub(_WORDS, lambda found: found[0] if found[1] is None else f"np.{found[1]}", text)


def _kind(value: Any) -> str:
    """As ``pieces.KIND`` spells it."""
    if is_list(value):
        return f"sequence of {[_kind(item) for item in value]}"
    if value is None:
        return "nothing"
    array = np.asarray(value)
    return f"{'string' if array.dtype.kind in 'OUS' else array.dtype.name}{list(array.shape)}"
