"""Dimension patterns such as ``"M, C // group, *K"``: binds their names to a shape, or gives the shape of names.

A pattern is a list of items separated by commas:

* ``N`` one size, bound to a name (the same name is the same size everywhere in the call);
* ``3`` or ``C // group``: a size that must equal the expression;
* ``*D`` any number of sizes, bound as a tuple; at most one such item a pattern;
* ``*(put(S, axis, 1))`` sizes that must equal the tuple in parentheses;
* ``broadcast(*S)`` sizes that broadcast with those of every other input that says so; ``S`` is the joint shape;
* ``into(M, *S)`` (alone in its pattern) a shape that broadcasts one way into the shape in parentheses;
* ``_`` and ``*_`` sizes about which nothing is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from irfuzz.errors import SpecError
from irfuzz.spec.constraints.expression import Env, Expression, parse
from irfuzz.spec.constraints.expression_functions import Undefined, broadcast, broadcasts_to


@dataclass(frozen=True, slots=True)
class PatternItem:
    """One item of a pattern: ``kind`` is ``name``, ``expr``, ``spread``, ``tuple``, ``cast`` or ``any``."""

    kind: str
    name: str = ""
    expr: Expression | None = None


@dataclass(frozen=True, slots=True)
class DimensionPattern:
    """A parsed pattern.

    Attributes:
        items: in order; for ``into`` the items of the target.
        spread: position of the item that takes any number of sizes, or -1.
        into: true if the shape broadcasts one way into the items.
        binds: names that a shape can bind.
        needs: names that must be bound before a shape can be made.
    """

    text: str
    items: tuple[PatternItem, ...]
    spread: int
    into: bool
    binds: frozenset[str]
    needs: frozenset[str]

    def fits(self, rank: int) -> bool:
        """True if a shape of this rank can match, whatever its sizes are."""
        if self.into:
            return self.spread >= 0 or rank <= len(self.items)
        return rank == len(self.items) if self.spread < 0 else rank >= len(self.items) - 1

    def ranks(self) -> str:
        """The ranks that match, in words for messages: ``rank 4``, ``rank at least 2`` or ``any rank``."""
        if self.into:
            return "any rank" if self.spread >= 0 else f"rank at most {len(self.items)}"
        return f"rank {len(self.items)}" if self.spread < 0 else f"rank at least {len(self.items) - 1}"

    def match(self, shape: tuple[Any, ...], env: dict[str, Any], later: list[tuple[PatternItem, Any]]) -> str | None:
        """Bind names to the sizes of a shape; the rank must fit.

        Args:
            shape: unknown sizes are ``None``.
            env: gets what the names are bound to; a name that is bound already must agree.
            later: takes the items that can only be compared once everything is bound, with the size met.

        Returns:
            What is wrong in words, or ``None``. A pattern with ``into`` binds nothing: see ``broadcasts``.
        """
        count = len(self.items)
        if self.into:
            return None
        spread = self.spread
        extra = len(shape) - count
        for i, item in enumerate(self.items):
            kind = item.kind
            if i == spread:
                if kind == "any":
                    continue
                part = shape[i : i + extra + 1]
                if kind == "tuple":
                    later.append((item, part))
                    continue
                wrong = _bind_cast(item.name, part, env) if kind == "cast" else _bind_spread(item.name, part, env)
                if wrong:
                    return wrong
                continue
            size = shape[i] if spread < 0 or i < spread else shape[i + extra]
            if kind == "name":
                bound = env.get(item.name)
                if bound is None:
                    env[item.name] = size
                elif size is not None and size != bound:
                    return f"{item.name} is {bound} elsewhere and {size} here"
            elif kind == "expr" and size is not None:
                later.append((item, size))
        return None

    def target(self, env: Env) -> tuple[Any, ...] | None:
        """The sizes of the items with the names of ``env``, ``None`` for each that is not known.

        Returns:
            ``None`` if not even the rank is known.

        Raises:
            Undefined: an expression has no value.
        """
        out: list[Any] = []
        for item in self.items:
            if item.kind == "expr" and item.expr is not None:
                out.append(item.expr.evaluate(env))
            elif item.kind == "tuple" and item.expr is not None:
                part = item.expr.evaluate(env)
                if part is None:
                    return None
                out.extend(part)
            elif item.kind in ("spread", "cast"):
                part = env.get(item.name)
                if part is None:
                    return None
                out.extend(part)
            elif item.kind == "any":
                return None
            else:
                out.append(env.get(item.name))
        return tuple(out)

    def broadcasts(self, shape: tuple[Any, ...], env: Env) -> str | None:
        """For ``into``: what is wrong with ``shape``, or ``None``.

        Nothing is wrong if it broadcasts one way into the items, as far as sizes are known.
        """
        try:
            target = self.target(env)
        except Undefined as e:
            return str(e)
        if target is not None and broadcasts_to(shape, target) is False:
            return f"{shape} does not broadcast into {target}"
        return None


def _bind_spread(name: str, part: tuple[Any, ...], env: dict[str, Any]) -> str | None:
    bound = env.get(name)
    if bound is None:
        env[name] = part
        return None
    if bound == part:
        return None
    if len(bound) != len(part):
        return f"{name} has {len(bound)} sizes elsewhere and {len(part)} here"
    merged = []
    for a, b in zip(bound, part, strict=True):
        if a is not None and b is not None and a != b:
            return f"{name} is {bound} elsewhere and {part} here"
        merged.append(b if a is None else a)
    env[name] = tuple(merged)
    return None


def _bind_cast(name: str, part: tuple[Any, ...], env: dict[str, Any]) -> str | None:
    bound = env.get(name)
    if bound is None:
        env[name] = part
        return None
    try:
        env[name] = broadcast(bound, part)
    except Undefined:
        return f"{part} does not broadcast with {bound}"
    return None


def parse_pattern(text: str, where: str) -> DimensionPattern:
    """Parse a pattern, such as ``"N, C // group, *D"``: items separated by commas, or nothing for a scalar.

    Messages begin with the place that is given: the file and key.

    Raises:
        SpecError: an item is not in the language, or two items take any number of sizes.
    """
    if not isinstance(text, str):
        raise SpecError(f"{where}: expected a dimension pattern as a string, got {text!r}")
    body = text.strip()
    into = body.startswith("into(") and body.endswith(")")
    if into:
        body = body[len("into(") : -1]
    items: list[PatternItem] = []
    spreads: list[int] = []
    for i, part in enumerate(_split(body)):
        if not part:
            raise SpecError(f"{where}: pattern {text!r} has an empty item")
        items.append(_item(part, f"{where}: pattern {text!r}"))
        if part.startswith("*") or items[-1].kind == "cast":
            spreads.append(i)
    if len(spreads) > 1:
        raise SpecError(f"{where}: pattern {text!r} has more than one item that takes any number of sizes")
    binds = frozenset(i.name for i in items if i.kind in ("name", "spread", "cast")) if not into else frozenset()
    needs = frozenset(i.name for i in items if i.name) | frozenset(n for i in items if i.expr for n in i.expr.names)
    return DimensionPattern(text, tuple(items), spreads[0] if spreads else -1, into, binds, needs)


def _split(body: str) -> list[str]:
    parts: list[str] = []
    depth = 0
    current = ""
    for c in body:
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += c
    if current.strip() or parts:
        parts.append(current.strip())
    return parts


def _item(part: str, where: str) -> PatternItem:
    if part in ("_", "*_"):
        return PatternItem("any")
    if part.startswith("*(") and part.endswith(")"):
        return PatternItem("tuple", expr=parse(part[2:-1], where))
    if part.startswith("*"):
        if not part[1:].isidentifier():
            raise SpecError(f"{where}: {part!r} is not '*' and a name")
        return PatternItem("spread", part[1:])
    if part.startswith("broadcast("):
        name = part[len("broadcast(") : -1].strip()
        if not part.endswith(")") or not name.startswith("*") or not name[1:].isidentifier():
            raise SpecError(f"{where}: {part!r} is not 'broadcast(*NAME)'")
        return PatternItem("cast", name[1:])
    if part.isidentifier():
        return PatternItem("name", part)
    return PatternItem("expr", expr=parse(part, where))
