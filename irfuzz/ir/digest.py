"""The SHA-256 of what a program means: names, order and documentation do not count."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from hashlib import sha256

import onnx
import onnx_ir as ir

from irfuzz.errors import InvalidProgram
from irfuzz.ir.fast_mapping_access import entries
from irfuzz.ir.serialization.checked_tensors import AbsentTensor, SparseTensor
from irfuzz.ir.serialization.model_encoding import attribute_bytes, name_of, tensor_bytes, type_bytes
from irfuzz.ir.serialization.preserved_unsupported_fields import CARRIED, Residue, UnsupportedFields

# A node's label commits to its operator, its attributes and the labels of what it reads, so the labels of
# a whole graph, sorted, describe it whatever the names and the order. They describe it exactly where they
# all differ. Nodes with equal labels (two RandomNormal, two dead copies) are told apart by who reads them,
# and where even that is equal, one by one: the labelling of McKay's "Practical graph isomorphism" (1981),
# section 2, on graphs where ties are rare. Equal initializers count as one.

_HASH = "irfuzz.sha256"
"""Key in ``tensor.meta`` and ``attr.meta`` of a hash already taken."""

_LABELLINGS = 10_000
"""Nodes labelled before ties are broken by position instead of one by one: then their order can count too."""

Labels = dict[int, bytes]
"""Label of each value, by its ``id``."""


def digest(model: ir.Model, residue: Residue = Residue()) -> str:  # noqa: B008 (frozen)
    """SHA-256, in hexadecimal, of a program's meaning.

    It stays the same when values and nodes are renamed (graph inputs and outputs excepted: their names
    are the program's interface), when nodes or initializers are listed in another valid order, and when
    documentation, metadata or declared types of inner values change. Everything else counts: operators,
    attributes, the bytes of every tensor, types of inputs and outputs, functions, subgraphs, opsets, the
    IR version, training information and device configurations. Two equal initializers count as one.

    Raises:
        InvalidProgram: nodes are not in topological order.
    """
    hasher = _Hasher(_LABELLINGS + 4 * len(model.graph))
    parts = [
        b"irfuzz program 1",
        str(model.ir_version).encode(),
        _imports(model.opset_imports),
        hasher.graph(model.graph, {}, interface=True),
        _hash(sorted(map(hasher.function, model.functions.values()))),
        _hash(residue.training_info),
    ]
    parts += [ir.serde.serialize_model_configuration(c).SerializeToString() for c in model.device_configurations]
    return _hash(parts).hex()


def _hash(parts: Iterable[bytes]) -> bytes:
    """Hash of a list of strings, each preceded by its length so that no two lists meet."""
    data = b"".join([len(p).to_bytes(4, "little") + p for p in parts])
    return sha256(data).digest()


def _imports(imports: dict[str, int]) -> bytes:
    return repr(sorted(imports.items())).encode()


class _Hasher:
    """Labels the graphs of one program, with ``left`` labellings of a node to spend on telling twins apart."""

    def __init__(self, left: int) -> None:
        self._left = left

    def function(self, function: ir.Function) -> bytes:
        """Label of a function; its name and those of its attribute parameters are how it is called."""
        parameters = sorted(
            self._attribute(a, {}) if a.value is not None else a.name.encode() for a in function.attributes.values()
        )
        return _hash(
            [
                repr(function.identifier()).encode(),
                _imports(function.opset_imports),
                _hash(parameters),
                self.graph(function.graph, {}, interface=False),
            ]
        )

    def graph(self, graph: ir.Graph, outer: Labels, *, interface: bool) -> bytes:
        """Label of a graph whose nodes may read the values of ``outer``; with ``interface`` its names count."""
        sources = dict(outer)
        head: list[bytes] = []
        for i, value in enumerate(graph.inputs):
            name = name_of(value).encode() if interface else b""
            default = b"" if value.const_value is None else _tensor(value.const_value)
            label = _hash([b"input", str(i).encode(), name, type_bytes(value) or b"", default])
            sources[id(value)] = label
            head.append(label)
        stored: list[bytes] = []
        for value in graph.initializers.values():
            if not value.is_graph_input():
                label = b"tensor" + _tensor(value.const_value)
                sources[id(value)] = label
                stored.append(label)
        labels, values = self._distinct_labels(graph, list(graph), sources)
        tail: list[bytes] = []
        for value in graph.outputs:
            name = name_of(value).encode() if interface else b""
            tail.append(_hash([name, type_bytes(value) or b"", _label_of(values, value)]))
        carried = graph.meta.get(CARRIED) or UnsupportedFields()
        notes = sorted(s.proto for s in carried.annotations)
        return _hash([_hash(head), _hash(sorted(stored)), _hash(sorted(labels)), _hash(tail), *notes])

    def _distinct_labels(self, graph: ir.Graph, nodes: list[ir.Node], sources: Labels) -> tuple[list[bytes], Labels]:
        """Labels of all nodes and values, no two nodes with the same one."""
        by_position = [i.to_bytes(4, "little") for i in range(len(nodes))]
        if self._left <= 0:
            return self._label(nodes, sources, by_position)
        marks = [b""] * len(nodes)
        labels, values = self._label(nodes, sources, marks)
        distinct = len(set(labels))
        while distinct < len(labels):
            if self._left <= 0:
                return self._label(nodes, sources, by_position)
            marks = _readers(graph, nodes, labels, marks)
            labels, values = self._label(nodes, sources, marks)
            before, distinct = distinct, len(set(labels))
            if before == distinct < len(labels):
                counts = Counter(labels)
                marks[labels.index(min(k for k, n in counts.items() if n > 1))] += b"first"
                labels, values = self._label(nodes, sources, marks)
                distinct = len(set(labels))
        return labels, values

    def _label(self, nodes: list[ir.Node], sources: Labels, marks: list[bytes]) -> tuple[list[bytes], Labels]:
        """Label each node by what it is and what it reads; ``marks`` are what is known of it beside that."""
        self._left -= len(nodes)
        values = dict(sources)
        labels: list[bytes] = []
        for node, mark in zip(nodes, marks, strict=True):
            inputs = node.inputs
            outputs = node.outputs
            parts = [f"{node.domain}:{node.op_type}:{node.overload}:{len(outputs)}".encode(), mark]
            parts += [b"" if value is None else _label_of(values, value) for value in inputs]
            if len(inputs) > 1:
                # labels of different values can be equal, so say which inputs are one value
                ids = [id(v) for v in inputs if v is not None]
                if len(set(ids)) < len(ids):
                    parts.append(repr([ids.index(i) for i in ids]).encode())
            if attributes := entries(node.attributes):
                parts.append(b"attributes")
                parts += sorted([self._attribute(a, values) for a in attributes.values()])
            for configuration in node.device_configurations:
                parts.append(ir.serde.serialize_node_device_configuration(configuration).SerializeToString())
            label = _hash(parts)
            labels.append(label)
            for i, value in enumerate(outputs):
                values[id(value)] = label + i.to_bytes(4, "little")
                if not value.name:
                    labels[-1] = label = _hash([label, b"without output", str(i).encode()])
        return labels, values

    def _attribute(self, attr: ir.Attr, values: Labels) -> bytes:
        kinds = ir.AttributeType
        if attr.type in (kinds.GRAPH, kinds.GRAPHS) and not attr.is_ref():
            graphs = (attr.value,) if attr.type == kinds.GRAPH else attr.value
            labels = [self.graph(g, values, interface=False) for g in graphs]
            return _hash([attr.name.encode(), attr.type.name.encode(), *labels])
        known = entries(attr.meta).get(_HASH)
        if known is not None and known[0] == attr.name:
            return known[1]
        found = _attribute(attr)
        attr.meta[_HASH] = (attr.name, found)
        return found


def _label_of(values: Labels, value: ir.Value) -> bytes:
    label = values.get(id(value))
    if label is None:
        raise InvalidProgram(f"'{value.name}' is read before it is defined; nodes must stand in topological order")
    return label


def _readers(graph: ir.Graph, nodes: list[ir.Node], labels: list[bytes], marks: list[bytes]) -> list[bytes]:
    """For each node its mark and who reads its outputs at which input, readers known by what they know."""
    read_as: defaultdict[int, list[bytes]] = defaultdict(list)
    for i, value in enumerate(graph.outputs):
        read_as[id(value)].append(b"output" + str(i).encode())
    found: list[bytes] = [b""] * len(nodes)
    for at in range(len(nodes) - 1, -1, -1):
        node = nodes[at]
        found[at] = _hash([labels[at], marks[at], *(_hash(sorted(read_as[id(v)])) for v in node.outputs)])
        for i, value in enumerate(node.inputs):
            if value is not None:
                read_as[id(value)].append(found[at] + i.to_bytes(2, "little"))
        for value in _captured(node):
            read_as[id(value)].append(found[at] + b"captured")
    return found


def _captured(node: ir.Node) -> list[ir.Value]:
    """Every read of the node's subgraphs, of whatever graph."""
    found: list[ir.Value] = []
    for attr in node.attributes.values():
        if attr.is_ref() or attr.type not in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS):
            continue
        for graph in (attr.value,) if attr.type == ir.AttributeType.GRAPH else attr.value:
            for inner in graph:
                found += [v for v in inner.inputs if v is not None]
                found += _captured(inner)
    return found


