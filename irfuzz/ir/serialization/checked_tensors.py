"""Checks sizes of ONNX tensors before memory is taken, and makes tensors of the IR of sparse ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import onnx
import onnx_ir as ir

from irfuzz.errors import InvalidProgram

MAX_BYTES = 2**31 - 1
"""Most bytes that one protobuf message, and so one model file, can hold."""

MOST_DIMENSIONS = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32
"""Of an array of NumPy's."""

_TYPED_FIELDS: dict[str, frozenset[int]] = {
    "float_data": frozenset({1, 14}),
    "int32_data": frozenset({2, 3, 4, 5, 6, 9, 10, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28}),
    "int64_data": frozenset({7}),
    "double_data": frozenset({11, 15}),
    "uint64_data": frozenset({12, 13}),
    "string_data": frozenset({8}),
}
"""Which element types may stand in which field (comments of ``TensorProto`` in onnx.proto)."""

_PACKED_IN_INT32 = {21: 2, 22: 2, 23: 2, 25: 4, 26: 4}
"""Elements to one entry of ``int32_data`` for the types narrower than a byte; float6 stands one to an entry."""

_SIX_BITS = frozenset({27, 28})


def array_tensor(array: np.ndarray, dtype: ir.DataType | None = None, name: str | None = None) -> ir.TensorProtocol:
    """A tensor of an array's elements; strings may be ``str`` or ``bytes``.

    Args:
        array: of any element type that ONNX has.
        dtype: element type, if the array's own does not say it.
        name: of the tensor.
    """
    if array.dtype.kind in "OUS":
        elements = np.empty(array.size, dtype=object)
        elements[:] = [item.encode() if isinstance(item, str) else bytes(item) for item in array.ravel()]
        return ir.StringTensor(elements.reshape(array.shape), name=name)
    # ir.tensor() takes ten times as long to come to the same.
    return ir.Tensor(array, dtype=dtype, name=name)


MOST_ELEMENTS = 1 << 58
"""Of a tensor whose zeros are left out: NumPy counts strides in bytes of an int64, also of arrays without elements."""

MOST_DENSE = 512 << 20
"""Bytes of a sparse tensor with its zeros: a few bytes of a file may say any number."""


def element_count(dims: Sequence[int]) -> int:
    """Number of elements of a tensor with these sizes; 1 for a scalar, which has none.

    Raises:
        InvalidProgram: a size is negative, or together they are more than can be counted in bytes, though one is 0.
    """
    if any(d < 0 for d in dims):
        raise InvalidProgram(f"tensor has a negative size in {list(dims)}; sizes of stored tensors are at least 0")
    if math.prod(d for d in dims if d) > MOST_ELEMENTS:
        raise InvalidProgram(f"tensor has the sizes {list(dims)}; expected at most {MOST_ELEMENTS} without those of 0")
    return math.prod(dims)


def byte_count(data_type: int, dims: Sequence[int]) -> int:
    """Bytes of ``raw_data`` for a tensor of this type and these sizes (sub-byte types are packed).

    Raises:
        InvalidProgram: unknown element type, strings, or a negative size.
    """
    dtype = _dtype(data_type)
    if dtype == ir.DataType.STRING:
        raise InvalidProgram("string tensors have no raw form; expected string_data")
    return (element_count(dims) * dtype.bitwidth + 7) // 8


def _dtype(data_type: int) -> ir.DataType:
    try:
        dtype = ir.DataType(data_type)
    except ValueError:
        raise InvalidProgram(f"tensor has element type {data_type}, which ONNX does not define") from None
    if dtype == ir.DataType.UNDEFINED:
        raise InvalidProgram("tensor has no element type (data_type is UNDEFINED)")
    return dtype


def check_tensor(proto: onnx.TensorProto, held: int | None = None) -> None:
    """Compare the data that is present with what type and sizes promise.

    Tensors whose data are in another file pass: their data are checked when that file is read. Of a tensor whose
    ``raw_data`` are held elsewhere (``irfuzz.ir.serialization.lazy_tensor``), ``held`` is their length in bytes.

    Raises:
        InvalidProgram: unknown type, negative size, a segment of a larger tensor, data in two places, in the wrong
            field, or too few or too many of them, or bits that have to be zero.
    """
    try:
        _check_data(proto, held)
    except InvalidProgram as e:
        raise InvalidProgram(f"tensor '{proto.name}': {e}") from None


def _check_data(proto: onnx.TensorProto, held: int | None) -> None:
    dtype = _dtype(proto.data_type)
    if len(proto.dims) > MOST_DIMENSIONS:
        raise InvalidProgram(f"it has {len(proto.dims)} dimensions; expected at most {MOST_DIMENSIONS}, as NumPy holds")
    count = element_count(proto.dims)
    if proto.HasField("segment") and (proto.segment.begin, proto.segment.end) != (0, count):
        raise InvalidProgram("it is a segment of a larger tensor; nothing says where the rest is")
    if proto.data_location == onnx.TensorProto.EXTERNAL:
        return
    if proto.HasField("raw_data"):
        expected = byte_count(proto.data_type, proto.dims)
        got = len(proto.raw_data) if held is None else held
        if got != expected:
            raise InvalidProgram(
                f"{dtype.name} of sizes {list(proto.dims)} takes {expected} bytes, got {got} in raw_data"
            )
        present = [name for name in _TYPED_FIELDS if getattr(proto, name)]
        if present:
            raise InvalidProgram(f"data stand twice, in raw_data and in {present[0]}; expected one of them")
        _check_six_bits(dtype, count, proto)
        return
    present = [(name, n) for name in _TYPED_FIELDS if (n := len(getattr(proto, name)))]
    if len(present) > 1:
        raise InvalidProgram(f"data stand twice, in {present[0][0]} and in {present[1][0]}; expected one of them")
    if not present:
        if count:
            raise InvalidProgram(f"{dtype.name} of sizes {list(proto.dims)} takes {count} elements, got no data")
        return
    (field, got) = present[0]
    if dtype.value not in _TYPED_FIELDS[field]:
        raise InvalidProgram(f"{dtype.name} data cannot stand in {field}")
    if dtype in (ir.DataType.COMPLEX64, ir.DataType.COMPLEX128):
        expected = 2 * count
    else:
        per_entry = _PACKED_IN_INT32.get(dtype.value, 1)
        expected = (count + per_entry - 1) // per_entry
    if got != expected:
        raise InvalidProgram(f"{dtype.name} of sizes {list(proto.dims)} takes {expected} entries of {field}, got {got}")
    _check_six_bits(dtype, count, proto)


