"""``store-constant``: an initializer becomes a Constant node, or a Constant node an initializer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.mutation_sites import value_at
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped

MAX_ELEMENTS = 4096
"""Larger initializers stay what they are."""


@dataclass(frozen=True, slots=True)
class StoreConstant:
    """Moves the elements of a constant between the two places that ONNX has for them."""

    context: Context
    name: ClassVar[str] = "store-constant"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.EQUIVALENT
    profile: ClassVar[Profile] = Profile(weight=0.4)

    def sites(self, program: Program) -> list[str]:
        """Initializers of at most ``MAX_ELEMENTS`` elements, and Constant nodes, if they are read and no output."""
        return [
            value.name
            for value in program.values()
            if value.name
            and not value.is_graph_output()
            and value.uses()
            and program.constant_of(value) is not None
            and (value.producer() is not None or _small(program.fact(value)))
        ]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:  # noqa: ARG002 - the protocol's
        """Make the other kind of constant, of the same elements, let all readers read it and drop this one; nothing is
        drawn.
        """
        value = value_at(program, site)
        tensor = program.constant_of(value)
        if tensor is None or value.is_graph_output():
            return Skipped("not a constant that is only read")
        if value.producer() is not None:
            program.replace_uses(value, Inserter(program, None).constant(tensor, "stored"))
            program.prune()
            return f"the Constant node of {site} is an initializer"
        if not _small(program.fact(value)):
            return Skipped("too large for a node's attribute")
        node = program.insert("Constant", [], {"value": tensor}, before=next(iter(program.graph)))
        program.set_attr(node, "value", tensor)  # which makes its elements known, too
        program.replace_uses(value, node.outputs[0])
        program.prune()
        return f"the initializer {site} is a Constant node"


def _small(fact: object) -> bool:
    return isinstance(fact, TensorFact) and (size := fact.size()) is not None and size <= MAX_ELEMENTS
