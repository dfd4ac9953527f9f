"""Values and JSON enter, length-prefixed frames of raw bytes leave, and back again; nothing is ever pickled.

This file runs on both sides of the process border, so it needs only Python 3.9 and numpy: a worker's interpreter has no irfuzz.

A frame is a header (magic, request id, length of the JSON part, length of the body), a JSON part, and a body that
holds the raw bytes of all values, each beginning at a multiple of ``ALIGN``. The JSON part describes the values::

    null                       None
    ["t", dtype, [d0, d1...]]  tensor: row-major elements, little endian
    ["s", [d0, d1...]]         strings: int64 lengths, one byte each (0 text, 1 bytes), then the UTF-8 or raw bytes
    ["b", n]                   n plain bytes (a model)
    ["l", [value, ...]]        sequence
"""

from __future__ import annotations

import json
import math
import struct
from typing import Any, Callable, Iterable, List, Sequence, Tuple

import numpy as np

MAGIC = b"IRFUZZ\x01\n"
HEADER = struct.Struct("<8sQQQ")
ALIGN = 64
MAX_META = 16 << 20
"""Longest JSON part in bytes: 16 MiB describe more values than a program has."""
MAX_DEPTH = 32
"""Deepest sequence of sequences."""
MAX_PARTS = 512
"""Buffers handed to one ``sendmsg``; Linux refuses more than 1024."""
FIRST_READ = 1 << 17

STANDARD = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128 "
    "float128 complex256".split()
)
"""dtypes that numpy has by itself (the last two only on some platforms)."""

EXTENDED = {
    "bfloat16": 2,
    **dict.fromkeys(
        "float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
        "float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2 int1 uint1".split(),
        1,
    ),
}
"""dtypes of the ml_dtypes package with their bytes per element; the 4-bit ones are not packed."""


class ProtocolError(Exception):
    """What arrived is not a frame, or its parts contradict each other."""


class Closed(ProtocolError):
    """The other side closed its end before a frame was complete."""


class Trailing(ProtocolError):
    """A frame came with bytes after it, where only one frame was asked for."""

    def __init__(self, request_id: int, count: int) -> None:
        super().__init__(f"{count} bytes after the end of the answer")
        self.request_id = request_id


class Tagged:
    """A tensor of a type that only ml_dtypes has, where ml_dtypes is not installed.

    Attributes:
        dtype: name of the element type, such as ``bfloat16``.
        raw: the same elements bit for bit, uint16 for ``bfloat16`` and uint8 for all others, in the tensor's shape.
    """

    __slots__ = ("dtype", "raw")

    def __init__(self, dtype: str, raw: np.ndarray) -> None:
        width = EXTENDED.get(dtype)
        if width is None:
            raise TypeError(f"Tagged: {dtype!r} is not one of {', '.join(sorted(EXTENDED))}")
        if raw.dtype != (np.uint16 if width == 2 else np.uint8):
            raise TypeError(f"Tagged: {dtype} wants {8 * width}-bit unsigned raw elements, got {raw.dtype}")
        self.dtype = dtype
        self.raw = raw


def _extended(name: str) -> "np.dtype | None":
    """The dtype of that name, or ``None`` where ml_dtypes is missing or too old for it."""
    try:
        import ml_dtypes
    except ImportError:
        return None
    scalar = getattr(ml_dtypes, name, None)
    return None if scalar is None else np.dtype(scalar)


def _pad(size: int) -> int:
    return -size % ALIGN


class _Body:
    """Buffers of a body in order, padded so that each begins aligned."""

    __slots__ = ("parts", "size")

    def __init__(self) -> None:
        self.parts: List[Any] = []
        self.size = 0

    def add(self, buffer: Any, size: int) -> None:
        if size:
            self.parts.append(buffer)
            pad = _pad(size)
            if pad:
                self.parts.append(b"\0" * pad)
            self.size += size + pad


