"""``expose-value``: an inner value becomes a graph output as well, so that no optimiser may fuse it away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.ir.value import is_constant
from irfuzz.mutate.editing.mutation_sites import value_at
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped

MOST_OUTPUTS = 8
"""A program with so many outputs gets no more: each is compared, and each keeps optimisers from their work."""


@dataclass(frozen=True, slots=True)
class ExposeValue:
    """Appends a computed value to the graph's outputs; what the others give stays the same."""

    context: Context
    name: ClassVar[str] = "expose-value"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.EQUIVALENT
    profile: ClassVar[Profile] = Profile(weight=0.4)

    def sites(self, program: Program) -> list[str]:
        """Computed dense tensors of known rank that are no output yet; none if there are ``MOST_OUTPUTS`` outputs."""
        graph = program.graph
        if len(graph.outputs) >= MOST_OUTPUTS:
            return []
        return [
            value.name
            for node in graph
            for value in node.outputs
            if value.name and not is_constant(node) and _can(program, value)
        ]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:  # noqa: ARG002 - the protocol's
        """Make the value an output, behind those that there are; nothing is drawn, and no other output changes."""
        value = value_at(program, site)
        if value.producer() is None or not _can(program, value):
            return Skipped("not a computed tensor of known rank that is no output yet")
        program.add_output(value)
        return f"{site} is an output"


def _can(program: Program, value: ir.Value) -> bool:
    fact = program.fact(value)
    return (
        isinstance(fact, TensorFact)
        and fact.shape is not None
        and fact.dtype is not ir.DataType.UNDEFINED
        and not value.is_graph_output()
    )
