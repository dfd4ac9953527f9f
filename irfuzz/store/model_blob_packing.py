"""Serialised models with their large weights in a store of blobs, and back to one piece or to a folder."""

from __future__ import annotations

import re
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from irfuzz.errors import InvalidProgram
from irfuzz.frontends.serialized_weight_separation import split
from irfuzz.ir.serialization.message_limits import tensor_protos_in
from irfuzz.store.blob_store import SUFFIX, Blobs, FolderBlobs, digest_of
from irfuzz.store.bounded_decompression import decompressed

LARGE_PROGRAM = 1 << 20
"""Bytes of weights from which on those of a program are shared; smaller programs are stored whole."""

LARGE_TENSOR = 64 << 10
"""Bytes from which on tensors of bodies, functions and attributes are shared, too."""

MAGIC = b"irfuzz\x00program\x01"
"""Before the compressed model of a large program; no ONNX model begins so."""

_LOCATION = re.compile(rf"(?:.*/)?([0-9a-f]{{64}}){re.escape(SUFFIX)}")


def is_packed(data: bytes) -> bool:
    """Whether stored bytes are those of a model that refers to blobs, by how they begin; a whole ONNX model is not."""
    return data.startswith(MAGIC)


def packed(model: bytes, *, quickly: bool = False) -> bytes:
    """A model that refers to blobs, as it is stored; ``quickly`` without making it smaller.

    Args:
        model: serialised ONNX whose external tensors are named by digest.
        quickly: do not compress it; ``unpacked`` reads both.
    """
    return MAGIC + zlib.compress(model, 0 if quickly else -1)


def unpacked(data: bytes) -> bytes:
    """The inverse of ``packed``: serialised ONNX that refers to blobs; a whole model stays as it is.

    Raises:
        InvalidProgram: it is damaged.
    """
    if not is_packed(data):
        return data
    try:
        return decompressed(memoryview(data)[len(MAGIC) :])
    except zlib.error as error:
        raise InvalidProgram(f"stored model of {len(data)} bytes: expected a packed one, got: {error}") from None


def pack_model(data: bytes, blobs: Blobs) -> bytes:
    """A model without its large weights, which ``blobs`` get; a small model, or what is none, stays as it is.

    Args:
        data: serialised ONNX; below ``LARGE_PROGRAM`` bytes, or if little would be saved, it is returned.
        blobs: get the weights that they do not have.
    """
    if len(data) < LARGE_PROGRAM:
        return data
    small, weights = split(data)
    try:
        model = onnx.ModelProto.FromString(bytes(small))
    except DecodeError:
        return data
    for index, view in weights.items():
        _refer(model.graph.initializer[index], blobs.put(view), len(view))
    put = put_into(blobs)
    rest = model.SerializeToString()
    if len(rest) > LARGE_TENSOR:
        rest = without_tensors(rest, LARGE_TENSOR, put)
    return packed(rest) if len(rest) + LARGE_PROGRAM // 2 < len(data) else data


def put_into(blobs: Blobs) -> Callable[[str, bytes], bool]:
    """For ``without_tensors``: no tensor stays, ``blobs`` get them all.

    Args:
        blobs: keep the bytes of each tensor that the function is asked about.
    """

    def put(digest: str, data: bytes) -> bool:
        blobs.put(data)
        return False

    return put


def without_tensors(data: bytes, least: int, stays: Callable[[str, bytes], bool]) -> bytes:
    """A model in which tensors wherever they are, in bodies, functions and attributes too, are named by digest.

    Args:
        data: ONNX.
        least: bytes of a tensor that is looked at.
        stays: whether a tensor with this digest and these bytes stays in the model.
    """
    model = onnx.ModelProto.FromString(data)
    for tensor in tensor_protos_in(model):
        if tensor.data_location == onnx.TensorProto.EXTERNAL or len(tensor.raw_data) < least:
            continue
        raw = tensor.raw_data
        digest = digest_of(raw)
        if not stays(digest, raw):
            _refer(tensor, digest, len(raw))
    return model.SerializeToString()


def fill(tensor: onnx.TensorProto, data: bytes) -> None:
    """Put elements from a blob into a tensor that referred to it, which then stands in the model itself.

    Args:
        tensor: is edited in place.
        data: its raw bytes, little-endian as ONNX has them.
    """
    tensor.ClearField("external_data")
    tensor.ClearField("data_location")
    tensor.raw_data = data


def _refer(tensor: onnx.TensorProto, digest: str, size: int) -> None:
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": f"{digest}{SUFFIX}", "offset": "0", "length": str(size)}.items():
        tensor.external_data.add(key=key, value=value)


def whole_model(data: bytes, blobs: Blobs) -> bytes:
    """A stored model in one piece, all weights in it; a model that is no packed one is returned as it is.

    Args:
        data: as ``pack_model`` or ``packed`` gave it.
        blobs: hold its weights, which are copied.

    Raises:
        InternalError: a blob is missing.
        InvalidProgram: it is over 2 GiB.
    """
    if not is_packed(data):
        return data
    model = onnx.ModelProto.FromString(unpacked(data))
    for tensor in tensor_protos_in(model):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            fill(tensor, bytes(blobs.map(digest_in(tensor))))
    try:
        return model.SerializeToString()
    except ValueError as error:
        raise InvalidProgram(f"the model is over 2 GiB, so it cannot be one file ({error})") from None


def write_model(data: bytes, path: Path, blobs: FolderBlobs) -> None:
    """Write a stored model as ONNX, with the files of its weights beside it.

    They are links to the blobs, so that no room is taken twice; a copy of the folder holds them itself.

    Raises:
        OSError: it cannot be written.
    """
    model = unpacked(data)
    for digest in blobs_named(model) if is_packed(data) else ():
        link_blob(digest, path.parent, blobs)
    path.write_bytes(model)


def link_blob(digest: str, folder: Path, blobs: FolderBlobs) -> None:
    """Put a blob into a folder under its own name, as a link, or a copy if the file system has none.

    Raises:
        OSError: it cannot be written.
    """
    target = folder / f"{digest}{SUFFIX}"
    if target.exists():
        return
    try:
        target.hardlink_to(blobs.path(digest))
    except OSError:
        shutil.copyfile(blobs.path(digest), target)


def blobs_named(model: bytes) -> list[str]:
    """Digests of the blobs to which a model refers, each once, in the order in which its tensors do.

    Args:
        model: serialised ONNX, not packed.

    Raises:
        InvalidProgram: a tensor is in a file that is no blob.
    """
    found: dict[str, None] = {}
    for tensor in tensor_protos_in(onnx.ModelProto.FromString(model)):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            found[digest_in(tensor)] = None
    return list(found)


def digest_in(tensor: onnx.TensorProto) -> str:
    """Digest of the blob that holds a tensor's elements, by the name of its external file.

    Raises:
        InvalidProgram: they are in another file, or in none.
    """
    location = next((entry.value for entry in tensor.external_data if entry.key == "location"), "")
    named = _LOCATION.fullmatch(location)
    if named is None:
        raise InvalidProgram(f"tensor {tensor.name!r}: its data are in {location!r}, which is no blob of irfuzz")
    return named[1]
