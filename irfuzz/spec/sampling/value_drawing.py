"""Draws one value from a domain, given the names bound so far."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from irfuzz.choices import Choices
from irfuzz.spec.constraints.expression import Expression
from irfuzz.spec.constraints.expression_functions import Undefined, broadcast
from irfuzz.spec.operator_spec import GeneratorCall, ValueDomain
from irfuzz.spec.sampling.parameter_generators import GENERATORS

Env = dict[str, Any]


_CORNER = 0.2
"""How often a real number is an end of its range, or 0, 1 or -1 within it."""


class DrawFailed(Exception):
    """This attempt came to a dead end; another may not."""


class ImpossibleCall(Exception):
    """No attempt can succeed for these inputs."""


class FeatureWeights(Protocol):
    """Weights of what may be drawn, such as ``1 / (1 + times it was seen)``."""

    def weight(self, feature: tuple[Any, ...]) -> float:
        """How much it is worth to draw a feature, such as ``("attr", "Conv", "group", 2)``; above 0."""
        ...


def evaluated(expression: Expression, env: Mapping[str, Any]) -> Any:
    """The expression's value, ``None`` if it is not known.

    Raises:
        DrawFailed: it has none (division by zero, an index outside).
    """
    try:
        return expression.evaluate(env)
    except Undefined as e:
        raise DrawFailed(str(e)) from None


def limits(bounds: tuple[Expression, Expression], env: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """Both ends of a range, or ``None`` if one is not known.

    Raises:
        DrawFailed: an end has no value.
    """
    low, high = evaluated(bounds[0], env), evaluated(bounds[1], env)
    return None if low is None or high is None else (low, high)


def options(domain: ValueDomain, env: Env) -> list[Any] | None:
    """All values of a domain that can be listed, in a new list, or ``None`` if they cannot or are not known.

    Of a range of integers the first 64 are listed.

    Raises:
        DrawFailed: the range is empty.
    """
    if domain.value is not None:
        value = evaluated(domain.value, env)
        return None if value is None else [value]
    if domain.pick is not None:
        return list(domain.pick)
    if domain.bounds is not None:
        ends = limits(domain.bounds, env)
        if ends is None:
            return None
        low, high = ends
        if low.__class__ is int and high.__class__ is int:
            if low > high:
                raise DrawFailed(f"the range [{low}, {high}] is empty")
            return list(range(low, min(high, low + 63) + 1))
        return None
    if domain.one_of is not None:
        return list(domain.one_of)
    return None


def real(choices: Choices, domain: ValueDomain, env: Env) -> float | None:
    """A number from a range of reals, exact in single precision; ``None`` if the domain has no such range.

    One in five is an end of the range, or 0, 1 or -1 within it; the others have four decimal places.

    Args:
        choices: draws.
        domain: its ``bounds`` count.
        env: names that the ends ask for.
    """
    ends = limits(domain.bounds, env) if domain.bounds is not None else None
    if ends is None:
        return None
    if choices.boolean(_CORNER):
        return float(np.float32(choices.pick([*ends, *(n for n in (0.0, 1.0, -1.0) if ends[0] < n < ends[1])])))
    return float(np.float32(round(choices.real(float(ends[0]), float(ends[1])), 4)))


def vector(choices: Choices, domain: ValueDomain, env: Env) -> Any:
    """A list by ``each`` and ``len``, or what a generator makes.

    Args:
        choices: draws; also the number of elements, one to three, if the domain does not say it.
        domain: of the list.
        env: names that are bound; ``i`` is bound to the index of each element in turn.

    Raises:
        DrawFailed: the domain does not say what to draw, or that is not known or impossible.
    """
    if domain.generate is not None:
        return generated(choices, domain.generate, env)
    if domain.each is None:
        raise DrawFailed("nothing says what to draw")
    count = evaluated(domain.length, env) if domain.length is not None else choices.integer(1, 3)
    if count is None:
        raise DrawFailed("the number of elements is not known")
    if not domain.each_is_range:
        return tuple(choices.pick(domain.each) for _ in range(count))
    out: list[Any] = []
    for i in range(count):
        env["i"] = i
        ends = limits(domain.each, env)  # type: ignore[arg-type] - a pair of expressions, as each_is_range says
        if ends is None or ends[0] > ends[1]:
            raise DrawFailed("the range of an element is empty")
        low, high = ends
        if low.__class__ is int and high.__class__ is int:
            out.append(choices.integer(low, high))
        else:
            out.append(float(np.float32(round(choices.real(float(low), float(high)), 4))))
    return tuple(out)


def generated(choices: Choices, call: GeneratorCall, env: Env) -> Any:
    """What a generator makes of its arguments.

    Args:
        choices: draws.
        call: the generator and expressions for its arguments.
        env: names that they ask for.

    Raises:
        DrawFailed: an argument is not known, or the generator makes nothing.
    """
    arguments = [evaluated(a, env) for a in call.arguments]
    if None in [a if not isinstance(a, np.ndarray) else 0 for a in arguments]:
        raise DrawFailed(f"an argument of {call.name} is not known")
    value = GENERATORS[call.name](choices, *arguments)
    if value is None:
        raise DrawFailed(f"{call.name} is impossible here")
    return value


def cast_part(choices: Choices, joint: tuple[int, ...] | None, limit: int) -> tuple[int, ...]:
    """Sizes that broadcast with ``joint``: equal, with ones, shorter, one element of any rank, or larger.

    Args:
        choices: draws.
        joint: the joint shape of the parts so far; ``None`` for the first, which has up to five sizes.
        limit: most elements that growing may come to.
    """
    if joint is None:
        return tuple(choices.integer(1, 4) for _ in range(choices.weighted(range(6), (2, 3, 4, 4, 2, 1))))
    how = choices.weighted(("same", "ones", "short", "scalar", "grow", "element"), (5, 3, 2, 1, 2, 2))
    if how == "scalar":
        return ()
    if how == "element":
        return (1,) * choices.integer(1, len(joint) + 2)
    if how == "short":
        return joint[choices.integer(0, len(joint)) :]
    if how == "ones":
        return tuple(1 if choices.boolean(0.5) else d for d in joint)
    if how == "grow":
        size = math.prod(joint)
        out = list(joint)
        for i, d in enumerate(out):
            if d == 1 and size * 4 <= limit and choices.boolean(0.6):
                out[i] = choices.integer(1, 4)
                size *= out[i]
        if len(out) < 5 and size * 3 <= limit and choices.boolean(0.5):
            out.insert(0, choices.integer(1, 3))
        return tuple(out)
    return joint


def into_part(choices: Choices, target: tuple[int, ...]) -> tuple[int, ...]:
    """Sizes that broadcast one way into ``target``: leading ones may be left out, and any may be 1."""
    shape = target[choices.integer(0, len(target)) :] if choices.boolean(0.5) else target
    return tuple(1 if choices.boolean(0.25) else d for d in shape)


def joined(a: tuple[int, ...] | None, b: tuple[int, ...]) -> tuple[int, ...]:
    """The joint shape of two that broadcast; that of ``b`` if ``a`` is ``None``.

    Raises:
        DrawFailed: they do not broadcast.
    """
    if a is None:
        return b
    try:
        return broadcast(a, b)
    except Undefined as e:
        raise DrawFailed(str(e)) from None
