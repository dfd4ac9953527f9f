"""Serialised models with their weights in a store of blobs."""

from __future__ import annotations

import os
from pathlib import Path

import onnx
import pytest

from irfuzz.errors import InternalError, InvalidProgram
from irfuzz.frontends.onnx_file import load_seed
from irfuzz.ir.program import Program
from irfuzz.store.blob_store import FolderBlobs
from irfuzz.store.model_blob_packing import (
    LARGE_PROGRAM,
    blobs_named,
    is_packed,
    pack_model,
    unpacked,
    whole_model,
    without_tensors,
    write_model,
)
from tests.large_weights import model

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("size", "large"), [(LARGE_PROGRAM - 1024, False), (LARGE_PROGRAM, True)])
def test_models_are_packed_from_the_threshold_on(tmp_path: Path, size: int, *, large: bool) -> None:
    blobs = FolderBlobs(tmp_path)
    whole = model(size)
    data = pack_model(whole.SerializeToString(), blobs)
    assert is_packed(data) is large
    assert len(list(blobs.digests())) == large
    assert len(data) < 1000 or not large
    assert onnx.ModelProto.FromString(whole_model(data, blobs)) == whole


def test_what_is_no_model_stays_as_it_is(tmp_path: Path) -> None:
    for data in (b"", b"model", bytes(2 * LARGE_PROGRAM)):
        assert pack_model(data, FolderBlobs(tmp_path)) == data == whole_model(data, FolderBlobs(tmp_path))


def test_tensors_in_attributes_are_named_by_digest_too(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    whole = model(4096, inner=4096)
    data = whole.SerializeToString()
    asked: list[int] = []

    def stays(digest: str, raw: bytes) -> bool:
        asked.append(len(raw))
        assert blobs.put(raw) == digest
        return len(asked) == 2

    assert len(blobs_named(without_tensors(data, 4096, stays))) == 1
    assert asked == [4096, 4096]
    assert without_tensors(data, 4097, stays) == data
    less = without_tensors(data, 4096, lambda digest, raw: False)
    assert len(less) < 1000
    assert sorted(blobs_named(less)) == sorted(blobs.digests())


def test_a_written_folder_shares_the_blobs_and_is_a_model_by_itself(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path / "blobs")
    whole = model(LARGE_PROGRAM)
    (tmp_path / "out").mkdir()
    write_model(pack_model(whole.SerializeToString(), blobs), tmp_path / "out" / "model.onnx", blobs)
    write_model(pack_model(whole.SerializeToString(), blobs), tmp_path / "out" / "again.onnx", blobs)
    (digest,) = blobs.digests()
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == sorted([f"{digest}.bin", "again.onnx", "model.onnx"])
    assert os.stat(blobs.path(digest)).st_nlink == 2  # noqa: PTH116
    blobs.path(digest).unlink()
    assert load_seed(tmp_path / "out" / "model.onnx").digest == Program.from_proto(whole).digest


def test_a_small_model_is_written_whole(tmp_path: Path) -> None:
    data = model(4096).SerializeToString()
    write_model(data, tmp_path / "model.onnx", FolderBlobs(tmp_path / "blobs"))
    assert (tmp_path / "model.onnx").read_bytes() == data
    assert [p.name for p in tmp_path.iterdir()] == ["model.onnx"]


def test_what_is_missing_or_elsewhere_is_told(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    data = pack_model(model(LARGE_PROGRAM).SerializeToString(), blobs)
    (digest,) = blobs.digests()
    blobs.path(digest).unlink()
    with pytest.raises(InternalError, match="cannot be read"):
        whole_model(data, FolderBlobs(tmp_path))
    with pytest.raises(InvalidProgram, match="no blob of irfuzz"):
        blobs_named(unpacked(data).replace(b".bin", b".dat"))
