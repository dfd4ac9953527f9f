"""Nodes that compute a value of a draft again: what optimisers drop, spelled in many ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.mutate.patterns.pattern_draft import DraftNode, PatternDraft

Neutral = Callable[[PatternDraft, str, TensorFact, Choices], "list[DraftNode] | None"]
"""Steps that read a value of known shape, the last of which computes it again; ``None`` where that cannot be said."""

ODD_RANKS = 2
"""A neutral element has up to so many dimensions more than what it is combined with, all of size 1."""


def neutral(draft: PatternDraft, name: str, fact: TensorFact, choices: Choices) -> tuple[str, list[DraftNode]] | None:
    """A drawn way to compute a value again, and its steps; ``None`` if it is not possible for this value.

    Args:
        draft: it gets the constants that the steps read, but not the steps.
        name: of the value.
        fact: its element type and shape.
        choices: the draw.

    Returns:
        The key in ``WAYS``, and the steps in order; the last one's first output equals the value.
    """
    way = choices.pick(tuple(WAYS))
    steps = WAYS[way](draft, name, fact, choices)
    return None if steps is None else (way, steps)


def constant(draft: PatternDraft, array: np.ndarray) -> str:
    """A new constant of the draft, under a name that begins with ``k``, which is given back."""
    name = draft.fresh("k")
    draft.constants[name] = np.asarray(array)
    return name


def element_shape(rank: int, choices: Choices) -> tuple[int, ...]:
    """The shape of a single element that broadcasts with a rank: none, as many dimensions, or more than that."""
    return (1,) * choices.pick((0, 0, 1, rank, *range(rank + 1, rank + 1 + ODD_RANKS)))


def _ints(draft: PatternDraft, *items: int) -> str:
    return constant(draft, np.array(items, np.int64))


def _one(
    op: str, draft: PatternDraft, inputs: list[str | None], attrs: dict[str, object] | None = None
) -> list[DraftNode]:
    return [DraftNode(op, inputs, attrs or {}, [draft.fresh("same")])]


def _plain(op: str) -> Neutral:
    def way(draft: PatternDraft, name: str, fact: TensorFact, choices: Choices) -> list[DraftNode] | None:
        return _one(op, draft, [name])

    return way


def _element(op: str, number: int, *, left: bool) -> Neutral:
    """``x op number``, or the other way round too if the operator allows."""

    def way(draft: PatternDraft, name: str, fact: TensorFact, choices: Choices) -> list[DraftNode] | None:
        if fact.dtype is ir.DataType.BOOL:
            return None
        shape = element_shape(fact.rank or 0, choices)
        element = constant(draft, np.full(shape, number).astype(fact.dtype.numpy()))
        pair: list[str | None] = [name, element]
        return _one(op, draft, pair[::-1] if left and choices.boolean() else pair)

    return way


def _cast(draft: PatternDraft, name: str, fact: TensorFact, choices: Choices) -> list[DraftNode] | None:
    return _one("Cast", draft, [name], {"to": int(fact.dtype.value)})


def _transpose(draft: PatternDraft, name: str, fact: TensorFact, choices: Choices) -> list[DraftNode] | None:
    return _one("Transpose", draft, [name], {"perm": list(range(fact.rank or 0))}) if fact.rank else None


def _reshape(draft: PatternDraft, name: str, fact: TensorFact, choices: Choices) -> list[DraftNode] | None:
    shape = fact.static_shape
    if not shape:
        return None
    items = list(shape)
    place = choices.index(len(items))
    items[place] = choices.pick((items[place], -1, 0))
    return _one("Reshape", draft, [name, _ints(draft, *items)])


def _expand(draft: PatternDraft, name: str, fact: TensorFact, choices: Choices) -> list[DraftNode] | None:
    shape = fact.static_shape
    if shape is None:
        return None
    items = shape if choices.boolean() else tuple(1 for _ in shape)
    return _one("Expand", draft, [name, _ints(draft, *items)])


def _tile(draft: PatternDraft, name: str, fact: TensorFact, choices: Choices) -> list[DraftNode] | None:
    return _one("Tile", draft, [name, _ints(draft, *(1,) * (fact.rank or 0))]) if fact.rank else None


def _pad(draft: PatternDraft, name: str, fact: TensorFact, choices: Choices) -> list[DraftNode] | None:
    return _one("Pad", draft, [name, _ints(draft, *(0,) * (2 * (fact.rank or 0)))]) if fact.rank else None


def _slice(draft: PatternDraft, name: str, fact: TensorFact, choices: Choices) -> list[DraftNode] | None:
    if not fact.rank or fact.static_shape is None:
        return None
    axis = choices.index(fact.rank)
    end = choices.pick((fact.static_shape[axis], np.iinfo(np.int32).max, np.iinfo(np.int64).max))
    return _one("Slice", draft, [name, *[_ints(draft, item) for item in (0, end, axis)]])


def _gather(draft: PatternDraft, name: str, fact: TensorFact, choices: Choices) -> list[DraftNode] | None:
    if not fact.rank or fact.static_shape is None:
        return None
    axis = choices.index(fact.rank)
    return _one("Gather", draft, [name, _ints(draft, *range(fact.static_shape[axis]))], {"axis": axis})


def _split(draft: PatternDraft, name: str, fact: TensorFact, choices: Choices) -> list[DraftNode] | None:
    if not fact.rank or fact.static_shape is None:
        return None
    axis = choices.index(fact.rank)
    return _one("Split", draft, [name, _ints(draft, fact.static_shape[axis])], {"axis": axis})


def _concat(draft: PatternDraft, name: str, fact: TensorFact, choices: Choices) -> list[DraftNode] | None:
    return _one("Concat", draft, [name], {"axis": choices.index(fact.rank)}) if fact.rank else None


def _squeeze(draft: PatternDraft, name: str, fact: TensorFact, choices: Choices) -> list[DraftNode] | None:
    wide, same = draft.fresh("wide"), draft.fresh("same")
    axis = _ints(draft, choices.integer(0, fact.rank or 0))
    return [DraftNode("Unsqueeze", [name, axis], {}, [wide]), DraftNode("Squeeze", [wide, axis], {}, [same])]


def _flatten(draft: PatternDraft, name: str, fact: TensorFact, choices: Choices) -> list[DraftNode] | None:
    return _one("Flatten", draft, [name], {"axis": 1}) if fact.rank == 2 else None


def _no_reduction(draft: PatternDraft, name: str, fact: TensorFact, choices: Choices) -> list[DraftNode] | None:
    inputs: list[str | None] = [name]
    if choices.boolean():
        inputs.append(_ints(draft))
    op = choices.pick(("ReduceSum", "ReduceMean", "ReduceMax", "ReduceProd"))
    return _one(op, draft, inputs, {"noop_with_empty_axes": 1, "keepdims": choices.integer(0, 1)})


def _where(draft: PatternDraft, name: str, fact: TensorFact, choices: Choices) -> list[DraftNode] | None:
    there = choices.boolean()
    mask = constant(draft, np.full(element_shape(fact.rank or 0, choices), there))
    other = constant(draft, np.ones((), fact.dtype.numpy()))
    return _one("Where", draft, [mask, name, other] if there else [mask, other, name])


def _pool(draft: PatternDraft, name: str, fact: TensorFact, choices: Choices) -> list[DraftNode] | None:
    if (fact.rank or 0) < 3:
        return None
    return _one(choices.pick(("MaxPool", "AveragePool")), draft, [name], {"kernel_shape": [1] * ((fact.rank or 0) - 2)})


def _negated(op: str) -> Neutral:
    def way(draft: PatternDraft, name: str, fact: TensorFact, choices: Choices) -> list[DraftNode] | None:
        between, same = draft.fresh("other"), draft.fresh("same")
        return [DraftNode(op, [name], {}, [between]), DraftNode(op, [between], {}, [same])]

    return way


# Not what is asked of a node: the operators that are built, each with what builds it.
WAYS: Mapping[str, Neutral] = {
    **{op: _plain(op) for op in ("Identity", "Dropout", "Max", "Min", "Sum", "Mean", "Clip")},
    **{f"{op} {n}": _element(op, n, left=left) for op, n, left in (("Add", 0, True), ("Sub", 0, False))},
    **{f"{op} {n}": _element(op, n, left=left) for op, n, left in (("Mul", 1, True), ("Div", 1, False))},
    "Pow 1": _element("Pow", 1, left=False),
    "Cast": _cast,
    "Transpose": _transpose,
    "Reshape": _reshape,
    "Expand": _expand,
    "Tile": _tile,
    "Pad": _pad,
    "Slice": _slice,
    "Gather": _gather,
    "Split": _split,
    "Concat": _concat,
    "Squeeze": _squeeze,
    "Flatten": _flatten,
    "Reduce": _no_reduction,
    "Where": _where,
    "Pool": _pool,
    "Neg Neg": _negated("Neg"),
    "Not Not": _negated("Not"),
}
"""By name; whether an opset and an element type allow a way is for ``pattern_call.judge`` to say."""
