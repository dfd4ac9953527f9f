"""Protobuf's wire format: the bytes of single fields from Python values (protobuf.dev, "Encoding")."""

from __future__ import annotations

_SHORT = tuple(bytes((n,)) for n in range(128))
_MASK = 2**64 - 1


def varint(value: int) -> bytes:
    """Base-128 bytes of an integer in [-2**63, 2**64); negative ones as their two's complement in 64 bits."""
    if 0 <= value < 128:
        return _SHORT[value]
    value &= _MASK
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def block_tag(field: int) -> bytes:
    """Tag of a length-delimited field (wire type 2): a string, bytes or a message; ``field`` is its number."""
    return varint(field << 3 | 2)


def int_tag(field: int) -> bytes:
    """Tag of an integer or enum field (wire type 0); ``field`` is its number."""
    return varint(field << 3)


def block(tag: bytes, data: bytes) -> bytes:
    """A length-delimited field: its tag, as ``block_tag`` gives it, the number of bytes, and the bytes."""
    size = len(data)
    return tag + (_SHORT[size] if size < 128 else varint(size)) + data


def text(tag: bytes, value: str) -> bytes:
    """A string field: its tag, as ``block_tag`` gives it, the number of bytes, and the string as UTF-8."""
    data = value.encode()
    size = len(data)
    return tag + (_SHORT[size] if size < 128 else varint(size)) + data
