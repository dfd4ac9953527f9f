"""Values just beyond each rule of a call, crafted from the rules themselves (AUDEE, section 2.3).

Limits are evaluated for the call at hand: ``at_most = "len(S) - 1"`` gives ``len(S)``, ``one_of`` its neighbours,
``len`` a list with one element more or fewer. What ``[require]`` and dimension patterns forbid is found by stepping
away from the present value, nearest first, until a rule breaks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.spec.constraints.call_check import bindings, check_call
from irfuzz.spec.constraints.expression import Expression
from irfuzz.spec.constraints.expression_functions import Undefined
from irfuzz.spec.operator_spec import OpSpec, ValueDomain, Violation

STEPS = (*range(1, 11), 17, 65, 1000)
"""How far numbers are moved, either way, until a rule breaks."""

_MOST_ELEMENTS = 12
"""A longer list is no parameter that anybody writes by hand."""

_LISTS = frozenset({"INTS", "FLOATS", "STRINGS"})
_KINDS = frozenset({"INT", "FLOAT", "STRING"}) | _LISTS


@dataclass(frozen=True, slots=True)
class RuleBreakingValue:
    """A value that breaks a rule which the call keeps without it.

    Attributes:
        name: attribute or input.
        position: of the input; -1 for an attribute.
        value: of the attribute, ``None`` if it is left out; of an input its elements, in order.
        violation: the rule.
    """

    name: str
    position: int
    value: Any
    violation: Violation


def beyond(spec: OpSpec, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[RuleBreakingValue]:
    """For each parameter of a call and each rule that it can break alone, the nearest value that does.

    Parameters are attributes of numbers and text, and inputs whose elements are known and decide what is valid (axes,
    shapes, paddings). A call that breaks a rule already, or of which too little is known to break any, gives none.

    Args:
        spec: the operator version.
        inputs: as for ``check_call``.
        attrs: plain Python values, as for ``check_call``.
    """
    env, broken = bindings(spec, inputs, attrs)
    if broken or spec.overlay is None:
        return []
    found: dict[tuple[str, str], RuleBreakingValue] = {}

    def offer(name: str, position: int, value: Any, violations: Sequence[Violation]) -> None:
        if violations:
            found.setdefault((name, violations[0].rule), RuleBreakingValue(name, position, value, violations[0]))

    for name, attr in spec.attrs.items():
        if attr.type not in _KINDS:
            continue
        if attr.required:
            offer(name, -1, None, check_call(spec, inputs, {n: v for n, v in attrs.items() if n != name}))
        now = attrs.get(name, env.get(name))
        for value in _values(attr.domain, now, env, attr.type):
            offer(name, -1, value, check_call(spec, inputs, {**attrs, name: value}))
    for position, fact in enumerate(inputs):
        formal = spec.formal(position)
        domain = None if formal is None else spec.overlay.values.get(formal.name)
        if formal is None or not isinstance(fact, TensorFact) or domain is None or not domain.exact:
            continue
        known = _elements(fact)
        for elements in () if known is None else _lists(domain, known, env, fixed=True):
            if _fits(elements, fact.dtype):
                changed = replace(fact, value=elements, low=None, high=None)
                offer(formal.name, position, elements, check_call(spec, _with(inputs, position, changed), attrs))
    return list(found.values())


def _values(domain: ValueDomain | None, now: Any, env: Mapping[str, Any], kind: str) -> Iterator[Any]:
    """Candidates for an attribute, the nearest to a limit first."""
    if kind in _LISTS:
        now = tuple(now) if isinstance(now, list | tuple) else _first_list(domain, env)
        if now is not None:
            yield from map(list, _lists(domain, now, env))
        return
    if kind == "STRING":
        yield from _texts(now if isinstance(now, str) else (domain.one_of or ("",))[0] if domain else "")
        return
    number = now if isinstance(now, int | float) and not isinstance(now, bool) else 0
    yield from _numbers(domain, number, env, real=kind == "FLOAT")


def _numbers(domain: ValueDomain | None, now: float, env: Mapping[str, Any], *, real: bool) -> Iterator[Any]:
    for limit, sign in () if domain is None else ((domain.at_least, -1), (domain.at_most, 1)):
        for bound in _bounds(limit, env):
            yield float(np.nextafter(np.float32(bound), np.float32(sign * np.inf))) if real else int(bound) + sign
    listed = [v for v in (domain.one_of if domain is not None and domain.one_of else ()) if isinstance(v, int | float)]
    if listed:
        yield from (max(listed) + 1, min(listed) - 1)
    for step in STEPS:
        yield from (now + step, now - step)
    yield type(now)(0)


def _bounds(limit: Expression | None, env: Mapping[str, Any]) -> Iterator[float]:
    try:
        bound = None if limit is None else limit.evaluate(dict(env))
    except Undefined:
        return
    yield from (b for b in (bound if isinstance(bound, tuple) else (bound,)) if isinstance(b, int | float))


def _texts(now: str) -> Iterator[str]:
    """The empty text, one letter fewer, more or other, and the other case."""
    yield from ("", now[:-1], now + "z", "z" + now[1:], now[:-1] + "z", now.swapcase())


def _lists(
    domain: ValueDomain | None, now: tuple[Any, ...], env: Mapping[str, Any], *, fixed: bool = False
) -> Iterator[tuple[Any, ...]]:
    """Lists with one element beyond a limit, with one more or fewer (unless the number is ``fixed``), or none."""
    if len(now) > _MOST_ELEMENTS:
        return
    for place, element in enumerate(now):
        if isinstance(element, str):
            changed = _texts(element)
        else:
            one_of = None if domain is None else domain.one_of
            alone = None if domain is None else replace(domain, one_of=None if one_of and fixed is False else one_of)
            changed = _numbers(alone, element, env, real=isinstance(element, float))
        yield from ((*now[:place], other, *now[place + 1 :]) for other in changed)
    if not fixed and now:
        yield from ((*now, now[-1]), now[:-1], ())
    if len(now) > 1:
        yield (now[0],) * len(now)


def _first_list(domain: ValueDomain | None, env: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """What an omitted list stands for, if the overlay says it."""
    try:
        value = None if domain is None or domain.absent is None else domain.absent.evaluate(dict(env))
    except Undefined:
        return None
    return value if isinstance(value, tuple) else None


def _elements(fact: TensorFact) -> tuple[int | float, ...] | None:
    """All elements, as numbers; ``None`` if one is not known."""
    value = fact.value
    if value is None or not value or any(not isinstance(v, int | float) or isinstance(v, bool) for v in value):
        return None
    return tuple(value)  # type: ignore[arg-type]


def _fits(elements: tuple[Any, ...], dtype: ir.DataType) -> bool:
    """Whether all elements are numbers of the type."""
    try:
        limits = np.iinfo(dtype.numpy())
    except ValueError:
        return True
    return all(limits.min <= v <= limits.max for v in elements)


def _with(inputs: Sequence[Any], position: int, fact: TensorFact) -> list[Any]:
    return [*inputs[:position], fact, *inputs[position + 1 :]]
