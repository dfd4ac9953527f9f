"""``insert-layers``: several operators in a row are put behind a value (LEMON's MLA, table 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.layer_rewiring import sized_sites, splice_in
from irfuzz.mutate.editing.mutation_sites import tensor_fact, value_at
from irfuzz.mutate.insertion.drawn_call_inserter import grower_behind
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, PublishedOperator, Relation, Skipped

MOST = 4
"""Layers in a row."""


@dataclass(frozen=True, slots=True)
class InsertLayers:
    """MLA: two to four layers in sequence, whose result has the type and shape of the value that they read."""

    context: Context
    name: ClassVar[str] = "insert-layers"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(
        weight=0.5,
        cost=1.1,
        grows=True,
        papers=(
            PublishedOperator("lemon", 12, "MLA", "Multi-Layers Addition", note="what has another shape is adapted"),
        ),
    )

    def sites(self, program: Program) -> list[str]:
        """Values between layers, all of whose sizes are known or have names, inputs of the graph first."""
        return sized_sites(program)

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw two to four layers one behind the other; the last result, adapted, takes the value's place. Fewer are
        put in if no further call is found; skipped if there is none at all.
        """
        value = value_at(program, site)
        fact = tensor_fact(program, value)
        grower = grower_behind(self.context, program, value, choices)
        if isinstance(grower, Skipped):
            return grower
        specs, inserter = self.context.specs, grower.inserter
        last, made = value, 0
        for _ in range(choices.integer(2, MOST)):
            result = grower.layer(last, choices.pick, fact)
            if result is None:
                break
            last, made = result, made + 1
        if made == 0:
            return Skipped("no call was found")
        splice_in(program, specs, inserter, value, last, choices)
        return f"{made} layers in a row behind {site}"
