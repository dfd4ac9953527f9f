"""Facts through If, Loop, Scan and other operators with subgraphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import onnx_ir as ir
from onnx import defs

from irfuzz.errors import InvalidProgram
from irfuzz.facts import Dim, Fact, OptionalFact, SequenceFact, TensorFact
from irfuzz.ir.fact_type_conversion import declared_fact, join
from irfuzz.ir.inference.call_output_types import check_attribute_types, schema_of
from irfuzz.ir.inference.opaque_nodes import outputs_of
from irfuzz.ir.subgraphs import bodies_of, control_flow_of
from irfuzz.ir.value import UNTYPED, fact_of, set_fact

if TYPE_CHECKING:
    from irfuzz.ir.inference.graph_facts import Inference

Inputs: TypeAlias = tuple[Fact | None, ...]

MAX_TURNS = 8
"""Turns after which a loop's carried facts are given up; each turn can only forget, so few are needed."""


def infer_control_flow(inference: Inference, node: ir.Node, inputs: Inputs, where: str, depth: int) -> Sequence[Fact]:
    """Infer the bodies of a node and the facts of its outputs.

    Raises:
        InvalidProgram: a body is ill-typed or has another number of inputs or outputs than the node needs, or the node
            has another number of inputs, or attributes of another type, than its operator takes.
    """
    _check_call(inference, node, where)
    rule = RULES.get(control_flow_of(node))
    if rule is None:
        _infer_bodies_blind(inference, node, where, depth)
        return outputs_of(node, inputs, where)
    found = rule(inference, node, inputs, where, depth)
    if len(found) < len(node.outputs):
        raise InvalidProgram(f"{where}: {len(node.outputs)} outputs, but its body gives {len(found)}")
    return (list(found) + [UNTYPED] * len(node.outputs))[: len(node.outputs)]


def _check_call(inference: Inference, node: ir.Node, where: str) -> None:
    call = node.op_type, inference.opset(node.domain), node.domain
    needs = _inputs_of(*call)
    if needs is None:
        return
    attrs = [(attr.name, attr.type.value) for attr in node.attributes.values() if not attr.is_ref()]
    try:
        check_attribute_types(*call, attrs)
    except InvalidProgram as error:
        raise InvalidProgram(f"{where}: {error}") from None
    least, most, needed = needs
    if not least <= len(node.inputs) <= most:
        raise InvalidProgram(
            f"{where}: {len(node.inputs)} inputs; expected {least}" + (f" to {most}" if most > least else "")
        )
    for name, value in zip(needed, node.inputs, strict=False):
        if value is None and name:
            raise InvalidProgram(f"{where}: input {name!r} is left out; {node.op_type} needs it")


@lru_cache(maxsize=64)
def _inputs_of(op: str, opset: int, domain: str) -> tuple[int, int, tuple[str, ...]] | None:
    """Least and most inputs, and of each its name if it may not be left out; ``None`` if nobody states them."""
    schema = schema_of(op, opset, domain)
    if schema is None:
        return None
    single = defs.OpSchema.FormalParameterOption.Single
    return (
        schema.min_input,
        schema.max_input,
        tuple(slot.name if slot.option == single else "" for slot in schema.inputs),
    )


def _body(node: ir.Node, name: str, where: str) -> ir.Graph:
    attr = node.attributes.get(name)
    if attr is None:
        raise InvalidProgram(f"{where}: attribute {name!r} is missing")
    return attr.as_graph()


def _enter(inference: Inference, graph: ir.Graph, facts: Sequence[Fact | None], where: str, depth: int) -> list[Fact]:
    """Infer a body with the given facts on its inputs and return the facts of its outputs."""
    if len(graph.inputs) != len(facts):
        raise InvalidProgram(f"{where}: body takes {len(graph.inputs)} inputs, but {len(facts)} are passed")
    for value, fact in zip(graph.inputs, facts, strict=True):
        set_fact(value, declared_fact(value) if fact is None or fact is UNTYPED else fact)
    inference.graph(graph, f"{where}: ", depth + 1)
    return [fact_of(v) for v in graph.outputs]


