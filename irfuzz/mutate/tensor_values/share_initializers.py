"""``share-initializers``: two constants of one type and shape become one, so that layers share their weights."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.mutation_sites import exact_values, value_at
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped
from irfuzz.spec import names_input

_READ = 64
"""Exact constants of at most this many elements are shared, where their elements are equal."""

Kind: TypeAlias = tuple[ir.DataType, object, bool, bytes]
"""Type, shape, whether negative numbers are allowed, and the elements where these must not change."""


@dataclass(frozen=True, slots=True)
class ShareInitializers:
    """Readers of one constant read another instead, with other elements if these are free."""

    context: Context
    name: ClassVar[str] = "share-initializers"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(weight=0.4)

    def sites(self, program: Program) -> list[str]:
        """Constants that are read and have a twin: one of the same type and shape that may stand for it."""
        exact = exact_values(program)
        groups: dict[Kind, list[str]] = {}
        for value in program.values():
            kind = _kind(program, value, exact)
            if kind is not None and value.name:
                groups.setdefault(kind, []).append(value.name)
        return [name for group in groups.values() if len(group) > 1 for name in group]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw the constant that is read instead, by all readers; the first one goes if nothing is left that needs it.
        A Constant node moves to the front of the graph for that.
        """
        value = value_at(program, site)
        exact = exact_values(program)
        kind = _kind(program, value, exact)
        if kind is None:
            return Skipped("not a constant that is read")
        others = [v for v in program.values() if v is not value and _kind(program, v, exact) == kind]
        if not others:
            return Skipped("no other constant may stand for it")
        other = choices.pick(others)
        producer = other.producer()
        if producer is not None:
            _to_front(program, producer)
        program.replace_uses(value, other)
        program.prune()
        return f"readers of {site} read {other.name}"


def _kind(program: Program, value: ir.Value, exact: Container[ir.Value]) -> Kind | None:
    """What two constants must have in common; ``None`` for what is no constant that nodes read."""
    if not value.uses() or value.is_graph_output():
        return None
    tensor, fact = program.constant_of(value), program.fact(value)
    if tensor is None or not isinstance(fact, TensorFact):
        return None
    elements = b""
    if value in exact:
        if fact.dtype.is_string() or (fact.size() or 0) > _READ:
            return None
        elements = tensor.tobytes()
    limited = any(names_input("nonnegative_inputs", use.node.op_type, use.idx) for use in value.uses())
    return fact.dtype, fact.shape, limited, elements


def _to_front(program: Program, node: ir.Node) -> None:
    """A Constant node needs nothing, and every reader is to come after it."""
    graph = program.graph
    first = next(iter(graph))
    if first is not node:
        graph.remove(node)
        graph.insert_before(first, node)
