"""Serialised models as rows of a database hold them: compressed, and without what stands in their seed just so."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator

from irfuzz.errors import InvalidProgram
from irfuzz.store.bounded_decompression import decompressed

MAGIC = b"irfuzz\x00stored\x01"
"""Before a compressed model; no ONNX model begins so."""

CHUNK = 256
"""Bytes that a model and its seed must have in common to be named instead of stored."""

_HEAD = struct.Struct("<64sI")
"""Digest of the seed, zeros for none, and how many pieces follow."""

_PIECE = struct.Struct("<III")
"""Bytes that stand here, then where in the seed those behind them are, and how many."""


def compressed(model: bytes, digest: str = "", seed: bytes = b"") -> bytes:
    """A model as it is stored.

    Args:
        model: serialised ONNX.
        digest: of the program from which it was mutated, or empty.
        seed: that program's serialised ONNX. What both have in common in the same order, as weights, is left out.
    """
    pieces, own, place = [], [], 0
    for found, at, size in _common_pieces(model, seed):
        pieces.append(_PIECE.pack(found - place, at, size))
        own.append(model[place:found])
        place = found + size
    own.append(model[place:])
    head = _HEAD.pack(digest.encode() if pieces else b"", len(pieces))
    return MAGIC + zlib.compress(b"".join([head, *pieces, *own]))


def is_compressed(data: bytes) -> bool:
    """Whether stored bytes are those of ``compressed``, by how they begin."""
    return data.startswith(MAGIC)


def expanded(data: bytes, seed: Callable[[str], bytes]) -> bytes:
    """The inverse of ``compressed``; what is not compressed is returned as it is.

    Args:
        data: stored bytes.
        seed: gives the stored bytes of the program with a digest; asked if the model refers to one.

    Raises:
        InvalidProgram: they are damaged.
    """
    if not is_compressed(data):
        return data
    try:
        inner = memoryview(decompressed(memoryview(data)[len(MAGIC) :]))
        digest, count = _HEAD.unpack_from(inner)
        base = expanded(seed(digest.decode()), _no_seed_of_a_seed) if count else b""
        return _joined(inner, count, base)
    except (zlib.error, struct.error, UnicodeDecodeError) as error:
        raise InvalidProgram(f"stored model of {len(data)} bytes: expected a compressed one, got: {error}") from None


def _joined(inner: memoryview, count: int, base: bytes) -> bytes:
    """A model of its own pieces, and those that stand in its seed.

    Args:
        inner: what is stored, unpacked.
        count: how many pieces follow its head.
        base: the seed.

    Raises:
        InvalidProgram: they are longer than both.
        struct.error: there are fewer.
    """
    own = _HEAD.size + count * _PIECE.size
    pieces = list(_PIECE.iter_unpack(inner[_HEAD.size : own]))
    said = sum(size + length for size, _, length in pieces)
    if said > len(inner) + len(base):  # none stands twice
        raise InvalidProgram(f"stored model: its pieces have {said} bytes, it and its seed {len(inner) + len(base)}")
    parts: list[bytes | memoryview] = []
    for size, at, length in pieces:
        parts += [inner[own : own + size], base[at : at + length]]
        own += size
    return b"".join([*parts, inner[own:]])


def _no_seed_of_a_seed(digest: str) -> bytes:
    raise InvalidProgram(f"stored seed: expected a whole one, got one that refers to {digest[:64]}")


def _common_pieces(model: bytes, seed: bytes) -> Iterator[tuple[int, int, int]]:
    """Pieces that stand in both in the same order: their place in the model, in the seed, and their length."""
    place = at = failed = 0
    while at + CHUNK <= len(seed):
        found = model.find(seed[at : at + CHUNK], place)
        if found < 0:
            failed += 1
            at += CHUNK * failed  # each failure scans the rest of the model
            continue
        size = _common_length(model, found, seed, at)
        yield found, at, size
        place, at, failed = found + size, at + size, 0


def _common_length(model: bytes, place: int, seed: bytes, at: int) -> int:
    """How many bytes from two places on are the same; the first ``CHUNK`` are known to be."""
    most, same, step = min(len(model) - place, len(seed) - at), CHUNK, CHUNK
    while step:
        end = same + step
        if end <= most and model[place + same : place + end] == seed[at + same : at + end]:
            same, step = end, step * 2
        else:
            step //= 2
    return same
