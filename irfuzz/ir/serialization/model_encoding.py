"""Serialises a model of the IR, and what was carried beside it, as ONNX: equal bytes for equal programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any, cast

import onnx
import onnx_ir as ir
from google.protobuf.message import DecodeError

from irfuzz.errors import InvalidProgram
from irfuzz.ir.fast_mapping_access import entries
from irfuzz.ir.serialization.checked_tensors import MAX_BYTES, SparseTensor
from irfuzz.ir.serialization.external_tensor_references import Placing, referring
from irfuzz.ir.serialization.lazy_tensor import LazyTensor
from irfuzz.ir.serialization.onnx_ir_fallback import PublicNodeWriter
from irfuzz.ir.serialization.preserved_unsupported_fields import (
    CARRIED,
    WIRE,
    Residue,
    UnsupportedFields,
    ValueStatement,
    lists_initializers,
)
from irfuzz.ir.serialization.protobuf_field_encoding import block, block_tag, int_tag, text, varint
from irfuzz.ir.value import TypedValue, verbatim_of

if TYPE_CHECKING:
    from irfuzz._graph import NodeWriter

# Written by hand because protobuf's Python objects are the slow part: for 30 nodes with 100 kB of
# weights building a ModelProto and serialising it takes several times as long as joining these bytes.

_CACHED_BYTES = 2**24
"""Tensors up to this size keep their serialised form; mutants of one seed share the tensor objects."""

_T = {n: block_tag(n) for n in range(1, 30)}
"""Tag of the length-delimited field with this number."""
_I = {n: int_tag(n) for n in range(1, 30)}
"""Tag of the integer field with this number."""

_GRAPH_TYPES = (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)


def encode_bytes(
    model: ir.Model,
    residue: Residue = Residue(),  # noqa: B008 (frozen)
    placing: Placing | None = None,
) -> bytes:
    """Serialise a program as a ``ModelProto``.

    Equal programs built alike give equal bytes, in any process. With ``placing`` it refers to initializers in other
    files, which the caller writes.

    Raises:
        InvalidProgram: a value has no name, an initializer no tensor, or the model is over 2 GiB.
    """
    parts = encode_parts(model, residue, placing)
    size = sum(map(len, parts))
    if size > MAX_BYTES:
        raise InvalidProgram(
            f"the model takes {size} bytes; one ONNX file holds at most {MAX_BYTES} (protobuf's limit)"
        )
    return b"".join(parts)


def encode_parts(
    model: ir.Model,
    residue: Residue = Residue(),  # noqa: B008 (frozen)
    placing: Placing | None = None,
) -> list[bytes | memoryview]:
    """What ``encode_bytes`` joins, of any length in all; weights that lie in a file are views of it, not copies.

    Args:
        model: is not changed.
        residue: what onnx-ir could not hold of it.
        placing: which initializers stand in other files, as for ``encode_bytes``.
    """
    parts: list[bytes | memoryview] = [_I[1], varint(model.ir_version)]
    for field, string in ((2, model.producer_name), (3, model.producer_version), (4, model.domain)):
        if string:
            parts.append(text(_T[field], string))
    if model.model_version:
        parts += (_I[5], varint(model.model_version))
    if model.doc_string:
        parts.append(text(_T[6], model.doc_string))
    graph = _graph_parts(model.graph, lists_initializers(model.ir_version), placing)
    parts += (_T[7], varint(sum(map(len, graph))), *graph)
    parts.append(_opset_imports(8, model.opset_imports))
    parts.append(_strings(14, model.metadata_props))
    for info in residue.training_info:
        parts += (block_tag(20), varint(len(info)), info)
    for function in model.functions.values():
        parts.append(block(_T[25], _function(function)))
    for configuration in model.device_configurations:
        parts.append(block(_T[26], ir.serde.serialize_model_configuration(configuration).SerializeToString()))
    return parts


def encode(model: ir.Model, residue: Residue = Residue()) -> onnx.ModelProto:  # noqa: B008 (frozen)
    """``encode_bytes``, parsed: a message that shares nothing with the model.

    Raises:
        InvalidProgram: as ``encode_bytes``, and if subgraphs are nested deeper than protobuf reads.
    """
    data = encode_bytes(model, residue)
    try:
        return onnx.ModelProto.FromString(data)
    except DecodeError as e:
        raise InvalidProgram(f"the model cannot be read back ({e}); subgraphs may be nested over 30 deep") from None


def tensor_bytes(tensor: ir.TensorProtocol) -> bytes:
    """A ``TensorProto`` without its name; a tensor that was read keeps the fields it was read with.

    Raises:
        InvalidProgram: the tensor has unknown sizes or data that do not fit them.
    """
    known = tensor.meta.get(WIRE)
    if known is not None:
        return known
    if isinstance(tensor, LazyTensor):
        return tensor.wire()
    if type(tensor) is ir.Tensor and not tensor.doc_string and not tensor.metadata_props:
        data = _plain_tensor(tensor)
    else:
        if isinstance(tensor, ir.TensorProtoTensor):
            proto = onnx.TensorProto()
            proto.CopyFrom(tensor.raw)
        else:
            proto = ir.serde.serialize_tensor(tensor)
        proto.ClearField("name")
        data = proto.SerializeToString()
    if len(data) <= _CACHED_BYTES:
        tensor.meta[WIRE] = data
    return data


def _plain_tensor(tensor: ir.Tensor) -> bytes:
    """What onnx-ir and protobuf make of a tensor that says nothing but its elements, in a fifth of their time."""
    sizes = b"".join([_I[1] + varint(int(size)) for size in tensor.shape.numpy()])
    elements = tensor.tobytes()
    return sizes + _I[2] + varint(tensor.dtype.value) + _T[9] + varint(len(elements)) + elements


@lru_cache(maxsize=1 << 14)
def _own_name(name: str) -> bytes:
    """The field ``TensorProto.name``."""
    return text(_T[8], name)


def value_bytes(value: ir.Value) -> bytes:
    """The ``ValueInfoProto`` of a value: its name, type, comment and metadata.

    Raises:
        InvalidProgram: the value has no name.
    """
    out = text(_T[1], name_of(value))
    of_type = type_bytes(value)
    if of_type is not None:
        out += block(_T[2], of_type)
    if value.doc_string:
        out += text(_T[3], value.doc_string)
    if value.metadata_props:
        out += _strings(4, value.metadata_props)
    return out


def type_bytes(value: ir.Value) -> bytes | None:
    """The ``TypeProto`` of a value, or ``None`` if nothing is known of its type.

    A type that onnx-ir reads as less than it says is written as it was read, as long as the value has it still.
    """
    type_ = value.type
    shape = value.shape
    if type(type_) is not ir.TensorType:
        verbatim = verbatim_of(value)
        if verbatim is not None and verbatim.type == type_ and verbatim.shape == shape:
            return verbatim.proto
        if type_ is None:
            return None
    return type_and_shape_bytes(type_, shape)


def type_and_shape_bytes(type_: ir.TypeProtocol, shape: ir.Shape | None) -> bytes:
    """The ``TypeProto`` of a type of the IR; the shape belongs to the innermost tensor.

    Args:
        type_: tensor, sparse tensor, sequence or optional.
        shape: ``None`` if the rank is unknown.

    Raises:
        InvalidProgram: ONNX has no such type.
    """
    if isinstance(type_, ir.TensorType | ir.SparseTensorType):
        dims: tuple[Any, ...] | None = None
        denotations: tuple[str | None, ...] = ()
        if shape is not None:
            dims = tuple(d if type(d) is int else d.value if isinstance(d, ir.SymbolicDim) else int(d) for d in shape)
            denotations = tuple(shape.get_denotation(i) for i in range(len(dims)))
        field = 1 if isinstance(type_, ir.TensorType) else 8
        return _tensor_type(field, type_.dtype.value, dims, denotations, type_.denotation)
    if isinstance(type_, ir.SequenceType | ir.OptionalType):
        field = 4 if isinstance(type_, ir.SequenceType) else 9
        inner = block(_T[1], type_and_shape_bytes(type_.elem_type, shape))
        return block(_T[field], inner) + (text(_T[6], type_.denotation) if type_.denotation else b"")
    raise InvalidProgram(f"type {type_!r} has no form in ONNX")


@lru_cache(maxsize=4096)
def _tensor_type(
    field: int,
    dtype: int,
    dims: tuple[int | str | None, ...] | None,
    denotations: tuple[str | None, ...],
    denotation: str | None,
) -> bytes:
    inner = _I[1] + varint(dtype)
    if dims is not None:
        shape = b""
        for size, meaning in zip(dims, denotations, strict=True):
            dim = b""
            if isinstance(size, int):
                dim = _I[1] + varint(size)
            elif size:
                dim = text(_T[2], size)
            if meaning:
                dim += text(_T[3], meaning)
            shape += block(_T[1], dim)
        inner += block(_T[2], shape)
    return block(_T[field], inner) + (text(_T[6], denotation) if denotation else b"")


def name_of(value: ir.Value) -> str:
    """The name of a value that is about to be written.

    Raises:
        InvalidProgram: it has none.
    """
    if value.name is None:
        raise InvalidProgram(f"a value has no name and so cannot be written: {value!r}")
    return value.name


def _strings(field: int, entries: Mapping[str, str]) -> bytes:
    tag = _T[field]
    return b"".join(block(tag, text(_T[1], k) + text(_T[2], v)) for k, v in entries.items())


def _opset_imports(field: int, imports: Mapping[str, int]) -> bytes:
    tag = _T[field]
    return b"".join(block(tag, text(_T[1], d) + _I[2] + varint(v)) for d, v in imports.items())


def _graph(graph: ir.Graph, listed: bool) -> bytes:
    return b"".join(_graph_parts(graph, listed))


def _graph_parts(graph: ir.Graph, listed: bool, placing: Placing | None = None) -> list[bytes | memoryview]:
    carried = graph.meta.get(CARRIED) or UnsupportedFields()
    parts: list[bytes | memoryview] = []
    infos: list[bytes] = []
    outputs = set(map(id, graph.outputs))
    _nodes(1, graph, outputs, parts, infos, listed)
    if graph.name:
        parts.append(text(_T[2], graph.name))
    sparse: list[bytes] = []
    for value in entries(graph.initializers).values():
        tensor = value.const_value
        name = name_of(value)
        if tensor is None:
            raise InvalidProgram(f"initializer '{name}' has no tensor; expected const_value to be set")
        if type(tensor) is SparseTensor:
            sparse.append(block(_T[15], _sparse(tensor, name)))
        else:
            own = _own_name(name)
            away = None if placing is None else placing(tensor)
            if away is not None:
                data = referring(tensor, away)
            elif isinstance(tensor, LazyTensor):
                pieces = tensor.wire_parts()
                parts += (_T[5], varint(sum(map(len, pieces)) + len(own)), *pieces, own)
                continue
            else:
                data = tensor_bytes(tensor)
            parts += (_T[5], varint(len(data) + len(own)), data, own)
    if graph.doc_string:
        parts.append(text(_T[10], graph.doc_string))
    inputs = _with_initializers(graph, carried.listed) if listed else graph.inputs
    parts += [block(_T[11], value_bytes(value)) for value in inputs]
    values = _values(graph) if carried else {}
    said = {s.name: s.proto for s in carried.outputs if s.holds(values)}
    parts += [block(_T[12], said.get(value.name or "") or value_bytes(value)) for value in graph.outputs]
    parts += [block(_T[13], info) for info in infos]
    parts += _statements(13, carried.value_info, values)
    parts += _statements(14, carried.annotations, values)
    parts += sparse
    parts.append(_strings(16, graph.metadata_props))
    return parts


def _with_initializers(graph: ir.Graph, names: tuple[str, ...]) -> list[ir.Value]:
    """Inputs and initializers of a graph whose file lists both: in its order first, what was added after it."""
    initializers = {n: v for n, v in graph.initializers.items() if not v.is_graph_input()}
    inputs = list(graph.inputs)
    found: list[ir.Value] = []
    for name in names:
        if name in initializers:
            found.append(initializers.pop(name))
        elif inputs:
            found.append(inputs.pop(0))
    return [*found, *inputs, *initializers.values()]


def _values(graph: ir.Graph) -> dict[str, ir.Value]:
    found = {name_of(v): v for node in graph for v in node.outputs}
    found.update((name_of(v), v) for v in graph.initializers.values())
    found.update((name_of(v), v) for v in graph.inputs)
    return found


def _statements(field: int, statements: Iterable[ValueStatement], values: dict[str, ir.Value]) -> list[bytes]:
    return [block(_T[field], s.proto) for s in statements if s.holds(values)]


def _sparse(tensor: SparseTensor, name: str) -> bytes:
    if (tensor.proto.values.name or "") == name:
        return tensor.proto.SerializeToString()
    proto = onnx.SparseTensorProto()
    proto.CopyFrom(tensor.proto)
    proto.values.name = name
    return proto.SerializeToString()


def _function(function: ir.Function) -> bytes:
    graph = function.graph
    carried = graph.meta.get(CARRIED) or UnsupportedFields()
    parts = [text(_T[1], function.name)]
    parts += [text(_T[4], name_of(value)) for value in function.inputs]
    parts += [text(_T[5], name_of(value)) for value in function.outputs]
    infos = [value_bytes(value) for value in function.inputs if _says_something(value)]
    for attr in function.attributes.values():
        if attr.value is None:
            parts.append(text(_T[6], attr.name))
        else:
            parts.append(block(_T[11], attribute_bytes(attr)))
    _nodes(7, graph, frozenset(), parts, infos)
    if function.doc_string:
        parts.append(text(_T[8], function.doc_string))
    parts.append(_opset_imports(9, function.opset_imports))
    if function.domain:
        parts.append(text(_T[10], function.domain))
    if function.overload:
        parts.append(text(_T[13], function.overload))
    parts += [block(_T[12], info) for info in infos]
    parts += _statements(12, carried.value_info, _values(graph) if carried else {})
    parts.append(_strings(14, function.metadata_props))
    return b"".join(parts)


def _says_something(value: ir.Value) -> bool:
    return bool(value.type is not None or value.doc_string or value.metadata_props or verbatim_of(value) is not None)


def _nodes(
    field: int,
    graph: ir.Graph,
    outputs: set[int] | frozenset[int],
    parts: list[bytes | memoryview] | list[bytes],
    infos: list[bytes],
    listed: bool = False,
) -> None:
    """Append the field of each node to ``parts``, and to ``infos`` what is known of their outputs."""
    try:
        written, stated = _writer(listed).write(field, graph)
    except ValueError as error:
        raise InvalidProgram(str(error)) from None
    parts.append(written)
    infos += [value_bytes(value) for value in stated if id(value) not in outputs and _says_something(value)]


def seldom_fields(node: ir.Node) -> bytes:
    """The fields that few nodes have, serialised; empty for a node without them.

    They are documentation, metadata and device configurations.
    """
    out = text(_T[6], node.doc_string) if node.doc_string else b""
    if node.metadata_props:
        out += _strings(9, node.metadata_props)
    for configuration in node.device_configurations:
        proto = ir.serde.serialize_node_device_configuration(configuration)
        out += block(_T[10], proto.SerializeToString())
    return out


def attribute_bytes(attr: ir.Attr, listed: bool = False) -> bytes:
    """The ``AttributeProto`` of an attribute; one that was read keeps the bytes it was read with.

    With ``listed`` the graphs in it list their initializers among their inputs (``lists_initializers``).

    Raises:
        InvalidProgram: its value has no form in ONNX.
    """
    if attr.type in _GRAPH_TYPES and not attr.is_ref():
        out = text(_T[1], attr.name)
        if attr.type == ir.AttributeType.GRAPH:
            out += block(_T[6], _graph(attr.value, listed))
        else:
            out += b"".join(block(_T[11], _graph(g, listed)) for g in attr.value)
        if attr.doc_string:
            out += text(_T[13], attr.doc_string)
        return out + int_tag(20) + varint(attr.type.value)
    known = entries(attr.meta).get(WIRE)
    if known is not None and known[0] == attr.name and known[1] == attr.doc_string:
        return known[2]
    data = _attribute_proto(attr).SerializeToString()
    attr.meta[WIRE] = (attr.name, attr.doc_string, data)
    return data


def _attribute_proto(attr: ir.Attr) -> onnx.AttributeProto:
    kinds = ir.AttributeType
    if attr.is_ref():
        return ir.serde.serialize_reference_attribute(attr)
    proto = onnx.AttributeProto(name=attr.name)
    proto.type = cast("onnx.AttributeProto.AttributeType", attr.type.value)
    if attr.doc_string:
        proto.doc_string = attr.doc_string
    value = attr.value
    if attr.type == kinds.STRINGS:
        proto.strings.extend(s if isinstance(s, bytes) else s.encode() for s in value)
    elif attr.type == kinds.STRING:
        proto.s = value if isinstance(value, bytes) else value.encode()
    elif attr.type == kinds.TENSOR:
        _fill_tensor(proto.t, value)
    elif attr.type == kinds.TENSORS:
        for tensor in value:
            _fill_tensor(proto.tensors.add(), tensor)
    elif attr.type == kinds.SPARSE_TENSOR:
        proto.sparse_tensor.CopyFrom(value.proto)
    elif attr.type == kinds.SPARSE_TENSORS:
        for tensor in value:
            proto.sparse_tensors.add().CopyFrom(tensor.proto)
    elif attr.type == kinds.TYPE_PROTO:
        proto.tp.ParseFromString(_stated_type(attr, value))
    elif attr.type == kinds.TYPE_PROTOS:
        for one in value:
            proto.type_protos.add().ParseFromString(_stated_type(attr, one))
    elif attr.type in (kinds.INT, kinds.INTS, kinds.FLOAT, kinds.FLOATS):
        return ir.serde.serialize_attribute(attr)
    else:
        raise InvalidProgram(f"attribute '{attr.name}' has type {attr.type.name} and so cannot be written")
    return proto


def _fill_tensor(proto: onnx.TensorProto, tensor: ir.TensorProtocol) -> None:
    proto.ParseFromString(tensor_bytes(tensor))
    if tensor.name:
        proto.name = tensor.name


def _stated_type(attr: ir.Attr, value: ir.TypeAndShape) -> bytes:
    if value.type is None:
        raise InvalidProgram(f"attribute '{attr.name}' has a type that onnx-ir cannot hold; keep the attribute as read")
    return type_and_shape_bytes(value.type, value.shape)


@cache
def _writer(listed: bool) -> NodeWriter | PublicNodeWriter:
    from irfuzz.ir.serialization.fast_path_self_check import native_fault

    writes = partial(attribute_bytes, listed=True) if listed else attribute_bytes
    return native_writer(writes) if native_fault() is None else PublicNodeWriter(writes, seldom_fields)


def native_writer(attribute: Callable[[ir.Attr], bytes]) -> NodeWriter:
    """The native writer of nodes; ``attribute`` gives the bytes of attributes that were not written before."""
    from irfuzz._graph import NodeWriter

    return NodeWriter(TypedValue, WIRE, _GRAPH_TYPES, attribute, seldom_fields)
