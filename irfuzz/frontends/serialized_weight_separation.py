"""Splits a serialised model from its large weights, which become views of its bytes, and joins them again."""

from __future__ import annotations

from collections.abc import Iterator

import onnx

from irfuzz.ir.serialization.protobuf_field_encoding import block_tag, varint

LARGE = 1 << 16
"""Bytes from which on a weight is left where it was read: parsing copies it, checking and inferring copy it again."""

_SPLIT_FROM = 1 << 20
"""Bytes of a model from which on it is worth the search."""

_GRAPH, _INITIALIZER, _RAW, _LOCATION = 7, 5, 9, 14
"""Fields of ``ModelProto``, ``GraphProto`` and ``TensorProto`` (onnx.proto)."""

_BYTES, _VARINT = 2, 0
_FIXED = {1: 8, 5: 4}
_EMPTY_RAW = block_tag(_RAW) + b"\0"


def split(data: bytes | memoryview) -> tuple[bytes | memoryview, dict[int, memoryview]]:
    """Take the large weights out of a model.

    Returns:
        The model, in which ``raw_data`` of these initializers of the main graph is present and empty, and the bytes
        by the place of the initializer. Whatever is not written in the plain way (or is no model at all) stays as it
        is, for protobuf to judge.
    """
    if len(data) < _SPLIT_FROM:
        return data, {}
    try:
        graphs = [f for f in _fields(data, 0, len(data)) if f[0] == _GRAPH]
        if len(graphs) != 1 or graphs[0][1] != _BYTES:  # several are merged into one
            return data, {}
        _, _, field, start, end = graphs[0]
        view = memoryview(data)
        parts: list[bytes | memoryview] = []
        held: dict[int, memoryview] = {}
        index, copied = -1, start
        for number, wire, tensor, body, stop in _fields(data, start, end):
            if number != _INITIALIZER:
                continue
            index += 1
            raw = _raw(data, body, stop) if wire == _BYTES and stop - body >= LARGE else None
            if raw is None:
                continue
            front, first, last = raw
            held[index] = view[first:last]
            size = front - body + len(_EMPTY_RAW) + stop - last
            parts += [view[copied:tensor], block_tag(_INITIALIZER), varint(size), view[body:front], _EMPTY_RAW]
            copied = last
    except (IndexError, ValueError):
        return data, {}
    if not held:
        return data, {}
    parts.append(view[copied:end])
    size = sum(map(len, parts))
    return b"".join((view[:field], block_tag(_GRAPH), varint(size), *parts, view[end:])), held


def joined(model: onnx.ModelProto, held: dict[int, bytes | memoryview]) -> onnx.ModelProto:
    """Put weights back into the model that they were taken out of; it is changed and returned.

    Args:
        model: as ``split`` left it, parsed.
        held: bytes by the place of the initializer; they are copied.
    """
    for index, data in held.items():
        model.graph.initializer[index].raw_data = bytes(data)
    return model


def for_checker(model: onnx.ModelProto, held: dict[int, bytes | memoryview]) -> bytes | None:
    """The model with its large weights as inputs of unknown elements, which are nothing that onnx's checker looks at.

    Returns:
        ``None`` if a weight is an input already and that is declared as something else.
    """
    if not held:
        return model.SerializeToString()
    told = onnx.ModelProto()
    told.CopyFrom(model)
    graph = told.graph
    inputs = {info.name: info for info in graph.input}
    for index in sorted(held, reverse=True):
        weight = graph.initializer[index]
        stated = onnx.helper.make_tensor_value_info(weight.name, weight.data_type, weight.dims)
        declared = inputs.get(weight.name)
        if declared is None:
            graph.input.append(stated)
        elif declared.type.tensor_type != stated.type.tensor_type:
            return None
        del graph.initializer[index]
    return told.SerializeToString()


def _raw(data: bytes | memoryview, start: int, end: int) -> tuple[int, int, int] | None:
    """Where the one ``raw_data`` of a tensor and its bytes start, and where they end."""
    found = None
    for number, wire, field, body, stop in _fields(data, start, end):
        if number == _LOCATION and data[body] != onnx.TensorProto.DEFAULT:
            return None
        if number == _RAW:
            if found is not None or wire != _BYTES or stop - body < LARGE:
                return None
            found = field, body, stop
    return found


def _fields(data: bytes | memoryview, start: int, end: int) -> Iterator[tuple[int, int, int, int, int]]:
    """Number, wire type, start of the field, start of its value and its end, for each field of a message.

    Raises:
        IndexError: the message ends in a field.
        ValueError: it has groups, or a length that leads out of it.
    """
    at = start
    while at < end:
        field = at
        tag, at = _varint(data, at)
        wire = tag & 7
        if wire == _BYTES:
            size, at = _varint(data, at)
            stop = at + size
        elif wire == _VARINT:
            stop = _varint(data, at)[1]
        elif wire in _FIXED:
            stop = at + _FIXED[wire]
        else:
            raise ValueError(f"wire type {wire}")
        if stop > end:
            raise ValueError("a field is longer than its message")
        yield tag >> 3, wire, field, at, stop
        at = stop


def _varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    byte = data[at]
    if byte < 128:
        return byte, at + 1
    value, shift = byte & 127, 7
    while True:
        at += 1
        byte = data[at]
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at + 1
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")
