"""Which Python values an attribute of each type may have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from irfuzz.errors import SpecError
from irfuzz.spec.operator_spec import ValueDomain

_INTEGERS = (int, np.integer)
_REALS = (int, float, np.integer, np.floating)


def _is_int(v: Any) -> bool:
    return isinstance(v, _INTEGERS) and not isinstance(v, bool)


def _is_real(v: Any) -> bool:
    return isinstance(v, _REALS) and not isinstance(v, bool)


def _is_text(v: Any) -> bool:
    return isinstance(v, str | bytes)


KINDS: Mapping[str, tuple[Callable[[Any], bool], bool]] = {
    "INT": (_is_int, False),
    "FLOAT": (_is_real, False),
    "STRING": (_is_text, False),
    "INTS": (_is_int, True),
    "FLOATS": (_is_real, True),
    "STRINGS": (_is_text, True),
}
"""Attribute types whose values are looked at: test of one element, and whether it is a list."""


def check_domain(domain: ValueDomain, kind: str, where: str) -> None:
    """See that values that an overlay lists for an attribute are of its type.

    The type is spelled as in ``AttrSpec.type``. Values that expressions or generators make are not looked at. Messages
    begin with the place that is given: the file and key.

    Raises:
        SpecError: one is not.
    """
    if kind not in KINDS:
        return
    test, is_list = KINDS[kind]
    for key, value in _listed(domain):
        one = key == "each.one_of" or not is_list
        good = test(value) if one else isinstance(value, tuple) and all(map(test, value))
        if not good:
            raise SpecError(f"{where}.{key}: expected {kind.removesuffix('S') if one else kind}, got {value!r}")
    if kind.startswith("STRING") and (domain.bounds or domain.integer_bounds):
        raise SpecError(f"{where}: a range is of numbers, and the attribute is {kind}")


def _listed(domain: ValueDomain) -> Iterator[tuple[str, Any]]:
    """The values that stand in a domain, each with its key."""
    each = domain.each if domain.each is not None and not domain.each_is_range else ()
    for key, values in (("one_of", domain.one_of), ("pick", domain.pick), ("each.one_of", each)):
        for value in values or ():
            yield key, value
    for value in domain.invalid:
        yield "invalid", value
