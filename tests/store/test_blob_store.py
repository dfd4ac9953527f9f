"""Blobs in a folder: kept once, whole or not at all, mapped and dropped."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from irfuzz.errors import InternalError, UsageError
from irfuzz.store.blob_store import FolderBlobs

pytestmark = pytest.mark.unit


def test_equal_bytes_are_kept_once_under_their_digest(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path / "blobs")
    assert not blobs.has("0" * 64)
    assert list(blobs.digests()) == []
    one = blobs.put(b"weights")
    assert one == sha256(b"weights").hexdigest() == blobs.put(memoryview(b"weights"))
    two = blobs.put(b"others")
    assert sorted(blobs.digests()) == sorted([one, two])
    assert bytes(blobs.map(one)) == b"weights"
    assert [p.stat().st_size for p in (tmp_path / "blobs").iterdir() if p.stem == one] == [7]


def test_a_second_view_of_a_folder_sees_the_same_blobs(tmp_path: Path) -> None:
    digest = FolderBlobs(tmp_path).put(b"weights")
    assert bytes(FolderBlobs(tmp_path).map(digest)) == b"weights"


def test_what_is_removed_stays_readable_while_it_is_mapped(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    digest = blobs.put(b"weights")
    view = blobs.map(digest)
    blobs.path(digest).unlink()
    assert bytes(view) == b"weights"
    del view
    with pytest.raises(InternalError, match="cannot be read"):
        blobs.map(digest)


def test_a_draft_of_a_killed_process_is_no_blob_and_is_cleaned_up(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    digest = blobs.put(b"weights")
    (tmp_path / ".draft-abc").write_bytes(b"weig")
    assert list(blobs.digests()) == [digest]
    blobs.clean()
    assert [p.stem for p in tmp_path.iterdir()] == [digest]


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UsageError, match="cannot be written"):
        FolderBlobs(tmp_path / "file").put(b"weights")