def _infer_bodies_blind(inference: Inference, node: ir.Node, where: str, depth: int) -> None:
    for body in bodies_of(node):
        _enter(inference, body, [None] * len(body.inputs), where, depth)


def _if(inference: Inference, node: ir.Node, inputs: Inputs, where: str, depth: int) -> Sequence[Fact]:
    then = _enter(inference, _body(node, "then_branch", where), (), f"{where} then_branch", depth)
    other = _enter(inference, _body(node, "else_branch", where), (), f"{where} else_branch", depth)
    if len(then) != len(other) or len(then) != len(node.outputs):
        raise InvalidProgram(
            f"{where}: {len(node.outputs)} outputs, but the branches give {len(then)} and {len(other)}"
        )
    for index, (a, b) in enumerate(zip(then, other, strict=True)):
        if isinstance(a, TensorFact) and isinstance(b, TensorFact) and a.dtype != b.dtype:
            raise InvalidProgram(
                f"{where}: output {index} is {a.dtype.name} in one branch and {b.dtype.name} in the other"
            )
    return [join(a, b) for a, b in zip(then, other, strict=True)]


def _until_stable(
    carried: list[Fact], turn: Callable[[list[Fact]], list[Fact]], where: str
) -> tuple[list[Fact], list[Fact]]:
    """Widen the carried facts until a turn of the body changes nothing; returns them and the last outputs."""
    for _ in range(MAX_TURNS):
        outputs = turn(carried)
        widened = [join(before, after) for before, after in zip(carried, outputs[: len(carried)], strict=True)]
        if widened == carried:
            return carried, outputs
        carried = widened
    forgotten = [_forget(fact) for fact in carried]
    return forgotten, turn(forgotten)


def _forget(fact: Fact) -> Fact:
    if isinstance(fact, TensorFact):
        return TensorFact(fact.dtype, None)
    if isinstance(fact, SequenceFact):
        return SequenceFact(None if fact.elem is None else _forget(fact.elem))
    if isinstance(fact, OptionalFact):
        return replace(fact, elem=None if fact.elem is None else _forget(fact.elem))
    return fact


def _without_values(fact: Fact | None) -> Fact:
    if isinstance(fact, TensorFact):
        return fact.without_value()
    return UNTYPED if fact is None else fact


def _loop(inference: Inference, node: ir.Node, inputs: Inputs, where: str, depth: int) -> Sequence[Fact]:
    body = _body(node, "body", where)
    # Elements of carried values change from turn to turn, so only types and shapes are carried.
    carried = [_without_values(f) for f in inputs[2:]]
    if len(body.outputs) < 1 + len(carried):
        raise InvalidProgram(f"{where}: body gives {len(body.outputs)} outputs, fewer than 1 + {len(carried)} carried")

    trips, start = _element(inputs, 0), _element(inputs, 1)
    always = len(inputs) < 2 or inputs[1] is None or start is True
    condition = TensorFact(ir.DataType.BOOL, (), value=(True,)) if always else _CONDITION
    keeps = [False]

    def turn(state: list[Fact]) -> list[Fact]:
        outputs = _enter(inference, body, [_TURN, condition, *state], f"{where} body", depth)
        kept = outputs[0]
        keeps[0] = isinstance(kept, TensorFact) and kept.value == (True,)
        return [_without_values(f) for f in outputs[1:]]

    stable, outputs = _until_stable(carried, turn, where)
    if condition is not _CONDITION and not keeps[0] and trips != 1:
        # It held at first and need not in later turns; the facts inside must hold for all of them.
        condition = _CONDITION
        stable, outputs = _until_stable(carried, turn, where)
    # A condition that is not known may stop the loop early, so that the trip count says nothing of the scanned size.
    size = 0 if start is False else max(0, trips) if type(trips) is int and condition is not _CONDITION else None
    if size == 0:
        stable = carried
    scanned: list[Fact] = [_stack(f, size) for f in outputs[len(stable) :]]
    return [*stable, *scanned]


