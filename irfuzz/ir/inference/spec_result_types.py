"""Types of what operators give whose overlay states them (``[results]``), since ONNX has no inference for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from irfuzz.facts import Dim, Fact, TensorFact
from irfuzz.ir.inference.shape_rules import Shape, broadcast
from irfuzz.ir.value import UNTYPED
from irfuzz.spec import bindings, load_specs
from irfuzz.spec.constraints.call_check import choose
from irfuzz.spec.constraints.expression_functions import Undefined

if TYPE_CHECKING:
    from irfuzz.spec import OpSpec
    from irfuzz.spec.constraints.dimension_patterns import DimensionPattern, PatternItem
    from irfuzz.spec.operator_spec import FormalParameter


def stated_spec(op: str, opset: int, domain: str) -> OpSpec | None:
    """The spec of an operator whose overlay states the sizes of what it gives; ``None`` if none does.

    Args:
        op: operator type.
        opset: version of its domain.
        domain: of the operator.
    """
    spec = load_specs().get(op, opset, domain)
    return spec if spec is not None and spec.overlay is not None and spec.overlay.results else None


def stated_results(
    spec: OpSpec, inputs: Sequence[Fact | None], attrs: Mapping[str, Any], count: int
) -> tuple[Fact, ...]:
    """Facts of the first ``count`` outputs of a call; ``UNTYPED`` for one of which nothing follows.

    Named sizes of inputs keep their names in the outputs.

    Args:
        spec: its overlay states results (``stated_spec``).
        inputs: a fact for each, ``None`` for an omitted one.
        attrs: those that the call states, by name.
        count: of outputs.
    """
    assert spec.overlay is not None
    env, _ = bindings(spec, inputs, attrs)
    sizes = _Sizes(spec, inputs, env)
    found: list[Fact] = []
    for formal in spec.outputs[:count]:
        dtype = _dtype(formal, env)
        if dtype is None:
            found.append(UNTYPED)
            continue
        pattern = next(
            (p for c, p in spec.overlay.results.get(formal.name, ()) if c is None or c.holds(env) is True), None
        )
        found.append(TensorFact(dtype, None if pattern is None else sizes.of(pattern)))
    return (*found, *[UNTYPED] * (count - len(found)))


def completed(found: Sequence[Fact], stated: Sequence[Fact]) -> tuple[Fact, ...]:
    """Facts that ONNX inferred, with the type or rank that it left open as an overlay states it.

    Args:
        found: by ONNX; what it says is never overruled.
        stated: by the overlay, as many as ``found``.
    """
    whole: list[Fact] = []
    for fact, own in zip(found, stated, strict=True):
        if fact is UNTYPED:
            whole.append(own)
        elif isinstance(fact, TensorFact) and fact.shape is None and isinstance(own, TensorFact):
            whole.append(replace(fact, shape=own.shape))
        else:
            whole.append(fact)
    return tuple(whole)


def _dtype(formal: FormalParameter, env: Mapping[str, Any]) -> ir.DataType | None:
    """The element type of an output: the only one, or that of its type variable."""
    if len(formal.dtypes) == 1:
        return next(iter(formal.dtypes))
    bound = env.get(formal.type_str)
    return ir.DataType[bound.upper()] if isinstance(bound, str) else None


class _Sizes:
    """Sizes as inputs have them, names included, by the names of the overlay's patterns."""

    def __init__(self, spec: OpSpec, inputs: Sequence[Fact | None], env: Mapping[str, Any]) -> None:
        assert spec.overlay is not None
        self._env = env
        self._named: dict[str, Any] = {}
        self._cast: dict[str, list[Shape | None]] = {}
        for position, fact in enumerate(inputs):
            formal = spec.formal(position)
            if formal is None or not isinstance(fact, TensorFact):
                continue
            patterns = spec.overlay.patterns.get(formal.name, ())
            if fact.shape is None:
                for _, pattern in patterns:
                    for item in pattern.items:
                        if item.kind == "cast":
                            self._cast.setdefault(item.name, []).append(None)
                continue
            pattern = choose(patterns, len(fact.shape), env)
            if pattern is not None and not pattern.into:
                self._read(pattern, fact.shape)

    def _read(self, pattern: DimensionPattern, shape: tuple[Dim, ...]) -> None:
        extra = len(shape) - len(pattern.items)
        for i, item in enumerate(pattern.items):
            if i == pattern.spread:
                part = shape[i : i + extra + 1]
                if item.kind == "cast":
                    self._cast.setdefault(item.name, []).append(part)
                elif item.kind == "spread":
                    before = self._named.setdefault(item.name, part)
                    self._named[item.name] = tuple(_surer(a, b) for a, b in zip(before, part, strict=False))
            elif item.kind == "name":
                size = shape[i] if pattern.spread < 0 or i < pattern.spread else shape[i + extra]
                self._named[item.name] = _surer(self._named.get(item.name), size)

    def of(self, pattern: DimensionPattern) -> tuple[Dim, ...] | None:
        """The sizes of a pattern; ``None`` if not even the rank is known."""
        found: list[Dim] = []
        for item in pattern.items:
            part = self._part(item, spread=item is pattern.items[pattern.spread] and pattern.spread >= 0)
            if part is None:
                return None
            found += part
        return tuple(found)

    def _part(self, item: PatternItem, *, spread: bool) -> Sequence[Dim] | None:
        if item.kind == "cast":
            shapes = self._cast.get(item.name)
            return None if not shapes else broadcast(shapes)
        if spread and item.kind in ("spread", "any"):
            known = self._named.get(item.name, self._env.get(item.name))
            return known if isinstance(known, tuple) else None
        if item.kind == "tuple":
            value = _evaluated(item, self._env)
            return value if isinstance(value, tuple) else None
        if item.kind == "expr":
            return (_size(_evaluated(item, self._env)),)
        return (_surer(self._named.get(item.name), _size(self._env.get(item.name))),)


def _evaluated(item: PatternItem, env: Mapping[str, Any]) -> Any:
    assert item.expr is not None
    try:
        return item.expr.evaluate(env)
    except Undefined:
        return None


def _size(value: Any) -> Dim:
    return value if type(value) is int else None


def _surer(one: Dim, other: Dim) -> Dim:
    """The one of two equal sizes of which more is known."""
    return other if one is None or (type(one) is str and type(other) is int) else one
