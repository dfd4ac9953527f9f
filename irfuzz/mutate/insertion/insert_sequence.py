"""``insert-sequence``: a value passes through a sequence that is made, edited and taken apart again behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, TypeAlias

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.mutate.control_flow.body_draft import BodyDraft, control_node
from irfuzz.mutate.editing.call_inputs import random_array
from irfuzz.mutate.editing.layer_rewiring import largest, splice_in
from irfuzz.mutate.editing.mutation_sites import flow_values, main_uses, node_after, tensor_fact, value_at
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import CASTABLE, runs
from irfuzz.mutate.editing.value_adaptation import cast, why_not
from irfuzz.mutate.insertion.sequence_element_facts import (
    Elements,
    concatenated,
    drop,
    equal_parts,
    put,
    split,
    stacked,
    together,
)
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped
from irfuzz.spec import SampledInput

_MOST_PARTS = 32
"""Longest sequence that a tensor is split into."""

_TRIES = 6
_UNARY = ("Relu", "Neg", "Abs", "Tanh", "Sigmoid", "Identity")

Make: TypeAlias = Callable[[Inserter, ir.Value], ir.Value]
"""Inserts nodes that turn a value into another one."""


@dataclass(slots=True)
class _Plan:
    """What will be inserted: steps that turn the value into a sequence, edit it and end in a tensor.

    Attributes:
        elements: what the sequence holds after the steps so far.
        common: what inference knows of all of them; it does not forget an element that was erased.
        steps: in order; each takes the value that the one before it gave.
        words: names of the operators, for the description.
        result: fact of the tensor at the end.
    """

    value: ir.Value
    elements: Elements = ()
    common: TensorFact | None = None
    steps: list[Make] = field(default_factory=list[Make])
    words: list[str] = field(default_factory=list[str])
    result: TensorFact | None = None

    def then(self, word: str, make: Make, elements: Elements = (), new: Elements = ()) -> None:
        """Add a step; ``new`` are elements that were not there before it."""
        self.words.append(word)
        self.steps.append(make)
        self.elements = elements
        if new:
            self.common = together(new if self.common is None else (self.common, *new))


@dataclass(frozen=True, slots=True)
class InsertSequence:
    """Draws how a sequence is made (split, construct, grow), up to three edits, and what is taken out of it."""

    context: Context
    name: ClassVar[str] = "insert-sequence"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(grows=True)

    def sites(self, program: Program) -> list[str]:
        """Values between layers, in opsets that have SequenceConstruct (from 11 on), by name."""
        if self.context.specs.get("SequenceConstruct", program.opset) is None:
            return []
        return [value.name for value in flow_values(program) if value.name]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw how a sequence begins, up to three edits of it and its end, until the tensor at the end can take the
        value's place.

        Facts are followed beforehand, so that nothing is inserted for a plan that does not fit. Skipped after six
        plans, or if the element type is not known to run in sequences.
        """
        value = value_at(program, site)
        fact = tensor_fact(program, value).without_value()
        specs, opset = self.context.specs, program.opset
        if not runs(specs, "SequenceConstruct", opset, fact.dtype):
            return Skipped(f"sequences of {fact.dtype.name} are not known to run")
        limit = largest(program)
        for _ in range(_TRIES):
            plan = _Plan(value)
            if not self._begin(plan, opset, fact, choices):
                continue
            for _ in range(choices.weighted((0, 1, 2, 3), (3, 4, 2, 1))):
                self._edit(plan, program, opset, fact, choices)
            self._end(plan, opset, fact, choices)
            result = plan.result
            if result is None or (result.size() or 0) > limit or why_not(specs, opset, result, fact) is not None:
                continue
            inserter = Inserter(program, node_after(program, value))
            uses = main_uses(program, value)
            one = [choices.pick(uses)] if len(uses) > 1 and choices.boolean() else None
            current = value
            for step in plan.steps:
                current = step(inserter, current)
            current = _declared(inserter, current, result)
            splice_in(program, specs, inserter, value, current, choices, one)
            return f"{site} through {', '.join(plan.words)}"
        return Skipped("no sequence whose end can take the value's place")

    def _begin(self, plan: _Plan, opset: int, fact: TensorFact, choices: Choices) -> bool:
        """The steps that make a sequence of the value."""
        axes = [i for i, d in enumerate(fact.shape or ()) if type(d) is int and d >= 1]
        splits = axes and runs(self.context.specs, "SplitToSequence", opset, fact.dtype)
        ways = list(_BEGINNINGS) if splits else list(_BEGINNINGS)[:-1]
        way = self.context.prefer(choices, ways, lambda op: ("op", op, _BEGINNINGS[op][0], 1))
        return _BEGINNINGS[way][1](plan, fact, axes, choices)

    def _edit(self, plan: _Plan, program: Program, opset: int, fact: TensorFact, choices: Choices) -> None:
        """One step from a sequence to a sequence."""
        unary = [op for op in _UNARY if runs(self.context.specs, op, opset, fact.dtype)]
        edit = _Edit(plan, program, fact, unary, choices)
        ways = [op for op, (_, fits, _) in _EDITS.items() if fits(edit, opset)]
        way = self.context.prefer(choices, ways, lambda op: ("op", op, _EDITS[op][0], 1))
        _EDITS[way][2](edit)

    def _end(self, plan: _Plan, opset: int, fact: TensorFact, choices: Choices) -> None:
        """The step from the sequence to a tensor, if one fits."""
        elements = plan.elements
        if not fact.is_static and set(elements) != {plan.common}:
            return  # what they do not have in common could not be said again by a Reshape
        rank = len(elements[0].shape or ())
        axes = [a for a in range(rank) if concatenated(elements, a) is not None]
        new_axes = [a for a in range(rank + 1) if rank < 6 and stacked(elements, a) is not None]
        ways: list[Callable[[], None]] = [partial(_pick_one, plan, choices)] * 2
        ways += [partial(_concatenate, plan, axes, choices, new=False)] * (2 if axes else 0)
        ways += [partial(_concatenate, plan, new_axes, choices, new=True)] * bool(new_axes)
        arithmetic = [op for op in ("Add", "Mul") if runs(self.context.specs, op, opset, fact.dtype)]
        if arithmetic and fact.dtype in CASTABLE and fact.dtype is not ir.DataType.BOOL:
            ways.append(partial(_count, plan, fact, arithmetic, choices))
        choices.pick(ways)()


