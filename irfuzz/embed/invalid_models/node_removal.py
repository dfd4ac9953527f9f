"""Removes nodes from a graph; inputs replace what they computed."""

from __future__ import annotations

import onnx

from irfuzz.embed.invalid_models.random_model_parts import COMMON, PartDrawer, within


def take_out(graph: onnx.GraphProto, at: int, parts: PartDrawer) -> None:
    """Remove the node of an index; outputs of the graph that it gave go as well.

    Args:
        graph: edited in place. What other nodes read of the node's outputs becomes an input of the graph.
        at: index of the node.
        parts: draws types of such inputs.
    """
    gone = [name for name in graph.node[at].output if name]
    del graph.node[at]
    _stand_in(graph, gone, parts)


def keep_only(graph: onnx.GraphProto, kept: int, parts: PartDrawer) -> None:
    """Remove every other node, and the inputs and constants that are not read any more.

    Args:
        graph: edited in place. What the node reads of the others' outputs becomes an input of the graph.
        kept: index of the node that stays.
        parts: draws types of such inputs.
    """
    node = onnx.NodeProto()
    node.CopyFrom(graph.node[kept])
    gone = [name for at, other in enumerate(graph.node) if at != kept for name in other.output if name]
    del graph.node[:]
    graph.node.append(node)
    _stand_in(graph, gone, parts)
    used = _read(graph)
    for rows in (graph.input, graph.initializer):
        for index in range(len(rows) - 1, -1, -1):
            if rows[index].name not in used:
                del rows[index]


def _stand_in(graph: onnx.GraphProto, gone: list[str], parts: PartDrawer) -> None:
    """Inputs for names that nobody gives any more and somebody reads; what is declared of them goes."""
    used = _read(graph)
    types = {value.name: value.type for value in (*graph.value_info, *graph.output)}
    for name in gone:
        if name not in used:
            continue
        made = graph.input.add(name=name)
        if name in types and types[name].HasField("tensor_type"):
            made.type.CopyFrom(types[name])
            made.type.tensor_type.shape.SetInParent()
        else:
            parts.type_of(parts.word_of(COMMON), made.type)
    names = set(gone)
    for rows in (graph.output, graph.value_info):
        for index in range(len(rows) - 1, -1, -1):
            if rows[index].name in names:
                del rows[index]


def _read(graph: onnx.GraphProto) -> set[str]:
    """Names that nodes read, or graphs within them."""
    found = {name for node in graph.node for name in node.input}
    for inner in within(graph.node):
        found |= {name for node in inner.node for name in node.input}
        found |= {value.name for value in inner.output}
    return found
