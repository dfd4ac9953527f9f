"""Unpacks what a database holds compressed, up to a size: a few bytes may claim to be gigabytes."""

from __future__ import annotations

import zlib

UNPACKED = 512 << 20
PACKED_BY = 100
"""Data may unpack to ``UNPACKED`` bytes, and to ``PACKED_BY`` times their own: deflate alone reaches 1000 times."""

TEXT = 64 << 20
"""Instead of ``UNPACKED`` for a text, of which there are copies while it is read."""


def decompressed(data: bytes | memoryview, most: int = UNPACKED) -> bytes:
    """The inverse of ``zlib.compress``.

    Args:
        data: compressed.
        most: bytes that it may have, besides ``PACKED_BY`` times those of ``data``.

    Raises:
        zlib.error: it is none, is cut off, or has more bytes.
    """
    allowed = most + PACKED_BY * memoryview(data).nbytes
    stream = zlib.decompressobj()
    unpacked = stream.decompress(data, allowed)
    if stream.eof:
        return unpacked
    if len(unpacked) == allowed:
        raise zlib.error(f"{memoryview(data).nbytes} bytes unpack to more than the {allowed} that are taken")
    raise zlib.error("incomplete or truncated stream")