def _construct(plan: _Plan, fact: TensorFact, axes: list[int], choices: Choices) -> bool:
    others = [_other(fact, choices) for _ in range(choices.integer(0, 3))]
    place = choices.integer(0, len(others))
    facts = [other[0] for other in others]

    def construct(inserter: Inserter, current: ir.Value) -> ir.Value:
        rest = [plan.value if array is None else inserter.constant(array) for _, array in others]
        return inserter.value("SequenceConstruct", *rest[:place], current, *rest[place:])

    made = (*facts[:place], fact, *facts[place:])
    plan.then("SequenceConstruct", construct, made, made)
    return True


def _grow(plan: _Plan, fact: TensorFact, axes: list[int], choices: Choices) -> bool:
    kind = int(fact.dtype.value)
    attrs = {} if fact.dtype is ir.DataType.FLOAT and choices.boolean() else {"dtype": kind}

    def grow(inserter: Inserter, current: ir.Value) -> ir.Value:
        empty = inserter.value("SequenceEmpty", **attrs)
        return inserter.value("SequenceInsert", empty, current)

    plan.then("SequenceEmpty and SequenceInsert", grow, (fact,), (fact,))
    return True


def _split(plan: _Plan, fact: TensorFact, axes: list[int], choices: Choices) -> bool:
    shape = fact.shape or ()
    axis = choices.pick(axes)
    whole = shape[axis]
    assert isinstance(whole, int)
    attrs: dict[str, int] = {"axis": axis - len(shape) if choices.boolean(0.3) else axis}
    if axis == 0 and choices.boolean():
        attrs = {}
    way = choices.pick(("each", "equal", "sizes"))
    sizes: list[int] | None = None
    given: np.ndarray | None = None
    keepdims = True
    kind = np.int32 if choices.boolean(0.3) else np.int64
    if way == "each":
        keepdims = choices.boolean()
        if not keepdims or choices.boolean(0.3):
            attrs["keepdims"] = int(keepdims)
    elif way == "equal":
        part = choices.integer(1, whole)
        sizes, given = equal_parts(whole, part), np.array(part, kind)
    else:
        # Where the tensor is cut; none is empty.
        cuts = sorted(choices.sample(range(1, whole), min(whole - 1, choices.integer(0, 3))))
        sizes = [b - a for a, b in zip([0, *cuts], [*cuts, whole], strict=True)]
        given = np.array(sizes, kind)
    if (whole if sizes is None else len(sizes)) > _MOST_PARTS:
        return False

    def make(inserter: Inserter, current: ir.Value) -> ir.Value:
        rest = [] if given is None else [inserter.constant(given)]
        return inserter.node("SplitToSequence", [current, *rest], attrs).outputs[0]

    parts = split(fact, axis, sizes, keepdims=keepdims)
    plan.then("SplitToSequence", make, parts, parts)
    return True


