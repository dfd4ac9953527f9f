"""The dictionaries inside of onnx-ir's mappings, for loops that run hundreds of times an edit."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from operator import attrgetter
from typing import Protocol, TypeVar, cast

import onnx_ir as ir

K = TypeVar("K")
V = TypeVar("V")


class Entries(Protocol):
    """Gives the dictionary inside of a mapping."""

    def __call__(self, mapping: Mapping[K, V], /) -> MutableMapping[K, V]:
        """The dictionary, not a copy."""
        ...


def _itself(mapping: object) -> object:
    return mapping


# The mappings are of collections.UserDict, whose own methods are five times slower than those of the dictionary that
# it documents as ``data``. A version of onnx-ir with other mappings has these read as they are.
_is_user_dict = hasattr(ir.Node("", "Identity", []).attributes, "data")
entries = cast("Entries", attrgetter("data") if _is_user_dict else _itself)
