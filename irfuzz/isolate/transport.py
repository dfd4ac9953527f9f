"""Encodes values and JSON as length-prefixed frames of raw bytes, and decodes them; nothing is ever pickled.

This file runs on both sides of the process border, so it needs only Python 3.7 and numpy: a worker's interpreter has
no irfuzz.

A frame is a header (magic, request id, length of the JSON part, length of the body), a JSON part, and a body that
holds the raw bytes of all values, each beginning at a multiple of ``ALIGN``. The JSON part describes the values::

    null                       None
    ["t", dtype, [d0, d1...]]  tensor: row-major elements, little endian
    ["s", [d0, d1...]]         strings: int64 lengths, one byte each (0 text, 1 bytes), then the UTF-8 or raw bytes
    ["b", n]                   n plain bytes (a model)
    ["l", [value, ...]]        sequence

A map travels as the sequence of its keys, sorted, and of its values in the same order: two tensors. A sequence of maps
with the same keys travels as one of them, whose values have a row for each.
"""

from __future__ import annotations

import functools
import json
import operator
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

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
COPY = 1 << 16
"""Up to so many bytes, joining buffers is faster than handing them to the kernel one by one."""
_ZEROS = bytes(ALIGN)

STANDARD = frozenset((
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128", "float128", "complex256",
))  # fmt: skip
"""dtypes that numpy has by itself (the last two only on some platforms)."""

EXTENDED = {
    "bfloat16": 2,
    **dict.fromkeys(("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"), 1),
    **dict.fromkeys(("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn"), 1),
    **dict.fromkeys(("float4_e2m1fn", "int4", "uint4", "int2", "uint2", "int1", "uint1"), 1),
}
"""dtypes of the ml_dtypes package with their bytes per element; the 4-bit ones are not packed."""


class ProtocolError(Exception):
    """What arrived is not a frame, or its parts contradict each other."""


class Closed(ProtocolError):
    """The other side closed its end before a frame was complete."""


class Trailing(ProtocolError):
    """A frame came with bytes after it, if only one frame was asked for."""

    def __init__(self, request_id: int, count: int) -> None:
        super().__init__(f"{count} bytes after the end of the answer")
        self.request_id = request_id


