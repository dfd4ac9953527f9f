"""Initializers that are stored in other files than their model: which are, and how the model refers to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import onnx
import onnx_ir as ir

from irfuzz.ir.serialization.checked_tensors import AbsentTensor, SparseTensor
from irfuzz.ir.serialization.lazy_tensor import LazyTensor
from irfuzz.ir.serialization.protobuf_field_encoding import block, block_tag, int_tag, text, varint

_DIMS, _TYPE, _PLACE = int_tag(1), int_tag(2), int_tag(14)
_DOC, _EXTERNAL, _METADATA = block_tag(12), block_tag(13), block_tag(16)
_KEY, _VALUE = block_tag(1), block_tag(2)


@dataclass(frozen=True, slots=True)
class ExternalLocation:
    """Where the elements of a tensor stand instead of in the model (ONNX: "External Data").

    Attributes:
        location: path of the file, relative to the model's.
        offset: of the first byte in it.
        size: in bytes.
    """

    location: str
    offset: int
    size: int


Placing = Callable[[ir.TensorProtocol], "ExternalLocation | None"]
"""Says where an initializer of the main graph stands; ``None``: in the model."""


def byte_size(tensor: ir.TensorProtocol) -> int:
    """Bytes of the elements of a tensor that can stand in another file; 0 for strings and what is not at hand."""
    if isinstance(tensor, AbsentTensor | SparseTensor) or tensor.dtype == ir.DataType.STRING:
        return 0
    return tensor.nbytes


def referring(tensor: ir.TensorProtocol, away: ExternalLocation) -> bytes:
    """The ``TensorProto``, without its name, of a tensor whose elements stand elsewhere.

    Args:
        tensor: its type, sizes, comment and metadata are written.
        away: is written as ``external_data``; nothing is written to that file.
    """
    if isinstance(tensor, LazyTensor):
        stated = tensor.stated()
    else:
        stated = b"".join([_DIMS + varint(int(size)) for size in tensor.shape.numpy()])
        stated += _TYPE + varint(tensor.dtype.value)
        stated += text(_DOC, tensor.doc_string) if tensor.doc_string else b""
        stated += _entries(_METADATA, tensor.metadata_props)
    place = {"location": away.location, "offset": str(away.offset), "length": str(away.size)}
    return stated + _entries(_EXTERNAL, place) + _PLACE + varint(onnx.TensorProto.EXTERNAL)


def _entries(tag: bytes, entries: Mapping[str, str]) -> bytes:
    return b"".join([block(tag, text(_KEY, key) + text(_VALUE, value)) for key, value in entries.items()])
