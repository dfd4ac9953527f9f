"""Which rules of its operator a call (facts of the inputs, attributes) certainly breaks."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from irfuzz.facts import SequenceFact, TensorFact, tensors_in
from irfuzz.spec.constraints.attribute_value_type_check import KINDS
from irfuzz.spec.constraints.dimension_patterns import DimensionPattern, PatternItem
from irfuzz.spec.constraints.expression import Expression, truth
from irfuzz.spec.constraints.expression_functions import Undefined
from irfuzz.spec.constraints.sequence_optional_inputs import wrong_kind
from irfuzz.spec.operator_spec import FormalParameter, OpSpec, Overlay, Patterns, ValueDomain, Violation

DTYPE_NAMES: Mapping[ir.DataType, str] = {d: d.name.lower() for d in ir.DataType}


@dataclass(frozen=True, slots=True)
class CallChecker:
    """What ``check_call`` needs of a spec, in the order of its work."""

    formals: tuple[tuple[FormalParameter, Patterns, bool], ...]
    defaults: tuple[tuple[str, Any], ...]
    domains: tuple[tuple[str, ValueDomain], ...]
    omitted: tuple[tuple[str, Any], ...]
    lookups: frozenset[str]
    rules: tuple[tuple[str, Expression], ...]


@functools.cache
def checker(spec: OpSpec) -> CallChecker:
    """The compiled part of a spec, made once: what ``check_call`` asks in the order in which it asks.

    Args:
        spec: an operator version; without an overlay only its inputs and defaults are checked.
    """
    overlay = spec.overlay
    defaults = (("version", spec.since), *((a.name, a.default) for a in spec.attrs.values() if a.default is not None))
    if overlay is None:
        return CallChecker(tuple((f, (), False) for f in spec.inputs), defaults, (), (), frozenset(), ())
    domains: list[tuple[str, ValueDomain]] = [(a.name, a.domain) for a in spec.attrs.values() if a.domain]
    domains += [*overlay.values.items(), *overlay.constants.items()]
    limits = tuple((n, d) for n, d in domains if d.limits_validity or d.absent or d.dtype_of)
    attributes = spec.attrs.keys() | overlay.constants.keys()
    absent = ((n, d.absent) for n, d in limits if n in attributes and d.absent is not None)
    omitted = tuple((n, value.evaluate({})) for n, value in absent if not value.names)
    used = _names(spec, overlay, [d for _, d in domains])
    formals = tuple(
        (f, overlay.patterns.get(f.name, ()), f.name in used or f.name in overlay.values) for f in spec.inputs
    )
    return CallChecker(formals, defaults, limits, omitted, frozenset(n for n in used if ":" in n), overlay.rules)


def _names(spec: OpSpec, overlay: Overlay, domains: list[ValueDomain]) -> set[str]:
    """Every name that an expression of the spec can ask for."""
    expressions: list[Expression | None] = [*(r for _, r in overlay.rules), *overlay.prefer, overlay.outputs]
    for d in domains:
        expressions += [d.absent, d.length, d.at_least, d.at_most]
    expressions += [u.when for u in spec.undefined]
    expressions.append(spec.numerics.terms if spec.numerics else None)
    used: set[str] = set()
    for alternatives in (*overlay.patterns.values(), *overlay.results.values()):
        for condition, pattern in alternatives:
            expressions.append(condition)
            used |= pattern.needs
    for e in expressions:
        used |= e.names if e is not None else frozenset()
    for d in (*domains, *overlay.sizes.values()):
        used |= d.names
    return used


def check_call(spec: OpSpec, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Violation]:
    """The rules of ``spec`` that a call certainly breaks; empty if it is valid as far as is known.

    Args:
        spec: the operator version.
        inputs: one fact an input by position; ``None`` is an omitted optional input. Of sequences and optionals the
            type and the tensors in them are checked, of what has no such fact its presence only. Unknown and named
            sizes and values never make a violation.
        attrs: plain Python values (numbers, text, lists); tensors, graphs and types are not looked into.
    """
    return bindings(spec, inputs, attrs)[1]


def check_remembered(
    spec: OpSpec, inputs: Sequence[Any], attrs: tuple[tuple[str, int, Any], ...]
) -> tuple[Violation, ...]:
    """``check_call``, which remembers calls: a call is checked when it is drawn, when it stands, and in each mutant.

    Args:
        spec: the operator version.
        inputs: as for ``check_call``.
        attrs: ``(name, attribute type, value)``, all hashable
            (``irfuzz.ir.inference.call_output_types.hashable_attrs``).
    """
    formals = checker(spec).formals
    last = len(formals) - 1
    key: list[Any] = []
    for i, fact in enumerate(inputs):
        if type(fact) is TensorFact:
            # No rule knows a range, and few the elements.
            value = fact.value if last >= 0 and formals[min(i, last)][2] else None
            if fact.low is not None or fact.high is not None or fact.value is not value:
                fact = TensorFact(fact.dtype, fact.shape, None, None, value)
        key.append(fact)
    return _remembered(spec, tuple(key), attrs)


@functools.lru_cache(maxsize=1 << 11)
def _remembered(
    spec: OpSpec, inputs: tuple[Any, ...], attrs: tuple[tuple[str, int, Any], ...]
) -> tuple[Violation, ...]:
    return tuple(check_call(spec, inputs, {name: value for name, _, value in attrs}))


def bindings(spec: OpSpec, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> tuple[dict[str, Any], list[Violation]]:
    """The names that expressions of ``spec`` see in a call (``None`` or missing: not known), and the violations.

    Names are attributes (with defaults), sizes, type variables (``"float"``...), values of inputs as flat tuples, and
    lookups such as ``"shape:X"``.

    Args:
        spec: the operator version.
        inputs: as for ``check_call``.
        attrs: as for ``check_call``.
    """
    c = checker(spec)
    out: list[Violation] = []
    env: dict[str, Any] = dict(c.defaults)
    _attributes(spec, attrs, env, out)
    env.update((key, key[4:] in attrs) for key in c.lookups if key.startswith("has:") and key[4:] in spec.attrs)
    _inputs(spec, c, inputs, env, out)
    for name, value in c.omitted:
        # What an omission stands for, or an attribute that only later versions have, may decide which pattern applies.
        if f"?{name}" not in env:
            env.setdefault(name, value)
    later: list[tuple[str, PatternItem, Any]] = []
    into: list[tuple[str, DimensionPattern, tuple[Any, ...]]] = []
    _match(c, inputs, env, out, later, into)
    for name, domain in c.domains:
        if env.get(name) is not None:
            wrong = outside(domain, env[name], env) if name in attrs or name not in spec.attrs else None
            if wrong is None and domain.dtype_of and name in attrs and env[name] != spec.attrs[name].default:
                wrong = _element_type(spec, domain, env[name], env)
            if wrong:
                out.append(Violation("attribute" if name in spec.attrs else "value", name, wrong))
        elif domain.absent is not None and f"?{name}" not in env:
            try:
                env[name] = domain.absent.evaluate(env)
            except Undefined:
                env[name] = None
    _deferred(env, out, later, into)
    for text, rule in c.rules:
        try:
            holds = truth(rule.evaluate(env))
        except Undefined as e:
            out.append(Violation("rule", "", f"{text} has no value: {e} ({_shown(rule, env)})"))
            continue
        if holds is False:
            out.append(Violation("rule", "", f"{text} does not hold ({_shown(rule, env)})"))
    return env, out


def _element_type(spec: OpSpec, domain: ValueDomain, value: Any, env: dict[str, Any]) -> str | None:
    """Bind the type variable that an attribute chooses; why it cannot be that type, or ``None``."""
    allowed = spec.type_vars.get(domain.dtype_of, frozenset())
    try:
        dtype = ir.DataType(value)
    except ValueError:
        return f"expected the number of an element type, got {value!r}"
    if dtype not in allowed:
        names = ", ".join(sorted(DTYPE_NAMES[d] for d in allowed))
        return f"expected the number of one of {names}, got {value} ({DTYPE_NAMES[dtype]})"
    env[domain.dtype_of] = DTYPE_NAMES[dtype]
    return None


def outside(domain: ValueDomain, value: Any, env: Mapping[str, Any]) -> str | None:
    """Why ``value`` cannot be one of ``domain`` (only what limits validity), or ``None``.

    Args:
        domain: its ``one_of``, ``length``, ``at_least`` and ``at_most`` count, not what it says of drawing.
        value: one value, or a tuple of them; elements that are ``None`` are not known and break no limit.
        env: names that the limits ask for; a limit without a value limits nothing.
    """
    if domain.one_of is not None and value not in domain.one_of:
        return f"expected one of {', '.join(map(repr, domain.one_of))}, got {value!r}"
    try:
        if domain.length is not None and value.__class__ is tuple:
            length = domain.length.evaluate(env)
            if length is not None and length != len(value):
                return f"expected {domain.length.text} = {length} elements, got {len(value)}: {value!r}"
        for limit, sign, words in ((domain.at_least, 1, "at least"), (domain.at_most, -1, "at most")):
            bound = limit.evaluate(env) if limit is not None else None
            if bound is None:
                continue
            for v in value if value.__class__ is tuple else (value,):
                if v is not None and (v - bound) * sign < 0:
                    return f"expected {words} {bound}, got {value!r}"
    except (Undefined, TypeError):
        return None
    return None


def _shown(rule: Expression, env: Mapping[str, Any]) -> str:
    return ", ".join(f"{n} = {env.get(n)!r}" for n in sorted(rule.names))


def _attributes(spec: OpSpec, attrs: Mapping[str, Any], env: dict[str, Any], out: list[Violation]) -> None:
    for name, value in attrs.items():
        a = spec.attrs.get(name)
        if a is None:
            known = ", ".join(sorted(spec.attrs)) or "none"
            out.append(Violation("attribute", name, f"{spec.op}-{spec.since} has no such attribute; it has {known}"))
            continue
        kind = KINDS.get(a.type)
        if kind is None:
            env[f"?{name}"] = True
            continue
        test, is_list = kind
        if is_list:
            if isinstance(value, str | bytes) or not isinstance(value, Sequence | np.ndarray):
                out.append(Violation("attribute", name, f"expected {a.type}, got {value!r}"))
                continue
            value = tuple(value)
            good = all(test(v) for v in value)
        else:
            good = test(value)
        if not good:
            out.append(Violation("attribute", name, f"expected {a.type}, got {value!r}"))
            continue
        if a.type == "STRING" and isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        elif a.type == "STRINGS":
            value = tuple(v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in value)
        env[name] = value
    for name, a in spec.attrs.items():
        if a.required and name not in attrs:
            out.append(Violation("attribute", name, "required, but missing"))


def _inputs(spec: OpSpec, c: CallChecker, inputs: Sequence[Any], env: dict[str, Any], out: list[Violation]) -> None:
    count = len(inputs)
    if not spec.min_inputs <= count <= spec.max_inputs:
        out.append(Violation("arity", "", f"expected {spec.min_inputs} to {spec.max_inputs} inputs, got {count}"))
    lookups = c.lookups
    formals = c.formals
    last = len(formals) - 1
    for i, fact in enumerate(inputs):
        if i > last and (last < 0 or formals[last][0].option != "variadic"):
            break
        formal, _, wants_value = formals[min(last, i)]
        name = formal.name
        if fact is None:
            # IR.md, "Variadic Inputs and Outputs": N or more are specified, none is left out by an empty name
            if formal.option != "optional":
                out.append(Violation("arity", name, "required, but omitted"))
            continue
        elem = fact if isinstance(fact, TensorFact) else tensors_in(fact)
        if isinstance(fact, SequenceFact) and f"items:{name}" in lookups:
            env[f"items:{name}"] = fact.length
        if elem is None:
            continue
        fact, wrong = elem, wrong_kind(formal, fact)
        dtype = fact.dtype
        wrong = wrong or _bind_type(spec, formal, dtype, env)
        if wrong:
            out.append(Violation("dtype", name, wrong))
        if lookups:
            _lookups(lookups, formal, fact, env)
        if wants_value and fact.value is not None and formal.option != "variadic":
            env[name] = tuple(None if isinstance(v, str) and dtype != ir.DataType.STRING else v for v in fact.value)
        elif wants_value:
            env[f"?{name}"] = True  # present, but not known: what holds for an omission does not apply
    for i, (formal, _, _) in enumerate(formals):
        if f"has:{formal.name}" in lookups:
            env[f"has:{formal.name}"] = i < count and inputs[i] is not None


def _bind_type(spec: OpSpec, formal: FormalParameter, dtype: ir.DataType, env: dict[str, Any]) -> str | None:
    """Bind an input's type variable; what is wrong with its type, or ``None``."""
    if formal.dtypes and dtype not in formal.dtypes:
        allowed = ", ".join(sorted(DTYPE_NAMES[d] for d in formal.dtypes))
        return f"expected one of {allowed}, got {DTYPE_NAMES[dtype]}"
    if formal.homogeneous and formal.type_str in spec.type_vars:
        bound = env.setdefault(formal.type_str, DTYPE_NAMES[dtype])
        if bound != DTYPE_NAMES[dtype]:
            return f"{formal.type_str} is {bound} elsewhere, got {DTYPE_NAMES[dtype]}"
    return None


