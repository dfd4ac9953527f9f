"""Writes programs as ONNX that refers to their large weights, of which a store of blobs has one copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import onnx
import onnx_ir as ir

from irfuzz.facts import Fact
from irfuzz.ir.program import Program
from irfuzz.ir.serialization import serde
from irfuzz.ir.serialization.external_tensor_references import ExternalLocation, byte_size
from irfuzz.ir.serialization.lazy_tensor import Held, can_hold
from irfuzz.ir.serialization.message_limits import tensor_protos_in
from irfuzz.ir.serialization.weightless_message import view_of
from irfuzz.store.blob_store import SUFFIX, Blobs, digest_of
from irfuzz.store.model_blob_packing import digest_in, fill

SHARED = 1 << 10
"""Bytes from which on a weight is stored by its digest, if its program has ``LARGE_PROGRAM`` bytes of weights."""

_BLOB = "irfuzz.blob"
"""Key in ``tensor.meta`` of the digest of its bytes."""


def blob_digest(tensor: ir.TensorProtocol) -> str:
    """The digest under which a tensor's elements are stored; computed once and kept in the tensor's ``meta``, so do not
    change its elements afterwards.
    """
    known = tensor.meta.get(_BLOB)
    if known is None:
        known = tensor.meta[_BLOB] = digest_of(_elements(tensor))
    return known


def shared_bytes(
    program: Program,
    blobs: Blobs,
    *,
    least: int = SHARED,
    folder: str = "",
    keep: Callable[[ir.TensorProtocol], bool] = lambda tensor: True,
) -> bytes:
    """A program as ONNX whose weights of at least ``least`` bytes are in ``blobs`` and named there.

    Args:
        program: stays as it is.
        blobs: get the weights that they do not have.
        least: bytes of a weight that is not written into the model.
        folder: in which a reader of the model finds the blobs, relative to the model.
        keep: which of the weights that are not there yet get into ``blobs``; the others are written into the model.
    """

    def place(tensor: ir.TensorProtocol) -> ExternalLocation | None:
        size = byte_size(tensor)
        if size < least:
            return None
        digest = blob_digest(tensor)
        if not blobs.has(digest):
            if not keep(tensor):
                return None
            blobs.put(_elements(tensor))
        name = f"{digest}{SUFFIX}"
        return ExternalLocation(f"{folder}/{name}" if folder else name, 0, size)

    return serde.encode_bytes(program.model, program.residue, place)


def shared_program(data: bytes, blobs: Blobs, recorded: Mapping[str, Fact] | None = None) -> Program:
    """The program that ``shared_bytes`` wrote, its weights mapped from ``blobs``; whole models are read as well.

    Args:
        data: what it wrote.
        blobs: hold the weights.
        recorded: see ``Program.infer``.

    Raises:
        InvalidProgram: it is not such a model, or a blob has another length than its tensor.
        InternalError: a blob is missing.
    """
    model = onnx.ModelProto.FromString(data)
    held: dict[int, bytes | memoryview] = {}
    digests: dict[str, str] = {}
    for index, tensor in enumerate(model.graph.initializer):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            digest = digests[tensor.name] = digest_in(tensor)
            view = blobs.map(digest)
            fill(tensor, b"" if can_hold(tensor.data_type) else bytes(view))
            if can_hold(tensor.data_type):
                held[index] = view
    for tensor in tensor_protos_in(model):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            fill(tensor, bytes(blobs.map(digest_in(tensor))))
    if not held:
        return _decoded(model, {}, recorded)
    program = _decoded(model, held, recorded)
    for name, digest in digests.items():
        tensor = program.graph.initializers[name].const_value
        if tensor is not None:
            tensor.meta[_BLOB] = digest
    return program


def _decoded(model: onnx.ModelProto, held: Held, recorded: Mapping[str, Fact] | None) -> Program:
    program = Program(*serde.decode(model, held))
    program.infer(recorded)
    return program


def _elements(tensor: ir.TensorProtocol) -> memoryview | bytes:
    """The bytes of a tensor, without a copy if they stand in memory as they are stored."""
    view = view_of(tensor)
    return tensor.tobytes() if view is None else view
