"""Gives each ONNX value name a unique Python identifier."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

_MODULE = frozenset(
    {
        "np",
        "itertools",
        "math",
        "weights",
        "inputs",
        "forward",
        "tensors",
        "run",
        "INPUT_DTYPES",
        "WEIGHT_DTYPES",
    }
)
_ALWAYS_TAKEN = frozenset(keyword.kwlist) | frozenset(dir(builtins)) | _MODULE


class PythonIdentifiers:
    """Gives every ONNX name one identifier that resembles it.

    ``reserved`` are further identifiers that no value may hide, such as the support functions.
    """

    __slots__ = ("_given", "_taken")

    def __init__(self, reserved: Iterable[str]) -> None:
        self._taken = set(_ALWAYS_TAKEN) | set(reserved)
        self._given: dict[str, str] = {}

    def of(self, name: str) -> str:
        """The identifier of ``name``; the same one each time.

        The first call of a name makes it by ``fresh``: ``layer/1:0`` becomes ``layer_1_0``, or ``layer_1_0_2`` if that
        is taken.
        """
        if name not in self._given:
            self._given[name] = self.fresh(name)
        return self._given[name]

    def fresh(self, hint: str) -> str:
        """An identifier like ``hint`` that nothing else has, and that later calls do not give again.

        Characters that an identifier may not have become underscores, outer underscores are cut off, and one that
        begins with a digit gets a ``v`` in front. Keywords, builtins and reserved names count as taken.

        Args:
            hint: any text; an empty one gives ``value``.
        """
        base = re.sub(r"[^0-9A-Za-z_]", "_", hint).strip("_") or "value"
        if base[0].isdigit():
            base = "v" + base
        candidate, count = base, 1
        while candidate in self._taken:
            count += 1
            candidate = f"{base}_{count}"
        self._taken.add(candidate)
        return candidate