def _attribute(attr: ir.Attr) -> bytes:
    """Hash of an attribute without graphs."""
    kinds = ir.AttributeType
    name = attr.name.encode()
    if attr.is_ref():
        return _hash([name, b"ref", (attr.ref_attr_name or "").encode(), attr.type.name.encode()])
    if attr.type in (kinds.TENSOR, kinds.SPARSE_TENSOR):
        return _hash([name, b"tensor", _tensor(attr.value)])
    if attr.type in (kinds.TENSORS, kinds.SPARSE_TENSORS):
        return _hash([name, b"tensors", *map(_tensor, attr.value)])
    proto = onnx.AttributeProto.FromString(attribute_bytes(attr))
    proto.ClearField("doc_string")
    proto.type = attr.type.value  # type: ignore[assignment]
    return _hash([proto.SerializeToString(deterministic=True)])


def _tensor(tensor: ir.TensorProtocol | None) -> bytes:
    """Hash of element type, sizes and elements, whatever field they are stored in; kept with the tensor."""
    if tensor is None:
        return b"absent"
    known = tensor.meta.get(_HASH)
    if known is not None:
        return known
    kind = f"{tensor.dtype.value}:{tuple(tensor.shape.numpy())}".encode()
    if isinstance(tensor, SparseTensor):
        proto = onnx.SparseTensorProto()
        proto.CopyFrom(tensor.proto)
        proto.values.ClearField("name")
        found = _hash([b"sparse", kind, proto.SerializeToString(deterministic=True)])
    elif isinstance(tensor, AbsentTensor):
        found = _hash([b"external", kind, tensor_bytes(tensor)])
    elif tensor.dtype == ir.DataType.STRING:
        found = _hash([b"strings", kind, *tensor.string_data()])  # type: ignore[attr-defined]
    else:
        state = sha256(kind + b"|")
        state.update(tensor.tobytes())
        found = state.digest()
    tensor.meta[_HASH] = found
    return found