# What a beginning reads of the value (inputs), and how it is drawn; the last one needs an axis to split.
_BEGINNINGS: Mapping[str, tuple[int, Callable[[_Plan, TensorFact, list[int], Choices], bool]]] = {
    "SequenceConstruct": (1, _construct),
    "SequenceEmpty": (0, _grow),
    "SplitToSequence": (1, _split),
}


@dataclass(frozen=True, slots=True)
class _Edit:
    """What an edit of a sequence is drawn from; ``unary`` are operators that run on its elements."""

    plan: _Plan
    program: Program
    fact: TensorFact
    unary: list[str]
    choices: Choices


def _insert(edit: _Edit) -> None:
    plan, elements, choices = edit.plan, edit.plan.elements, edit.choices
    new, array = _other(edit.fact, choices)
    position, index = _position(len(elements), len(elements), choices)

    def insert(inserter: Inserter, current: ir.Value) -> ir.Value:
        tensor = plan.value if array is None else inserter.constant(array)
        rest = [] if index is None else [inserter.constant(index)]
        return inserter.value("SequenceInsert", current, tensor, *rest)

    plan.then("SequenceInsert", insert, put(elements, new, position), (new,))


def _erase(edit: _Edit) -> None:
    elements = edit.plan.elements
    position, index = _position(len(elements), len(elements) - 1, edit.choices)

    def erase(inserter: Inserter, current: ir.Value) -> ir.Value:
        rest = [] if index is None else [inserter.constant(index)]
        return inserter.value("SequenceErase", current, *rest)

    edit.plan.then("SequenceErase", erase, drop(elements, position))


def _map(edit: _Edit) -> None:
    op, common = edit.choices.pick(edit.unary), edit.plan.common
    whole = edit.choices.boolean()

    def apply_each(inserter: Inserter, current: ir.Value) -> ir.Value:
        draft = BodyDraft(edit.program, inserter.before)
        assert common is not None
        item = draft.input("item", common, whole=whole and common.shape is not None)
        body = draft.close([draft.inserter.value(op, item)], whole=whole and common.shape is not None)
        attribute = ir.Attr("body", ir.AttributeType.GRAPH, body)
        return control_node(edit.program, "SequenceMap", [current], 1, [attribute], inserter.before).outputs[0]

    edit.plan.then(f"SequenceMap of {op}", apply_each, edit.plan.elements)


def _wrap(edit: _Edit) -> None:
    edit.plan.then("Optional and OptionalGetElement", _there_and_back, edit.plan.elements)


