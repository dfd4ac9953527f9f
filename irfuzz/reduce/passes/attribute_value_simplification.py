"""Gives attributes that are needed plainer values: 0, 1, half of them, fewer digits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import onnx_ir as ir
from onnx import defs, helper

from irfuzz.ir.inference.call_output_types import schema_of
from irfuzz.ir.program import Program
from irfuzz.reduce.session import Change, NotPossible, Session

PLAIN_LISTS = (0, 1)
"""What every element of a list of integers may be."""


def simplify_attributes(session: Session) -> bool:
    """Give attributes plainer values: of lists one element after the other, of numbers 0, 1 or half.

    Integers become 0, 1 or half; floats 0, 1, a whole number or one of a single digit, if that is shorter; lists of
    integers all 0 or all 1, else single elements do. For example ``strides=[3, 2]`` -> ``strides=[1, 1]``.
    """
    found = False
    for site in session.sites():
        node = session.program.node(site)
        for name in [] if node is None else list(node.attributes):
            found |= session.first(_plainer(session, site, name))
            found |= session.each(_elements(session, site, name))
    return found


def _plainer(session: Session, site: str, name: str) -> Iterator[Change]:
    """Whole values, the plainest first."""
    value, default = _value(session.program, site, name), _default(session.program, site, name)
    plain: list[Any] = []
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int):
        plain = [n for n in (0, 1, value // 2) if abs(n) < abs(value) or (n == 0 and value < 0)]
    elif isinstance(value, float):
        plain = [x for x in (0.0, 1.0, float(round(value)), float(f"{value:.1g}")) if _shorter(x, value)]
    elif isinstance(value, tuple) and value and all(isinstance(n, int) for n in value):
        plain = [(n,) * len(value) for n in PLAIN_LISTS if any(m != n for m in value) and sum(value) > n * len(value)]
    for one in dict.fromkeys(plain):
        if one != default:  # dropping the attribute was tried before
            yield lambda program, one=one: _set(program, site, name, one)


def _elements(session: Session, site: str, name: str) -> Iterator[Change]:
    """Single elements of lists of integers: 0 or 1."""
    value = _value(session.program, site, name)
    if not isinstance(value, tuple) or len(value) < 2 or not all(isinstance(n, int) for n in value):
        return
    for place in range(len(value)):
        for plain in PLAIN_LISTS:
            yield lambda program, place=place, plain=plain: _put(program, site, name, place, plain)


def _put(program: Program, site: str, name: str, place: int, plain: int) -> None:
    value = _value(program, site, name)
    if not isinstance(value, tuple) or value[place] <= plain:
        raise NotPossible
    _set(program, site, name, (*value[:place], plain, *value[place + 1 :]))


def _set(program: Program, site: str, name: str, value: Any) -> None:
    node = program.node(site)
    if node is None or name not in node.attributes:
        raise NotPossible
    program.set_attr(node, name, list(value) if isinstance(value, tuple) else value)


def _shorter(a: float, b: float) -> bool:
    return a != b and len(repr(a)) < len(repr(b))


def _value(program: Program, site: str, name: str) -> Any:
    """The attribute's value if it is a number or a list of them."""
    node = program.node(site)
    attribute = None if node is None else node.attributes.get(name)
    kinds = (ir.AttributeType.INT, ir.AttributeType.FLOAT, ir.AttributeType.INTS)
    if attribute is None or attribute.type not in kinds or attribute.value is None:
        return None
    return tuple(attribute.value) if attribute.type is ir.AttributeType.INTS else attribute.value


def _default(program: Program, site: str, name: str) -> Any:
    """What the operator's schema takes if the attribute is missing."""
    node = program.node(site)
    schema = None if node is None else schema_of(node.op_type, program.opset, node.domain)
    about: defs.OpSchema.Attribute | None = None if schema is None else schema.attributes.get(name)
    if about is None or not about.default_value.name:
        return None
    value = helper.get_attribute_value(about.default_value)
    return tuple(value) if isinstance(value, list) else value