def _describe(value: Any, body: _Body, depth: int = 0) -> Any:
    if value is None:
        return None
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        kind = array.dtype.kind
        if kind in "OUS":
            return _describe_strings(array, body)
        name = array.dtype.name
        if name not in STANDARD and name not in EXTENDED:
            raise TypeError(f"a tensor of dtype {array.dtype} cannot cross a process; expected a number, bool or string type")
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        flat = np.ascontiguousarray(array).reshape(-1)
        # A view as bytes: types of ml_dtypes have no buffer format that memoryview understands.
        body.add(memoryview(flat.view(np.uint8)), flat.nbytes)
        return ["t", name, list(array.shape)]
    if isinstance(value, Tagged):
        flat = np.ascontiguousarray(value.raw).reshape(-1)
        body.add(memoryview(flat.view(np.uint8)), flat.nbytes)
        return ["t", value.dtype, list(value.raw.shape)]
    if isinstance(value, (bytes, bytearray, memoryview)):
        size = memoryview(value).nbytes
        body.add(value, size)
        return ["b", size]
    if isinstance(value, (list, tuple)):
        if depth >= MAX_DEPTH:
            raise TypeError(f"a sequence is nested more than {MAX_DEPTH} deep")
        return ["l", [_describe(item, body, depth + 1) for item in value]]
    raise TypeError(
        f"a value of type {type(value).__module__}.{type(value).__qualname__} cannot cross a process; "
        "expected numpy.ndarray, bytes, list or None"
    )


def _describe_strings(array: np.ndarray, body: _Body) -> Any:
    encoded: List[bytes] = []
    kinds = bytearray()
    for item in array.reshape(-1).tolist():
        if isinstance(item, str):
            encoded.append(item.encode("utf-8", "surrogatepass"))
            kinds.append(0)
        elif isinstance(item, bytes):
            encoded.append(item)
            kinds.append(1)
        else:
            raise TypeError(f"an object array holds {type(item).__name__}; expected only str or bytes")
    lengths = np.array([len(e) for e in encoded], np.int64)
    text = b"".join(encoded)
    body.add(memoryview(lengths.view(np.uint8)), lengths.nbytes)
    body.add(kinds, len(kinds))
    body.add(text, len(text))
    return ["s", list(array.shape)]


def encode(request_id: int, message: "dict[str, Any]", values: Iterable[Any] = ()) -> List[Any]:
    """Make a frame.

    Args:
        request_id: number that the answer repeats, in ``[0, 2**64)``.
        message: JSON-able content; the key ``values`` is taken.
        values: arrays of any shape and layout, ``Tagged``, ``bytes``, lists of those, ``None``.

    Returns:
        Buffers to be sent one after the other.

    Raises:
        TypeError: a value or the message cannot be sent.
    """
    body = _Body()
    message = dict(message)
    message["values"] = [_describe(value, body) for value in values]
    meta = json.dumps(message, separators=(",", ":"), default=_plain).encode("utf-8", "surrogatepass")
    if len(meta) > MAX_META:
        raise TypeError(f"a message of {len(meta)} bytes of JSON is longer than {MAX_META}; send large data as arrays")
    return [HEADER.pack(MAGIC, request_id, len(meta), body.size) + meta, *body.parts]


def _plain(item: Any) -> Any:
    """numpy scalars as Python's own, for ``json``."""
    if isinstance(item, (np.bool_, np.integer, np.floating)):
        return item.item()
    raise TypeError(f"{type(item).__name__} is not JSON-able; send arrays as values")


class _Cursor:
    """Walks through a body and never past its end."""

    __slots__ = ("at", "body")

    def __init__(self, body: np.ndarray) -> None:
        self.body = body
        self.at = 0

    def take(self, size: int) -> np.ndarray:
        end = self.at + size
        if end > self.body.size:
            raise ProtocolError(f"a value claims {size} bytes where the body has {self.body.size - self.at} left")
        piece = self.body[self.at : end]
        self.at = end + _pad(size)
        return piece


def _shape(described: Any) -> "Tuple[int, ...]":
    if type(described) is not list or len(described) > 32:
        raise ProtocolError(f"not a shape: {str(described)[:80]}")
    for size in described:
        if type(size) is not int or not 0 <= size < 1 << 62:
            raise ProtocolError(f"not a shape: {str(described)[:80]}")
    return tuple(described)


def _restore(described: Any, cursor: _Cursor, depth: int = 0) -> Any:
    if described is None:
        return None
    if type(described) is not list or len(described) not in (2, 3):
        raise ProtocolError(f"not a value: {str(described)[:80]}")
    kind = described[0]
    if kind == "t" and len(described) == 3:
        return _restore_tensor(described[1], _shape(described[2]), cursor)
    if kind == "s":
        return _restore_strings(_shape(described[1]), cursor)
    if kind == "b" and type(described[1]) is int and described[1] >= 0:
        return cursor.take(described[1]).tobytes()
    if kind == "l" and type(described[1]) is list and depth < MAX_DEPTH:
        return [_restore(item, cursor, depth + 1) for item in described[1]]
    raise ProtocolError(f"not a value: {str(described)[:80]}")


