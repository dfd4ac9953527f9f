"""``insert-neighbours``: an operator, or two that optimisers rewrite together, each a drawn call, go behind a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.mutate.drawn_calls.call_quantisation import SHARE as QUANTISED
from irfuzz.mutate.drawn_calls.call_quantisation import quantise
from irfuzz.mutate.drawn_calls.fused_operator_pairs import draw_next, draw_pair
from irfuzz.mutate.drawn_calls.identity_program_filling import bare, detour, draw_type, feed, start_anew
from irfuzz.mutate.drawn_calls.quantised_width_change import requantised
from irfuzz.mutate.drawn_calls.single_call_draw import draw_single
from irfuzz.mutate.editing.call_inputs import random_array
from irfuzz.mutate.editing.layer_rewiring import dims_of, largest, shape_text, sized_sites
from irfuzz.mutate.editing.mutation_sites import is_exact_input, tensor_fact, value_at
from irfuzz.mutate.editing.operator_type_portability import CASTABLE
from irfuzz.mutate.editing.value_adaptation import why_not
from irfuzz.mutate.insertion.layer_sampling import layers, types_at
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped
from irfuzz.mutate.patterns.neutral_nodes import constant, neutral
from irfuzz.mutate.patterns.pattern_draft import DraftNode, PatternDraft
from irfuzz.mutate.patterns.pattern_draft_validation import judge
from irfuzz.mutate.patterns.pattern_placement import missed, place, room
from irfuzz.spec import OpSpec, sample_call, with_trait

_PAIRS = 4
_TRIES = 6
"""How many pairs are tried, and how often each, so that those that take few shapes come as often as others."""

_ALONE = 0.35
"""How often it is one operator; what there is to try of it, and how often it was seen, say which."""

_THIRD = 0.3
"""How often a third one follows two: two pairs for little more than one costs, but what is behind may hide a fault."""

_AS_IT_IS = 0.5
"""How often a value of known sizes is read as it is; else it is given other sizes first."""

_SINGLE = 0.7
"""How often these are one call, drawn from nothing."""

_DETOUR = 0.08
"""How often a constant of these is computed from another one."""

_ANEW = 0.9
"""How often a program that only copies its input is exchanged for the calls, and its input for theirs."""

_OWN_TYPE = 0.7
"""How often it keeps its element type, where it is given other sizes."""

_NEUTRAL = 0.2
"""How often one of the two computes again what it reads."""

_MISSED = 0.25
"""How often one more thing is changed, as in a near-miss of a pattern."""

_BESIDE = 0.7
"""How often the result becomes an output: where it is fitted to what was there, the fit hides what is wrong with it."""

_PLAIN = 0.4
"""How often a call is as plain as most are: optimisers know these, and what is unusual beside them is then alone."""

_EMPTY = 0.06
"""How often a program that is nothing but drawn calls begins with no elements along one axis."""

_PARAMETERS = 0.2
"""How often a computed value may stand where weights stand as a rule."""

_ELEMENTS = 1 << 10
"""Most elements of a constant."""


@dataclass(frozen=True, slots=True)
class InsertNeighbours:
    """Draws one or two operators, a call of the first on the value, and one of the second on what it computes."""

    context: Context
    name: ClassVar[str] = "insert-neighbours"
    version: ClassVar[int] = 5
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(weight=3.0, campaign_weight=16.0, cost=0.8, grows=True)

    def sites(self, program: Program) -> list[str]:
        """Values between layers, all of whose sizes are known or have names, of a type that casts lead from."""
        return sized_sites(program, CASTABLE)

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw until the specs allow the calls; then put them behind the value, or in place of all that the program
        computes.

        A program that is one Identity is mostly exchanged for the calls, on inputs of drawn types and sizes. Else the
        value is adapted to what the first call reads, and the result takes its place or becomes an output.
        """
        value = value_at(program, site)
        fact = tensor_fact(program, value)
        if fact.dtype not in CASTABLE or dims_of([fact]) is None:
            return Skipped("a type or a size that cannot be adapted")
        limit = largest(program)
        copied = bare(program)
        if copied is not None and choices.boolean(_ANEW):
            return self._anew(program, copied, choices, limit)
        ops: tuple[str, ...] = ()
        dropped = -1
        for number in range(_PAIRS * _TRIES):
            if number % _TRIES == 0:
                ops, dropped = self._operators(program.opset, choices)
            start = self._start(fact, choices)
            if 0 in (start.shape or ()) or why_not(self.context.specs, program.opset, fact, start) is not None:
                continue
            draft = self._draft(program.opset, start, ops, dropped, choices, limit)
            if draft is None:
                continue
            off = ""
            if choices.boolean(_MISSED):
                other = missed(self.context, program, value, draft, choices, limit)
                draft, off = other or (draft, "")
            how = room(self.context, program, value, draft, _BESIDE, choices)
            if not how:
                continue
            place(self.context, program, value, draft, choices, whole=how == 2)
            return f"{', '.join(s.op for s in draft.steps)}{off} behind {site}, on {shape_text(draft.given['x'])}"
        return Skipped("no call fits")

    def _anew(self, program: Program, copied: ir.Node, choices: Choices, limit: int) -> str | Skipped:
        """Operators in the place of the only node, on inputs of any type and sizes: nothing stands beside them."""
        ops: tuple[str, ...] = ()
        dropped = -1
        single = choices.boolean(_SINGLE)
        for number in range(_PAIRS * _TRIES):
            if single:
                draft = draw_single(self.context, program.opset, choices, limit)
            else:
                if number % _TRIES == 0:
                    ops, dropped = self._operators(program.opset, choices)
                start = TensorFact(draw_type(choices), _emptied(draw_shape(choices), choices))
                draft = self._draft(program.opset, start, ops, dropped, choices, limit)
            if draft is None:
                continue
            if choices.boolean(QUANTISED):
                draft = quantise(self.context, program.opset, draft, choices, limit) or draft
            if choices.boolean(_DETOUR):
                draft = detour(self.context.specs, program.opset, draft, choices, limit)
            feed(self.context.specs, program.opset, draft, choices, limit)
            start_anew(self.context.specs, program, copied, draft, choices)
            return f"{', '.join(s.op for s in draft.steps)} in place of the copy, on {shape_text(draft.given['x'])}"
        return Skipped("no call fits")

    def _operators(self, opset: int, choices: Choices) -> tuple[tuple[str, ...], int]:
        """One operator or up to three, and which of several is to change nothing (-1: none)."""
        if choices.boolean(_ALONE):
            return (self._operator(opset, choices),), -1
        ops: tuple[str, ...] = draw_pair(choices, self.context.seen)
        if choices.boolean(_THIRD):
            ops = (*ops, draw_next(ops[-1], choices, self.context.seen))
        return ops, choices.index(len(ops)) if choices.boolean(_NEUTRAL) else -1

    def _operator(self, opset: int, choices: Choices) -> str:
        """One on its own: the more attributes and optional inputs it has, the more often."""
        specs = layers(self.context.specs, opset, ir.DataType.FLOAT)
        seen = self.context.seen
        weights = [
            (1 + len(s.attrs) + len(s.inputs) - s.min_inputs) * (seen.weight(("operator", s.op)) if seen else 1.0)
            for s in specs
        ]
        return choices.weighted(specs, weights).op

    def _start(self, fact: TensorFact, choices: Choices) -> TensorFact:
        """What the first of the two reads."""
        if fact.static_shape is not None and choices.boolean(_AS_IT_IS):
            return TensorFact(fact.dtype, fact.shape)
        dtype = fact.dtype if choices.boolean(_OWN_TYPE) else choices.pick(CASTABLE)
        return TensorFact(dtype, draw_shape(choices))

    def _draft(
        self, opset: int, start: TensorFact, ops: tuple[str, ...], dropped: int, choices: Choices, limit: int
    ) -> PatternDraft | None:
        """The operators on a value of some type and shape; nodes that change nothing in the place of one of two."""
        draft = PatternDraft({"x": start}, [], {})
        draft.facts = {"x": start}
        name = "x"
        for place_, op in enumerate(ops):
            fact = draft.facts[name].without_value()
            if place_ == dropped:
                found = neutral(draft, name, fact, choices)
                steps = None if found is None else found[1]
            else:
                steps = self._call(opset, op, name, fact, draft, choices)
            if steps is None:
                return None
            draft.steps += steps
            if judge(self.context.specs, opset, draft, limit) is not None:
                return None
            name = draft.result
        return requantised(self.context.specs, opset, draft, choices, limit)

    def _call(
        self, opset: int, op: str, name: str, fact: TensorFact, draft: PatternDraft, choices: Choices
    ) -> list[DraftNode] | None:
        """A call of an operator that reads the value at one of its inputs and constants at the others."""
        spec = self.context.specs.get(op, opset)
        if spec is None or not spec.has_overlay or "random" in spec.traits:
            return None
        places = _places(spec, fact.dtype, parameters=choices.boolean(_PARAMETERS))
        if not places or not fact.is_static:
            return None
        position = choices.pick(places)
        plain = choices.boolean(_PLAIN)
        call = sample_call(
            spec, {position: fact}, choices, seen=self.context.drawn, max_elements=_ELEMENTS, plain=plain
        )
        if call is None or any(p is not None and p.fact.dtype is ir.DataType.STRING for p in call.inputs):
            return None
        inputs: list[str | None] = []
        for index, plan in enumerate(call.inputs):
            if plan is None:
                inputs.append(None)
            elif index == position:
                inputs.append(name)
            elif plan.value is not None:
                inputs.append(constant(draft, np.asarray(plan.value)))
            else:
                nonzero = index == 1 and op in with_trait("divides")
                inputs.append(constant(draft, random_array(plan, choices.seed(), nonzero)))
        outputs: list[str] = []
        for _ in range(call.outputs):
            outputs.append(f"v{len(draft.steps)}_{len(outputs)}")
        return [DraftNode(op, inputs, dict(call.attrs), outputs)]


