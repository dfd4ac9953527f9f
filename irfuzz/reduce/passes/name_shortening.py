"""Short names: calls values x, y, w0 and so on, and drops documentation and metadata."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import onnx

from irfuzz.errors import InvalidProgram
from irfuzz.ir.program import Program
from irfuzz.reduce.session import Session


def drop_texts(session: Session) -> bool:
    """No documentation, metadata, producer, node names, and no types that inference finds anyway.

    It is one candidate, in which the main graph and all bodies are treated; the graph is named ``g``.
    """
    proto = session.program.to_proto()
    before = proto.SerializeToString(deterministic=True)
    proto.ClearField("doc_string")
    for field in ("producer_name", "producer_version", "domain", "model_version", "metadata_props"):
        proto.ClearField(field)
    _plain(proto.graph)
    return proto.SerializeToString(deterministic=True) != before and _attempt(session, proto, {})


def _plain(graph: onnx.GraphProto) -> None:
    for field in ("doc_string", "metadata_props", "quantization_annotation"):
        graph.ClearField(field)
    graph.name = "g"
    for value in (*graph.input, *graph.output, *graph.value_info):
        value.ClearField("doc_string")
        value.ClearField("metadata_props")
    for tensor in graph.initializer:
        tensor.ClearField("doc_string")
        tensor.ClearField("metadata_props")
    for node in graph.node:
        for field in ("name", "doc_string", "metadata_props"):
            node.ClearField(field)
        for attribute in node.attribute:
            attribute.ClearField("doc_string")
            for inner in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
                _plain(inner)


def shorten_names(session: Session) -> bool:
    """Inputs x, outputs y, initializers w, everything between v; with numbers if there are several.

    Only values of the main graph are renamed, and what bodies read of them; the inputs of the case get the new names.
    It is one candidate.
    """
    proto = session.program.to_proto()
    graph = proto.graph
    inner = set(_inner_names(graph))
    weights = [t.name for t in graph.initializer] + [t.values.name for t in graph.sparse_initializer]
    inputs = [v.name for v in graph.input if v.name not in weights]
    outputs = [v.name for v in graph.output if v.name not in inputs and v.name not in weights]
    rest = [name for node in graph.node for name in node.output if name and name not in outputs]
    new: dict[str, str] = {}
    for letter, names in (("x", inputs), ("w", weights), ("y", outputs), ("v", rest)):
        unique = list(dict.fromkeys(names))
        for number, name in enumerate(unique):
            short = letter if len(unique) == 1 and letter in "xy" else f"{letter}{number}"
            # A name of a subgraph would hide it.
            while short in inner:
                short += "_"
            new[name] = short
    if all(old == short for old, short in new.items()):
        return False
    _rename(graph, new)
    for tensor in graph.initializer:
        tensor.name = new[tensor.name]
    for sparse in graph.sparse_initializer:
        sparse.values.name = new[sparse.values.name]
    for value in (*graph.input, *graph.output, *graph.value_info):
        value.name = new.get(value.name, value.name)
    return _attempt(session, proto, new)


def _rename(graph: onnx.GraphProto, new: Mapping[str, str]) -> None:
    """Rename what nodes read and write, in subgraphs what they read of the main graph."""
    for node in graph.node:
        for field in (node.input, node.output):
            field[:] = [new.get(name, name) for name in field]
        for inner in _subgraphs(node):
            own = set(_names_of(inner))
            _rename(inner, {old: short for old, short in new.items() if old not in own})
            for value in inner.output:
                if value.name not in own:
                    value.name = new.get(value.name, value.name)


def _inner_names(graph: onnx.GraphProto) -> Iterable[str]:
    for node in graph.node:
        for inner in _subgraphs(node):
            yield from _names_of(inner)
            yield from _inner_names(inner)


def _names_of(graph: onnx.GraphProto) -> Iterable[str]:
    """Names of the values that a graph makes itself."""
    yield from (v.name for v in graph.input)
    yield from (t.name for t in graph.initializer)
    yield from (t.values.name for t in graph.sparse_initializer)
    yield from (name for node in graph.node for name in node.output if name)


def _subgraphs(node: onnx.NodeProto) -> Iterable[onnx.GraphProto]:
    for attribute in node.attribute:
        yield from attribute.graphs
        if attribute.HasField("g"):
            yield attribute.g


def _attempt(session: Session, proto: onnx.ModelProto, new: Mapping[str, str]) -> bool:
    try:
        program = Program.from_proto(proto)
    except InvalidProgram:
        return False
    return session.attempt(program, {new.get(name, name): value for name, value in session.inputs.items()})
