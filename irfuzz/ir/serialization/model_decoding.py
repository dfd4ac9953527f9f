"""Reads serialised ONNX as a model of the IR; what onnx-ir cannot hold is carried beside it or refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import onnx
import onnx_ir as ir
from google.protobuf.message import DecodeError, EncodeError, Message

from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.ir.fact_type_conversion import conflict, declared_fact
from irfuzz.ir.serialization.checked_tensors import SparseTensor
from irfuzz.ir.serialization.function_call_check import check_calls
from irfuzz.ir.serialization.lazy_tensor import Held
from irfuzz.ir.serialization.message_limits import check_message_limits
from irfuzz.ir.serialization.model_encoding import value_bytes
from irfuzz.ir.serialization.preserved_unsupported_fields import (
    CARRIED,
    Residue,
    UnsupportedFields,
    ValueBinding,
    ValueStatement,
    lists_initializers,
)
from irfuzz.ir.serialization.tensor_type_attribute_decoding import (
    check_text,
    read_attribute,
    read_strings,
    read_tensor,
    read_text,
    read_value_info,
    same_message,
)
from irfuzz.ir.value import new_value

NEWEST_VERSION = (1 << 31) - 1
"""Of an operator set; onnx's table of schemas counts in 32 bits."""

Scopes = list[dict[str, ir.Value]]
"""Values that can be read, outermost graph first."""


def decode(source: onnx.ModelProto | bytes, held: Held | None = None) -> tuple[ir.Model, Residue]:
    """Read a model. ``source`` is not kept, so later changes to it do not reach the program.

    With ``held`` it is: a model that was just read, whose large weights stand there, is handed over.

    Raises:
        InvalidProgram: it is not an ONNX model, is deeper nested than protobuf reads, has fields that
            this version of ONNX does not know, breaks the structure of ONNX (names, order of nodes,
            sizes of tensors, functions that call themselves), or says something that can neither be held nor carried.
    """
    proto = _known(source) if held is not None and isinstance(source, onnx.ModelProto) else _parse(source)
    if not proto.HasField("graph"):
        raise InvalidProgram("the model has no graph")
    imports = _read_imports(proto.opset_import, "the model")
    graph = _read_graph(proto.graph, [], "", held or {}, listed=lists_initializers(proto.ir_version))
    graph.opset_imports.update(imports)
    functions: dict[tuple[str, str, str], ir.Function] = {}
    for function_proto in proto.functions:
        function = _read_function(function_proto)
        if function.identifier() in functions:
            raise InvalidProgram(f"function '{function.domain}::{function.name}' is defined twice")
        functions[function.identifier()] = function
    check_calls(graph, functions)
    model = ir.Model(
        graph,
        ir_version=proto.ir_version,
        producer_name=read_text(proto.producer_name, "producer_name") or None,
        producer_version=read_text(proto.producer_version, "producer_version") or None,
        domain=read_text(proto.domain, "domain of the model") or None,
        model_version=proto.model_version or None,
        doc_string=read_text(proto.doc_string, "doc_string of the model") or None,
        functions=tuple(functions.values()),
        metadata_props=read_strings(proto.metadata_props, "the model"),
        device_configurations=tuple(_read_configuration(c) for c in proto.configuration),
    )
    return model, Residue(tuple(info.SerializeToString() for info in proto.training_info))


def _parse(source: onnx.ModelProto | bytes) -> onnx.ModelProto:
    if isinstance(source, onnx.ModelProto):
        try:
            data = source.SerializeToString()
        except (EncodeError, ValueError) as e:
            raise InvalidProgram(f"the model cannot be serialised ({e})") from None
    else:
        data = source
    if not data:
        raise InvalidProgram("the model is empty (0 bytes)")
    try:
        proto = onnx.ModelProto.FromString(data)
    except DecodeError as e:
        raise InvalidProgram(f"not an ONNX model: protobuf cannot read it ({e})") from None
    check_message_limits(proto, len(data))
    return _known(proto)