class Tagged:
    """A tensor of a type that only ml_dtypes has, if ml_dtypes is not installed.

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


def _extended(name: str) -> np.dtype | None:
    """The dtype of that name, or ``None`` if ml_dtypes is missing or too old for it."""
    try:
        import ml_dtypes
    except ImportError:
        return None
    scalar = getattr(ml_dtypes, name, None)
    return None if scalar is None else np.dtype(scalar)


@functools.lru_cache(maxsize=256)
def _name(dtype: np.dtype) -> str:
    """``dtype.name``, which numpy makes anew every time, if a tensor of it can be sent."""
    name = dtype.name
    if name not in STANDARD and name not in EXTENDED:
        raise TypeError(f"a tensor of dtype {dtype} cannot cross a process; expected a number, bool or string type")
    return name


@functools.lru_cache(maxsize=256)
def _dtype(name: str) -> tuple[np.dtype | None, int]:
    """The dtype of that name (``None`` if this interpreter lacks it) and the bytes of an element."""
    if name in STANDARD:
        dtype = np.dtype(name)
        return dtype, dtype.itemsize
    if name in EXTENDED:
        return _extended(name), EXTENDED[name]
    raise ProtocolError(f"not a dtype: {name[:80]}")


def memory(flat: np.ndarray) -> memoryview:
    """The bytes of a contiguous array of one dimension, also of types whose buffer format ``memoryview`` rejects.

    They are not copied.
    """
    return cast("Any", flat.view(np.uint8)).data


class _Body:
    """Buffers of a body in order, padded so that each begins aligned."""

    __slots__ = ("parts", "size")

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self.size = 0

    def add(self, buffer: Any, size: int) -> None:
        if size:
            self.parts.append(buffer)
            pad = -size % ALIGN
            if pad:
                self.parts.append(_ZEROS[:pad])
            self.size += size + pad

    def add_array(self, array: np.ndarray) -> None:
        size = array.nbytes
        # A copy of a few kilobytes costs less than the views that avoid it.
        self.add(array.tobytes() if size <= COPY else memory(np.ascontiguousarray(array).reshape(-1)), size)


def _describe(value: Any, body: _Body, depth: int = 0) -> Any:
    if value is None:
        return None
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        kind = array.dtype.kind
        if kind in "OUS":
            return _describe_strings(array, body)
        name = _name(array.dtype)
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        body.add_array(array)
        return ["t", name, list(array.shape)]
    if isinstance(value, Tagged):
        body.add_array(value.raw)
        return ["t", value.dtype, list(value.raw.shape)]
    if isinstance(value, (bytes, bytearray, memoryview)):
        size = memoryview(value).nbytes
        body.add(value, size)
        return ["b", size]
    if isinstance(value, (list, tuple)):
        if depth >= MAX_DEPTH:
            raise TypeError(f"a sequence is nested more than {MAX_DEPTH} deep")
        if value and isinstance(value[0], dict):
            value = _rows(value)
        return ["l", [_describe(item, body, depth + 1) for item in value]]
    if isinstance(value, dict):
        return _describe(_pairs(value), body, depth)
    raise TypeError(
        f"a value of type {type(value).__module__}.{type(value).__qualname__} cannot cross a process; "
        "expected numpy.ndarray, bytes, list, dict or None"
    )


def _rows(maps: Sequence[Any]) -> Sequence[Any]:
    """Maps as their keys and a matrix of values, if all of them have the same keys and tensors of no rank."""
    pairs = [_pairs(item) if isinstance(item, dict) else [] for item in maps]
    keys = [pair[0].tolist() if pair and isinstance(pair[1], np.ndarray) else None for pair in pairs]
    if keys[0] is None or any(key != keys[0] for key in keys):
        return maps
    return [pairs[0][0], np.stack([pair[1] for pair in pairs])]


def _pairs(value: dict[Any, Any]) -> list[Any]:
    """The keys of a map and its values; Python's floats in single precision if that loses nothing, as ONNX has them.

    Raises:
        TypeError: the keys are not all numbers or all text.
    """
    keys = sorted(value)
    items = [value[key] for key in keys]
    named = np.array(keys, object if any(isinstance(key, (str, bytes)) for key in keys) else np.int64)
    if any(isinstance(item, (np.ndarray, list)) for item in items):
        return [named, items]
    values = np.array(items, object if any(isinstance(item, (str, bytes)) for item in items) else None)
    if values.dtype == np.float64:
        with np.errstate(over="ignore"):
            single = values.astype(np.float32)
        values = single if np.array_equal(single, values, equal_nan=True) else values
    return [named, values]


def _describe_strings(array: np.ndarray, body: _Body) -> Any:
    encoded: list[bytes] = []
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
    body.add(memory(lengths), lengths.nbytes)
    body.add(kinds, len(kinds))
    body.add(text, len(text))
    return ["s", list(array.shape)]


def encode(request_id: int, message: dict[str, Any], values: Iterable[Any] = ()) -> list[Any]:
    """Make a frame.

    Args:
        request_id: number that the answer repeats, in ``[0, 2**64)``.
        message: JSON-able content; the key ``values`` is taken.
        values: arrays of any shape and layout, ``Tagged``, ``bytes``, lists of those, maps, ``None``.

    Returns:
        Buffers to be sent one after the other.

    Raises:
        TypeError: a value or the message cannot be sent.
    """
    body = _Body()
    message = dict(message)
    message["values"] = [_describe(value, body) for value in values]
    meta = _ENCODER.encode(message).encode("utf-8", "surrogatepass")
    if len(meta) > MAX_META:
        raise TypeError(f"a message of {len(meta)} bytes of JSON is longer than {MAX_META}; send large data as arrays")
    parts = [HEADER.pack(MAGIC, request_id, len(meta), body.size), meta, *body.parts]
    return [b"".join(parts)] if body.size <= COPY else parts


def _plain(item: Any) -> Any:
    """Numpy scalars as Python's own, for ``json``."""
    if isinstance(item, (np.bool_, np.integer, np.floating)):
        return item.item()
    raise TypeError(f"{type(item).__name__} is not JSON-able; send arrays as values")


_ENCODER = json.JSONEncoder(separators=(",", ":"), default=_plain)


class _Cursor:
    """Walks through a body and never past its end."""

    __slots__ = ("at", "body")

    def __init__(self, body: np.ndarray) -> None:
        self.body = body
        self.at = 0

    def skip(self, size: int) -> int:
        """Where the next ``size`` bytes begin."""
        at = self.at
        if at + size > self.body.size:
            raise ProtocolError(f"a value claims {size} bytes where the body has {self.body.size - at} left")
        self.at = at + size + -size % ALIGN
        return at

    def take(self, size: int) -> np.ndarray:
        at = self.skip(size)
        return self.body[at : at + size]


def _shape(described: Any) -> tuple[int, ...]:
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


def _product(shape: tuple[int, ...]) -> int:
    """How many elements a shape has; ``math.prod`` is there from Python 3.8 on only."""
    return functools.reduce(operator.mul, shape, 1)


