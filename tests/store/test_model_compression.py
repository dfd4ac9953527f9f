"""Models are stored compressed, and weights that a mutant shares with its seed are named, not stored."""

from __future__ import annotations

import random
import struct
import zlib

import pytest

from irfuzz.errors import InvalidProgram
from irfuzz.store.model_compression import CHUNK, MAGIC, compressed, expanded, is_compressed

pytestmark = pytest.mark.unit

DIGEST = "ab" * 32


def noise(seed: int, size: int) -> bytes:
    return random.Random(seed).randbytes(size)


def never(digest: str) -> bytes:
    raise AssertionError(f"asked for {digest}")


SEED = noise(1, 40_000)


@pytest.mark.parametrize(
    ("model", "most"),
    [
        (SEED, 200),
        (b"head" + SEED[:10_000] + noise(2, 300) + SEED[10_000:], 600),
        (SEED[5_000:9_000] + SEED[20_000:], 1_500),
        (SEED[20_000:] + SEED[:20_000], 20_500),  # in another order: one of both is stored
        (noise(3, 5_000), 5_200),
        (SEED[: CHUNK - 1], CHUNK + 100),
        (b"", 200),
    ],
)
def test_what_stands_in_the_seed_is_not_stored(model: bytes, most: int) -> None:
    data = compressed(model, DIGEST, SEED)
    assert is_compressed(data)
    assert len(data) <= most
    stored = {DIGEST: compressed(SEED)}
    assert expanded(data, stored.__getitem__) == model


def test_a_model_without_a_seed_is_only_compressed() -> None:
    model = b"weights " * 1000
    data = compressed(model)
    assert len(data) < 200
    assert expanded(data, never) == model
    assert expanded(model, never) == model, "as older versions stored it"


def test_nothing_in_common_refers_to_no_seed() -> None:
    assert expanded(compressed(noise(4, 900), DIGEST, SEED), never) == noise(4, 900)


@pytest.mark.parametrize(
    "data", [MAGIC, MAGIC + b"x", compressed(b"model")[:-9], MAGIC + b"x\x9c\x03\x00\x00\x00\x00\x01"]
)
def test_damaged_bytes_are_named(data: bytes) -> None:
    with pytest.raises(InvalidProgram, match=f"stored model of {len(data)} bytes"):
        expanded(data, never)


def stored(digest: str, *pieces: tuple[int, int, int], own: bytes = b"") -> bytes:
    """A model that says of itself what ``compressed`` would not."""
    head = struct.pack("<64sI", digest.encode(), len(pieces))
    return MAGIC + zlib.compress(head + b"".join(struct.pack("<III", *piece) for piece in pieces) + own)


def test_a_seed_that_refers_to_a_seed_is_damaged() -> None:
    own = {DIGEST: stored(DIGEST, (0, 0, 300))}
    with pytest.raises(InvalidProgram, match="expected a whole one, got one that refers to"):
        expanded(own[DIGEST], own.__getitem__)


@pytest.mark.parametrize("count", [1, 1000])
def test_a_piece_of_the_seed_stands_once(count: int) -> None:
    data = stored(DIGEST, *[(0, 0, len(SEED))] * count)
    if count == 1:
        assert expanded(data, lambda _: SEED) == SEED
    else:
        with pytest.raises(InvalidProgram, match=f"pieces have {1000 * len(SEED)} bytes"):
            expanded(data, lambda _: SEED)
