"""Decides the order in which the open names of a call are drawn."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from irfuzz.errors import SpecError
from irfuzz.spec.constraints.dimension_patterns import DimensionPattern
from irfuzz.spec.constraints.expression import Env, Expression
from irfuzz.spec.constraints.expression_functions import broadcasts_to
from irfuzz.spec.operator_spec import OpSpec, Patterns, ValueDomain


@dataclass(frozen=True, slots=True)
class DrawStep:
    """One draw.

    Attributes:
        kind: ``match`` (bind sizes from a given input whose pattern depends on attributes), ``cast`` (a part that
            broadcasts), ``attr``, ``size``, ``sizes`` (a tuple), ``value`` (an exact input), ``absent`` (what an
            omission stands for), ``shapes`` (of a variadic input, by generator) or ``shape`` (of one input).
        rules: conditions that can be decided once this step is done.
    """

    kind: str
    name: str
    position: int = -1
    domain: ValueDomain | None = None
    patterns: Patterns = ()
    rules: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class _Open:
    step: DrawStep
    needs: frozenset[str]
    binds: frozenset[str]


@dataclass(frozen=True, slots=True)
class DrawPlan:
    """Steps in order, and the conditions that hold or fail before any of them."""

    steps: tuple[DrawStep, ...]
    rules: tuple[Expression, ...]


@functools.lru_cache(maxsize=8192)
def make_plan(
    spec: OpSpec,
    given: frozenset[int],
    present: tuple[bool, ...],
    chosen: tuple[int, ...],
    bound: frozenset[str],
    *,
    unusual: bool = False,
) -> DrawPlan:
    """The order of draws for one situation.

    Args:
        spec: an operator with an overlay.
        given: positions that the caller gave.
        present: for each position, whether an input stands there.
        chosen: for each position, which alternative of its patterns is used, or -1 for all (conditional ones).
        bound: names that are bound before the first draw.
        unusual: what only holds for usual calls need not hold.

    Raises:
        SpecError: the overlay leaves a name that nothing can bind.
    """
    todo = _open_steps(spec, given, present, chosen, bound)
    overlay = spec.overlay
    assert overlay is not None
    rules: list[Expression] = [*(r for _, r in overlay.rules), *overlay.prefer, *(() if unusual else overlay.usual)]
    for position in sorted(given):
        formal = spec.formal(position)
        if formal is not None and chosen[position] >= 0 and formal.option != "variadic":
            rules += _given_rules(formal.name, overlay.patterns[formal.name][chosen[position]][1])
    pending = {n for o in todo for n in o.binds}
    first = tuple(r for r in rules if not r.names & pending)
    rules = [r for r in rules if r.names & pending]
    steps: list[DrawStep] = []
    while todo:
        at = next((i for i, o in enumerate(todo) if not (o.needs - o.binds) & pending), None)
        if at is None:  # a cycle: a size is drawn from its default range, and the rules decide
            kinds = ("attr", "size", "sizes", "absent", "value")
            at = min(
                range(len(todo)), key=lambda i: (kinds.index(todo[i].step.kind) if todo[i].step.kind in kinds else 9, i)
            )
        done = todo.pop(at)
        pending = {n for o in todo for n in o.binds}
        ready = tuple(r for r in rules if not r.names & pending)
        rules = [r for r in rules if r.names & pending]
        s = done.step
        steps.append(DrawStep(s.kind, s.name, s.position, s.domain, s.patterns, ready))
    return DrawPlan(tuple(steps), first)


def _given_rules(name: str, pattern: DimensionPattern) -> list[Expression]:
    """A given input against the part of its pattern that binds nothing (expressions, the target of ``into``)."""
    if (not pattern.into and all(i.expr is None for i in pattern.items)) or any(
        i.kind == "cast" for i in pattern.items
    ):
        return []

    def evaluate(env: Env) -> bool | None:
        shape, target = env.get(f"shape:{name}"), pattern.target(env)
        if shape is None or target is None:
            return None
        if pattern.into:
            return broadcasts_to(shape, target)
        return len(shape) == len(target) and all(t is None or s == t for s, t in zip(shape, target, strict=True))

    return [Expression(f"shape({name}) fits ({pattern.text})", pattern.needs, evaluate)]


def _open_steps(
    spec: OpSpec, given: frozenset[int], present: tuple[bool, ...], chosen: tuple[int, ...], bound: frozenset[str]
) -> list[_Open]:
    overlay = spec.overlay
    assert overlay is not None
    first: list[_Open] = []
    late: list[_Open] = []
    sizes: dict[str, str] = {}
    casts: list[tuple[int, Patterns]] = []
    for position, here in enumerate(present):
        formal = spec.formal(position)
        if formal is None:
            raise SpecError(f"{overlay.source.name}: {spec.op} has no input {position}")
        name = formal.name
        domain = overlay.values.get(name)
        if not here:
            if domain is not None and domain.absent is not None:
                first.append(_Open(DrawStep("absent", name, domain=domain), domain.absent.names, frozenset({name})))
            continue
        patterns = overlay.patterns.get(name, ())
        if chosen[position] >= 0:
            patterns = (patterns[chosen[position]],)
        conditional = any(c is not None for c, _ in patterns)
        binds = frozenset(n for _, p in patterns for n in p.binds)
        conditions = frozenset(n for c, _ in patterns if c is not None for n in c.names)
        if position in given:
            if conditional:
                first.append(
                    _Open(DrawStep("match", name, position, patterns=patterns), conditions, binds | _seen(name))
                )
            continue
        if name in overlay.shapes:
            if not any(o.step.kind == "shapes" and o.step.name == name for o in late):
                needs = frozenset(n for a in overlay.shapes[name].arguments for n in a.names) - _seen(name)
                late.append(_Open(DrawStep("shapes", name, position), needs, _seen(name)))
            continue
        if domain is not None and domain.exact:
            # sizes that the value is made from are drawn before it; the others follow from it
            drawn = binds & domain.names
            for _, p in patterns:
                _note_sizes(p, sizes, drawn)
            binds = (binds - drawn) | _seen(name) | {name}
            late.append(_Open(DrawStep("value", name, position, domain, patterns), domain.names, binds))
            continue
        for _, p in patterns:
            _note_sizes(p, sizes)
            if any(i.kind == "cast" for i in p.items):
                casts.append((position, patterns))
        needs = frozenset(n for _, p in patterns for n in p.needs) | conditions
        late.append(_Open(DrawStep("shape", name, position, patterns=patterns), needs, _seen(name)))
    for name, domain in overlay.constants.items():
        assert domain.absent is not None
        first.append(_Open(DrawStep("absent", name, domain=domain), domain.absent.names, frozenset({name})))
    for k, (position, patterns) in enumerate(casts):
        names = frozenset(i.name for _, p in patterns for i in p.items if i.kind == "cast")
        more = any(i.name in names for _, ps in casts[k + 1 :] for _, p in ps for i in p.items)
        first.append(
            _Open(DrawStep("cast", "", position, patterns=patterns), frozenset(), frozenset() if more else names)
        )
    by_match = {n for o in (*first, *late) if o.step.kind in ("match", "value") for n in o.binds}
    named = {n for o in first if o.step.kind == "cast" for n in o.binds}
    attrs = [
        _Open(
            DrawStep("attr", a.name, domain=a.domain),
            a.domain.names | (a.domain.absent.names if a.domain.absent else frozenset()),
            frozenset({a.name} | ({a.domain.dtype_of} - {""})),
        )
        for a in spec.attrs.values()
        if a.domain is not None
    ]
    attr_names = frozenset(spec.attrs)
    free = [
        _Open(
            DrawStep(kind, n, domain=overlay.sizes.get(n)),
            overlay.sizes[n].names if n in overlay.sizes else frozenset(),
            frozenset({n}),
        )
        for n, kind in _in_order(sizes, overlay.sizes)
        if n not in bound and n not in by_match and n not in named and n not in attr_names
    ]
    return [*first, *attrs, *free, *late]


def _seen(name: str) -> frozenset[str]:
    return frozenset({f"shape:{name}", f"rank:{name}"})


def _note_sizes(pattern: DimensionPattern, sizes: dict[str, str], only: frozenset[str] | None = None) -> None:
    for item in pattern.items:
        if only is not None and item.name not in only:
            continue
        if item.kind == "name":
            sizes.setdefault(item.name, "size")
        elif item.kind == "spread":
            sizes.setdefault(item.name, "sizes")


def _in_order(sizes: dict[str, str], domains: object) -> Sequence[tuple[str, str]]:
    """Sizes in the order of the overlay's ``[sizes]`` table, then the others as the patterns name them."""
    known = [n for n in domains if n in sizes] if isinstance(domains, dict) else []
    return [(n, sizes[n]) for n in [*known, *(n for n in sizes if n not in known)]]