def _lookups(lookups: frozenset[str], formal: FormalParameter, fact: TensorFact, env: dict[str, Any]) -> None:
    name = formal.name
    key = f"shape:{name}"
    if key in lookups:
        shape = sizes(fact.shape)
        if formal.option == "variadic":
            env[key] = (*env.get(key, ()), shape)
        else:
            env[key] = shape
    if f"rank:{name}" in lookups and fact.shape is not None:
        env[f"rank:{name}"] = len(fact.shape)
    if f"dtype:{name}" in lookups:
        env[f"dtype:{name}"] = DTYPE_NAMES[fact.dtype]


def sizes(shape: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    """A shape with ``None`` for every size that is not an integer, as expressions see it.

    ``None`` if the rank is unknown; a static shape is given back as it is.
    """
    if shape is None:
        return None
    for d in shape:
        if d.__class__ is not int:
            return tuple(d if d.__class__ is int else None for d in shape)
    return shape


def _match(
    c: CallChecker,
    inputs: Sequence[Any],
    env: dict[str, Any],
    out: list[Violation],
    later: list[tuple[str, PatternItem, Any]],
    into: list[tuple[str, DimensionPattern, tuple[Any, ...]]],
) -> None:
    formals = c.formals
    last = len(formals) - 1
    open_casts: set[str] = set()
    for i, fact in enumerate(inputs):
        if last < 0:
            return
        formal, patterns, _ = formals[min(last, i)]
        if not patterns or fact is None:
            continue
        if not isinstance(fact, TensorFact):
            fact = tensors_in(fact)
            if fact is None:
                continue
        if fact.shape is None:
            for _, p in patterns:
                open_casts.update(item.name for item in p.items if item.kind == "cast")
            continue
        pattern = choose(patterns, len(fact.shape), env)
        if pattern is None:
            if any(cond is not None and cond.holds(env) is None for cond, _ in patterns):
                continue
            wanted = " or ".join(p.ranks() for cond, p in patterns if cond is None or cond.holds(env))
            texts = " | ".join(p.text or "(scalar)" for _, p in patterns)
            out.append(Violation("shape", formal.name, f"expected {wanted} ({texts}), got {fact.shape}"))
            continue
        shape = sizes(fact.shape) or ()
        if pattern.into:
            into.append((formal.name, pattern, shape))
            continue
        mine: list[tuple[PatternItem, Any]] = []
        wrong = pattern.match(shape, env, mine)
        if wrong:
            out.append(Violation("shape", formal.name, f"{wrong}: expected ({pattern.text}), got {fact.shape}"))
        for item, size in mine:
            later.append((formal.name, item, size))
    for name in open_casts:
        env.pop(name, None)


def choose(patterns: Patterns, rank: int, env: Mapping[str, Any]) -> DimensionPattern | None:
    """The pattern that applies to a shape of ``rank``: the first whose condition holds and whose rank fits.

    Args:
        patterns: alternatives in order.
        rank: of the shape.
        env: names that conditions ask for.

    Returns:
        ``None`` if no pattern does; a condition that is not known counts as one that does not hold.
    """
    for condition, pattern in patterns:
        if condition is not None and condition.holds(env) is not True:
            continue
        if pattern.fits(rank):
            return pattern
    return None


def _differ(expected: Any, size: Any) -> bool:
    if size.__class__ is not tuple:
        return expected != size
    if expected.__class__ is not tuple or len(expected) != len(size):
        return True
    return any(a is not None and b is not None and a != b for a, b in zip(expected, size, strict=True))


def _deferred(
    env: dict[str, Any],
    out: list[Violation],
    later: list[tuple[str, PatternItem, Any]],
    into: list[tuple[str, DimensionPattern, tuple[Any, ...]]],
) -> None:
    for name, item, size in later:
        assert item.expr is not None
        try:
            expected = item.expr.evaluate(env)
        except Undefined as e:
            out.append(Violation("shape", name, f"{item.expr.text} has no value: {e} ({_shown(item.expr, env)})"))
            continue
        if expected is not None and _differ(expected, size):
            message = f"expected {item.expr.text} = {expected}, got {size} ({_shown(item.expr, env)})"
            out.append(Violation("shape", name, message))
    for name, pattern, shape in into:
        wrong = pattern.broadcasts(shape, env)
        if wrong:
            out.append(Violation("shape", name, f"{wrong}: expected {pattern.text}"))
