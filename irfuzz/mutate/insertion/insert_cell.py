"""``insert-cell``: cells, small graphs of one source and one sink, grow behind a value (Muffin, section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.layer_rewiring import sized_sites
from irfuzz.mutate.editing.mutation_sites import value_at
from irfuzz.mutate.editing.value_adaptation import adapt, why_not
from irfuzz.mutate.insertion.drawn_call_inserter import Grower, finish, grower_behind
from irfuzz.mutate.insertion.insert_chain import by_inverse_use
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, PublishedOperator, Relation, Skipped

CELLS = (1, 2)
INNER = (2, 4)
"""Fewest and most cells, and layers of a cell."""

_TWO = 0.4
"""How often a layer of a cell reads two others, merged."""


@dataclass(frozen=True, slots=True)
class InsertCell:
    """Normal cells keep the sizes of what they read, reduction cells halve the last ones."""

    context: Context
    name: ClassVar[str] = "insert-cell"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(
        weight=0.4,
        cost=2.8,
        grows=True,
        papers=(
            PublishedOperator(
                "muffin", 2, "cell", "Cell-based Structure", note="behind any value of a program, a sprout for one"
            ),
        ),
    )

    def sites(self, program: Program) -> list[str]:
        """Values between layers, all of whose sizes are known or have names, inputs of the graph first."""
        return sized_sites(program)

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw one or two cells of two to four layers, one behind the other; the last sink takes the value's place or
        becomes an output.

        A normal cell ends in the sizes that it reads, a reduction cell in half of the last two, if they can be adapted
        (Muffin, section 3.1).
        """
        value = value_at(program, site)
        grower = grower_behind(self.context, program, value, choices)
        if isinstance(grower, Skipped):
            return grower
        last, layers, kinds = value, 0, []
        for _ in range(choices.integer(*CELLS)):
            made = self._cell(grower, last)
            if len(made) == 1:
                break
            layers += len(made) - 1
            reduction = choices.boolean()
            last = self._sink(grower, made, reduction=reduction)
            kinds.append("reduction" if reduction else "normal")
        if not kinds:
            return Skipped("no call was found")
        way = finish(program, grower, value, last)
        return f"{' and '.join(kinds)} cell of {layers} layers behind {site}, {way}"

    def _cell(self, grower: Grower, source: ir.Value) -> list[ir.Value]:
        """The source and the results of the cell's layers; each reads one or two that were there before it."""
        choose = by_inverse_use(self.context, grower.choices)
        made = [source]
        for _ in range(grower.choices.integer(*INNER)):
            taken = grower.choices.pick(made)
            if len(made) > 1 and grower.choices.boolean(_TWO):
                taken = grower.join(taken, grower.choices.pick(made)) or taken
            result = grower.layer(taken, choose)
            if result is not None:
                made.append(result)
        return made

    def _sink(self, grower: Grower, made: list[ir.Value], *, reduction: bool) -> ir.Value:
        """What nobody in the cell reads, merged into one value."""
        # Where a layer was wanted and none found, what merged its inputs is left over, and reads them.
        loose = [v for v in made[1:] if not v.uses()] or made[-1:]
        sink = loose[0]
        for other in loose[1:]:
            sink = grower.join(sink, other) or sink
        fact = grower.inserter.fact(sink if reduction else made[0])
        shape = fact.shape or ()
        wanted = replace(fact.without_value(), low=None, high=None)
        if reduction:
            halved = tuple((d + 1) // 2 if type(d) is int and i >= len(shape) - 2 else d for i, d in enumerate(shape))
            wanted = replace(wanted, shape=halved)
        specs, inserter = self.context.specs, grower.inserter
        if why_not(specs, inserter.opset, inserter.fact(sink), wanted) is not None:
            return sink
        return adapt(specs, inserter, sink, wanted, grower.choices)
