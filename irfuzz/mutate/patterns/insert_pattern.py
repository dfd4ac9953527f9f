"""``insert-pattern``: a subgraph that optimisers recognise is put behind a value, mostly with exactly one thing off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.mutate.drawn_calls.quantised_width_change import requantised
from irfuzz.mutate.editing.layer_rewiring import dims_of, largest, shape_text, sized_sites
from irfuzz.mutate.editing.mutation_sites import tensor_fact, value_at
from irfuzz.mutate.editing.operator_type_portability import CASTABLE
from irfuzz.mutate.editing.value_adaptation import why_not
from irfuzz.mutate.feature_counts import Feature
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Applied, Profile, Relation, Skipped
from irfuzz.mutate.patterns.pattern_draft import PatternDraft, bind, draw_rest, draw_sizes, make, sizes_of
from irfuzz.mutate.patterns.pattern_draft_validation import judge
from irfuzz.mutate.patterns.pattern_file_reader import SubgraphPattern, patterns
from irfuzz.mutate.patterns.pattern_placement import missed, place, room

EXACT = 0.3
"""How often a pattern is inserted as optimisers know it."""

AIMED = 0.6
"""The same of a pattern that is worth more than others: near misses fire nothing."""

_TRIES = 8
_AS_IT_IS = 0.6
"""How often a value whose shape fits enters the pattern without being adapted."""

_BESIDE = 0.4
"""How often the result becomes an output of its own instead of taking the value's place."""


def feature_of(pattern: SubgraphPattern) -> Feature:
    """What the choice of a pattern is weighed by: ``("pattern", name)``, as searches count and favour it."""
    return ("pattern", pattern.name)


@dataclass(frozen=True, slots=True)
class InsertPattern:
    """Draws a pattern of ``patterns/``, what is off, and sizes; adapts the value to it and the result to the value."""

    context: Context
    name: ClassVar[str] = "insert-pattern"
    version: ClassVar[int] = 4
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(weight=4.0, campaign_weight=10.0, cost=0.8, grows=True)

    def sites(self, program: Program) -> list[str]:
        """Values between layers, all of whose sizes are known or have names, of a type that casts lead from."""
        return sized_sites(program, CASTABLE)

    def apply(self, program: Program, site: str, choices: Choices) -> Applied | Skipped:
        """Draw until the specs allow the pattern, and what is off, on this value; skipped after eight patterns.

        The value is read as it is or adapted to drawn sizes; the result takes its place or becomes an output.
        ``Applied.pattern`` names the pattern.
        """
        value = value_at(program, site)
        fact = tensor_fact(program, value)
        if fact.dtype not in CASTABLE or dims_of([fact]) is None:
            return Skipped("a type or a size that cannot be adapted")
        limit = largest(program)
        for _ in range(_TRIES):
            pattern = self.context.prefer(choices, patterns(), feature_of)
            drafted = self._draft(program, pattern, value, choices, limit)
            if drafted is None:
                continue
            draft, off = drafted
            how = room(self.context, program, value, draft, _BESIDE, choices)
            if not how:
                continue
            place(self.context, program, value, draft, choices, whole=how == 2)
            detail = f"{pattern.name}{off} behind {site}, on {shape_text(draft.given['x'])}"
            return Applied(detail, self.relation, pattern.name)
        return Skipped("no pattern fits")

    def _is_aimed_at(self, pattern: SubgraphPattern) -> bool:
        return self.context.seen is not None and self.context.seen.weight(feature_of(pattern)) > 1.0

    def _draft(
        self, program: Program, pattern: SubgraphPattern, value: ir.Value, choices: Choices, limit: int
    ) -> tuple[PatternDraft, str] | None:
        """A judged draft whose inputs can be made of the value, and what is off."""
        specs, opset = self.context.specs, program.opset
        fact = tensor_fact(program, value)
        dtype = fact.dtype if fact.dtype in pattern.types and choices.boolean(0.8) else choices.pick(pattern.types)
        plain = fact.shape or ()
        env = None
        if choices.boolean(_AS_IT_IS):
            env = next((e for s in pattern.shapes if (e := bind(s, plain)) is not None), None)
        shape = plain
        if env is None:
            wanted = choices.pick(pattern.shapes)
            env = draw_sizes(pattern, wanted, choices)
            sizes = sizes_of(wanted, env)
            if sizes is None:
                return None
            shape = sizes
        draw_rest(pattern, env, choices)
        draft = make(pattern, TensorFact(dtype, shape), env, choices)
        if draft is None or 0 in shape or any(why_not(specs, opset, fact, g) for g in draft.given.values()):
            return None
        if judge(specs, opset, draft, limit) is not None:
            return None
        draft = requantised(specs, opset, draft, choices, limit)
        if choices.boolean(AIMED if self._is_aimed_at(pattern) else EXACT):
            return draft, ""
        return missed(self.context, program, value, draft, choices, limit)
