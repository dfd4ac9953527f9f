"""``split-initializer``: of a constant that several layers read some get a copy of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.mutation_sites import main_uses, value_at
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped


@dataclass(frozen=True, slots=True)
class SplitInitializer:
    """Gives one reader of a shared constant, or all but the first, initializers of their own."""

    context: Context
    name: ClassVar[str] = "split-initializer"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.EQUIVALENT
    profile: ClassVar[Profile] = Profile(weight=0.4)

    def sites(self, program: Program) -> list[str]:
        """Constants, initializers or results of Constant nodes, with several readers, by name."""
        return [
            value.name
            for value in program.values()
            if value.name and len(value.uses()) > 1 and program.constant_of(value) is not None
        ]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw the readers in the main graph that get copies: one of them, or all but the first, each its own. Skipped
        if there are fewer than two.
        """
        value = value_at(program, site)
        tensor = program.constant_of(value)
        uses = main_uses(program, value)
        if tensor is None or len(uses) < 2:
            return Skipped("fewer than two readers in the main graph")
        apart = uses[1:] if choices.boolean() else [choices.pick(uses)]
        for use in apart:
            copy = Inserter(program, use[0]).constant(tensor, "copy")
            program.replace_uses(value, copy, users=[use])
        program.prune()
        return f"{len(apart)} of {len(uses)} readers of {site} have a copy"