def _same(edit: _Edit) -> None:
    edit.plan.then("Identity", lambda inserter, current: inserter.value("Identity", current), edit.plan.elements)


# How many inputs an edit reads, when it is possible, and how it is drawn; each builds nodes of its own.
_EDITS: Mapping[str, tuple[int, Callable[[_Edit, int], bool], Callable[[_Edit], None]]] = {
    "SequenceInsert": (2, lambda edit, opset: True, _insert),
    "SequenceErase": (1, lambda edit, opset: len(edit.plan.elements) > 1, _erase),
    "SequenceMap": (1, lambda edit, opset: opset >= 17 and bool(edit.unary) and edit.plan.common is not None, _map),
    "Optional": (1, lambda edit, opset: opset >= 15, _wrap),
    "Identity": (1, lambda edit, opset: opset >= 14, _same),
}


def _pick_one(plan: _Plan, choices: Choices) -> None:
    position, index = _position(len(plan.elements), len(plan.elements) - 1, choices, always=True)
    assert position is not None
    assert index is not None
    result = plan.elements[position]
    plan.then("SequenceAt", lambda inserter, current: inserter.value("SequenceAt", current, inserter.constant(index)))
    plan.result = result


def _count(plan: _Plan, fact: TensorFact, arithmetic: list[str], choices: Choices) -> None:
    op = choices.pick(arithmetic)

    def count(inserter: Inserter, current: ir.Value) -> ir.Value:
        number = cast(inserter, inserter.value("SequenceLength", current), fact.dtype)
        return inserter.value(op, plan.value, number)

    plan.then(f"SequenceLength and {op}", count)
    plan.result = fact


def _concatenate(plan: _Plan, axes: list[int], choices: Choices, *, new: bool) -> None:
    """Join the elements along an axis, or stack them along a new one."""
    axis, rank = choices.pick(axes), len(plan.elements[0].shape or ())
    plan.result = (stacked if new else concatenated)(plan.elements, axis)
    written = axis - (rank + new) if choices.boolean(0.3) else axis
    attrs = {"axis": written, **({"new_axis": int(new)} if new or choices.boolean(0.3) else {})}
    plan.then(
        "ConcatFromSequence",
        lambda inserter, current: inserter.node("ConcatFromSequence", [current], attrs).outputs[0],
    )


def _other(fact: TensorFact, choices: Choices) -> tuple[TensorFact, np.ndarray | None]:
    """Another element: the value itself, or a constant of its or another shape."""
    static = fact.static_shape
    if static is None or fact.dtype is ir.DataType.STRING or choices.boolean(0.5):
        return fact, None
    shape = static if choices.boolean(0.6) else tuple(choices.integer(1, 4) for _ in range(choices.integer(0, 3)))
    if shape and choices.boolean(0.2):
        shape = (choices.integer(1, 3), *shape[1:])
    plan = SampledInput(TensorFact(fact.dtype, shape))
    if (plan.fact.size() or 0) > 1 << 12:
        return fact, None
    return plan.fact, random_array(plan, choices.seed())


def _position(
    length: int, last: int, choices: Choices, *, always: bool = False
) -> tuple[int | None, np.ndarray | None]:
    """A place in a sequence as it counts from the front, and the constant that says it; ``None`` for the default."""
    if not always and choices.boolean(0.3):
        return None, None
    place = choices.integer(0, last)
    # Of an insertion, the place behind the last element has no negative form.
    written = place - length if place < length and choices.boolean(0.4) else place
    return place, np.array(written, np.int32 if choices.boolean(0.3) else np.int64)


def _there_and_back(inserter: Inserter, current: ir.Value) -> ir.Value:
    optional = inserter.value("Optional", current)
    return inserter.value("OptionalGetElement", optional)


def _declared(inserter: Inserter, value: ir.Value, known: TensorFact) -> ir.Value:
    """The value with the shape that is known of the element; what its sequence forgot, a Reshape says again."""
    if inserter.fact(value).shape == known.shape:
        return value
    return inserter.reshape(value, known.static_shape or ())