def _known(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model, without fields that nobody knows."""
    size = proto.ByteSize()
    proto.DiscardUnknownFields()
    if proto.ByteSize() != size:
        raise InvalidProgram(
            f"the model has fields that onnx {onnx.__version__} does not define: "
            "it is damaged, or written by a newer ONNX"
        )
    return proto


def _read_imports(protos: Sequence[onnx.OperatorSetIdProto], where: str) -> dict[str, int]:
    imports: dict[str, int] = {}
    for entry in protos:
        domain = _domain(read_text(entry.domain, f"opset_import of {where}"))
        if imports.setdefault(domain, entry.version) != entry.version:
            raise InvalidProgram(
                f"{where} imports domain '{domain or 'ai.onnx'}' at opset {imports[domain]} and at {entry.version}; "
                "expected one version"
            )
        if not -NEWEST_VERSION <= entry.version <= NEWEST_VERSION:
            raise InvalidProgram(
                f"{where} imports domain '{domain or 'ai.onnx'}' at opset {entry.version}; "
                f"expected at most {NEWEST_VERSION}"
            )
    return imports


def _domain(domain: str) -> str:
    """``ai.onnx`` is another spelling of the default domain (ONNX IR specification, "Operators")."""
    return "" if domain == "ai.onnx" else domain


def _read_configuration(proto: onnx.DeviceConfigurationProto) -> Any:
    check_text(proto, "device configuration of the model")
    configuration = ir.serde.deserialize_model_configuration(proto)
    if not same_message(ir.serde.serialize_model_configuration(configuration), proto):
        raise InvalidProgram(f"device configuration '{proto.name}' lacks its name or number of devices")
    return configuration


def _read_function(proto: onnx.FunctionProto) -> ir.Function:
    where = f"function '{proto.domain}::{proto.name}'"
    body = _Body(where, [])
    inputs = [body.new_value(name) for name in proto.input]
    body.declare(proto.node)
    said = body.read_infos(proto.value_info, frozenset())
    nodes = [body.read_node(node) for node in proto.node]
    outputs = [body.output(name) for name in proto.output]
    graph = ir.Graph(
        inputs,
        outputs,
        nodes=nodes,
        doc_string=read_text(proto.doc_string, f"doc_string of {where}") or None,
        opset_imports=_read_imports(proto.opset_import, where),
        name="",
        metadata_props=read_strings(proto.metadata_props, where),
    )
    carried = UnsupportedFields(value_info=tuple(body.statement(info.name, info) for info in said))
    if carried:
        graph.meta[CARRIED] = carried
    attributes: dict[str, ir.Attr] = {}
    for attr_proto in proto.attribute_proto:
        attr = read_attribute(attr_proto, where, lambda g: _read_graph(g, [], where))
        if attr.value is None:
            raise InvalidProgram(f"{where}: attribute parameter '{attr.name}' has no default value")
        attributes[attr.name] = attr
    for name in proto.attribute:
        attributes[name] = ir.Attr(read_text(name, where), ir.AttributeType.UNDEFINED, None)
    if len(attributes) != len(proto.attribute_proto) + len(proto.attribute):
        raise InvalidProgram(f"{where} names an attribute parameter twice")
    return ir.Function(
        domain=_domain(read_text(proto.domain, f"domain of {where}")),
        name=read_text(proto.name, "name of a function"),
        overload=read_text(proto.overload, f"overload of {where}"),
        graph=graph,
        attributes=attributes,
    )


def _read_graph(
    proto: onnx.GraphProto, outer: Scopes, where: str, held: Held | None = None, *, listed: bool = False
) -> ir.Graph:
    where = f"{where}, graph '{proto.name}'" if where else f"graph '{proto.name}'"
    body = _Body(where, outer, listed=listed)
    inputs = [body.new_value(info.name) for info in proto.input]
    for value, info in zip(inputs, proto.input, strict=True):
        read_value_info(info, value)
    initializers = body.read_initializers(proto, held or {})
    names = tuple(info.name for info in proto.input) if listed and initializers else ()
    if listed:
        inputs = body.without_constants(inputs)
    sources = frozenset(body.scope)
    body.declare(proto.node)
    said = body.read_infos(proto.value_info, sources.union(info.name for info in proto.output))
    nodes = [body.read_node(node) for node in proto.node]
    outputs = [body.output(info.name) for info in proto.output]
    passed_on = body.read_outputs(proto.output)
    graph = ir.Graph(
        inputs,
        outputs,
        nodes=nodes,
        initializers=initializers,
        doc_string=read_text(proto.doc_string, f"doc_string of {where}") or None,
        name=read_text(proto.name, "name of a graph") or None,
        metadata_props=read_strings(proto.metadata_props, where),
    )
    carried = UnsupportedFields(
        tuple(body.statement(info.name, info) for info in said),
        tuple(body.statement(note.tensor_name, note) for note in proto.quantization_annotation),
        tuple(body.statement(info.name, info) for info in passed_on),
        names,
    )
    if carried:
        graph.meta[CARRIED] = carried
    return graph


class _Body:
    """The values and nodes of one graph or function while it is read.

    Attributes:
        scope: the values defined in it, by name.
    """

    def __init__(self, where: str, outer: Scopes, *, listed: bool = False) -> None:
        """``where`` names the part of the model in messages; its nodes may read the values of ``outer``.

        With ``listed`` the graphs of the model list their initializers among their inputs.
        """
        self._listed = listed
        self.scope: dict[str, ir.Value] = {}
        self._where = where
        self._scopes = [*outer, self.scope]
        self._unread: set[str] = set()

    def new_value(self, name: str) -> ir.Value:
        """Define a value called ``name``."""
        if not name:
            raise InvalidProgram(f"{self._where}: an input or initializer has an empty name")
        if name in self.scope:
            raise InvalidProgram(f"{self._where}: '{name}' is defined twice")
        value = new_value(read_text(name, self._where))
        self.scope[name] = value
        return value

    def statement(self, name: str, proto: Message) -> ValueStatement:
        """``proto``, which says something about ``name``, bound to the value of that name if there is one."""
        value = self.scope.get(name)
        return ValueStatement(name, None if value is None else ValueBinding.of(value), proto.SerializeToString())

    def read_initializers(self, proto: onnx.GraphProto, held: Held) -> list[ir.Value]:
        """Read the stored tensors, dense and sparse; those of a graph input become its default."""
        found: dict[str, ir.Value] = {}
        tensors: list[ir.TensorProtocol] = [
            read_tensor(t, self._where, held.get(i)) for i, t in enumerate(proto.initializer)
        ]
        tensors += [SparseTensor(t) for t in proto.sparse_initializer]
        for tensor in tensors:
            name = tensor.name or ""
            if name in found:
                raise InvalidProgram(f"{self._where}: two initializers are called '{name}'")
            value = self.scope.get(name)
            if value is None:
                value = self.new_value(name)
                value.type = ir.TensorType(tensor.dtype)
                value.shape = ir.Shape(tensor.shape.numpy(), frozen=True)
            value.const_value = tensor
            found[name] = value
        return list(found.values())

    def without_constants(self, inputs: list[ir.Value]) -> list[ir.Value]:
        """Those of ``inputs`` that are no initializers, or declared as something else, for inference to refuse."""
        return [value for value in inputs if value.const_value is None or _is_contradicted(value, value.const_value)]

    def declare(self, nodes: Iterable[onnx.NodeProto]) -> None:
        """Define the outputs of all nodes, so that a name that is read too early is told from an unknown one."""
        for node in nodes:
            for name in node.output:
                if name in self.scope:
                    raise InvalidProgram(
                        f"{self._where}: '{name}' is defined twice, the second time by node {_title(node)}"
                    )
                if name:
                    self.new_value(name)
                    self._unread.add(name)

    def read_infos(self, protos: Iterable[onnx.ValueInfoProto], others: frozenset[str]) -> list[onnx.ValueInfoProto]:
        """Type the values by ``value_info``; return what is said of ``others``, of no value, nothing, or twice."""
        said: list[onnx.ValueInfoProto] = []
        typed: set[str] = set()
        for info in protos:
            name = read_text(info.name, f"{self._where}: name in value_info")
            value = self.scope.get(name)
            empty = not (info.HasField("type") or info.doc_string or info.metadata_props)
            if value is None or empty or name in typed or name in others:
                said.append(info)
            else:
                read_value_info(info, value)
                typed.add(name)
        return said

    def read_node(self, proto: onnx.NodeProto) -> ir.Node:
        """Read a node; every value that it reads must be defined before it."""
        inputs = [self._input(name, proto) if name else None for name in proto.input]
        where = f"{self._where}, node {_title(proto)}"
        attributes: dict[str, ir.Attr] = {}
        for attr_proto in proto.attribute:
            attr = read_attribute(attr_proto, where, lambda g: _read_graph(g, self._scopes, where, listed=self._listed))
            if attr.name in attributes:
                raise InvalidProgram(f"{where} has two attributes called '{attr.name}'")
            attributes[attr.name] = attr
        outputs: list[ir.Value] = []
        for name in proto.output:
            self._unread.discard(name)
            outputs.append(self.scope[name] if name else new_value(""))
        return ir.Node(
            read_text(proto.domain, where),
            read_text(proto.op_type, where),
            inputs,
            attributes,
            overload=read_text(proto.overload, where),
            outputs=outputs,
            name=read_text(proto.name, where),
            doc_string=read_text(proto.doc_string, where) or None,
            metadata_props=read_strings(proto.metadata_props, where),
            device_configurations=tuple(self._placement(c, where) for c in proto.device_configurations),
        )

    def _input(self, name: str, node: onnx.NodeProto) -> ir.Value:
        if name in self._unread:
            raise InvalidProgram(
                f"{self._where}: node {_title(node)} reads '{name}', which is computed after it or from its own "
                "result; nodes must stand in topological order, without cycles"
            )
        for scope in reversed(self._scopes):
            value = scope.get(name)
            if value is not None:
                return value
        raise InvalidProgram(f"{self._where}: node {_title(node)} reads '{name}', which nothing defines")

    def _placement(self, proto: onnx.NodeDeviceConfigurationProto, where: str) -> Any:
        check_text(proto, where)
        visible: dict[str, ir.Value] = {}
        for scope in self._scopes:
            visible.update(scope)
        unknown = [s.tensor_name for s in proto.sharding_spec if s.tensor_name not in visible]
        if unknown:
            raise InvalidProgram(f"{where}: its device configuration shards '{unknown[0]}', which nothing defines")
        placement = ir.serde.deserialize_node_device_configuration(proto, visible)
        if not proto.configuration_id or not same_message(
            ir.serde.serialize_node_device_configuration(placement), proto
        ):
            raise InvalidProgram(f"{where}: its device configuration lacks an id, axis or number of shards")
        return placement

    def output(self, name: str) -> ir.Value:
        """The value that is returned under ``name``."""
        value = self.scope.get(name)
        if value is None:
            raise InvalidProgram(f"{self._where}: output '{name}' is not computed in it")
        return value

    def read_outputs(self, protos: Iterable[onnx.ValueInfoProto]) -> list[onnx.ValueInfoProto]:
        """Type the graph outputs; return what is said of inputs and initializers that are passed on."""
        said: list[onnx.ValueInfoProto] = []
        seen: dict[str, onnx.ValueInfoProto] = {}
        for info in protos:
            first = seen.setdefault(info.name, info)
            value = self.scope[info.name]
            if first is not info:
                if not same_message(first, info):
                    raise InvalidProgram(f"{self._where}: output '{info.name}' stands twice with different types")
            elif value.producer() is not None:
                read_value_info(info, value)
            elif not same_message(onnx.ValueInfoProto.FromString(value_bytes(value)), info):
                said.append(info)
        return said


def _is_contradicted(value: ir.Value, tensor: ir.TensorProtocol) -> bool:
    """True if a value is declared as something that its tensor is not."""
    return conflict(TensorFact(tensor.dtype, tuple(tensor.shape.numpy())), declared_fact(value)) is not None


def _title(node: onnx.NodeProto) -> str:
    return f"'{node.name}' ({node.op_type})" if node.name else f"of '{', '.join(node.output)}' ({node.op_type})"
