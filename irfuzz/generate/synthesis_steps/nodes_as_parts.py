"""Each node of a program as a part: what it covers, what its inputs accept, what it computes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.generate.synthesis_steps.covered_features import DEFAULT, Feature, WantedFeatures, own_features
from irfuzz.ir.subgraphs import bodies_of, captures_of, nodes_within
from irfuzz.ir.value import fact_of
from irfuzz.mutate.editing.mutation_sites import exact_values, is_exact

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.spec import Specs

Kind: TypeAlias = tuple[object, ...]
"""Element type, sizes and, where these decide something, elements of a value: what is equal can stand for another."""


@dataclass(frozen=True, slots=True)
class PartInput:
    """An input of a part that reads what another part computes, or an input of the graph.

    Attributes:
        position: among the node's inputs.
        kind: what may stand there instead; ``None`` if nothing but the original value may.
        producer: index of the node that feeds it in the original program, ``None`` for an input of the graph.
        output: which of that node's outputs it reads.
    """

    position: int
    kind: Kind | None
    producer: int | None
    output: int = 0


@dataclass(frozen=True, slots=True)
class NodePart:
    """A node of the original program.

    Attributes:
        index: its place there; parts are wired from lower to higher places, so that no circle can arise.
        op: its operator; empty for operators of other domains, which cover nothing.
        own: the features that it covers wherever it stands.
        slots: inputs that can be wired anew.
        gives: kinds of its outputs, by output.
        needs: places of the nodes without which it cannot stand, itself included.
        weights: elements of the constants that only it reads.
        elements: of its largest output.
    """

    index: int
    op: str
    own: frozenset[Feature]
    slots: tuple[PartInput, ...]
    gives: tuple[frozenset[Kind], ...]
    needs: frozenset[int]
    weights: int
    elements: int


def parts_of(program: Program, specs: Specs) -> list[NodePart]:
    """Every node of the main graph as a part, in the graph's order.

    Args:
        program: without functions; inferred facts say what may stand for what.
        specs: operator specs.
    """
    place, deciding = program.positions(), _deciding(program)
    needs: list[frozenset[int]] = []
    parts: list[NodePart] = []
    nodes = program.nodes()
    for index, node in enumerate(nodes):
        slots = tuple(_slots(program, node, place, deciding))
        needed = {index}
        # What a body reads from outside stays what it is.
        fixed = [s.producer for s in slots if s.kind is None and s.producer is not None]
        fixed += [place[p] for b in bodies_of(node) for v in captures_of(b) if (p := v.producer()) in place]
        for producer in fixed:
            needed |= needs[producer]
        needs.append(frozenset(needed))
        own = own_features(program, specs, node)
        if node.domain in DEFAULT:
            kept = (nodes[s.producer] for s in slots if s.kind is None and s.producer is not None)
            own |= {("sequence", p.op_type, node.op_type) for p in kept if p.domain in DEFAULT}
        facts = [fact_of(v) for v in node.outputs]
        sizes = [f.size() or 0 for f in facts if isinstance(f, TensorFact)]
        parts.append(
            NodePart(
                index,
                node.op_type if node.domain in DEFAULT else "",
                frozenset(own),
                slots,
                tuple(frozenset(_kinds(f)) for f in facts),
                needs[index],
                weights_of(node),
                max(sizes, default=0),
            )
        )
    return parts


def weights_of(node: ir.Node) -> int:
    """Elements of the initializers that a node reads and of its tensor attributes; what stands in its bodies is not
    counted.
    """
    count = sum(attr.as_tensor().size for attr in node.attributes.values() if _is_tensor(attr))
    for value in node.inputs:
        if value is not None and value.is_initializer() and value.const_value is not None:
            count += value.const_value.size
    return count


def all_weights(program: Program) -> int:
    """Elements of all constants of a program: initializers of the main graph and of bodies, and tensor
    attributes of all nodes, nested ones included.
    """
    tensors = [v.const_value for v in program.graph.initializers.values() if v.const_value is not None]
    for node in program.graph:
        for each in (node, *nodes_within(node)):
            tensors += [attr.as_tensor() for attr in each.attributes.values() if _is_tensor(attr)]
            for body in bodies_of(each):
                tensors += [v.const_value for v in body.initializers.values() if v.const_value is not None]
    return sum(t.size for t in tensors)


def lower_bound(wanted: WantedFeatures, specs: Specs, opset: int) -> dict[str, int]:
    """By operator, how many of its nodes any program of an opset needs that covers all that is wanted.

    A node has one first input, hence one element type, rank and shape, and one value of each parameter; and a pair of
    operators needs an input of the second to itself, of which a node has no more than its schema allows.
    """
    groups: dict[tuple[str, ...], int] = {}
    feeding: dict[str, int] = {}
    for feature in wanted.named:
        if feature[0] == "sequence":
            feeding[feature[2]] = feeding.get(feature[2], 0) + 1
            groups.setdefault(("exists", feature[1]), 1)
        else:
            key = feature[:-1]
            groups[key] = groups.get(key, 0) + 1
    for key, (_, enough) in wanted.several.items():
        groups[key] = enough
    bound: dict[str, int] = {}
    for key, count in groups.items():
        bound[key[1]] = max(bound.get(key[1], 1), count)
    for op, count in feeding.items():
        spec = specs.get(op, opset)
        widest = count if spec is None else max(1, min(spec.max_inputs, count))
        bound[op] = max(bound.get(op, 1), math.ceil(count / widest))
    return dict(sorted(bound.items()))


def _deciding(program: Program) -> set[ir.Value]:
    """Integers that become sizes further on: with other ones the shapes there would be others."""
    return {v for v in exact_values(program) if isinstance(f := fact_of(v), TensorFact) and f.dtype.is_integer()}


def _slots(program: Program, node: ir.Node, place: dict[ir.Node, int], deciding: set[ir.Value]) -> Iterator[PartInput]:
    for position, value in enumerate(node.inputs):
        if value is None or value.is_initializer():
            continue
        producer = value.producer()
        if producer is None and not value.is_graph_input():
            continue
        fact = fact_of(value)
        kind: Kind | None = None
        if isinstance(fact, TensorFact) and fact.shape is not None and None not in fact.shape:
            if fact.known:
                kind = (fact.dtype, fact.shape, fact.value)
            elif fact.value is None and value not in deciding and not is_exact(node, position, fact.dtype):
                constant = program.constant_of(value) is not None
                kind = (fact.dtype, fact.shape, value.name if constant else None)
        if producer is None and kind is None:
            continue  # an input of the graph that decides something is kept
        if producer is None:
            yield PartInput(position, kind, None)
        else:
            yield PartInput(position, kind, place[producer], list(producer.outputs).index(value))


def _kinds(fact: object) -> Iterator[Kind]:
    if isinstance(fact, TensorFact) and fact.shape is not None and None not in fact.shape:
        yield fact.dtype, fact.shape, None
        if fact.known:
            yield fact.dtype, fact.shape, fact.value


def _is_tensor(attr: ir.Attr) -> bool:
    return not attr.is_ref() and attr.type is ir.AttributeType.TENSOR
