"""What the inputs of a model are to be: shapes that belong together, and what the elements mean."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.generate.input_planning.axis_kinds import Kind
from irfuzz.generate.input_planning.input_roles import InputRole, roles_of, unlimited
from irfuzz.generate.input_planning.open_axes import AxisGroup, groups_of, inputs_of, open_axes
from irfuzz.generate.input_planning.size_search import (
    FAILED,
    MOST_RUNS,
    REFUSED,
    RUNS,
    FoundSizes,
    Sizes,
    search,
    with_totals,
)
from irfuzz.generate.input_planning.size_trial import MOST_SECONDS, Trial
from irfuzz.generate.input_planning.trial_run_outcome import Runtime
from irfuzz.ir.input_defaults import at_defaults
from irfuzz.ir.input_domain import (
    InputDomain,
    InputVariant,
    input_domain,
    input_sizes,
    input_variants,
    set_input_domain,
    set_input_variants,
)
from irfuzz.ir.program import Program
from irfuzz.spec import Specs, load_specs

MOST_VARIANTS = 4
"""Combinations of shapes that samples take in turn."""

RUNS_FOR_VARIANTS = 8
"""Runs that look for others, once one combination is found."""

RUNS_FOR_OTHERS = 6
"""Runs that look for sizes with other values than the likeliest, or without any meaning."""

LOADED = 1e8
"""Bytes of weights that the slowest of runtimes loads in a second, which a run may take in addition."""

LARGE, RUNS_OF_LARGE = 1 << 26, 4
"""Bytes of weights from which each run first takes long to load, and the runs that are made then."""

GROWTH = 6
"""No variant has more than so many times the elements of the first one."""

HEAVY = 1 << 22
"""Of models whose inner tensors have more elements in all, a run takes long on some targets, so samples stay small."""

BATCHES = (1, 2, 3, 4)
"""What batches are without a plan (``inputs.SIZES``); where they all fit, none is needed."""


@dataclass(frozen=True, slots=True)
class ModelInputPlan:
    """What is written into the metadata of a program's inputs.

    Attributes:
        variants: of each input, in places that belong together; empty if nothing is to be said of shapes.
        domains: of the elements, by input.
        about: what an input is, in words.
        why_not: why no sizes were found; empty otherwise.
    """

    variants: Mapping[str, tuple[InputVariant, ...]] = field(default_factory=dict[str, "tuple[InputVariant, ...]"])
    domains: Mapping[str, InputDomain] = field(default_factory=dict[str, InputDomain])
    about: Mapping[str, str] = field(default_factory=dict[str, str])
    why_not: str = ""

    def __bool__(self) -> bool:
        """Whether anything is to be written."""
        return bool(self.variants or self.domains)


def annotate(program: Program, plan: ModelInputPlan) -> None:
    """Write a plan into the metadata of the inputs, in place, so that mutants of the program have it, too. What the
    plan does not name stays as it is.
    """
    for value in inputs_of(program):
        name = value.name or ""
        if name in plan.variants:
            set_input_variants(value, plan.variants[name])
        if name in plan.domains:
            set_input_domain(value, plan.domains[name])


def without_floats(program: Program, plan: ModelInputPlan) -> ModelInputPlan:
    """The plan with no range for an input of floats, for a search that is to go everywhere; shapes, and ranges of
    integers, stay. The given plan is not changed.
    """
    floats = {
        value.name
        for value in inputs_of(program)
        if isinstance(fact := program.fact(value), TensorFact) and fact.dtype.is_floating_point()
    }
    return replace(plan, domains={name: domain for name, domain in plan.domains.items() if name not in floats})


def plan_inputs(program: Program, *, runtime: Runtime | None = None, specs: Specs | None = None) -> ModelInputPlan:
    """Decide shapes and meanings of a program's inputs, as far as their metadata leaves them open.

    Equal programs and runtimes give equal plans, as long as no run takes so long that the search is ended.

    Args:
        program: stays as it is; ``annotate`` writes the plan.
        runtime: runs the program if inference leaves something open; ``None``: inference alone decides.
        specs: rules of operators, the shipped ones by default.

    Returns:
        The plan; if no sizes were found, its ``why_not`` says why, and it has meanings of elements at most.
    """
    return _Planner(at_defaults(program), specs or load_specs(), runtime).plan()


def _said_already(program: Program) -> bool:
    """Whether metadata gives a size for every open axis."""
    return all(
        bool(input_variants(value)) or (name is not None and name in input_sizes(value))
        for value, _, name in open_axes(program)
    )


class _Planner:
    """One call of ``plan_inputs``."""

    def __init__(self, program: Program, specs: Specs, runtime: Runtime | None) -> None:
        self._program = program
        self._runtime = runtime
        self._specs = specs
        roles = roles_of(program)
        self._groups = groups_of(program, specs, {name for name, role in roles.items() if role.state})
        self._roles = {**roles, **_usual(program, self._groups, roles)}
        self._told = _said_already(program)
        self._large = _weight_bytes(program) > LARGE
        self._unsure = unlimited(program, self._roles) if runtime is not None else frozenset[str]()

    def plan(self) -> ModelInputPlan:
        """What is to be written."""
        domains = {name: role.domain for name, role in self._roles.items() if role.domain is not None}
        plain = ModelInputPlan(domains=domains, about={name: role.about for name, role in self._roles.items()})
        if not self._asked():
            return plain
        trial = self._trial(domains, self._choices(0))
        light = self._only_batch() and not self._unsure and trial.inner(self._all(1)) <= HEAVY
        if light and all(trial.settled(self._all(size)) for size in BATCHES):
            return plain
        found, trial, plain = self._base(plain)
        if found.grade.level <= FAILED:
            return replace(plain, why_not=found.grade.why)
        if not open_axes(self._program) and not any(r.choices or r.length for r in self._roles.values()):
            return plain
        rows = self._more(found, trial, plain) if found.grade.level == RUNS else [trial.row(found.sizes)]
        variants = {name: tuple(row[name] for row in rows) for name in rows[0]}
        return replace(plain, variants=variants, why_not=found.grade.why)

    def _asked(self) -> bool:
        """Whether there is anything that only a search tells."""
        return not self._told or bool(self._unsure) or any(r.choices or r.length for r in self._roles.values())

    def _only_batch(self) -> bool:
        batches = len(self._groups) == 1 and self._groups[0].kind is Kind.BATCH and not self._groups[0].fixed
        return batches and not any(role.choices or role.length for role in self._roles.values())

    def _all(self, size: int) -> Sizes:
        return {group.name: group.sizes[0] if group.fixed or group.said else size for group in self._groups}

    def _choices(self, place: int) -> dict[str, float]:
        """The value of each input with choices; ``place`` beyond their end takes the first one again."""
        return {
            name: role.choices[place if place < len(role.choices) else 0]
            for name, role in self._roles.items()
            if role.choices
        }

    def _trial(
        self, domains: Mapping[str, InputDomain], choices: Mapping[str, float], *, lenient: bool = False
    ) -> Trial:
        lengths = frozenset(name for name, role in self._roles.items() if role.length)
        return Trial(
            self._program,
            self._groups,
            domains,
            choices,
            lengths,
            self._runtime,
            self._specs,
            ask=bool(self._unsure),
            seconds=MOST_SECONDS + _weight_bytes(self._program) / LOADED,
            lenient=lenient,
        )

    def _base(self, plain: ModelInputPlan) -> tuple[FoundSizes, Trial, ModelInputPlan]:
        """The first combination: with the likeliest choices, then others, then with no meaning of elements at all."""
        most = max((len(role.choices) for role in self._roles.values()), default=0) or 1
        tries = [(plain, self._choices(place)) for place in range(most)]
        if self._unsure:
            few = dict.fromkeys(self._unsure, InputDomain(0, 1))
            tries.append((replace(plain, domains={**plain.domains, **few}), self._choices(0)))
        if plain.domains:
            tries.append((ModelInputPlan(), self._choices(0)))
        best: tuple[FoundSizes, Trial, ModelInputPlan] | None = None
        runs = RUNS_OF_LARGE if self._large else MOST_RUNS
        for one, choices in tries:
            trial = self._trial(one.domains, choices)
            found = search(self._groups, trial.probe, trial.run, runs=runs)
            runs = min(RUNS_FOR_OTHERS, runs)
            if best is None or found.grade.level > best[0].grade.level:
                best = found, trial, one
            if found.grade.level == RUNS:
                break
        assert best is not None
        if best[0].grade.level == REFUSED and self._runtime is not None:
            return self._despite_rules(plain) or best
        return best

    def _despite_rules(self, plain: ModelInputPlan) -> tuple[FoundSizes, Trial, ModelInputPlan] | None:
        """Sizes with which the runtime takes a model that breaks a rule with any; ``None`` if there are none."""
        trial = self._trial(plain.domains, self._choices(0), lenient=True)
        found = search(self._groups, trial.probe, trial.run, runs=RUNS_FOR_OTHERS)
        return (found, trial, plain) if found.grade.level > FAILED else None

    def _more(self, found: FoundSizes, trial: Trial, plain: ModelInputPlan) -> list[Mapping[str, InputVariant]]:
        """The first combination, and others that run as well; of heavy models one other, for one sample in four."""
        heavy = trial.inner(found.sizes) > HEAVY
        rows: list[Mapping[str, InputVariant]] = [trial.row(found.sizes)]
        left = 1 if self._large else RUNS_FOR_VARIANTS
        found_for: list[Trial] = []  # with other values of inputs; one combination of each is enough
        limit = (2 if heavy else GROWTH) * trial.elements(found.sizes)
        others = [(trial, sizes) for sizes in _others(self._groups, found.sizes)]
        most = max((len(role.choices) for role in self._roles.values()), default=0)
        for place in range(most):
            choices = self._choices(place)
            if choices != trial.choices:
                other = self._trial(plain.domains, choices)
                others[1:1] = [(other, sizes) for sizes in _scaled(self._groups, found.sizes)]
        for one, sizes in others:
            if len(rows) == (2 if heavy else MOST_VARIANTS) or left <= 0:
                break
            row = one.row(sizes)
            if one.elements(sizes) > limit or row in rows or one in found_for:
                continue
            grade = one.probe(sizes)
            if grade.level and not grade.ran:
                left -= 1
                grade = one.run(sizes)
            if grade.level == RUNS and grade.full >= found.grade.full:
                rows.append(row)
                found_for += [one] if one is not trial else []
        return [*rows[:1] * (MOST_VARIANTS - len(rows)), *rows] if heavy and len(rows) > 1 else rows


def _weight_bytes(program: Program) -> int:
    tensors = (value.const_value for value in program.graph.initializers.values())
    return sum(tensor.nbytes for tensor in tensors if tensor is not None and tensor.dtype is not ir.DataType.STRING)


_USUAL: Mapping[Kind, InputRole] = {
    Kind.SIGNAL: InputRole("a sound", InputDomain(-1, 1)),
    Kind.IMAGE: InputRole("a picture", InputDomain(-1, 1)),
}
"""What floats along axes of a kind are, if nothing that reads them says more."""


def _usual(program: Program, groups: Sequence[AxisGroup], roles: Mapping[str, InputRole]) -> dict[str, InputRole]:
    """The roles of inputs of floats that have none but an axis of a sound or a picture."""
    kinds = {owner: group.kind for group in groups if group.kind in _USUAL for owner, _ in group.places}
    found: dict[str, InputRole] = {}
    for value in inputs_of(program):
        name, fact = value.name or "", program.fact(value)
        if name not in kinds or name in roles or input_domain(value) is not None:
            continue
        if isinstance(fact, TensorFact) and fact.dtype.is_floating_point():
            found[name] = _USUAL[kinds[name]]
    return found


def _others(groups: Sequence[AxisGroup], base: Sizes) -> Iterator[dict[str, int]]:
    """Sizes near those of ``base``: other sides, a larger batch, both."""
    free = [g for g in groups if not g.fixed and not g.total]
    batches = [g for g in free if g.kind is Kind.BATCH]
    rest = [g for g in free if g.kind is not Kind.BATCH]
    nearby = {g.name: _nearby(g, base[g.name]) for g in rest}

    def changed(which: Sequence[AxisGroup], place: int, *, apart: bool = False) -> dict[str, int]:
        places = {g.name: place + (i % 2 if apart else 0) for i, g in enumerate(which)}
        return with_totals(groups, {**base, **{name: _pick(nearby[name], at) for name, at in places.items()}})

    if rest:
        yield changed(rest[-1:], 0)
    if batches:
        yield with_totals(groups, {**base, **{g.name: 2 for g in batches}})
    for place in range(3):
        yield changed(rest, place, apart=True)
        yield changed(rest, place)
    for kind in dict.fromkeys(g.kind for g in rest):
        for place in range(3):
            yield changed([g for g in rest if g.kind is kind], place)
    for group in rest:
        for place in range(3):
            yield changed([group], place)
    if batches:
        yield with_totals(groups, {**base, **{g.name: 3 for g in batches}})


def _scaled(groups: Sequence[AxisGroup], base: Sizes) -> Iterator[dict[str, int]]:
    """``base``, and its half and its double."""
    for factor in (1.0, 0.5, 2.0):
        free = {g.name for g in groups if not g.fixed and not g.total and g.kind is not Kind.BATCH}
        yield with_totals(groups, {n: math.ceil(size * factor) if n in free else size for n, size in base.items()})


def _nearby(group: AxisGroup, size: int) -> tuple[int, ...]:
    """Sizes that may do where ``size`` does, each once."""
    if group.said:
        return group.sizes
    usual = [s for s in group.sizes if s != size and size / 2 <= s <= 3 * size]
    return tuple(dict.fromkeys([*usual[:2], 2 * size, *usual[2:], 3 * size, size + 1, math.ceil(size / 2)]))


def _pick(sizes: Sequence[int], place: int) -> int:
    return sizes[min(place, len(sizes) - 1)]