def _places(spec: OpSpec, dtype: ir.DataType, *, parameters: bool) -> list[int]:
    """Inputs at which a computed value may stand."""
    found: list[int] = []
    for position, formal in enumerate(spec.inputs):
        domain = spec.overlay.values.get(formal.name) if spec.overlay is not None else None
        if (formal.name in spec.parameters and not parameters) or domain is not None:
            continue
        if formal.dtypes and dtype in types_at(spec, position) and not is_exact_input(spec.op, position, dtype):
            found.append(position)
    return found


def _emptied(shape: tuple[int, ...], choices: Choices) -> tuple[int, ...]:
    """Now and then with a size of 0."""
    if not shape or not choices.boolean(_EMPTY):
        return shape
    axis = choices.index(len(shape))
    return (*shape[:axis], 0, *shape[axis + 1 :])


def draw_shape(choices: Choices) -> tuple[int, ...]:
    """Sizes as they make a difference: all alike, with ones, or all different; ranks that operators want first.

    Ranks go from 0 to 5, of which 2 and 4 are the most frequent; sizes go from 1 to 5, and none is 0.
    """
    rank = choices.weighted((0, 1, 2, 3, 4, 5), (1, 3, 8, 5, 9, 1))
    way = choices.weighted(("alike", "ones", "any"), (3, 3, 4))
    if way == "alike":
        return (choices.integer(1, 4),) * rank
    if way == "ones":
        return tuple(1 if choices.boolean() else choices.integer(2, 5) for _ in range(rank))
    return tuple(choices.integer(1, 5) for _ in range(rank))
