"""Clones models and writes nodes by public names of onnx-ir alone: slower, but right for any version of it.

``irfuzz.ir.serialization.fast_path_self_check`` decides when this way is taken. The writer gives the same bytes as the
native one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import onnx_ir as ir

from irfuzz.ir.serialization.protobuf_field_encoding import block, block_tag, text
from irfuzz.ir.subgraphs import bodies_of
from irfuzz.ir.value import fact_of, set_fact, set_verbatim, verbatim_of

Part = TypeVar("Part", ir.Model, ir.Function)

_INPUT, _OUTPUT, _NAME, _OP_TYPE, _ATTRIBUTE = map(block_tag, range(1, 6))
_DOMAIN, _OVERLOAD = block_tag(7), block_tag(8)


def public_clone(part: Part) -> Part:
    """``irfuzz.ir.clone.clone`` by onnx-ir's own method; facts and types as they were read are carried over."""
    return public_twins(part)[0]


def public_clone_with(model: ir.Model, values: Mapping[str, ir.Value]) -> tuple[ir.Model, dict[str, ir.Value]]:
    """``irfuzz.ir.clone.clone_with`` by onnx-ir's own method.

    Args:
        model: stays as it is.
        values: by name; those that are not of the model are left out of the second result.
    """
    copy, twins = public_twins(model)
    return copy, {name: twins[value] for name, value in values.items() if value in twins}


def public_twins(part: Part) -> tuple[Part, dict[ir.Value, ir.Value]]:
    """A copy by onnx-ir's own method, and for each value what stands for it there, with its fact."""
    copy = part.clone()
    twins = dict(_pairs(part, copy))
    for value, twin in twins.items():
        set_fact(twin, fact_of(value))
        set_verbatim(twin, verbatim_of(value))
    return copy, twins


def values_of(part: ir.Model | ir.Function) -> Iterator[ir.Value]:
    """Every value of a model or function, those of bodies too; the same order for equal ones.

    Of each graph come inputs, initializers and node outputs; an input with a default comes twice.
    """
    for graph in graphs_of(part):
        yield from graph.inputs
        yield from graph.initializers.values()
        for node in graph:
            yield from node.outputs


def graphs_of(part: ir.Model | ir.Function) -> list[ir.Graph]:
    """The graphs of a model with its functions, or of a function, and all bodies in them.

    The main graph is the first, and bodies come behind the graphs that they stand in.
    """
    todo = [part.graph] if isinstance(part, ir.Function) else [part.graph, *(f.graph for f in part.functions.values())]
    for graph in todo:  # grows meanwhile
        for node in graph:
            todo.extend(bodies_of(node))
    return todo


def _pairs(part: ir.Model | ir.Function, copy: ir.Model | ir.Function) -> Iterator[tuple[ir.Value, ir.Value]]:
    return zip(values_of(part), values_of(copy), strict=True)


class PublicNodeWriter:
    """``irfuzz._graph.NodeWriter`` in Python.

    Args:
        attribute: gives the ``AttributeProto`` of an attribute.
        seldom: gives the fields that few nodes have (comment, properties, devices).
    """

    def __init__(self, attribute: Callable[[ir.Attr], bytes], seldom: Callable[[ir.Node], bytes]) -> None:
        self._attribute = attribute
        self._seldom = seldom

    def write(self, field: int, graph: ir.Graph) -> tuple[bytes, list[ir.Value]]:
        """The fields of a graph's nodes, as bytes, and the outputs that have a name.

        Args:
            field: number of the field that each node is written as.
            graph: its nodes are written in order.

        Raises:
            ValueError: a value has no name.
        """
        tag = block_tag(field)
        stated = [value for node in graph for value in node.outputs if value.name]
        return b"".join([block(tag, self._fields(node)) for node in graph]), stated

    def _fields(self, node: ir.Node) -> bytes:
        parts = [block(_INPUT, b"") if v is None else text(_INPUT, _name(v, node)) for v in node.inputs]
        parts += [text(_OUTPUT, _name(v, node)) for v in node.outputs]
        if node.name:
            parts.append(text(_NAME, node.name))
        parts.append(text(_OP_TYPE, node.op_type))
        parts += [block(_ATTRIBUTE, self._attribute(attr)) for attr in node.attributes.values()]
        parts += [text(tag, said) for tag, said in ((_DOMAIN, node.domain), (_OVERLOAD, node.overload)) if said]
        return b"".join([*parts, self._seldom(node)])


def _name(value: ir.Value, node: ir.Node) -> str:
    if value.name is None:
        raise ValueError(f"an input or output of a node ({node.op_type}) has no name and so cannot be written")
    return value.name
