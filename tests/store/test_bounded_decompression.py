"""Bytes that claim to be far more are refused before memory is taken, wherever a database holds compressed ones."""

from __future__ import annotations

import zlib

import pytest

from irfuzz.errors import InvalidProgram
from irfuzz.store import model_blob_packing, model_compression
from irfuzz.store.bounded_decompression import PACKED_BY, TEXT, decompressed
from irfuzz.store.database_schema import CompressedText

pytestmark = pytest.mark.unit


def test_what_zlib_packed_comes_back() -> None:
    for data in (b"", b"x", bytes(1 << 20)):
        assert decompressed(zlib.compress(data)) == decompressed(memoryview(zlib.compress(data))) == data


def test_more_than_may_be_is_refused() -> None:
    packed = zlib.compress(bytes(1 << 20))
    most = (1 << 20) - PACKED_BY * len(packed)
    assert len(decompressed(packed, most)) == 1 << 20
    with pytest.raises(zlib.error, match=f"unpack to more than the {(1 << 20) - 1} that are taken"):
        decompressed(packed, most - 1)


@pytest.mark.parametrize("data", [b"", b"rubbish", zlib.compress(b"whole")[:-1]])
def test_what_is_damaged_is_refused(data: bytes) -> None:
    with pytest.raises(zlib.error):
        decompressed(data)


def bomb() -> bytes:
    """A megabyte that claims to be one of a thousand."""
    stream = zlib.compressobj(9)
    return b"".join([*(stream.compress(bytes(1 << 20)) for _ in range(1024)), stream.flush()])


def test_a_row_of_gigabytes_is_refused() -> None:
    small = bomb()
    for module, read in (
        (model_blob_packing, model_blob_packing.unpacked),
        (model_compression, lambda data: model_compression.expanded(data, lambda _: b"")),
    ):
        with pytest.raises(InvalidProgram, match="that are taken"):
            read(module.MAGIC + small)


def test_a_text_of_gigabytes_is_none() -> None:
    small = zlib.compress(bytes(TEXT + PACKED_BY * (TEXT >> 9)))  # deflate packs zeros by a thousand
    assert CompressedText().process_result_value(small, None) is small
    assert CompressedText().process_result_value(zlib.compress(b"text"), None) == "text"
