"""Reads single ONNX messages (tensors, types, attributes, strings) as their forms in the IR."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, cast

import onnx
import onnx_ir as ir
from google.protobuf.message import Message

from irfuzz.errors import InvalidProgram
from irfuzz.ir.serialization.checked_tensors import AbsentTensor, SparseTensor, check_tensor
from irfuzz.ir.serialization.lazy_tensor import LazyTensor, can_hold
from irfuzz.ir.serialization.model_encoding import type_bytes
from irfuzz.ir.serialization.preserved_unsupported_fields import WIRE, VerbatimType
from irfuzz.ir.value import set_verbatim

_FIELD_OF: dict[int, str] = {
    1: "f",
    2: "i",
    3: "s",
    4: "t",
    5: "g",
    6: "floats",
    7: "ints",
    8: "strings",
    9: "tensors",
    10: "graphs",
    11: "sparse_tensor",
    12: "sparse_tensors",
    13: "tp",
    14: "type_protos",
}
"""The field that holds the value of an attribute of each type."""

_TYPE_OF = {field: kind for kind, field in _FIELD_OF.items()}
_GRAPH_KINDS = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)
_MESSAGES = frozenset({"t", "g", "sparse_tensor", "tp"})


def read_text(value: str, where: str) -> str:
    """A string of a message, as protobuf gives it.

    Messages of errors begin with the place that is given, such as ``name of a tensor``.

    Raises:
        InvalidProgram: its bytes are not UTF-8 (protobuf then hands out ``bytes``).
    """
    if type(value) is not str:
        raise InvalidProgram(f"{where}: {value!r} is not UTF-8 text")
    return value


def check_text(message: Message, where: str) -> None:
    """Check every string of a message that is handed to onnx-ir as a whole, and of the messages inside of it.

    It is only read. Messages of errors begin with the place that is given.

    Raises:
        InvalidProgram: see ``read_text``.
    """
    for field, value in message.ListFields():
        for one in value if field.is_repeated else (value,):
            if isinstance(one, Message):
                check_text(one, where)
            elif isinstance(one, bytes) and field.type == field.TYPE_STRING:
                read_text(cast("str", one), f"{where}: {field.name}")


def read_strings(entries: Iterable[onnx.StringStringEntryProto], where: str) -> dict[str, str] | None:
    """``metadata_props``, in order; ``None`` if there are none.

    Messages of errors say whose they are.

    Raises:
        InvalidProgram: a key stands twice, or a text is not UTF-8.
    """
    found: dict[str, str] = {}
    for entry in entries:
        key = read_text(entry.key, f"metadata_props of {where}")
        if key in found:
            raise InvalidProgram(f"{where}: metadata_props has the key '{key}' twice")
        found[key] = read_text(entry.value, f"metadata_props of {where}")
    return found or None


def same_message(a: Message, b: Message) -> bool:
    """True if two messages say the same; a field set to its default is a field that is not set."""
    return _without_defaults(a) == _without_defaults(b)


def _without_defaults(message: Message) -> Any:
    return {
        field.number: [_without_defaults(v) if isinstance(v, Message) else v for v in value]
        if isinstance(value, Iterable) and not isinstance(value, str | bytes)
        else _without_defaults(value)
        if isinstance(value, Message)
        else value
        for field, value in message.ListFields()
        if value or isinstance(value, Message) or field.containing_oneof is not None
    }


def read_tensor(proto: onnx.TensorProto, where: str, held: bytes | memoryview | None = None) -> ir.TensorProtocol:
    """A stored tensor, its size checked against its data.

    The message belongs to the tensor from then on. ``held`` is its ``raw_data``, if they stand elsewhere; they are not
    copied unless elements are narrower than a byte.

    Returns:
        A tensor; elements that stand in another file cannot be read from it.

    Raises:
        InvalidProgram: see ``irfuzz.ir.serialization.checked_tensors.check_tensor``.
    """
    read_text(proto.name, f"{where}: name of a tensor")
    try:
        check_tensor(proto, None if held is None else len(held))
    except InvalidProgram as e:
        raise InvalidProgram(f"{where}: {e}") from None
    if held is not None:
        if can_hold(proto.data_type):
            return LazyTensor(proto, held)
        proto.raw_data = bytes(held)
    if proto.data_location == onnx.TensorProto.EXTERNAL:
        return AbsentTensor(proto)
    if proto.data_type == onnx.TensorProto.STRING:
        tensor = ir.StringTensor(list(proto.string_data), shape=ir.Shape(proto.dims, frozen=True), name=proto.name)
        kept = onnx.TensorProto()
        kept.CopyFrom(proto)
        kept.ClearField("name")
        tensor.meta[WIRE] = kept.SerializeToString()
        return tensor
    return ir.TensorProtoTensor(proto)


def read_value_info(proto: onnx.ValueInfoProto, value: ir.Value) -> None:
    """Give ``value`` the type, documentation and metadata of ``proto``.

    Raises:
        InvalidProgram: the type names an element type that ONNX does not define.
    """
    where = f"value '{proto.name}'"
    if proto.HasField("type"):
        value.type, value.shape, verbatim = read_type(proto.type, where)
        set_verbatim(value, verbatim)
    if proto.doc_string:
        value.doc_string = read_text(proto.doc_string, f"doc_string of {where}")
    if proto.metadata_props:
        value.metadata_props.update(read_strings(proto.metadata_props, where) or {})


def read_type(proto: onnx.TypeProto, where: str) -> tuple[ir.TypeProtocol | None, ir.Shape | None, VerbatimType | None]:
    """Type and shape as onnx-ir has them, and the message itself if they say less than it.

    Maps and opaque types have no type in onnx-ir, so that they are kept as they were read.

    Returns:
        Type, shape and message, each ``None`` if there is none (or, for the message, if it need not be kept).

    Raises:
        InvalidProgram: unknown element type.
    """
    type_, shape = _type(proto, where)
    if type(type_) is ir.TensorType:
        return type_, shape, None
    seen = ir.Value(name="", type=type_, shape=shape)
    written = type_bytes(seen)
    if written is not None and onnx.TypeProto.FromString(written) == proto:
        return type_, shape, None
    return type_, shape, VerbatimType(type_, shape, proto.SerializeToString())


def _type(proto: onnx.TypeProto, where: str) -> tuple[ir.TypeProtocol | None, ir.Shape | None]:
    kind = proto.WhichOneof("value")
    denotation = read_text(proto.denotation, f"denotation of {where}") or None
    if kind in ("tensor_type", "sparse_tensor_type"):
        tensor = proto.tensor_type if kind == "tensor_type" else proto.sparse_tensor_type
        if not tensor.elem_type:
            return None, None
        try:
            dtype = ir.DataType(tensor.elem_type)
        except ValueError:
            raise InvalidProgram(f"{where} has element type {tensor.elem_type}, which ONNX does not define") from None
        shape = _shape(tensor.shape.SerializeToString()) if tensor.HasField("shape") else None
        make = ir.TensorType if kind == "tensor_type" else ir.SparseTensorType
        return make(dtype, denotation=denotation), shape
    if kind in ("sequence_type", "optional_type"):
        nested = proto.sequence_type if kind == "sequence_type" else proto.optional_type
        inner, shape = _type(nested.elem_type, where)
        if inner is None:
            return None, None
        wrap = ir.SequenceType if kind == "sequence_type" else ir.OptionalType
        return wrap(inner, denotation=denotation), shape
    return None, None


@lru_cache(maxsize=1024)
def _shape(data: bytes) -> ir.Shape:
    """The shape in a serialised ``TensorShapeProto``; it is frozen, so values may share it."""
    proto = onnx.TensorShapeProto.FromString(data)
    dims: list[int | str | None] = []
    denotations: list[str | None] = []
    for dim in proto.dim:
        kind = dim.WhichOneof("value")
        if kind == "dim_value":
            dims.append(dim.dim_value)
        else:
            dims.append(read_text(dim.dim_param, "name of a dimension") or None)
        denotations.append(read_text(dim.denotation, "denotation of a dimension") or None)
    return ir.Shape(dims, denotations, frozen=True)


def read_attribute(
    proto: onnx.AttributeProto, where: str, read_graph: Callable[[onnx.GraphProto], ir.Graph]
) -> ir.Attr:
    """An attribute of a node: it has a value, or refers to an attribute of a function.

    Those of type GRAPH and GRAPHS are read by ``read_graph``; messages of errors begin with the place that is given.

    Raises:
        InvalidProgram: it has no value, several, or one that its type does not announce.
    """
    name = read_text(proto.name, f"{where}: name of an attribute")
    where = f"{where}, attribute '{name}'"
    doc = read_text(proto.doc_string, where) or None
    present = [f.name for f, _ in proto.ListFields() if f.name in _TYPE_OF]
    kind = proto.type
    if proto.ref_attr_name:
        if present:
            raise InvalidProgram(f"{where}: it has a value and also refers to '{proto.ref_attr_name}'")
        if kind in _GRAPH_KINDS:
            raise InvalidProgram(f"{where}: it refers to '{proto.ref_attr_name}', but a graph cannot be a parameter")
        attr: ir.Attr = ir.RefAttr(name, read_text(proto.ref_attr_name, where), ir.AttributeType(kind), doc_string=doc)
    else:
        if kind == onnx.AttributeProto.UNDEFINED and len(present) == 1:
            kind = _TYPE_OF[present[0]]  # IR version 1 had no type field
        expected = _FIELD_OF.get(kind)
        if expected is None:
            raise InvalidProgram(f"{where}: it has neither a type nor one value")
        if present not in ([], [expected]) or (not present and expected in _MESSAGES):
            raise InvalidProgram(
                f"{where}: type {ir.AttributeType(kind).name} announces a value in '{expected}', "
                f"got {present or 'none'}"
            )
        value = _attribute_value(proto, expected, where, read_graph)
        attr = ir.Attr(name, ir.AttributeType(kind), value, doc_string=doc)
        if expected in ("g", "graphs"):
            return attr  # its graphs change with the program
    attr.meta[WIRE] = (attr.name, attr.doc_string, proto.SerializeToString())
    return attr


def _attribute_value(
    proto: onnx.AttributeProto, field: str, where: str, read_graph: Callable[[onnx.GraphProto], ir.Graph]
) -> Any:
    match field:
        case "s":
            return _decoded(proto.s)
        case "strings":
            return tuple(map(_decoded, proto.strings))
        case "t":
            return read_tensor(proto.t, where)
        case "tensors":
            return tuple(read_tensor(t, where) for t in proto.tensors)
        case "g":
            return read_graph(proto.g)
        case "graphs":
            return tuple(map(read_graph, proto.graphs))
        case "sparse_tensor":
            return SparseTensor(proto.sparse_tensor)
        case "sparse_tensors":
            return tuple(map(SparseTensor, proto.sparse_tensors))
        case "tp":
            return _type_and_shape(proto.tp, where)
        case "type_protos":
            return tuple(_type_and_shape(t, where) for t in proto.type_protos)
        case _:
            return getattr(proto, field)


def _decoded(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value  # custom operators store binary data in strings


def _type_and_shape(proto: onnx.TypeProto, where: str) -> ir.TypeAndShape:
    type_, shape, _ = read_type(proto, where)
    return ir.TypeAndShape(type_, shape)
