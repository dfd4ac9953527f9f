"""A tensor whose elements stay in the bytes of the file that they were read from."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import onnx
import onnx_ir as ir

from irfuzz.ir.serialization.mapped_file import FileSpan, span_of
from irfuzz.ir.serialization.protobuf_field_encoding import block_tag, varint

Held: TypeAlias = Mapping[int, "bytes | memoryview"]
"""``raw_data`` of initializers of the main graph, by their place in it; their messages have it present and empty."""

_RAW = 9
_FIELDS = tuple(onnx.TensorProto.DESCRIPTOR.fields)
_BEFORE = tuple(f.name for f in _FIELDS if f.number < _RAW)
_BEHIND = tuple(f.name for f in _FIELDS if f.number >= _RAW)


class LazyTensor(ir.Tensor):
    """A tensor whose elements are a view of the bytes of a file: nothing is copied until it is written."""

    __slots__ = ("_behind", "_front", "_span")

    def __init__(self, proto: onnx.TensorProto, data: bytes | memoryview) -> None:
        """``proto`` has been checked against the length of ``data``, and its type takes whole bytes (``can_hold``)."""
        dtype = ir.DataType(proto.data_type)
        array = np.frombuffer(data, dtype.numpy()).reshape(tuple(proto.dims))
        props = {e.key: e.value for e in proto.metadata_props}
        super().__init__(array, dtype, name=proto.name, doc_string=proto.doc_string or None, metadata_props=props)
        self._span = span_of(array)
        self._front, self._behind = _without(proto, (*_BEHIND, "name")), _without(proto, (*_BEFORE, "raw_data"))

    @property
    def span(self) -> FileSpan | None:
        """The place of the elements in a mapped file; ``None`` if they were read into memory."""
        return self._span

    def stated(self) -> bytes:
        """The ``TensorProto`` without its name and its elements, with all other fields that it was read with."""
        return self._front + self._behind

    def wire(self) -> bytes:
        """The ``TensorProto`` without its name, with the fields that it was read with.

        The elements are copied into it.
        """
        return b"".join(self.wire_parts())

    def wire_parts(self) -> tuple[bytes | memoryview, ...]:
        """What ``wire`` joins, in order; the elements are a view of the file's bytes."""
        data = self.raw.reshape(-1).view(np.uint8).data if sys.byteorder == "little" else self.tobytes()
        return self._front, block_tag(_RAW), varint(len(data)), data, self._behind


def can_hold(data_type: int) -> bool:
    """Whether the elements of this type stand in memory as they do in ``raw_data``: each takes whole bytes.

    Args:
        data_type: number of the ``TensorProto.DataType``, which ONNX defines.
    """
    return ir.DataType(data_type).bitwidth % 8 == 0


def _without(proto: onnx.TensorProto, names: tuple[str, ...]) -> bytes:
    left = onnx.TensorProto()
    left.CopyFrom(proto)
    for name in names:
        left.ClearField(name)
    return left.SerializeToString()
