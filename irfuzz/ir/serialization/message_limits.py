"""Bounds how many protobuf messages a model may have, before objects are made of them.

Two bytes are enough for a message, which takes fifty to two hundred as protobuf holds it and a thousand as objects.
"""

from __future__ import annotations

from collections.abc import Iterator

import onnx
from google.protobuf.message import Message

from irfuzz.errors import InvalidProgram

MAX_MESSAGES = 2_000_000
"""Most protobuf messages in one model: a node takes about ten, and each one grows on its way into memory."""

MAX_FUNCTIONS = 10_000
"""Most functions of one model, as onnx's checker has it."""


def check_message_limits(model: onnx.ModelProto, size: int) -> None:
    """See that a model has no more parts than can be held.

    Args:
        model: as it was parsed.
        size: its bytes; of a model so small that it cannot have too many parts only functions are counted.

    Raises:
        InvalidProgram: there are more than ``MAX_MESSAGES`` messages or ``MAX_FUNCTIONS`` functions.
    """
    if len(model.functions) > MAX_FUNCTIONS:
        raise InvalidProgram(f"the model has {len(model.functions)} functions; expected at most {MAX_FUNCTIONS}")
    if size > 2 * MAX_MESSAGES:
        for _ in tensor_protos_in(model):
            pass


def tensor_protos_in(message: Message) -> Iterator[onnx.TensorProto]:
    """Every tensor of a model, graph, node or attribute, subgraphs and functions included.

    Raises:
        InvalidProgram: there are more than ``MAX_MESSAGES`` messages.
    """
    pending: list[Message] = [message]
    left = MAX_MESSAGES
    while pending:
        current = pending.pop()
        if isinstance(current, onnx.TensorProto):
            yield current
            continue
        for field, value in current.ListFields():
            if field.message_type is None:
                continue
            inner = [value] if isinstance(value, Message) else value
            left -= len(inner)
            if left < 0:
                raise InvalidProgram(f"the model has more than {MAX_MESSAGES} parts (nodes, attributes, types)")
            pending.extend(inner)
