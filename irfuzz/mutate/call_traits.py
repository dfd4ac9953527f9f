"""What a target may refuse in a program: traits of its calls, the coarsest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.ir.value import fact_of, is_constant
from irfuzz.mutate.feature_counts import Feature, attribute_bucket
from irfuzz.spec import full_name, load_specs

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.spec import AttrSpec

OPERATOR, WHOLE, TYPE, RANK, INPUTS, SET, ATTRIBUTE, LEVELS = range(8)
"""Levels: operators; what the whole program shows; element types of the first input and of those of the program, then
the rank of the first input; versions, other inputs and results; attributes that differ from their default; their
values, and what stands together. The last is how many there are.
"""

OUTPUT = -1
"""The place of a node's first output, beside those of its inputs."""

_LOOKED_AT = 6
"""So many inputs of a node are looked at."""

Trait = tuple[int, Feature]
"""Level and feature, which is named as ``feature_counts`` names it if it has the same."""


def traits(program: Program, nodes: Iterable[ir.Node] | None = None) -> Iterator[Trait]:
    """Traits of some nodes and their bodies, in order and with repeats, then those of the whole program.

    ``Constant`` nodes have none of their own: they count as initializers, which they are to most targets; that there
    are some is a trait of the whole.

    Args:
        program: whose facts are asked.
        nodes: of the main graph; all if ``None``.
    """
    constants = False
    for node in program.graph if nodes is None else nodes:
        constants |= is_constant(node)
        yield from _of_node(program, node)
        for attribute in node.attributes.values():
            if isinstance(attribute, ir.Attr) and attribute.type == ir.AttributeType.GRAPH:
                for inner in attribute.as_graph().all_nodes():
                    constants |= is_constant(inner)
                    yield from _of_node(program, inner)
    yield from _of_inputs(program)
    yield WHOLE, ("opset", program.opset)
    if constants:
        yield WHOLE, ("constants",)
    if program.model.functions:
        yield WHOLE, ("functions",)


def _of_inputs(program: Program) -> Iterator[Trait]:
    """Element types that the whole program is given: a target may lack one for every operator."""
    for value in program.graph.inputs:
        fact = fact_of(value)
        if isinstance(fact, TensorFact):
            yield TYPE, ("input", fact.dtype.value)


def _of_node(program: Program, node: ir.Node) -> Iterator[Trait]:
    if is_constant(node):
        return
    op = full_name(node.domain, node.op_type) if node.domain else node.op_type
    yield OPERATOR, ("operator", op)
    yield INPUTS, ("op", op, len(node.inputs), sum(bool(output.name) for output in node.outputs))
    spec = load_specs().get(node.op_type, program.opset, node.domain)
    if spec is not None:
        yield INPUTS, ("since", op, spec.since)
    yield from _of_values(op, node)
    for name, attribute in node.attributes.items():
        if isinstance(attribute, ir.Attr) and attribute.type not in _LARGE:
            yield from _of_attribute(op, node, name, attribute.value, None if spec is None else spec.attrs.get(name))


def _of_attribute(op: str, node: ir.Node, name: str, value: object, spec: AttrSpec | None) -> Iterator[Trait]:
    """Its value; that it is not the default; where an axis is, counted from the last one."""
    yield ATTRIBUTE, ("attr", op, name, attribute_bucket(value))
    if spec is not None and spec.default is not None and value != spec.default:
        yield SET, ("set", op, name)
    fact = fact_of(node.inputs[0]) if name == "axis" and node.inputs and node.inputs[0] is not None else None
    if isinstance(fact, TensorFact) and fact.rank is not None and isinstance(value, int):
        yield ATTRIBUTE, ("attr", op, "axis from the end", value - fact.rank if value >= 0 else value)


_LARGE = (ir.AttributeType.TENSOR, ir.AttributeType.GRAPH, ir.AttributeType.TENSORS, ir.AttributeType.GRAPHS)


def _of_values(op: str, node: ir.Node) -> Iterator[Trait]:
    """Element type and rank at each place, open and empty sizes, and which inputs are computed."""
    for place, value in ((OUTPUT, node.outputs[0]), *enumerate(node.inputs[:_LOOKED_AT])):
        if value is None:
            continue
        if place > 0 and not _is_constant(value):
            yield INPUTS, ("computed", op, place)
        fact = fact_of(value)
        if not isinstance(fact, TensorFact):
            yield INPUTS, ("nested", op, place)
            continue
        yield TYPE if place == 0 else INPUTS, ("dtype", op, place, fact.dtype.value)
        shape = fact.shape
        if shape is None:
            yield INPUTS, ("unranked", op)
            continue
        yield RANK if place == 0 else INPUTS, ("rank", op, place, len(shape))
        if 0 in shape:
            yield INPUTS, ("empty", op)
        if any(type(size) is not int for size in shape):
            yield INPUTS, ("open", op)
        if place == 0:
            yield ATTRIBUTE, ("call", op, fact.dtype.value, len(shape))


def _is_constant(value: ir.Value) -> bool:
    producer = value.producer()
    return value.const_value is not None or (producer is not None and is_constant(producer))
