"""Finds the layers and parameters that cause two targets to part (AUDEE, algorithm 2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from irfuzz.errors import InvalidProgram, Unsupported, UsageError
from irfuzz.execute.intermediate_values import has_inner, run_tapped
from irfuzz.execute.request_batching import Task
from irfuzz.execute.run_types import Exit, RunResult, Target, Value
from irfuzz.execute.runner import Runner
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.localize.nodes.localization_map import EPSILON, LocalizationMap, MapLayer, localise
from irfuzz.localize.nodes.parameter_variants import Variant, variants
from irfuzz.localize.nodes.redrawn_layers import redrawn_layers
from irfuzz.localize.nodes.responsible_parameters import (
    CONSISTENT,
    ResponsibleParameter,
    as_if,
    guilty,
    moved,
    tells_nothing,
)
from irfuzz.localize.nodes.single_node_replay import ReplayOutcome, compare_alone
from irfuzz.localize.nodes.subprogram_extraction import Cutter
from irfuzz.oracle.numeric.dtype_thresholds import is_float
from irfuzz.search.gene_vector_breeding import Evolution, Settings
from irfuzz.search.input_weight_genome import Genome, Level, genome_of
from irfuzz.search.nan_inconsistency_fitness import InconsistencyFitness
from irfuzz.spec import load_specs

if TYPE_CHECKING:
    from irfuzz.spec import Specs

T1 = 1000.0
"""A layer whose change rate is above it is inconsistent (section 3.3)."""
T2 = 2.0
"""A layer whose change rate is below it is consistent."""

LESS = 0.1
"""A change rate that rounding explains must also be this share of what it was, at most, unless it is below ``T1``."""

LEFT = 0.01
"""What is left of a change rate that only rates show, and not bounds of rounding, if it is gone."""

ENOUGH = 3
"""On so many redrawn inputs at least a layer must be consistent for its parameter to be named."""

LAYERS = 32
"""So many layers are looked at, at most."""

_WHOLE = (Settings(population=16, parents=4), 3)
_LAYER = (Settings(population=8, parents=2), 2)
"""Populations and generations that amplify the distance of a model's outputs, and of a layer's."""

_REACH = 4.5
"""Inputs of a model are searched in ten times the range of those that are given."""

_DEATHS = frozenset({Exit.CRASH, Exit.EXITED, Exit.HANG, Exit.REJECTED})


@dataclass(frozen=True, slots=True)
class CausalLayer:
    """A layer that causes a part of the inconsistency.

    Attributes:
        name: of its first named output.
        op: operator.
        rate: its change rate in the model, with the layers before it fixed.
        alone: whether it is inconsistent by itself, fed with the base's values; if it is not, nodes beside it are
            part of the cause (a fusion).
        parameters: the sources among its parameters.
    """

    name: str
    op: str
    rate: float
    alone: bool
    parameters: tuple[ResponsibleParameter, ...]


@dataclass(frozen=True, slots=True)
class Causes:
    """What the causal test found.

    Attributes:
        sources: in the order of computation.
        largest: the largest change rate of any layer before anything was fixed.
        amplified: the given inputs showed no rate above ``T1``, and others were searched for.
        why_not: why nothing could be tested.
    """

    sources: tuple[CausalLayer, ...]
    largest: float
    amplified: bool
    why_not: str = ""


class CausalTest:
    """Algorithm 2 on one pair of targets.

    If the paper leaves something open or cannot work: a layer counts as consistent too if what is left of its
    distance is rounding (of layers with large values 2e-7 is less than that); parameters are optional inputs besides
    attributes; and a layer is fixed by giving its readers the base's values, which unlike another value of a parameter
    is possible for every layer and leaves all shapes as they are.

    Args:
        runner: has both targets.
        base: whose values are taken for right.
        other: the target under suspicion.
        seed: of the searches.
    """

    def __init__(self, runner: Runner, base: Target, other: Target, seed: int = 0) -> None:
        self._runner = runner
        self._targets = (base, other)
        self._seed = seed
        self._specs: Specs = load_specs()

    def causes(self, program: Program, inputs: Mapping[str, Value]) -> Causes:
        """The sources of an inconsistency, found layer by layer in the order of computation.

        Each source is fixed before the next one is looked for, ``LAYERS`` of them at most.

        Args:
            program: stays as it is.
            inputs: that show it; others are searched for if no change rate is above ``T1``.
        """
        states = self._states(program, inputs)
        if isinstance(states, str):
            return Causes((), 0.0, amplified=False, why_not=states)
        made = localise(program, *states)
        amplified = False
        if _largest(made) <= T1:
            found = next(iter(self._amplified(program, inputs)), None)
            again = None if found is None else self._states(program, found)
            if found is not None and not isinstance(again, str) and again is not None:
                other_map = localise(program, *again)
                if _largest(other_map) > _largest(made):
                    made, inputs, states, amplified = other_map, found, again, True
        largest = _largest(made)
        known: dict[str, Value] = {**inputs, **states[0].outputs, **states[0].taps}
        cutter = Cutter(program, known)
        places = {o: place for place, node in enumerate(cutter.nodes) for o in node.output if o}
        fixed, feeds = program.clone(), dict(inputs)
        sources: list[CausalLayer] = []
        done: set[str] = set()
        while len(sources) < LAYERS:
            layer = next((x for x in made.layers if x.rate > T1 and x.name not in done), None)
            if layer is None:
                break
            done.add(layer.name)
            sources.append(self._source(cutter, places[layer.name], layer))
            if not self._fix(fixed, feeds, cutter.nodes[places[layer.name]].output, known):
                break
            after = self._states(fixed, feeds)
            if isinstance(after, str):
                break
            made = localise(fixed, *after)
        return Causes(tuple(sources), largest, amplified)

    def _states(self, program: Program, inputs: Mapping[str, Value]) -> tuple[RunResult, RunResult] | str:
        """Hidden states of both, or why there are none."""
        one, two = run_tapped(self._runner, program, inputs, self._targets, apart=True)
        for result in (one, two):
            if result.exit is not Exit.OK or (not result.taps and has_inner(program)):
                return f"{result.target.name} gives no hidden states: {result.error or 'it refuses them as outputs'}"
        return one, two

    def _run(self, rows: Sequence[tuple[Program, Mapping[str, Value]]]) -> list[list[RunResult]]:
        return self._runner.run_all([Task(program, feeds, self._targets) for program, feeds in rows])

    def _fix(self, program: Program, feeds: dict[str, Value], names: Sequence[str], known: Mapping[str, Value]) -> bool:
        """Give the readers of a layer the base's values, so that it no longer matters (line 18)."""
        any_fixed = False
        for name in names:
            value, array = program.value(name) if name else None, known.get(name)
            fact = None if value is None else program.fact(value)
            if value is None or not isinstance(fact, TensorFact) or not isinstance(array, np.ndarray):
                continue
            new = program.add_input(TensorFact(fact.dtype, array.shape), "fixed")
            program.replace_uses(value, new)
            feeds[new.name or ""] = array
            any_fixed = True
        return any_fixed

    def _source(self, cutter: Cutter, place: int, layer: MapLayer) -> CausalLayer:
        """Lines 5 to 17: the parameters that make a layer inconsistent."""
        try:
            program, feeds = cutter.cut(place, place + 1)
        except InvalidProgram:
            return CausalLayer(layer.name, layer.op, layer.rate, alone=True, parameters=())
        where = (place, place + 1)
        pair = self._run([(program, feeds)])[0]
        judged = compare_alone(cutter, where, program, feeds, *pair)
        if judged.outcome is ReplayOutcome.AGREES and _rate(*pair) <= T1:
            return CausalLayer(layer.name, layer.op, layer.rate, alone=False, parameters=())
        tried = list(variants(program, feeds, self._specs))
        ran = self._run([(v.program, v.feeds) for v in tried])
        found: dict[str, ResponsibleParameter] = {}
        failing: dict[str, ResponsibleParameter] = {}
        gone = _Gone(cutter, where, _rate(*pair), bounded=judged.outcome is not ReplayOutcome.AGREES)
        for variant, (one, two) in zip(tried, ran, strict=True):
            name = variant.parameter
            if one.exit is not Exit.OK:
                continue
            if why := _new_failure(pair[1], one, two):
                failing.setdefault(name, ResponsibleParameter(name, variant.was, variant.now, math.inf, why))
            elif (
                name not in found
                and gone.alone(variant.program, variant.feeds, one, two)
                and not tells_nothing(pair[0], one)
            ):
                most = self._largest_rate(gone, variant)
                if most is not None:
                    found[name] = ResponsibleParameter(
                        name, variant.was, variant.now, most, CONSISTENT, moved(pair[0], one), variant.given,
                        variant.dropped,
                    )  # fmt: skip
        for exact in self._as_if(program, feeds, pair, tried, ran):
            if exact.name not in found or exact.moved < math.inf:
                found[exact.name] = exact
        if not found:
            found = self._elsewhere(gone, program)
        named = guilty([*found.values(), *failing.values()])
        return CausalLayer(layer.name, layer.op, layer.rate, alone=True, parameters=named)

    def _elsewhere(self, gone: _Gone, program: Program) -> dict[str, ResponsibleParameter]:
        """Parameters with another value of which the layer is consistent on other inputs, of other shapes even.

        For layers whose own inputs allow no value that tells anything: weights are of one number of groups, indices
        of one number of batch axes. The layer as it is must be inconsistent on most other inputs.
        """
        found: dict[str, ResponsibleParameter] = {}
        for layer in redrawn_layers(program, self._specs):
            ran = zip(layer.calls, self._run(layer.calls), strict=True)
            alike = [gone.alone(*call, one, two) for call, (one, two) in ran if one.exit is Exit.OK]
            if not layer.parameter and sum(alike) * 2 >= len(alike):
                return {}
            if layer.parameter and layer.parameter not in found and len(alike) >= ENOUGH and all(alike):
                found[layer.parameter] = ResponsibleParameter(layer.parameter, layer.was, layer.now, 0.0, moved=1.0)
        return found

    def _as_if(
        self,
        program: Program,
        feeds: Mapping[str, Value],
        pair: Sequence[RunResult],
        tried: Sequence[Variant],
        ran: Sequence[Sequence[RunResult]],
    ) -> list[ResponsibleParameter]:
        """Parameters with which the base computes what the target did; of several, those that do on other inputs too.

        Two changes are alike on some inputs: without alpha and without beta a small LRN changes nothing.
        """
        exact = as_if(pair[0], pair[1], tried, ran)
        certain = {(p.name, p.now) for p in exact if p.moved < math.inf}
        if len({name for name, _ in certain}) < 2:
            return exact
        likely = [v for v in tried if (v.parameter, v.now) in certain]
        for row in self._amplified(program, feeds):
            right, seen = self._run([(program, row)])[0]
            again = [replace(v, feeds={n: row.get(n, value) for n, value in v.feeds.items()}) for v in likely]
            results = self._run([(v.program, v.feeds) for v in again])
            if right.exit is Exit.OK and (still := as_if(right, seen, again, results)):
                names = {p.name for p in still}
                exact = [p for p in exact if p.name in names]
                likely = [v for v in likely if v.parameter in names]
        return exact

    def _largest_rate(self, gone: _Gone, variant: Variant) -> float | None:
        """Lines 14 to 16: the rate when the layer's input is searched; ``None`` if it becomes inconsistent."""
        genome = self._genome(variant.program, variant.feeds, 0.5)
        if genome is None:
            return 0.0
        most = 0.0
        evolution = Evolution(genome.start(), genome.blocks, _LAYER[0], self._seed)
        for _ in range(_LAYER[1]):
            rows = [genome.inputs(genes) for genes in evolution.ask()]
            results = self._run([(genome.program, r) for r in rows])
            for feeds, (one, two) in zip(rows, results, strict=True):
                if one.exit is not Exit.OK:
                    continue
                if not gone.alone(genome.program, feeds, one, two):
                    return None
                most = max(most, _rate(one, two))
            evolution.tell(np.array([[_rate(*row)] for row in results]))
        return most

    def _amplified(self, program: Program, inputs: Mapping[str, Value]) -> list[Mapping[str, Value]]:
        """Inputs near the given ones on which outputs lie farther apart (algorithm 1), the farthest first."""
        genome = self._genome(program, inputs, _REACH)
        if genome is None:
            return []
        fitness = InconsistencyFitness(program)
        evolution = Evolution(genome.start(), genome.blocks, _WHOLE[0], self._seed)
        for _ in range(_WHOLE[1]):
            rows = [genome.inputs(genes) for genes in evolution.ask()]
            results = self._run([(genome.program, r) for r in rows])
            evolution.tell(np.array([fitness.score(row, r) for row, r in zip(results, rows, strict=True)]))
        return [genome.inputs(genes) for genes in evolution.parents]

    def _genome(self, program: Program, feeds: Mapping[str, Value], reach: float) -> Genome | None:
        """Float inputs of a program, that move so many times the range of the given ones beyond it."""
        ranges: dict[str, tuple[float, float]] = {}
        for name, value in feeds.items():
            if isinstance(value, np.ndarray) and is_float(value.dtype) and value.size:
                wide = value.astype(np.float64)
                finite = wide[np.isfinite(wide)]
                if finite.size:
                    low, high = float(finite.min()), float(finite.max())
                    ranges[name] = (low - reach * (high - low), high + reach * (high - low))
        try:
            genome = genome_of(program, Level.INPUT, ranges, self._seed)
        except (UsageError, Unsupported):
            return None
        shapes = {name: v.shape for name, v in feeds.items() if isinstance(v, np.ndarray)}
        blocks = tuple(b for b in genome.blocks if b.name in ranges and shapes[b.name] == b.shape)
        return replace(genome, blocks=blocks, base=dict(feeds)) if blocks else None


