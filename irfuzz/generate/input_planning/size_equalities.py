"""Which open sizes of a program have to be equal, and which have to be a number, by the rules of its operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from irfuzz.errors import InvalidProgram
from irfuzz.facts import Dim, TensorFact
from irfuzz.ir.program import Program
from irfuzz.spec import Specs
from irfuzz.spec.constraints.call_check import bindings, checker, choose
from irfuzz.spec.constraints.dimension_patterns import DimensionPattern, PatternItem
from irfuzz.spec.constraints.expression_functions import Undefined
from irfuzz.spec.operator_spec import OpSpec

MOST_SOLVED = 1 << 14
"""An expression of one size, such as ``C // group``, is tried with sizes up to this one."""


@dataclass(slots=True)
class Ties:
    """What operators say of named sizes.

    Attributes:
        numbers: size by name, if an operator allows no other one.
    """

    numbers: dict[str, int] = field(default_factory=dict[str, int])
    _same: dict[str, str] = field(default_factory=dict[str, str])

    def root(self, name: str) -> str:
        """The one of all equal names that stands for them, the first in alphabetical order; a name without ties stands
        for itself.
        """
        while (above := self._same.get(name, name)) != name:
            name = above
        return name

    def join(self, one: str, other: str) -> None:
        """Note that two names are one size; what is noted of either holds for both from then on."""
        first, second = self.root(one), self.root(other)
        if first != second:
            self._same[max(first, second)] = min(first, second)

    def pin(self, name: str, size: int) -> None:
        """Note that a name is a number, and with it all that are equal; what was noted first stays."""
        self.numbers.setdefault(name, size)

    def number(self, name: str) -> int | None:
        """The number that a name, or one that is equal to it, has to be; ``None`` if any will do."""
        root = self.root(name)
        return next((size for other, size in self.numbers.items() if self.root(other) == root), None)


def ties_of(program: Program, specs: Specs) -> Ties:
    """Compare the sizes of every call, those in bodies too, with the patterns of its operator.

    Args:
        program: every open size of its inputs has a name; what cannot be followed by a name is not compared.
        specs: of the operators.
    """
    found = Ties()
    for node in [*program.nodes(), *(n for graph in program.model.graph.subgraphs() for n in graph)]:
        if node.domain not in ("", "ai.onnx") or any(a.is_ref() for a in node.attributes.values()):
            continue
        spec = specs.get(node.op_type, program.opset)
        if spec is not None and spec.overlay is not None:
            _compare(spec, [None if v is None else program.fact(v) for v in node.inputs], program.attrs(node), found)
    return found


def _compare(spec: OpSpec, inputs: Sequence[Any], attrs: Mapping[str, Any], ties: Ties) -> None:
    if not any(isinstance(d, str) for f in inputs if isinstance(f, TensorFact) for d in f.shape or ()):
        return
    try:
        env, _ = bindings(spec, inputs, attrs)
    except (InvalidProgram, Undefined, TypeError, ValueError):
        return
    names: dict[tuple[str, int], str] = {}
    solved: list[tuple[PatternItem, int]] = []
    for pattern, shape in _shapes(spec, inputs, env):
        for key, item, dim in _items(pattern, shape, env):
            if isinstance(dim, str):
                _note(item, key, dim, env, names, ties)
            elif item.kind == "expr" and dim is not None:
                solved.append((item, dim))
    for item, size in solved:
        _solve(item, size, env, names, ties)


def _shapes(
    spec: OpSpec, inputs: Sequence[Any], env: Mapping[str, Any]
) -> Iterator[tuple[DimensionPattern, tuple[Dim, ...]]]:
    formals = checker(spec).formals
    for place, fact in enumerate(inputs):
        if not formals or not isinstance(fact, TensorFact) or fact.shape is None:
            continue
        pattern = choose(formals[min(place, len(formals) - 1)][1], len(fact.shape), env)
        if pattern is not None and not pattern.into:
            yield pattern, fact.shape


def _items(
    pattern: DimensionPattern, shape: tuple[Dim, ...], env: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, int], PatternItem, Dim]]:
    """Each size with the item that it matches, and a key that is the same for sizes that are equal.

    Those of a broadcast are counted from the last one, those of any other run of sizes from the first.
    """
    extra = len(shape) - len(pattern.items)
    for place, item in enumerate(pattern.items):
        if place != pattern.spread:
            at = place if pattern.spread < 0 or place < pattern.spread else place + extra
            yield (item.name, 0), item, shape[at]
            continue
        part = shape[place : place + extra + 1]
        for i, dim in enumerate(part):
            yield (item.name, i - len(part) if item.kind == "cast" else i), item, dim


def _note(
    item: PatternItem,
    key: tuple[str, int],
    dim: str,
    env: Mapping[str, Any],
    names: dict[tuple[str, int], str],
    ties: Ties,
) -> None:
    if item.kind == "expr":
        value = _value(item, env)
        if type(value) is int and value > 0:
            ties.pin(dim, value)
        return
    if item.kind not in ("name", "spread", "cast"):
        return
    bound = env.get(item.name)
    if isinstance(bound, tuple):
        bound = bound[key[1]] if -len(bound) <= key[1] < len(bound) else None
    if type(bound) is int:
        # One broadcasts with everything, so it asks for nothing.
        if item.kind != "cast" or bound > 1:
            ties.pin(dim, bound)
    elif key in names:
        ties.join(names[key], dim)
    else:
        names[key] = dim


def _solve(
    item: PatternItem, size: int, env: Mapping[str, Any], names: Mapping[tuple[str, int], str], ties: Ties
) -> None:
    """Pin the only open size in an expression to the smallest that gives the size met (``C // group`` of a kernel)."""
    assert item.expr is not None
    open_names = [name for name in item.expr.names if env.get(name) is None]
    if len(open_names) != 1 or (open_names[0], 0) not in names:
        return
    for tried in range(1, MOST_SOLVED):
        if _value(item, {**env, open_names[0]: tried}) == size:
            ties.pin(names[open_names[0], 0], tried)
            return


def _value(item: PatternItem, env: Mapping[str, Any]) -> Any:
    assert item.expr is not None
    try:
        return item.expr.evaluate(env)
    except (Undefined, TypeError):
        return None