def _restore_tensor(name: Any, shape: "Tuple[int, ...]", cursor: _Cursor) -> Any:
    if type(name) is not str or not (name in STANDARD or name in EXTENDED):
        raise ProtocolError(f"not a dtype: {str(name)[:80]}")
    dtype: "np.dtype | None"
    if name in STANDARD:
        dtype = np.dtype(name)
        width = dtype.itemsize
    else:
        dtype = _extended(name)
        width = EXTENDED[name]
    raw = cursor.take(math.prod(shape) * width)
    if dtype is None:
        return Tagged(name, raw.view(np.uint16 if width == 2 else np.uint8).reshape(shape))
    return raw.view(dtype).reshape(shape)


def _restore_strings(shape: "Tuple[int, ...]", cursor: _Cursor) -> np.ndarray:
    count = math.prod(shape)
    lengths = cursor.take(count * 8).view(np.int64).tolist()
    kinds = cursor.take(count).tolist()
    if any(length < 0 for length in lengths):
        raise ProtocolError("a string has a negative length")
    text = cursor.take(sum(lengths)).tobytes()
    array = np.empty(count, object)
    at = 0
    for i, (length, kind) in enumerate(zip(lengths, kinds)):
        piece = text[at : at + length]
        array[i] = piece if kind else piece.decode("utf-8", "surrogatepass")
        at += length
    return array.reshape(shape)


def decode(meta: bytes, body: np.ndarray) -> "Tuple[dict[str, Any], List[Any]]":
    """Take a frame apart; arrays are writable views into ``body`` (uint8, one dimension).

    Raises:
        ProtocolError: JSON part and body do not fit each other.
    """
    try:
        message = json.loads(meta)
        described = message.pop("values")
        if type(message) is not dict or type(described) is not list:
            raise ProtocolError("the JSON part is not an object with a list of values")
        cursor = _Cursor(body)
        values = [_restore(item, cursor) for item in described]
    except ProtocolError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
        raise ProtocolError(f"unreadable frame: {type(error).__name__}: {str(error)[:200]}") from error
    if cursor.at != body.size:
        raise ProtocolError(f"{body.size - cursor.at} bytes of the body belong to no value")
    return message, values


def read(receive_into: Callable[[memoryview], int], max_body: int) -> "Tuple[int, bytes, np.ndarray]":
    """Read one frame, and take no more memory than ``max_body`` and ``MAX_META`` bytes whatever it claims.

    Args:
        receive_into: fills a part of the buffer and returns how many bytes it wrote, 0 at the end of the stream.
        max_body: longest body accepted, in bytes.

    Returns:
        Request id, JSON part, body (uint8).

    Raises:
        Closed: the stream ended.
        Trailing: bytes came with the frame that do not belong to it.
        ProtocolError: no frame, or a longer one than accepted.
    """
    first = bytearray(FIRST_READ)
    view = memoryview(first)
    have = 0
    while have < HEADER.size:
        have += _some(receive_into, view[have:], have)
        if first[: min(have, 8)] != MAGIC[: min(have, 8)]:
            raise ProtocolError(f"bytes that are no frame: {bytes(first[: min(have, 60)])!r}")
    _, request_id, meta_size, body_size = HEADER.unpack_from(first)
    if meta_size > MAX_META or body_size > max_body:
        raise ProtocolError(f"a frame claims {meta_size} + {body_size} bytes; at most {MAX_META} + {max_body} are accepted")
    rest = view[HEADER.size : have]
    if len(rest) > meta_size + body_size:
        raise Trailing(request_id, len(rest) - meta_size - body_size)
    meta = bytearray(meta_size)
    body = np.empty(body_size, np.uint8)
    for target in (memoryview(meta), memoryview(body)):
        filled = min(len(rest), len(target))
        target[:filled] = rest[:filled]
        rest = rest[filled:]
        while filled < len(target):
            filled += _some(receive_into, target[filled:], have)
    return request_id, bytes(meta), body


def _some(receive_into: Callable[[memoryview], int], target: memoryview, have: int) -> int:
    count = receive_into(target)
    if count == 0:
        raise Closed("the stream ended inside a frame" if have else "the stream ended")
    return count


def write(send: Callable[[Sequence[Any]], int], parts: Sequence[Any]) -> None:
    """Send all buffers through ``send`` (as ``socket.sendmsg``: returns how many bytes went out)."""
    todo = list(parts)
    index = 0
    while index < len(todo):
        sent = send(todo[index : index + MAX_PARTS])
        while sent:
            size = memoryview(todo[index]).nbytes
            if sent < size:
                todo[index] = memoryview(todo[index]).cast("B")[sent:]
                break
            sent -= size
            index += 1
