"""One attempt at drawing a call of an operator: it carries out a plan step by step, and may fail."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.errors import SpecError
from irfuzz.facts import Fact, SequenceFact, TensorFact, tensors_in
from irfuzz.spec.constraints.call_check import DTYPE_NAMES, check_call, choose
from irfuzz.spec.constraints.expression import Expression
from irfuzz.spec.constraints.expression_functions import Undefined
from irfuzz.spec.constraints.sequence_optional_inputs import always_nested, outer_of
from irfuzz.spec.operator_spec import AttrSpec, FormalParameter, OpSpec, SampledCall, SampledInput, Unusual, ValueDomain
from irfuzz.spec.sampling.draw_order import DrawStep, make_plan
from irfuzz.spec.sampling.sampled_input_planning import (
    allowed_types,
    exact_input,
    fitting_types,
    given_input,
    value_range,
)
from irfuzz.spec.sampling.value_drawing import (
    DrawFailed,
    FeatureWeights,
    ImpossibleCall,
    cast_part,
    evaluated,
    generated,
    into_part,
    joined,
    options,
    real,
    vector,
)

_PLAIN = 0.85
"""How often a plain call leaves out each attribute and input that it may leave out, at least."""

_HOLLOW_SIZE = 0.8
"""How often a size of a call that is to have no elements is 0."""

_RANKS = (2, 4, 5, 4, 2, 1)
"""How often a tuple of sizes of which nothing is said has none, one, two and more."""

_DTYPES = {name: d for d, name in DTYPE_NAMES.items()}


class DrawAttempt:
    """One pass over the plan; every method may raise ``DrawFailed``."""

    def __init__(
        self,
        spec: OpSpec,
        given: Mapping[int, Fact],
        choices: Choices,
        seen: FeatureWeights | None,
        limit: int,
        *,
        plain: bool = False,
        unusual: Unusual = "",
        needed: frozenset[int] = frozenset(),
    ) -> None:
        assert spec.overlay is not None
        self.spec = spec
        self.overlay = spec.overlay
        self.outer = {position: fact for position, fact in given.items() if not isinstance(fact, TensorFact)}
        self.given = {position: tensor for position, fact in given.items() if (tensor := tensors_in(fact))}
        self.choices = choices
        self.seen = seen
        self.limit = limit
        self.given_up = _PLAIN if plain else 0.0
        self.unusual = unusual
        self.needed = needed
        self.hollow = unusual == "empty" and "refuses_empty" not in spec.traits
        least = 0 if self.hollow or _may_be_empty(spec, self.given) else 1
        self.env: dict[str, Any] = {"min_elements": least, "max_elements": limit, "version": spec.since}
        self.attrs: dict[str, Any] = {}
        self.dtypes: dict[int, ir.DataType] = {}
        self.shapes: dict[int, tuple[int, ...]] = {}
        self.exact: dict[int, np.ndarray] = {}
        self.parts: dict[int, tuple[int, ...]] = {}

    def run(self) -> SampledCall:
        """The whole draw: which inputs there are, types, then the steps of the plan.

        Returns:
            A call that breaks no rule of its operator.

        Raises:
            DrawFailed: a dead end; another attempt may succeed.
            ImpossibleCall: no attempt can, for the given inputs.
        """
        self.present = self.presence()
        self.types()
        chosen = tuple(self.alternative(i) for i in range(len(self.present)))
        self.match_given(chosen)
        for a in self.spec.attrs.values():
            if a.domain is None:
                if a.required:
                    raise SpecError(
                        f"{self.overlay.source.name}: attrs.{a.name}: {self.spec.op} requires it, so it needs a domain"
                    )
                if a.default is not None:
                    self.env[a.name] = a.default
        bound = frozenset(self.env)
        plan = make_plan(self.spec, frozenset(self.given), self.present, chosen, bound, unusual=bool(self.unusual))
        self.must(plan.rules)
        for step in plan.steps:
            getattr(self, f"step_{step.kind}")(step)
        return self.call()

    def must(self, rules: tuple[Expression, ...]) -> None:
        """Fail unless no rule is broken; one that is not known is not broken."""
        for r in rules:
            if r.holds(self.env) is False:
                raise DrawFailed(r.text)

    def good(self, rules: tuple[Expression, ...]) -> bool:
        """Whether no rule is broken; one that is not known is not broken."""
        return all(r.holds(self.env) is not False for r in rules)

    # What stands where

    def presence(self) -> tuple[bool, ...]:
        """For each position, whether an input stands there; omissions at the end are not listed if they need not be.

        Lengths of sequences are bound too, and drawn for those that are not given.
        """
        spec, choices = self.spec, self.choices
        out: list[bool] = []
        for i, formal in enumerate(spec.inputs):
            if formal.option == "variadic":
                least = max([self.overlay.counts[0], *(p - i + 1 for p in self.given)])
                most = max(least, min(self.overlay.counts[1], spec.max_inputs - i))
                out += [True] * choices.integer(least, most)
            elif formal.option == "single" or i in self.given or i in self.needed:
                out.append(True)
            else:
                out.append(choices.boolean(min(self.overlay.present.get(formal.name, 0.5), 1 - self.given_up)))
        while out and not out[-1] and len(out) > spec.min_inputs:
            out.pop()
        for i, formal in enumerate(spec.inputs):
            self.env[f"has:{formal.name}"] = i < len(out) and out[i]
            if i < len(out) and out[i] and always_nested(formal):
                outer = self.outer.get(i)
                self.env[f"items:{formal.name}"] = outer.length if isinstance(outer, SequenceFact) else None
                if outer is None and "seq" in formal.kinds:
                    self.env[f"items:{formal.name}"] = choices.integer(1, 4)
        return tuple(out)

    def types(self) -> None:
        """Bind type variables: given ones first, then portable ones.

        Raises:
            ImpossibleCall: no portable type breaks no rule.
            DrawFailed: the types are a combination that does not run.
        """
        spec = self.spec
        for position, fact in self.given.items():
            formal = spec.formal(position)
            assert formal is not None
            self.dtypes[position] = fact.dtype
            self.env[f"dtype:{formal.name}"] = DTYPE_NAMES[fact.dtype]
            if formal.type_str in spec.type_vars:
                self.env[formal.type_str] = DTYPE_NAMES[fact.dtype]
        for position, here in enumerate(self.present):
            formal = spec.formal(position)
            assert formal is not None
            if not here or position in self.dtypes:
                continue
            var = formal.type_str
            if self.env.get(var) is not None:
                self.dtypes[position] = _DTYPES[self.env[var]]
                continue
            allowed = fitting_types(self.overlay, formal, allowed_types(spec, formal), self.env)
            if not allowed:
                raise ImpossibleCall
            dtype = self.pick([*allowed], "dtype", var)
            self.dtypes[position] = dtype
            self.env[f"dtype:{formal.name}"] = DTYPE_NAMES[dtype]
            if var in spec.type_vars:
                self.env[var] = DTYPE_NAMES[dtype]
        for combo in spec.portable_except:
            if all(self.env.get(v) == DTYPE_NAMES[d] for v, d in combo.items()):
                raise DrawFailed("a combination of types that does not run")

    def pick(self, items: list[Any], kind: str, name: str) -> Any:
        """One of several, unseen ones preferred if the caller told what was seen.

        Args:
            items: at least one.
            kind: ``dtype`` or ``attr``, the first part of a feature.
            name: of the attribute or type variable.
        """
        if self.seen is None or len(items) == 1:
            return self.choices.pick(items)
        weights = [self.seen.weight((kind, self.spec.op, name, i)) for i in items]
        return self.choices.weighted(items, weights)

    def alternative(self, position: int) -> int:
        """Which of several patterns an input takes: -1 leaves it to conditions.

        A given input takes the first that its rank fits; for a new one the first is three times as likely as each
        other.
        """
        formal = self.spec.formal(position)
        assert formal is not None
        patterns = self.overlay.patterns.get(formal.name, ())
        if not patterns or not self.present[position] or any(c is not None for c, _ in patterns):
            return -1
        if position in self.given:
            rank = len(self.given[position].shape or ())
            return next(i for i, (_, p) in enumerate(patterns) if p.fits(rank))
        # the first alternative is the usual one
        return (
            0 if len(patterns) == 1 else self.choices.weighted(range(len(patterns)), (3, *(1,) * (len(patterns) - 1)))
        )

    def match_given(self, chosen: tuple[int, ...]) -> None:
        """Bind the sizes and known values of given inputs.

        Args:
            chosen: for each position, what ``alternative`` gave.

        Raises:
            ImpossibleCall: their sizes contradict each other.
        """
        self.later: list[tuple[Any, Any]] = []
        for position, fact in self.given.items():
            formal = self.spec.formal(position)
            assert formal is not None
            if fact.shape is None:
                continue
            shape = fact.shape
            self.shapes[position] = shape  # type: ignore[assignment] - static, or of a sequence
            patterns = self.overlay.patterns.get(formal.name, ())
            pattern = patterns[chosen[position]][1] if chosen[position] >= 0 else None
            if pattern is not None and not pattern.into and pattern.match(shape, self.env, self.later):
                raise ImpossibleCall
            if fact.known:
                self.env[formal.name] = fact.value
            self.look(formal)
        for position, formal in enumerate(self.spec.inputs):
            if formal.name in self.overlay.shapes and self.present[position:] and not self.shapes:
                rank = self.choices.integer(1, 4)
                self.shapes[position] = self.with_none(tuple(self.choices.integer(1, 5) for _ in range(rank)))
                self.look(formal)

    def look(self, formal: FormalParameter) -> None:
        """Bind ``shape:X`` and ``rank:X`` once the shapes are known.

        Of a variadic input ``shape:X`` is a tuple of the shapes of all items, ``None`` for one that has none yet.
        """
        if formal.option == "variadic":
            first = self.spec.inputs.index(formal)
            shapes = [self.shapes.get(i) for i in range(first, len(self.present))]
            self.env[f"shape:{formal.name}"] = tuple(shapes)
            self.env[f"rank:{formal.name}"] = next((len(s) for s in shapes if s is not None), None)
            return
        shape = self.shapes[self.spec.inputs.index(formal)]
        self.env[f"shape:{formal.name}"] = shape
        self.env[f"rank:{formal.name}"] = len(shape)

    # Steps

    def step_match(self, step: DrawStep) -> None:
        """Bind the sizes of a given input whose pattern depends on attributes."""
        shape = self.shapes[step.position]
        pattern = choose(step.patterns, len(shape), self.env)
        if pattern is None or (not pattern.into and pattern.match(shape, self.env, self.later)):
            raise DrawFailed(step.name)
        self.must(step.rules)

    def step_cast(self, step: DrawStep) -> None:
        """Draw a part that broadcasts with the others, and bind the joint shape so far."""
        for _, pattern in step.patterns:
            for item in pattern.items:
                if item.kind == "cast":
                    joint = self.env.get(item.name)
                    first = joint is None
                    part = () if first and self.unusual == "scalar" else cast_part(self.choices, joint, self.limit)
                    part = self.with_none(part) if first else part
                    self.parts[step.position] = part
                    self.env[item.name] = joined(joint, part)
        self.must(step.rules)

    def step_attr(self, step: DrawStep) -> None:
        """Omit an attribute, or draw it; its name is bound to the default or to the value."""
        a = self.spec.attrs[step.name]
        d = a.domain
        assert d is not None
        wanted = d.when is None or d.when.holds(self.env) is True
        omit = max(d.omit, self.given_up) if d.omit else 0.0  # 0 says "never", in plain calls too
        if not wanted or (not a.required and self.choices.boolean(omit)):
            self.env[a.name] = self.omitted(a, d)
            if self.good(step.rules):
                return
            if not wanted:
                raise DrawFailed(a.name)
        value = self.draw(d, a.name, step.rules, self.of_type(d))
        self.attrs[a.name] = list(value) if value.__class__ is tuple else value

    def omitted(self, a: AttrSpec, d: ValueDomain) -> Any:
        """The value that an omitted attribute stands for, by its schema or its overlay.

        ``None`` if that is not known.
        """
        if a.default is not None:
            return a.default
        return evaluated(d.absent, self.env) if d.absent is not None else None

    def of_type(self, d: ValueDomain) -> list[Any] | None:
        """For an attribute that is an element type: the numbers of the portable ones.

        ``None`` for every other attribute.
        """
        if not d.dtype_of:
            return None
        return [int(t) for t in self.spec.portable.get(d.dtype_of, ())]

    def draw(self, d: ValueDomain, name: str, rules: tuple[Expression, ...], items: list[Any] | None = None) -> Any:
        """A value that breaks no rule, bound to ``name``; six are tried of a domain that cannot be listed.

        Args:
            d: the domain to draw from.
            name: of the attribute, size or input.
            rules: what must not be broken once the value is bound.
            items: all that may be drawn, if the caller knows; else the domain says.

        Raises:
            DrawFailed: none was found.
        """
        items = options(d, self.env) if items is None else items
        if items is not None:
            return self.draw_listed(items, d, name, rules)
        for _ in range(6):
            number = real(self.choices, d, self.env) if d.bounds is not None else None
            value = vector(self.choices, d, self.env) if number is None else number
            if isinstance(value, np.ndarray):
                self.env[name] = tuple(value.ravel().tolist())
            else:
                self.env[name] = value
            if self.good(rules):
                return value
        raise DrawFailed(name)

    def draw_listed(self, items: list[Any], d: ValueDomain, name: str, rules: tuple[Expression, ...]) -> Any:
        """One of ``items`` that breaks no rule; those that do are struck off the list as they are met.

        Args:
            items: is edited.
            d: says whether the value chooses an element type, which is then bound.
            name: is bound to the value.
            rules: what must not be broken.

        Raises:
            DrawFailed: all break one.
        """
        while items:
            value = self.pick(items, "attr", name) if name in self.spec.attrs else self.choices.pick(items)
            self.env[name] = value
            if d.dtype_of:
                self.env[d.dtype_of] = DTYPE_NAMES[ir.DataType(value)]
                if any(
                    all(self.env.get(v) == DTYPE_NAMES[t] for v, t in combo.items())
                    for combo in self.spec.portable_except
                ):
                    items.remove(value)
                    continue
            if self.good(rules):
                return value
            items.remove(value)
        raise DrawFailed(name)

    def step_size(self, step: DrawStep) -> None:
        """Draw one size, 1 to 8 unless the overlay says otherwise; one that is bound is only checked."""
        if self.env.get(step.name) is not None:
            self.must(step.rules)
            return
        d = step.domain
        if d is not None and d.generate is not None:
            self.draw(d, step.name, step.rules)
            return
        items = options(d, self.env) if d is not None else None
        if items is None:
            items = list(range(1, 9))
        self.draw_listed([0] if self.emptied(step.name) else items, d or ValueDomain(), step.name, step.rules)

    def emptied(self, name: str) -> bool:
        """Whether a size is 0: of what knows images, it is their number alone."""
        may = self.hollow and ("empty_batch_only" not in self.spec.traits or name == "N")
        return may and self.choices.boolean(_HOLLOW_SIZE)

    def step_sizes(self, step: DrawStep) -> None:
        """Draw a tuple of sizes, each 1 to 5 unless the overlay says otherwise; one that is bound is only checked."""
        if self.env.get(step.name) is not None:
            self.must(step.rules)
            return
        d = step.domain
        if d is not None:
            self.draw(d, step.name, step.rules)
            if d.each is None or not self.hollow:
                return
            sizes = self.env[step.name]
        else:
            scalar = self.unusual == "scalar"
            # What runtimes add of their own mostly takes few ranks, and says so nowhere.
            ranks = _RANKS[:4] if self.spec.domain else _RANKS
            count = 0 if scalar else self.choices.weighted(range(len(ranks)), ranks)
            sizes = tuple(self.choices.integer(1, 5) for _ in range(count))
        self.env[step.name] = self.with_none(sizes, step.name)
        self.must(step.rules)

    def with_none(self, sizes: tuple[int, ...], name: str = "") -> tuple[int, ...]:
        """The same sizes, or 0 in the place of one if the call is to have no elements.

        Args:
            sizes: may be none at all.
            name: of the pattern's item, for operators of which only a batch may be empty.
        """
        if not sizes or not self.emptied(name):
            return sizes
        axis = self.choices.index(len(sizes))
        return (*sizes[:axis], 0, *sizes[axis + 1 :])

    def step_absent(self, step: DrawStep) -> None:
        """Bind what an omitted input stands for, or what another version's attribute or input is in this one."""
        assert step.domain is not None
        assert step.domain.absent is not None
        self.env[step.name] = evaluated(step.domain.absent, self.env)
        self.must(step.rules)

    def step_value(self, step: DrawStep) -> None:
        """Draw an input of exact value; its shape follows from the value.

        Integers beyond its element type are clipped to the range of that.
        """
        d = step.domain
        assert d is not None
        value = self.draw(d, step.name, ())
        dtype = self.dtypes[step.position].numpy()
        array = np.asarray(value)
        if array.ndim == 0 and step.patterns and choose(step.patterns, 0, self.env) is None:
            array = array.reshape(1)
        if array.size == 0:
            array = array.astype(dtype)
        elif np.issubdtype(array.dtype, np.integer) and np.issubdtype(dtype, np.integer):
            info = np.iinfo(dtype)
            array = np.clip(array, info.min, info.max)
        self.exact[step.position] = array = array.astype(dtype)
        self.env[step.name] = tuple(array.ravel().tolist())
        self.place(step, array.shape)
        self.must(step.rules)

    def place(self, step: DrawStep, shape: tuple[int, ...]) -> None:
        """Record a new input's shape and bind what its pattern names.

        Args:
            step: says which input, and its patterns.
            shape: of the input.

        Raises:
            DrawFailed: no pattern applies, or a name is bound to another size.
        """
        self.shapes[step.position] = shape
        pattern = choose(step.patterns, len(shape), self.env) if step.patterns else None
        if step.patterns and (pattern is None or (not pattern.into and pattern.match(shape, self.env, self.later))):
            raise DrawFailed(step.name)
        formal = self.spec.formal(step.position)
        assert formal is not None
        self.look(formal)

    def step_shapes(self, step: DrawStep) -> None:
        """Draw the shapes of all open items of a variadic input, by the overlay's generator."""
        formal = self.spec.formal(step.position)
        assert formal is not None
        first = self.spec.inputs.index(formal)
        places = [p for p in range(first, len(self.present)) if p not in self.shapes]
        shapes = generated(self.choices, self.overlay.shapes[step.name], self.env | {"open": len(places)})
        for position, shape in zip(places, shapes, strict=True):
            if math.prod(shape) > self.limit:
                raise DrawFailed(f"{step.name} would have shape {shape}")
            self.shapes[position] = shape
        self.look(formal)
        self.must(step.rules)

    def step_shape(self, step: DrawStep) -> None:
        """Make the shape of a new input, all of whose names are bound; without a pattern it is small and random.

        Raises:
            DrawFailed: a size is not known or negative, or there would be too many elements.
        """
        if not step.patterns:
            shape = tuple(self.choices.integer(1, 4) for _ in range(self.choices.integer(0, 3)))
        else:
            pattern = next((p for c, p in step.patterns if c is None or c.holds(self.env) is True), None)
            if pattern is None:
                raise DrawFailed(step.name)
            env = self.env
            if step.position in self.parts:
                env = env | {i.name: self.parts[step.position] for i in pattern.items if i.kind == "cast"}
            try:
                target = pattern.target(env)
            except Undefined as e:
                raise DrawFailed(str(e)) from None
            if target is None or None in target:
                raise DrawFailed(step.name)
            shape = into_part(self.choices, target) if pattern.into else target
        if any(d < 0 for d in shape) or math.prod(shape) > self.limit:
            raise DrawFailed(f"{step.name} would have shape {shape}")
        self.shapes[step.position] = shape
        formal = self.spec.formal(step.position)
        assert formal is not None
        self.look(formal)
        self.must(step.rules)

    def call(self) -> SampledCall:
        """The call that was drawn: facts of all inputs, checked as a whole.

        Raises:
            DrawFailed: it breaks a rule, or the number of its outputs is not known.
        """
        inputs = tuple(self.input(i) if here else None for i, here in enumerate(self.present))
        if check_call(self.spec, [None if p is None else p.whole for p in inputs], self.attrs):
            raise DrawFailed("the call as a whole is not valid")
        count = evaluated(self.overlay.outputs, self.env) if self.overlay.outputs is not None else 1
        if count is None:
            raise DrawFailed("the number of outputs is not known")
        return SampledCall(self.attrs, inputs, count)

    def input(self, position: int) -> SampledInput:
        """What is to stand at one position: the given input, an exact value, or a tensor of a range.

        Raises:
            DrawFailed: nothing gave it a shape, or the given one may have elements outside its range.
        """
        formal = self.spec.formal(position)
        assert formal is not None
        domain = self.overlay.values.get(formal.name)
        dtype = self.dtypes[position]
        ends = value_range(domain, dtype, self.env)
        if position in self.outer:
            return SampledInput(self.given[position], given=True, outer=self.outer[position])
        if position in self.given:
            return given_input(formal.name, self.given[position], domain, ends)
        parameter = formal.name in self.spec.parameters
        if position not in self.shapes:
            raise DrawFailed(f"nothing gives {formal.name} a shape")
        if position in self.exact:
            return exact_input(dtype, self.exact[position], is_parameter=parameter)
        fact = TensorFact(dtype, self.shapes[position], *ends)
        outer = outer_of(formal, fact, self.env.get(f"items:{formal.name}"))
        return SampledInput(fact, *ends, None, parameter, outer=outer)


def _may_be_empty(spec: OpSpec, given: Mapping[int, TensorFact]) -> bool:
    """Whether a given input has no elements, and an operator takes it so."""
    axes = {axis for fact in given.values() for axis, size in enumerate(fact.shape or ()) if size == 0}
    return bool(axes) and "refuses_empty" not in spec.traits and ("empty_batch_only" not in spec.traits or axes == {0})
