"""Near misses of a pattern by what decides its meaning: an attribute, a constant, its shape.

Each attribute, each constant and each shape of a constant that an optimiser may look at is a place of its own, and all
places of a pattern are drawn alike: an exponent that nobody checks is found as often in a pattern of ten nodes, most of
whose attributes no optimiser cares for, as one may ask for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.mutate.editing.operator_type_portability import INTEGER_LIMITS
from irfuzz.mutate.patterns.pattern_draft import DraftNode, PatternDraft, permutation
from irfuzz.spec import sample_call, with_trait

if TYPE_CHECKING:
    from irfuzz.spec import Specs

_D = ir.DataType

Place: TypeAlias = Callable[[Choices], "str | None"]
"""Changes one thing of a draft, and says what."""


def decisive(specs: Specs, opset: int, draft: PatternDraft, choices: Choices) -> str | None:
    """Change one of the attributes, constants and shapes of constants that decide what the pattern means; only
    attributes that are written count.

    Like every miss it edits the draft in place and says what it did; ``None`` if there was nothing to change.
    """
    kinds = [found for found in (_attributes(specs, opset, draft), _values(draft), _shapes(draft)) if found]
    return choices.pick(choices.pick(kinds))(choices) if kinds else None


def attribute(specs: Specs, opset: int, draft: PatternDraft, choices: Choices) -> str | None:
    """Change an attribute that is written, or one that is left at its default, of any node; targets of casts are left
    out.
    """
    places = _attributes(specs, opset, draft, written=False)
    return choices.pick(places)(choices) if places else None


def value_of_constant(specs: Specs, opset: int, draft: PatternDraft, choices: Choices) -> str | None:
    """Give a constant that some node reads other elements: one more, twice, negative, reversed and others; type and
    shape stay.
    """
    places = _values(draft)
    return choices.pick(places)(choices) if places else None


def shape_of_constant(specs: Specs, opset: int, draft: PatternDraft, choices: Choices) -> str | None:
    """Give an operator that is recognised by the shape of its constant one of another shape: the same elements, or
    broadcast by hand. The new constant has a name of its own.
    """
    places = _shapes(draft)
    return choices.pick(places)(choices) if places else None


def _attributes(specs: Specs, opset: int, draft: PatternDraft, *, written: bool = True) -> list[Place]:
    """Attributes of its nodes, but for types of casts, which are another kind of miss."""
    known = ((step, specs.get(step.op, opset)) for step in draft.steps)
    return [
        partial(_attribute, specs, opset, draft, step, name)
        for step, spec in known
        for name in sorted(spec.attrs if spec is not None else ())
        if name != "to" and (name in step.attrs or not written)
    ]


def _values(draft: PatternDraft) -> list[Place]:
    """Constants that are read."""
    read = dict.fromkeys(n for s in draft.steps for n in s.inputs if n is not None and n in draft.constants)
    return [partial(_value_of_constant, draft, name) for name in read]


def _shapes(draft: PatternDraft) -> list[Place]:
    """Constants of operators that are recognised by the shapes of these."""
    return [
        partial(_shape_of_constant, draft, step, index)
        for step in draft.steps
        if step.op in with_trait("recognised_by_shape")
        for index, name in enumerate(step.inputs)
        if name in draft.constants
    ]


def _attribute(
    specs: Specs, opset: int, draft: PatternDraft, step: DraftNode, name: str, choices: Choices
) -> str | None:
    """Another value of an attribute, one that was not written, or its default."""
    spec = specs.get(step.op, opset)
    if spec is None:
        return None
    if name in step.attrs and not spec.attrs[name].required and choices.boolean(0.2):
        del step.attrs[name]
        return f"{step.op} without {name}"
    value = step.attrs.get(name, spec.attrs[name].default)
    domain = spec.attrs[name].domain
    told = domain is not None and domain.when is not None  # then it depends on others whether it may be given at all
    drawn = _drawn(specs, opset, draft, step, name, choices) if told or choices.boolean() or value is None else None
    other = drawn if told or drawn is not None else _other(name, value, choices)
    if other is None or other == value:
        return None
    step.attrs[name] = other
    return f"{step.op} with {name} = {other}"


def _drawn(specs: Specs, opset: int, draft: PatternDraft, step: DraftNode, name: str, choices: Choices) -> Any:
    spec = specs.get(step.op, opset)
    if spec is None or not spec.has_overlay:
        return None
    given = {i: draft.facts[n] for i, n in enumerate(step.inputs) if n is not None and draft.facts[n].is_static}
    call = sample_call(spec, given, choices, max_elements=1 << 12)
    value = None if call is None else call.attrs.get(name)
    return list(value) if isinstance(value, tuple) else value


def _other(name: str, value: Any, choices: Choices) -> Any:
    if isinstance(value, int):
        ways = [value + 1, value - 1, -1 - value] if "axis" in name or value not in (0, 1) else [1 - value]
        return choices.pick(ways)
    if isinstance(value, float):
        return choices.pick((2 * value, value + 1.0, -value, 0.0, 1.0, value * 1.01 + 1e-4))
    if isinstance(value, list | tuple) and value and all(isinstance(v, int) for v in value):
        items = [int(v) for v in value]
        if name == "perm":
            word = choices.pick(("identity", "reverse", "swap", "last", "first", "drawn"))
            return permutation(word, len(items)) if word != "drawn" else choices.sample(items, len(items))
        way = choices.pick(("one more", "one less", "alike", "reversed", "from the end"))
        place = choices.index(len(items))
        if way == "alike":
            return [items[place]] * len(items)
        if way == "reversed":
            return items[::-1]
        if way == "from the end":
            items[place] = -1 - items[place]
        else:
            items[place] += 1 if way == "one more" else -1
        return items
    return None


def _value_of_constant(draft: PatternDraft, name: str, choices: Choices) -> str | None:
    """Other elements of a constant."""
    array = draft.constants[name]
    kind = ir.DataType.from_numpy(array.dtype)
    if kind is _D.BOOL:
        draft.constants[name] = np.asarray(~array)
        return f"{name} the other way"
    if not array.size:
        return None
    way = choices.pick(
        ("one more", "twice", "negative", "zero", "one", "slightly more", "one element", "reversed", "tiny")
    )
    new = array.copy()
    with np.errstate(all="ignore"):
        if way == "one more":
            new = array + 1
        elif way == "twice":
            new = array * 2
        elif way == "negative":
            new = -array.astype(np.int64 if kind in INTEGER_LIMITS else array.dtype)
        elif way in ("zero", "one"):
            new = np.full_like(array, way == "one")
        elif way == "slightly more":
            new = array * 1.01 + 1e-4 if kind not in INTEGER_LIMITS else array + 1
        elif way == "reversed":
            new = array[::-1] if array.ndim else array
        elif way == "tiny":
            new = array * 1e-3 if kind not in INTEGER_LIMITS else array // 2
        else:
            place = choices.index(array.size)
            new.reshape(-1)[place] = array.reshape(-1)[place] + 1
        if kind in INTEGER_LIMITS:
            low, high = INTEGER_LIMITS[kind]
            if new.min() < low or new.max() > high:
                return None
        new = np.ascontiguousarray(new).astype(array.dtype).reshape(array.shape)
    if np.array_equal(new, array):
        return None
    draft.constants[name] = new
    return f"{name} {way}"


def _shape_of_constant(draft: PatternDraft, step: DraftNode, index: int, choices: Choices) -> str | None:
    """The same elements with more or fewer dimensions, or broadcast by hand."""
    name = step.inputs[index]
    assert name is not None
    array = draft.constants[name]
    beside = [draft.facts[n] for n in step.inputs if n is not None and n != name]
    rank = max((fact.rank or 0 for fact in beside), default=0)
    largest = next((f.static_shape for f in beside if f.rank == rank), None)
    ways: list[tuple[int, ...]] = [(1,) * (max(rank, array.ndim) + 1 - array.ndim) + array.shape, (1, *array.shape)]
    if array.size == 1:
        ways += [(), (1,), (1,) * rank, (1,) * (rank + 1), (1,) * (rank + 2)]
    else:
        ways += [(*array.shape, 1), tuple(d for d in array.shape if d != 1), (1, *array.shape, 1)]
    if largest is not None and array.ndim <= rank:
        ways.append(tuple(largest))
    shape = choices.pick(ways)
    if shape == array.shape or math.prod(shape) > 1 << 14:
        return None
    try:
        new = array.reshape(shape) if math.prod(shape) == array.size else np.broadcast_to(array, shape).copy()
    except ValueError:
        return None
    fresh = draft.fresh("k")
    draft.constants[fresh] = np.ascontiguousarray(new).reshape(shape)
    step.inputs[index] = fresh
    return f"{step.op} with a constant of shape {list(shape)}"
