"""The places where two protobuf messages differ; written against descriptors only."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

_FLOATS = {FieldDescriptor.TYPE_FLOAT: "<f", FieldDescriptor.TYPE_DOUBLE: "<d"}


def fields(message: Message) -> list[Any]:
    """Descriptor of every field that the type of ``message`` has."""
    return list(message.DESCRIPTOR.fields)


def differences(a: Message, b: Message, path: str = "") -> Iterator[str]:
    """Paths at which two messages of one type differ, presence and the bits of floats included."""
    assert a.DESCRIPTOR.full_name == b.DESCRIPTOR.full_name
    for field in fields(a):
        here = f"{path}.{field.name}"
        left, right = getattr(a, field.name), getattr(b, field.name)
        if field.is_repeated:
            if len(left) != len(right):
                yield f"{here}: {len(left)} entries against {len(right)}"
                continue
            pairs = [(f"{here}[{i}]", x, y) for i, (x, y) in enumerate(zip(left, right, strict=True))]
        else:
            if a.HasField(field.name) != b.HasField(field.name):
                yield f"{here}: set only in the {'first' if a.HasField(field.name) else 'second'}"
                continue
            if not a.HasField(field.name):
                continue
            pairs = [(here, left, right)]
        for where, x, y in pairs:
            if isinstance(x, Message):
                yield from differences(x, y, where)
            elif _bits(field, x) != _bits(field, y):
                yield f"{where}: {x!r} against {y!r}"


def _bits(field: Any, value: Any) -> Any:
    return struct.pack(_FLOATS[field.type], value) if field.type in _FLOATS else value


def walk(message: Message) -> Iterator[Message]:
    """``message`` and every message in it."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in value if field.is_repeated else [value]:
                yield from walk(inner)


def message_types(root: type[Message]) -> set[str]:
    """Full names of the fields of every message type that ``root`` can contain."""
    seen: set[str] = set()
    found: set[str] = set()
    pending = [root.DESCRIPTOR]
    while pending:
        descriptor = pending.pop()
        if descriptor.full_name in seen:
            continue
        seen.add(descriptor.full_name)
        for field in descriptor.fields:
            found.add(field.full_name)
            if field.message_type is not None:
                pending.append(field.message_type)
    return found
