"""A recognised pattern with exactly one thing off: what an optimiser may mistake for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.mutate.editing.operator_type_portability import CASTABLE
from irfuzz.mutate.patterns.attribute_constant_near_misses import (
    attribute,
    decisive,
    shape_of_constant,
    value_of_constant,
)
from irfuzz.mutate.patterns.neutral_nodes import neutral
from irfuzz.mutate.patterns.pattern_draft import DraftNode, PatternDraft, filled
from irfuzz.spec import sample_call, trait_values

if TYPE_CHECKING:
    from irfuzz.spec import Specs

_D = ir.DataType

Miss: TypeAlias = Callable[["Specs", int, PatternDraft, Choices], "str | None"]
"""Changes one thing of a draft that has been judged, and says what; ``None`` where there is no such thing."""


@cache
def siblings(op: str) -> tuple[str, ...]:
    """The operators that stand in the same places as this one, itself among them, in the family's own order; itself
    alone if it has no family (the trait ``family``).
    """
    families = trait_values("family")
    if op not in families:
        return (op,)
    return tuple(
        sorted((o for o, (name, _) in families.items() if name == families[op][0]), key=lambda o: families[o][1])
    )


_BETWEEN = ("Neg", "Relu", "Abs")
"""What changes elements; most nodes that are put in between do not."""


def between(specs: Specs, opset: int, draft: PatternDraft, choices: Choices) -> str | None:
    """Put one more node on an edge, or behind the result; most of these change nothing, and some are a Neg, Relu or
    Abs.
    """
    if choices.boolean(0.2):
        last = draft.result
        found = neutral(draft, last, draft.facts[last].without_value(), choices)
        if found is None or len(draft.steps[-1].outputs) > 1:
            return None
        draft.steps += found[1]
        return f"{found[0]} behind the result"
    step = choices.pick(draft.steps)
    places = [i for i, n in enumerate(step.inputs) if n is not None]
    if not places:
        return None
    index = choices.pick(places)
    name = step.inputs[index]
    assert name is not None
    if choices.boolean(0.2):
        op = choices.pick(_BETWEEN)
        new = [DraftNode(op, [name], {}, [draft.fresh("between")])]
    else:
        found = neutral(draft, name, draft.facts[name].without_value(), choices)
        if found is None:
            return None
        op, new = found
    place = draft.steps.index(step)
    draft.steps[place:place] = new
    step.inputs[index] = new[-1].outputs[0]
    return f"{op} in front of {step.op}"


def shared(specs: Specs, opset: int, draft: PatternDraft, choices: Choices) -> str | None:
    """Let an inner value have one more reader (Identity, Abs, Neg, Relu or Shape), whose result is an output."""
    inner = draft.inner()
    if not inner:
        return None
    name = choices.pick(inner)
    made = draft.fresh("reader")
    op = choices.pick(("Identity", "Abs", "Neg", "Relu", "Shape"))
    place = next(i for i, s in enumerate(draft.steps) if name in s.outputs) + 1
    draft.steps.insert(min(place, len(draft.steps) - 1), DraftNode(op, [name], {}, [made]))
    draft.exposed.append(made)
    return f"{name} also read by {op}"


def exposed(specs: Specs, opset: int, draft: PatternDraft, choices: Choices) -> str | None:
    """Make one inner value an output of the graph, so that no pass may drop it; nothing else changes."""
    inner = draft.inner()
    if not inner:
        return None
    name = choices.pick(inner)
    draft.exposed.append(name)
    return f"{name} as an output"


def swapped(specs: Specs, opset: int, draft: PatternDraft, choices: Choices) -> str | None:
    """Let two neighbouring operands of a node change places; only nodes whose first two differ are drawn."""
    steps = [s for s in draft.steps if len(s.inputs) >= 2 and s.inputs[0] != s.inputs[1]]
    if not steps:
        return None
    step = choices.pick(steps)
    first = 0 if len(step.inputs) == 2 else choices.integer(0, len(step.inputs) - 2)
    step.inputs[first], step.inputs[first + 1] = step.inputs[first + 1], step.inputs[first]
    return f"operands of {step.op} swapped"


def another_operand(specs: Specs, opset: int, draft: PatternDraft, choices: Choices) -> str | None:
    """Let a node read another value of the same element type that exists before it: an input, a constant or an earlier
    result.
    """
    index = choices.index(len(draft.steps))
    step = draft.steps[index]
    places = [i for i, n in enumerate(step.inputs) if n is not None]
    if not places:
        return None
    place = choices.pick(places)
    old = step.inputs[place]
    assert old is not None
    before = [*draft.given, *draft.constants, *(n for s in draft.steps[:index] for n in s.outputs)]
    names = [n for n in before if n != old and draft.facts[n].dtype is draft.facts[old].dtype]
    if not names:
        return None
    step.inputs[place] = choices.pick(names)
    return f"{step.op} reads {step.inputs[place]} instead of {old}"


def another_operator(specs: Specs, opset: int, draft: PatternDraft, choices: Choices) -> str | None:
    """Give a node another operator of its family (``siblings``), with those of its attributes that this one knows."""
    step = choices.pick(draft.steps)
    others = [o for o in siblings(step.op) if o != step.op]
    if not others:
        return None
    op = choices.pick(others)
    spec = specs.get(op, opset)
    if spec is None:
        return None
    old, step.op = step.op, op
    step.attrs = {n: v for n, v in step.attrs.items() if n in spec.attrs}
    return f"{op} instead of {old}"


def omitted(specs: Specs, opset: int, draft: PatternDraft, choices: Choices) -> str | None:
    """Leave out an optional operand, or a variadic one other than the first; what is missing at the end is cut off."""
    found = []
    for step in draft.steps:
        spec = specs.get(step.op, opset)
        for index, name in enumerate(step.inputs):
            formal = None if spec is None or name is None else spec.formal(index)
            if formal is not None and formal.option != "single" and not (formal.option == "variadic" and index == 0):
                found.append((step, index))
    if not found:
        return None
    step, index = choices.pick(found)
    step.inputs[index] = None
    while step.inputs and step.inputs[-1] is None:
        step.inputs.pop()
    return f"{step.op} without its operand {index}"


def added(specs: Specs, opset: int, draft: PatternDraft, choices: Choices) -> str | None:
    """Give a node that could do without one the next optional operand, a constant drawn from its specs; other operands
    stay.
    """
    step = choices.pick(draft.steps)
    spec = specs.get(step.op, opset)
    if spec is None or not spec.has_overlay or len(step.inputs) >= len(spec.inputs):
        return None
    given = {i: draft.facts[n] for i, n in enumerate(step.inputs) if n is not None and draft.facts[n].is_static}
    call = sample_call(spec, given, choices, max_elements=1 << 12)
    if call is None or len(call.inputs) <= len(step.inputs):
        return None
    index = len(step.inputs)
    plan = call.inputs[index]
    if plan is None or not plan.fact.is_static:
        return None
    array = plan.value
    if array is None:
        array = filled("small", plan.fact.static_shape or (), plan.fact.dtype, choices)
    step.inputs.append(_constant(draft, np.asarray(array)))
    return f"{step.op} with an operand {index}"


def another_type(specs: Specs, opset: int, draft: PatternDraft, choices: Choices) -> str | None:
    """Let one Cast go to another element type, any of ``CASTABLE``; readers of its result are not adapted."""
    steps = [s for s in draft.steps if "to" in s.attrs]
    if not steps:
        return None
    step = choices.pick(steps)
    new = choices.pick([d for d in CASTABLE if int(d.value) != step.attrs["to"]])
    step.attrs["to"] = int(new.value)
    return f"{step.op} to {new.name}"


def computed(specs: Specs, opset: int, draft: PatternDraft, choices: Choices) -> str | None:
    """Let a constant be computed from one, by Identity, Neg, Reshape or Concat, so that only folding makes it one; the
    elements stay the same.
    """
    name = _read_constant(draft, choices)
    if name is None:
        return None
    made = draft.fresh("computed")
    step = choices.pick((_same, _negated, _reshaped, _joined))(draft, name)
    if step is None:
        return None
    step.outputs = [made]
    for reader in draft.steps:
        reader.inputs = [made if n == name else n for n in reader.inputs]
    draft.steps[0:0] = [step]
    return f"{name} computed by {step.op}"


def _same(draft: PatternDraft, name: str) -> DraftNode | None:
    return DraftNode("Identity", [name], {}, [])


def _negated(draft: PatternDraft, name: str) -> DraftNode | None:
    array = draft.constants[name]
    return DraftNode("Neg", [_constant(draft, -array)], {}, []) if array.dtype.kind in "fi" else None


def _reshaped(draft: PatternDraft, name: str) -> DraftNode | None:
    array = draft.constants[name]
    flat, sizes = _constant(draft, array.reshape(-1)), _constant(draft, np.array(array.shape, np.int64))
    return DraftNode("Reshape", [flat, sizes], {}, [])


def _joined(draft: PatternDraft, name: str) -> DraftNode | None:
    array = draft.constants[name]
    if not array.ndim or array.shape[0] < 2:
        return None
    parts = [_constant(draft, array[:1].copy()), _constant(draft, array[1:].copy())]
    return DraftNode("Concat", [*parts], {"axis": 0}, [])


def repeated(specs: Specs, opset: int, draft: PatternDraft, choices: Choices) -> str | None:
    """Let a node of one output stand there twice, on the same operands; one later reader reads the second one."""
    steps = [s for s in draft.steps[:-1] if len(s.outputs) == 1]
    if not steps:
        return None
    step = choices.pick(steps)
    made = draft.fresh("twin")
    place = draft.steps.index(step)
    readers = [(s, i) for s in draft.steps[place + 1 :] for i, n in enumerate(s.inputs) if n == step.outputs[0]]
    if not readers:
        return None
    draft.steps.insert(place + 1, DraftNode(step.op, list(step.inputs), dict(step.attrs), [made]))
    reader, index = choices.pick(readers)
    reader.inputs[index] = made
    return f"{step.op} twice"


def tapped(specs: Specs, opset: int, draft: PatternDraft, choices: Choices) -> str | None:
    """Make each inner value an output of the graph, so that no pass may drop one; ``None`` if there are none."""
    inner = draft.inner()
    if not inner:
        return None
    draft.exposed += inner
    return "each inner value as an output"


def body_read(specs: Specs, opset: int, draft: PatternDraft, choices: Choices) -> str | None:
    """Let the body of an If read an inner value, which nothing else but the pattern does. The If itself is made when
    the draft is inserted.
    """
    inner = draft.inner()
    if not inner:
        return None
    name = choices.pick(inner)
    draft.captured.append(name)
    return f"{name} also read by a body"


MISSES: dict[str, tuple[Miss, float]] = {
    "what decides": (decisive, 16.0),
    "attribute": (attribute, 3.0),
    "value": (value_of_constant, 1.5),
    "shape": (shape_of_constant, 3.0),
    "between": (between, 2.0),
    "shared": (shared, 1.0),
    "exposed": (exposed, 1.0),
    "tapped": (tapped, 0.7),
    "read by a body": (body_read, 0.7),
    "swapped": (swapped, 1.0),
    "operand": (another_operand, 1.0),
    "operator": (another_operator, 1.5),
    "omitted": (omitted, 1.0),
    "added": (added, 0.7),
    "type of a cast": (another_type, 1.0),
    "computed": (computed, 0.7),
    "repeated": (repeated, 0.5),
}
"""What may be off inside of a pattern, with how often it is tried; types and sizes of the whole stand beside these."""


def _constant(draft: PatternDraft, array: np.ndarray) -> str:
    name = draft.fresh("k")
    draft.constants[name] = np.asarray(array)
    return name


def _read_constant(draft: PatternDraft, choices: Choices) -> str | None:
    read = [n for s in draft.steps for n in s.inputs if n in draft.constants]
    names = list(dict.fromkeys(n for n in read if n is not None))
    return choices.pick(names) if names else None