def _check_six_bits(dtype: ir.DataType, count: int, proto: onnx.TensorProto) -> None:
    """ONNX leaves no bit of these types open (comments of ``TensorProto``), and onnx-ir reads no others."""
    if dtype.value not in _SIX_BITS:
        return
    used = 6 * count % 8
    if proto.raw_data and used and proto.raw_data[-1] >> used:
        raise InvalidProgram(
            f"{dtype.name}: raw_data ends in bits that belong to none of the {count} elements; expected zeros"
        )
    beyond = next((code for code in proto.int32_data if not 0 <= code < 64), None)
    if beyond is not None:
        raise InvalidProgram(f"{dtype.name}: int32_data has {beyond}; expected 6 bits, 0 to 63")


class AbsentTensor(ir.TensorProtoTensor):
    """A tensor whose data are in another file that was not read: it can be carried, but not looked into."""

    __slots__ = ()

    def numpy(self) -> np.ndarray:
        """Raise ``InvalidProgram``."""
        raise InvalidProgram(
            f"the data of tensor '{self.name}' are in another file; load the model from its file to take them in"
        )

    def tobytes(self) -> bytes:
        """Raise ``InvalidProgram``."""
        self.numpy()
        return b""


class SparseTensor(ir.LazyTensor):
    """A ``SparseTensorProto`` seen as the dense tensor that it stands for.

    The proto is kept as it is and written back as it is; ``numpy()`` spells out the zeros, and raises
    ``InvalidProgram`` if they would not fit in a model file or an index lies outside of the sizes.
    """

    __slots__ = ("proto",)

    def __init__(self, proto: onnx.SparseTensorProto) -> None:
        """Check ``proto`` without expanding it.

        Raises:
            InvalidProgram: its values, indices and sizes do not fit together.
        """
        _check_sparse(proto)
        self.proto = proto
        super().__init__(
            lambda: ir.Tensor(_dense(proto), dtype=ir.DataType(proto.values.data_type)),
            dtype=ir.DataType(proto.values.data_type),
            shape=ir.Shape(proto.dims, frozen=True),
            name=proto.values.name or None,
        )


def _check_sparse(proto: onnx.SparseTensorProto) -> None:
    where = f"sparse tensor '{proto.values.name}'"
    check_tensor(proto.values)
    check_tensor(proto.indices)
    if onnx.TensorProto.EXTERNAL in (proto.values.data_location, proto.indices.data_location):
        raise InvalidProgram(f"{where}: its data are in another file; only dense tensors may be")
    count = element_count(proto.dims)
    values = list(proto.values.dims)
    indices = list(proto.indices.dims)
    if len(values) != 1:
        raise InvalidProgram(f"{where}: values must have one dimension, got sizes {values}")
    if indices not in ([values[0]], [values[0], len(proto.dims)]):
        raise InvalidProgram(
            f"{where}: {values[0]} values need indices of sizes {[values[0]]} or "
            f"{[values[0], len(proto.dims)]}, got {indices}"
        )
    if proto.values.data_type == onnx.TensorProto.STRING:
        raise InvalidProgram(f"{where}: strings have no zero to fill the rest with; expected a numeric type")
    if proto.indices.data_type != onnx.TensorProto.INT64:
        raise InvalidProgram(f"{where}: indices must be INT64, got {ir.DataType(proto.indices.data_type).name}")
    if values[0] > count:
        raise InvalidProgram(f"{where}: {values[0]} values in a tensor of {count} elements")


def _dense(proto: onnx.SparseTensorProto) -> np.ndarray:
    dims = tuple(proto.dims)
    if byte_count(proto.values.data_type, dims) > MOST_DENSE:
        size = f"over {MOST_DENSE >> 20} MiB when dense"
        raise InvalidProgram(f"sparse tensor '{proto.values.name}' of sizes {list(dims)} is {size}")
    values = ir.TensorProtoTensor(proto.values).numpy()
    indices = ir.TensorProtoTensor(proto.indices).numpy()
    limit = np.array(dims, dtype=np.int64) if indices.ndim == 2 else np.int64(math.prod(dims))
    if np.any(indices < 0) or np.any(indices >= limit):
        raise InvalidProgram(f"sparse tensor '{proto.values.name}' has an index outside of its sizes {list(dims)}")
    dense = np.zeros(dims, dtype=values.dtype)
    if indices.ndim == 2:
        dense[tuple(indices.T)] = values
    else:
        dense.reshape(-1)[indices] = values
    return dense
