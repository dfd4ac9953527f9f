"""Gives some field of a model, anywhere, another value, one item more, or none."""

from __future__ import annotations

from typing import Any

import onnx
from google.protobuf.message import Message

from irfuzz.embed.invalid_models.random_model_parts import PartDrawer

DEEPEST = 12
"""Fields within fields that are looked into."""

HERE = 12
"""Of a hundred messages, how many are changed themselves and not within."""


def damage(model: onnx.ModelProto, parts: PartDrawer) -> bool:
    """Change some field: what the checker refuses, mostly; whether anything was changed.

    Args:
        model: edited in place. The field is found by a walk from the model into drawn fields that are set.
        parts: gives every draw.
    """
    message: Any = model
    for _ in range(DEEPEST):
        fields = message.ListFields()
        if not fields:
            return False
        field, value = parts.choices.pick(fields)
        single = isinstance(value, Message | str | bytes | int | float)
        values = [value] if single else list(value)
        if isinstance(values[0], Message) and not parts.chance(HERE):
            message = parts.choices.pick(values)
            continue
        _change(message, field.name, values, parts, single=single)
        return True
    return False


def _change(message: Any, name: str, values: list[Any], parts: PartDrawer, *, single: bool) -> None:
    if not single and parts.chance(50):
        getattr(message, name).extend([parts.choices.pick(values)])
        return
    if parts.chance(30) or isinstance(values[0], Message):
        message.ClearField(name)
        return
    new = _other(values[0], parts)
    try:
        if single:
            setattr(message, name, new)
        else:
            getattr(message, name)[parts.choices.index(len(values))] = new
    except ValueError:  # an enumeration without that number
        message.ClearField(name)


def _other(old: Any, parts: PartDrawer) -> Any:
    if isinstance(old, str):
        return parts.choices.pick(("", "x"))
    if isinstance(old, bytes):
        return parts.choices.pick((b"", b"\xff"))
    return parts.choices.integer(0, 30)
