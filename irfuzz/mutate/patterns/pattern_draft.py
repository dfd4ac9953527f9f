"""Drafts a pattern on given sizes and types: its nodes with actual attributes and constants."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import Dim, TensorFact
from irfuzz.mutate.editing.drawn_constant_limit import drawable
from irfuzz.mutate.editing.operator_type_portability import INTEGER_LIMITS
from irfuzz.mutate.patterns.pattern_file_reader import (
    PERMUTATIONS,
    TYPES,
    Constant,
    Node,
    Number,
    Numbers,
    Operand,
    Shape,
    SubgraphPattern,
)
from irfuzz.spec.constraints.expression_functions import Undefined

_D = ir.DataType
Sizes = dict[str, Any]

MOST_SIZE = 5
"""Largest size that is drawn where a pattern does not say otherwise."""


@dataclass(slots=True)
class DraftNode:
    """A node with actual attributes; inputs are names of values or constants."""

    op: str
    inputs: list[str | None]
    attrs: dict[str, Any]
    outputs: list[str]


@dataclass(slots=True)
class PatternDraft:
    """A pattern that could be inserted.

    Attributes:
        given: facts that its inputs (``x`` and others) must have.
        steps: in order.
        constants: elements by name.
        facts: of everything, once judged.
        exposed: inner values that become graph outputs.
        captured: inner values that a body reads.
    """

    given: dict[str, TensorFact]
    steps: list[DraftNode]
    constants: dict[str, np.ndarray]
    facts: dict[str, TensorFact] = field(default_factory=dict[str, TensorFact])
    exposed: list[str] = field(default_factory=list[str])
    captured: list[str] = field(default_factory=list[str])

    @property
    def result(self) -> str:
        """The name of the value that the pattern computes: the first output of the last step."""
        return self.steps[-1].outputs[0]

    def inner(self) -> list[str]:
        """Names of computed values that a later step reads, each once, in the order of these steps."""
        made = {name for step in self.steps for name in step.outputs}
        read = [name for step in self.steps for name in step.inputs if name in made]
        return list(dict.fromkeys(n for n in read if n is not None))

    def fresh(self, hint: str) -> str:
        """A name that no input, constant or result has: ``hint_0``, ``hint_1`` and so on. It is not taken until
        something has it.
        """
        taken = {*self.given, *self.constants, *(n for s in self.steps for n in s.outputs)}
        return next(name for i in range(1 << 20) if (name := f"{hint}_{i}") not in taken)

    def copy(self) -> PatternDraft:
        """Another one that can be changed, without ``facts``; elements of constants are shared, as they are replaced
        and never edited.
        """
        steps = [DraftNode(s.op, list(s.inputs), dict(s.attrs), list(s.outputs)) for s in self.steps]
        return PatternDraft(dict(self.given), steps, dict(self.constants), {}, list(self.exposed), list(self.captured))


# ---- sizes ------------------------------------------------------------------------------------


def bind(shape: Shape, sizes: tuple[Dim, ...]) -> Sizes | None:
    """What the names of a shape stand for if a value has these sizes; ``None`` if it cannot have that shape.

    Args:
        shape: of a pattern's input.
        sizes: numbers or names; leading ones go to ``shape.star``, as a tuple.
    """
    star = len(sizes) - len(shape.sizes)
    if star < 0 or (star and not shape.star):
        return None
    env: Sizes = {shape.star: tuple(sizes[:star])} if shape.star else {}
    for expression, size in zip(shape.sizes, sizes[star:], strict=True):
        if expression.text.isidentifier() and env.setdefault(expression.text, size) != size:
            return None
    return env if _fits(shape, sizes, env) else None


def _fits(shape: Shape, sizes: tuple[Dim, ...], env: Sizes) -> bool:
    return sizes_of(shape, env) == sizes


def draw_sizes(pattern: SubgraphPattern, shape: Shape, choices: Choices) -> Sizes:
    """Numbers for the names of a shape; often all alike, because optimisers mistake what sizes cannot tell apart.

    Args:
        pattern: limits some sizes; others go from 1 to ``MOST_SIZE``.
        shape: one of the pattern's.
        choices: the draw.
    """
    env: Sizes = {}
    names = sorted({n for e in shape.sizes for n in e.names})
    same = choices.integer(2, 4) if choices.boolean(0.3) else 0
    if shape.star:
        env[shape.star] = tuple(same or choices.integer(1, 3) for _ in range(choices.weighted((0, 1, 2), (2, 3, 1))))
    for name in names:
        low, high = pattern.sizes.get(name, (1, MOST_SIZE))
        env[name] = same if low <= same <= high else choices.integer(low, high)
    return env


def draw_rest(pattern: SubgraphPattern, env: Sizes, choices: Choices) -> None:
    """Numbers for the names that the first input does not bind, those in attributes and constants among them.

    Args:
        pattern: whose names are looked for.
        env: what is bound; the rest is added to it.
        choices: the draw; three times in ten a number that occurs already.
    """
    rest = {n for s in pattern.also.values() for e in s.sizes for n in e.names}
    rest |= {n for c in pattern.constants.values() for s in c.shapes for e in s.sizes for n in e.names}
    for node in pattern.nodes:
        rest |= {n for o in node.inputs if isinstance(o, Numbers) for e in o.items for n in e.names}
        for attribute in node.attrs:
            for way in attribute.ways:
                items = way if isinstance(way, tuple) else (way,)
                rest |= {n for e in items if hasattr(e, "names") for n in e.names}
    numbers = [v for v in env.values() if type(v) is int]
    for name in sorted(rest - set(env) - {"R"}):
        low, high = pattern.sizes.get(name, (1, MOST_SIZE))
        alike = [n for n in numbers if low <= n <= high]
        env[name] = choices.pick(alike) if alike and choices.boolean(0.3) else choices.integer(low, high)


def sizes_of(shape: Shape, env: Sizes) -> tuple[Dim, ...] | None:
    """The sizes that a shape has under ``env``, leading ones first; ``None`` if one cannot be told or would be
    negative.
    """
    found = list(env.get(shape.star, ())) if shape.star else []
    for expression in shape.sizes:
        try:
            size = expression.evaluate(env)
        except Undefined:
            return None
        if type(size) not in (int, str) or (type(size) is int and size < 0):
            return None
        found.append(size)
    return tuple(found)


# ---- one pattern with actual numbers ----------------------------------------------------------


def make(pattern: SubgraphPattern, x: TensorFact, env: Sizes, choices: Choices) -> PatternDraft | None:
    """The pattern as it is recognised, on an ``x`` of this type; ``None`` if a size cannot be told.

    Args:
        pattern: what to draft.
        x: element type and shape of its first input.
        env: sizes of all names; the rank of ``x`` is added as ``R``.
        choices: draw among spellings, shapes and elements of constants.
    """
    env["R"] = x.rank
    draft = PatternDraft({"x": x}, [], {})
    for name, shape in pattern.also.items():
        sizes = sizes_of(shape, env)
        if sizes is None:
            return None
        draft.given[name] = TensorFact(x.dtype, sizes)
    for name, constant in pattern.constants.items():
        array = _elements(constant, x.dtype, env, choices)
        if array is None:
            return None
        draft.constants[name] = array
    for node in pattern.nodes:
        step = _step(draft, node, x, env, choices)
        if step is None:
            return None
        draft.steps.append(step)
    return draft


def _step(draft: PatternDraft, node: Node, x: TensorFact, env: Sizes, choices: Choices) -> DraftNode | None:
    attrs: dict[str, Any] = {}
    for attribute in node.attrs:
        value = _value(choices.pick(attribute.ways), x, env)
        if value is None:
            return None
        attrs[attribute.name] = value
    inputs: list[str | None] = []
    for operand in node.inputs:
        if isinstance(operand, Number | Numbers):
            array = _literal(operand, x.dtype, env)
            if array is None:
                return None
            name = draft.fresh("k")
            draft.constants[name] = array
            inputs.append(name)
        else:
            inputs.append(operand)
    return DraftNode(node.op, inputs, attrs, list(node.outputs))


def _value(way: Any, x: TensorFact, env: Sizes) -> Any:
    if isinstance(way, str):
        if way in PERMUTATIONS:
            return permutation(way, x.rank or 0)
        return int((x.dtype if way == "T" else TYPES[way]).value) if way == "T" or way in TYPES else way
    if isinstance(way, float):
        return way
    try:
        found = [e.evaluate(env) for e in way] if isinstance(way, tuple) else way.evaluate(env)
    except Undefined:
        return None
    items = found if isinstance(found, list) else [found]
    return found if all(type(i) is int for i in items) else None


def permutation(word: str, rank: int) -> list[int]:
    """A permutation of the axes 0 to ``rank - 1`` by its name, one of ``PERMUTATIONS``: ``permutation("last", 4)`` is
    ``[0, 2, 3, 1]``. Below rank 2, only the identity is left.
    """
    axes = list(range(rank))
    if word == "swap" and rank >= 2:
        return [*axes[:-2], rank - 1, rank - 2]
    if word == "reverse":
        return axes[::-1]
    if word == "last" and rank >= 2:
        return [0, *axes[2:], 1]
    if word == "first" and rank >= 2:
        return [0, rank - 1, *axes[1:-1]]
    return axes


def _literal(operand: Operand, dtype: ir.DataType, env: Sizes) -> np.ndarray | None:
    if isinstance(operand, Number):
        kind = dtype if operand.type == "T" else TYPES[operand.type]
        return number(operand.value, kind)
    assert isinstance(operand, Numbers)
    try:
        found = [e.evaluate(env) for e in operand.items]
    except Undefined:
        return None
    flat = [i for item in found for i in (item if isinstance(item, tuple) else (item,))]
    return np.array(flat, np.int64) if all(type(i) is int for i in flat) else None


def number(value: float, dtype: ir.DataType) -> np.ndarray | None:
    """A scalar of an element type; ``None`` if that is an integer type which cannot hold the number."""
    if dtype in INTEGER_LIMITS:
        low, high = INTEGER_LIMITS[dtype]
        if value != int(value) or not low <= value <= high:
            return None
    return np.array(value).astype(dtype.numpy())


def _elements(constant: Constant, dtype: ir.DataType, env: Sizes, choices: Choices) -> np.ndarray | None:
    kind = dtype if constant.type == "T" else TYPES[constant.type]
    sizes = sizes_of(choices.pick(constant.shapes), env)
    if sizes is None or not all(type(d) is int for d in sizes):
        return None
    shape = tuple(int(d) for d in sizes if d is not None)
    if math.prod(shape) > 1 << 14:
        return None
    if not constant.fill:
        one = number(constant.value, kind)
        return None if one is None else np.full(shape, one, one.dtype)
    return filled(constant.fill, shape, kind, choices)


def filled(fill: str, shape: tuple[int, ...], dtype: ir.DataType, choices: Choices) -> np.ndarray:
    """Elements of one of ``pattern_files.FILLS``; integers if the type has nothing else.

    Args:
        fill: how they are drawn.
        shape: of the new array.
        dtype: its element type.
        choices: give the seed, which zeros and ones do not need.

    Raises:
        InvalidProgram: there are more elements than ``drawable`` allows.
    """
    kind, shape = dtype.numpy(), drawable(shape)
    if fill in ("zeros", "ones"):
        return np.full(shape, fill == "ones").astype(kind)
    rng = np.random.default_rng(choices.seed())
    if dtype is _D.BOOL or fill == "mask":
        return rng.integers(0, 2, shape).astype(kind)
    if dtype in INTEGER_LIMITS:
        low = 1 if fill in ("positive", "small") or INTEGER_LIMITS[dtype][0] == 0 else -3
        return rng.integers(low, 4, shape).astype(kind)
    if fill == "integers":
        return rng.integers(-3, 4, shape).astype(kind)
    if fill == "normal":
        return (rng.standard_normal(shape) / math.sqrt(max(1, math.prod(shape[1:])))).astype(kind)
    low, high = (0.5, 1.5) if fill == "positive" else (0.01, 0.1)
    return rng.uniform(low, high, shape).astype(kind)


def retyped(draft: PatternDraft, old: ir.DataType, new: ir.DataType) -> PatternDraft | None:
    """The same with another element type in place of one, at inputs, constants and targets of casts.

    Args:
        draft: it stays as it is.
        old: the type to be replaced.
        new: the one in its place.

    Returns:
        A draft that is not judged yet; ``None`` if an integer type cannot hold a constant.
    """
    changed = copy.copy(draft.copy())
    for name, fact in draft.given.items():
        if fact.dtype is old:
            changed.given[name] = replace(fact, dtype=new, low=None, high=None, value=None)
    for name, array in draft.constants.items():
        if ir.DataType.from_numpy(array.dtype) is not old:
            continue
        if new in INTEGER_LIMITS:
            low, high = INTEGER_LIMITS[new]
            if not np.isfinite(array).all() or float(array.min(initial=0)) < low or float(array.max(initial=0)) > high:
                return None
            array = np.rint(array)
        with np.errstate(over="ignore"):  # a number beyond half precision is infinite there
            changed.constants[name] = np.asarray(array, new.numpy())
    for step in changed.steps:
        if step.attrs.get("to") == int(old.value):
            step.attrs["to"] = int(new.value)
    return changed