def _restore_tensor(name: Any, shape: tuple[int, ...], cursor: _Cursor) -> Any:
    if type(name) is not str:
        raise ProtocolError(f"not a dtype: {str(name)[:80]}")
    dtype, width = _dtype(name)
    tagged = dtype is None
    if dtype is None:
        dtype = np.dtype(np.uint16 if width == 2 else np.uint8)
    size = _product(shape) * width
    at = cursor.skip(size)
    array = np.ndarray(shape, dtype, cursor.body, at) if size else np.empty(shape, dtype)
    return Tagged(name, array) if tagged else array


def _restore_strings(shape: tuple[int, ...], cursor: _Cursor) -> np.ndarray:
    count = _product(shape)
    lengths = cursor.take(count * 8).view(np.int64).tolist()
    kinds = cursor.take(count).tolist()
    if any(length < 0 for length in lengths):
        raise ProtocolError("a string has a negative length")
    text = cursor.take(sum(lengths)).tobytes()
    array = np.empty(count, object)
    at = 0
    for i, length in enumerate(lengths):
        piece = text[at : at + length]
        array[i] = piece if kinds[i] else piece.decode("utf-8", "surrogatepass")
        at += length
    return array.reshape(shape)


def decode(meta: bytes, body: np.ndarray) -> tuple[dict[str, Any], list[Any]]:
    """Take a frame apart; arrays are writable views into ``body`` (uint8, one dimension).

    Raises:
        ProtocolError: JSON part and body do not fit each other.
    """
    try:
        message = json.loads(meta)
        cursor = _Cursor(body)
        values = [_restore(item, cursor) for item in message.pop("values")]
    except ProtocolError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
        raise ProtocolError(f"unreadable frame: {type(error).__name__}: {str(error)[:200]}") from error
    if cursor.at != body.size:
        raise ProtocolError(f"{body.size - cursor.at} bytes of the body belong to no value")
    return message, values


class FrameReader:
    """Takes frames from a stream, with one buffer for all of them."""

    __slots__ = ("_first", "_max_body", "_receive_into")

    def __init__(self, receive_into: Callable[[memoryview], int], max_body: int) -> None:
        """Read through ``receive_into``, which fills a part of a buffer.

        Args:
            receive_into: returns how many bytes it wrote, 0 at the end of the stream (as ``socket.recv_into``).
            max_body: longest body accepted, in bytes.
        """
        self._receive_into = receive_into
        self._max_body = max_body
        self._first = memoryview(bytearray(FIRST_READ))

    def read(self) -> tuple[int, bytes, np.ndarray]:
        """One frame; no more memory is taken than ``max_body`` and ``MAX_META`` bytes whatever it claims.

        Returns:
            Request id, JSON part, body (uint8, one dimension).

        Raises:
            Closed: the stream ended.
            Trailing: bytes came with the frame that do not belong to it.
            ProtocolError: no frame, or a longer one than accepted.
        """
        view = self._first
        have = 0
        while have < HEADER.size:
            have += self._some(view[have:], have)
            if view[: min(have, len(MAGIC))] != MAGIC[:have]:
                raise ProtocolError(f"bytes that are no frame: {bytes(view[: min(have, 60)])!r}")
        _, request_id, meta_size, body_size = HEADER.unpack_from(view)
        if meta_size > MAX_META or body_size > self._max_body:
            raise ProtocolError(
                f"a frame claims {meta_size} + {body_size} bytes; at most {MAX_META} + {self._max_body} are accepted"
            )
        rest = view[HEADER.size : have]
        if len(rest) > meta_size + body_size:
            raise Trailing(request_id, len(rest) - meta_size - body_size)
        meta = bytearray(meta_size)
        body = np.empty(body_size, np.uint8)
        for target in (memoryview(meta), memory(body)):
            filled = min(len(rest), len(target))
            target[:filled] = rest[:filled]
            rest = rest[filled:]
            while filled < len(target):
                filled += self._some(target[filled:], have)
        return request_id, bytes(meta), body

    def _some(self, target: memoryview, have: int) -> int:
        count = self._receive_into(target)
        if count == 0:
            raise Closed("the stream ended inside a frame" if have else "the stream ended")
        return count


def write(send: Callable[[Sequence[Any]], int], parts: Sequence[Any]) -> None:
    """Send all buffers, in order and whole, however many calls that takes.

    Args:
        send: as ``socket.sendmsg``: takes buffers and returns how many bytes went out.
        parts: a frame, as ``encode`` makes it.
    """
    todo = [part for part in parts if len(part)]
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
