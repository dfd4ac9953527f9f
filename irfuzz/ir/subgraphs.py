"""The bodies of nodes: what they read from outside, and copies of them under new names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import onnx_ir as ir

from irfuzz.ir.fast_mapping_access import entries
from irfuzz.ir.value import fact_of, new_value
from irfuzz.spec import trait_values

Fresh: TypeAlias = Callable[[str], str]
"""Gives a name that is free, like its argument."""

Mapping: TypeAlias = "dict[ir.Value, ir.Value | None]"
"""What stands for a value in a copy; values that are not in it stand for themselves."""

_GRAPH, _GRAPHS = ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS


def bodies_of(node: ir.Node) -> Iterator[ir.Graph]:
    """The graphs that a node's attributes hold, in the order of the attributes.

    Bodies inside of these are not among them (``nodes_within``).
    """
    for attr in entries(node.attributes).values():
        kind = attr.type
        if (kind is _GRAPH or kind is _GRAPHS) and not attr.is_ref():
            if kind is _GRAPH:
                yield attr.as_graph()
            else:
                yield from attr.as_graphs()


def control_flow_of(node: ir.Node) -> str:
    """How an operator of ONNX runs its bodies (the trait ``control_flow``): ``branch``, ``loop``...; or empty."""
    return trait_values("control_flow").get(node.op_type, "") if node.domain in ("", "ai.onnx") else ""


def nodes_within(node: ir.Node) -> Iterator[ir.Node]:
    """Nodes of the bodies of a node, and of the bodies inside of them; the node itself is not among them."""
    for body in bodies_of(node):
        yield from body.all_nodes()


def depth_of(node: ir.Node) -> int:
    """How deep bodies are nested in a node; 0 for one without any, 1 if its bodies hold no further ones."""
    return max((1 + max(map(depth_of, body), default=0) for body in bodies_of(node)), default=0)


def reads_of(node: ir.Node) -> list[ir.Value]:
    """Values from outside that a node needs: its inputs, and what its bodies capture. Each once, in order."""
    found: dict[ir.Value, None] = dict.fromkeys(v for v in node.inputs if v is not None)
    for body in bodies_of(node):
        found.update(dict.fromkeys(captures_of(body)))
    return list(found)


def captures_of(body: ir.Graph) -> list[ir.Value]:
    """Values that a body, and what is nested in it, reads from outside; each once, in order."""
    own: set[ir.Value] = set(body.inputs) | set(body.initializers.values())
    found: dict[ir.Value, None] = {}
    for node in body:
        found.update(dict.fromkeys(v for v in reads_of(node) if v not in own))
        own.update(node.outputs)
    found.update(dict.fromkeys(v for v in body.outputs if v not in own))
    return list(found)


def copy_nodes(nodes: Iterable[ir.Node], mapping: Mapping, fresh: Fresh) -> list[ir.Node]:
    """Detached copies of nodes in topological order, bodies included, under new names.

    Args:
        nodes: what to copy; facts and declarations of their outputs are carried over.
        mapping: what to read in place of outer values (``None``: nothing); what stands for each copied value is added.
        fresh: gives names that are free.
    """
    return [_copy(node, mapping, fresh) for node in nodes]


def _copy(node: ir.Node, mapping: Mapping, fresh: Fresh) -> ir.Node:
    inputs = [None if v is None else mapping.get(v, v) for v in node.inputs]
    attributes = [_copy_attr(attr, mapping, fresh) for attr in node.attributes.values()]
    outputs = [copy_value(v, fresh(node.op_type) if v.name else "") for v in node.outputs]
    mapping.update(zip(node.outputs, outputs, strict=True))
    copy = ir.Node(
        node.domain,
        node.op_type,
        inputs,
        attributes,
        overload=node.overload,
        outputs=outputs,
        version=node.version,
        name=fresh(f"{node.op_type}_node"),
        doc_string=node.doc_string,
    )
    copy.metadata_props.update(node.metadata_props)
    return copy


def _copy_attr(attr: ir.Attr, mapping: Mapping, fresh: Fresh) -> ir.Attr:
    if attr.is_ref() or attr.type not in (_GRAPH, _GRAPHS):
        return attr
    if attr.type is _GRAPH:
        return ir.Attr(attr.name, _GRAPH, copy_graph(attr.as_graph(), mapping, fresh))
    return ir.Attr(attr.name, _GRAPHS, [copy_graph(g, mapping, fresh) for g in attr.as_graphs()])


def copy_graph(graph: ir.Graph, mapping: Mapping, fresh: Fresh) -> ir.Graph:
    """A copy of a body; what it captures is read through ``mapping``.

    Args:
        graph: stays as it is.
        mapping: what to read in place of outer values; what stands for each copied value is added.
        fresh: gives names that are free; all values get new ones.

    Returns:
        A graph of its own. An output that ``mapping`` maps to ``None`` is left out.
    """
    inputs = [copy_value(v, fresh(hint_of(v))) for v in graph.inputs]
    mapping.update(zip(graph.inputs, inputs, strict=True))
    initializers: list[ir.Value] = []
    for value in graph.initializers.values():
        if not value.is_graph_input():
            twin = copy_value(value, fresh(hint_of(value)))
            mapping[value] = twin
            initializers.append(twin)
        elif (given := mapping[value]) is not None:
            given.const_value = value.const_value
            initializers.append(given)
    nodes = copy_nodes(graph, mapping, fresh)
    outputs = [mapping.get(v, v) for v in graph.outputs]
    return ir.Graph(
        inputs, [v for v in outputs if v is not None], nodes=nodes, initializers=initializers, name=graph.name
    )


def copy_value(value: ir.Value, name: str) -> ir.Value:
    """A value of another name with the same type, shape, constant and fact.

    No node produces it and nothing reads it.
    """
    shape = value.shape
    copy = new_value(name, value.type, None if shape is None else shape.copy(), fact_of(value))
    copy.const_value = value.const_value
    return copy


def hint_of(value: ir.Value) -> str:
    """What to name a copy of a value after: its name without the number that made it unique.

    ``relu_12`` gives ``relu``; a value without a name gives ``value``.
    """
    return (value.name or "value").rstrip("0123456789").rstrip("_") or "value"