@dataclass(frozen=True, slots=True)
class _Gone:
    """Decides whether a change of a layer takes its inconsistency away.

    Attributes:
        cutter: has the layer.
        place: of its node, and the place behind it.
        rate: its change rate without the change.
        bounded: the bounds of rounding see the inconsistency. If they do not, they cannot show that it is gone.
    """

    cutter: Cutter
    place: tuple[int, int]
    rate: float
    bounded: bool

    def alone(self, program: Program, feeds: Mapping[str, Value], one: RunResult, two: RunResult) -> bool:
        """Whether it is gone from a program of the layer alone, as both targets ran it."""
        if one.exit is not Exit.OK or two.exit is not Exit.OK:
            return False
        judged = compare_alone(self.cutter, self.place, program, dict(feeds), one, two)
        rate = _rate(one, two)
        if self.bounded and judged.outcome is ReplayOutcome.AGREES:
            # The bounds of the changed layer may be so wide that they say nothing.
            return rate <= max(T1, LESS * self.rate)
        return rate < (T2 if self.bounded else max(T2, LEFT * self.rate)) and not judged.faulty


def _new_failure(before: RunResult, one: RunResult, two: RunResult) -> str:
    """How a target fails on a changed layer that the base runs: ``crash``, ``NaN`` that it did not give before, or
    empty.
    """
    if two.exit in _DEATHS:
        return "crash"
    return "NaN" if two.exit is Exit.OK and _has_nan(two) and not _has_nan(before) and not _has_nan(one) else ""


def _largest(made: LocalizationMap) -> float:
    return max((layer.rate for layer in made.layers), default=0.0)


def _rate(one: RunResult, two: RunResult) -> float:
    """The change rate of a layer alone, whose inputs are the same on both: its distance over ``EPSILON``."""
    most = 0.0
    for name, a in one.outputs.items():
        b = two.outputs.get(name)
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.dtype.kind not in "OUSc" and a.size:
            if a.shape != b.shape or a.dtype != b.dtype:
                return math.inf
            with np.errstate(all="ignore"):
                wide = np.abs(a.astype(np.float64) - b.astype(np.float64))
            same = (a == b) | (np.isnan(wide) & (a != a) & (b != b))
            mean = float(np.where(same, 0.0, wide).mean())
            most = max(most, math.inf if mean != mean else mean)
    return most / EPSILON


def _has_nan(result: RunResult) -> bool:
    return any(
        isinstance(v, np.ndarray) and is_float(v.dtype) and bool(np.isnan(v.astype(np.float64)).any())
        for v in result.outputs.values()
    )
