"""``insert-chain``: a chain of layers with skips grows behind a value (Muffin's chain structure, section 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.layer_rewiring import sized_sites
from irfuzz.mutate.editing.mutation_sites import value_at
from irfuzz.mutate.insertion.drawn_call_inserter import finish, grower_behind
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, PublishedOperator, Relation, Skipped

if TYPE_CHECKING:
    from irfuzz.spec import OpSpec

LENGTH = (3, 8)
"""Fewest and most layers of a chain."""

SKIP = 0.3
"""How often a layer's result is merged with an earlier one."""


@dataclass(frozen=True, slots=True)
class InsertChain:
    """Each layer reads the one before it, and some merge with an earlier one; rarely used operators come first."""

    context: Context
    name: ClassVar[str] = "insert-chain"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(
        weight=0.5,
        cost=2.6,
        grows=True,
        papers=(
            PublishedOperator(
                "muffin", 1, "chain", "Chain Structure", note="behind any value of a program, a sprout for one"
            ),
        ),
    )

    def sites(self, program: Program) -> list[str]:
        """Values between layers, all of whose sizes are known or have names, inputs of the graph first."""
        return sized_sites(program)

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw three to eight layers one behind the other, and what each is merged with; skipped if not one call is
        found.

        The last result takes the value's place if it can be adapted, else it becomes an output.
        """
        value = value_at(program, site)
        grower = grower_behind(self.context, program, value, choices)
        if isinstance(grower, Skipped):
            return grower
        choose = by_inverse_use(self.context, choices)
        made = [value]
        skips = 0
        for _ in range(choices.integer(*LENGTH)):
            result = grower.layer(made[-1], choose)
            if result is None:
                break
            if len(made) > 1 and choices.boolean(SKIP):
                joined = grower.join(result, choices.pick(made[:-1]))
                skips += joined is not None
                result = joined or result
            made.append(result)
        if len(made) == 1:
            return Skipped("no call was found")
        way = finish(program, grower, value, made[-1])
        return f"a chain of {len(made) - 1} layers with {skips} skips behind {site}, {way}"


def by_inverse_use(context: Context, choices: Choices) -> Callable[[Sequence[OpSpec]], OpSpec]:
    """Fitness-proportionate choice of an operator, whose fitness is ``1 / (1 + uses)`` (Muffin, section 3.2).

    Returns:
        A function that draws one of some specifications; all are equally likely if nothing is counted.
    """

    def choose(specs: Sequence[OpSpec]) -> OpSpec:
        return context.prefer(choices, specs, lambda spec: ("operator", spec.name))

    return choose
