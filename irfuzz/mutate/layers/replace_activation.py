"""``replace-activation``: an activation becomes another one (LEMON's ARep, table 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.layer_rewiring import dims_of, put_in_place
from irfuzz.mutate.editing.mutation_sites import layer_nodes, node_at, tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import runs
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, PublishedOperator, Relation, Skipped
from irfuzz.spec import has_trait, in_order


@dataclass(frozen=True, slots=True)
class ReplaceActivation:
    """ARep: an activation becomes another one."""

    context: Context
    name: ClassVar[str] = "replace-activation"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(papers=(PublishedOperator("lemon", 7, "ARep", "Activation Replacement"),))

    def sites(self, program: Program) -> list[str]:
        """Activations among the layers (Relu, Sigmoid, ...: the trait ``activation``), by the name of their output."""
        return [program.site_of(n) for n in layer_nodes(program, self.context.specs) if has_trait(n, "activation")]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw another activation that takes the same element type, and put it in the place of this one, with default
        attributes and on the first input alone.
        """
        node = node_at(program, site)
        value = node.inputs[0]
        if value is None:
            return Skipped("it has no input")
        fact = tensor_fact(program, value)
        if dims_of([fact]) is None:
            return Skipped("a size that has no name")
        others = [
            op
            for op in in_order("activation")
            if op != node.op_type and runs(self.context.specs, op, program.opset, fact.dtype)
        ]
        if not others:
            return Skipped(f"no other activation takes {fact.dtype.name}")
        op = self.context.prefer(choices, others, lambda name: ("dtype", name, 0, fact.dtype.value))
        inserter = Inserter(program, node)
        put_in_place(program, self.context.specs, inserter, node.outputs, [inserter.value(op, value)], choices)
        return f"{node.op_type} at {site} becomes {op}"
