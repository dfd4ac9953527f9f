"""Models one after the other on a stream, each behind its length."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from irfuzz.errors import InvalidProgram

LENGTH = struct.Struct("<Q")
"""How many bytes follow: 8 bytes, the least significant first."""

MOST = 1 << 31
"""Bytes of a model, as of one that is read from a file."""


def write_frame(stream: BinaryIO, data: bytes) -> None:
    """Write one model and flush the stream.

    Args:
        stream: gets the length as eight bytes, little-endian, then the model; it is flushed.
        data: bytes of the model.
    """
    stream.write(LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def read_frames(stream: BinaryIO) -> Iterator[bytes]:
    """The models on a stream, up to its end.

    Raises:
        InvalidProgram: it ends within a model, or what should be a length is none.
    """
    number = 0
    while head := stream.read(LENGTH.size):
        if len(head) < LENGTH.size:
            raise InvalidProgram(f"frame {number}: expected {LENGTH.size} bytes of its length, got {len(head)}")
        (size,) = LENGTH.unpack(head)
        if size > MOST:
            raise InvalidProgram(f"frame {number}: expected a length of at most {MOST}, got {size}: not framed?")
        data = stream.read(size)
        if len(data) < size:
            raise InvalidProgram(f"frame {number}: expected {size} bytes, got {len(data)}")
        yield data
        number += 1