_TURN = TensorFact(ir.DataType.INT64, (), 0.0)
_CONDITION = TensorFact(ir.DataType.BOOL, ())


def _element(inputs: Inputs, index: int) -> object:
    """The only element of an input, if it is known."""
    fact = inputs[index] if index < len(inputs) else None
    return fact.value[0] if isinstance(fact, TensorFact) and fact.value is not None and len(fact.value) == 1 else None


def _stack(fact: Fact, size: Dim) -> Fact:
    if isinstance(fact, TensorFact):
        return TensorFact(fact.dtype, None if fact.shape is None else (size, *fact.shape))
    return UNTYPED


def _scan(inference: Inference, node: ir.Node, inputs: Inputs, where: str, depth: int) -> Sequence[Fact]:
    body = _body(node, "body", where)
    if "num_scan_inputs" not in node.attributes or inference.opset("") < 9:
        # Opset 8 has a batch dimension and an optional length input of its own.
        return [UNTYPED] * len(node.outputs)
    count = node.attributes["num_scan_inputs"].as_int()
    if not 0 < count <= len(inputs):
        raise InvalidProgram(f"{where}: num_scan_inputs is {count}; expected 1 to {len(inputs)}, the number of inputs")
    if len(body.outputs) < len(inputs) - count:
        raise InvalidProgram(
            f"{where}: body gives {len(body.outputs)} outputs, fewer than the {len(inputs) - count} states"
        )
    states = [_without_values(f) for f in inputs[: len(inputs) - count]]
    axes = _axes(node, "scan_input_axes", count, where)
    slices: list[Fact] = []
    length: Dim = None
    for fact, axis in zip(inputs[len(states) :], axes, strict=True):
        if isinstance(fact, TensorFact) and fact.shape is not None and fact.shape:
            at = axis % len(fact.shape)
            length = fact.shape[at] if length is None else length
            slices.append(TensorFact(fact.dtype, fact.shape[:at] + fact.shape[at + 1 :]))
        else:
            slices.append(TensorFact(fact.dtype, None) if isinstance(fact, TensorFact) else UNTYPED)

    def turn(state: list[Fact]) -> list[Fact]:
        return [_without_values(f) for f in _enter(inference, body, [*state, *slices], f"{where} body", depth)]

    stable, outputs = _until_stable(states, turn, where)
    scanned = outputs[len(stable) :]
    out_axes = _axes(node, "scan_output_axes", len(scanned), where)
    return [*stable, *(_insert(f, a, length) for f, a in zip(scanned, out_axes, strict=True))]


def _axes(node: ir.Node, name: str, count: int, where: str) -> Sequence[int]:
    attr = node.attributes.get(name)
    axes = [0] * count if attr is None else list(attr.as_ints())
    if len(axes) != count:
        raise InvalidProgram(f"{where}: {name} has {len(axes)} axes; expected {count}")
    return axes


def _insert(fact: Fact, axis: int, size: Dim) -> Fact:
    if not isinstance(fact, TensorFact):
        return UNTYPED
    if fact.shape is None:
        return TensorFact(fact.dtype, None)
    at = axis % (len(fact.shape) + 1)
    return TensorFact(fact.dtype, (*fact.shape[:at], size, *fact.shape[at:]))


def _sequence_map(inference: Inference, node: ir.Node, inputs: Inputs, where: str, depth: int) -> Sequence[Fact]:
    body = _body(node, "body", where)
    facts = [_without_values(f.elem) if isinstance(f, SequenceFact) else _without_values(f) for f in inputs]
    length = inputs[0].length if inputs and isinstance(inputs[0], SequenceFact) else None
    # The body runs anew for each element, so nothing of what it computes once is known of all.
    found = _enter(inference, body, facts, f"{where} body", depth)
    return [SequenceFact(_without_values(f), length) for f in found]


RULES: Mapping[str, Callable[[Inference, ir.Node, Inputs, str, int], Sequence[Fact]]] = {
    "branch": _if,
    "loop": _loop,
    "map": _sequence_map,
    "scan": _scan,
}
"""By kind (the trait ``control_flow``): the facts of a node's outputs from those on its inputs."""
