"""Numeric oracle: floating-point elements that are farther from the program's shadow than its roundings explain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from irfuzz.oracle.excuses import verdict_on
from irfuzz.oracle.numeric import witness_spread_comparison
from irfuzz.oracle.numeric.dtype_thresholds import is_float, resolution, worth_a_look
from irfuzz.oracle.numeric.error_bound import JUMP, NEIGHBOURS, SAFETY, bound_of, median_of
from irfuzz.oracle.numeric.perturbation import WIDE
from irfuzz.oracle.onnx_rules.rule_verdicts import judge_by_rule, wrong_number
from irfuzz.oracle.verdict import Fact, Symptom, Verdict
from irfuzz.oracle.witnesses_and_blame import Blame, divide, plainest, shadow_target

if TYPE_CHECKING:
    from irfuzz.execute.float64_shadow_runs import ShadowRun
    from irfuzz.execute.run_types import Target
    from irfuzz.oracle.dataflow.output_uncertainty_sources import Dataflow
    from irfuzz.oracle.runs_to_judge import Case, Leaf


CLOSE = 4.0
"""An element that is beyond its bound by less has to be beyond ``UPPER`` of its tensor's moves, too."""

UPPER = 0.75
"""Quantile of the moves of a tensor. A poor formula (``x^2 - mean^2`` of near elements) moves in steps that three
directions may miss in one element and meet in the others."""


@dataclass(frozen=True, slots=True)
class ShadowReference:
    """What the values of one output are held against.

    Attributes:
        reference: what the shadow computes.
        bound: for every element; infinite if nothing is decided.
        unsteady: targets whose results differ from run to run on the same inputs.
        clean: the shadow has met neither NaN nor infinity.
        framework: what computes the shadow.
    """

    reference: np.ndarray
    bound: np.ndarray
    unsteady: frozenset[str] = frozenset()
    clean: bool = False
    framework: str = ""

    def ratios(self, value: np.ndarray, other: np.ndarray | None = None) -> np.ndarray:
        """Distance over bound of every element, from the shadow or from ``other``; 0 if nothing is decided.

        Args:
            value: what a target gave, of the reference's shape.
            other: compare with this in place of the shadow's own numbers.

        Returns:
            Float64 of that shape. Above 1 an element is beyond the bound. What is NaN or infinite on any side gives 0.
        """
        against = self.reference if other is None else other
        with np.errstate(invalid="ignore", over="ignore"):
            ratio = np.abs(value - against) / self.bound
        return np.where(np.isfinite(ratio) & np.isfinite(self.reference), ratio, 0.0)


def judge_numeric(case: Case) -> Iterator[Verdict]:
    """A finding is farther from the shadow than the bound if an independent witness is within it.

    If a program has no shadow, or no target is near it, the targets' own spread decides (``oracle.numeric``).
    """
    for leaf in case.leaves():
        first = next(iter(leaf.values.values()))
        if not is_float(first.dtype) or not first.size:
            continue
        path = case.path(leaf.value)
        if path.random:
            continue
        values = {name: a.astype(np.float64) for name, a in leaf.values.items()}
        ruled = list(
            judge_by_rule(case, leaf, Symptom.DIFFERENCE, witness_spread_comparison.NAME, wrong_number(first.dtype))
        )
        if ruled:
            yield from ruled
            continue
        if not case.has_shadow:
            yield from witness_spread_comparison.judge_spread(case, leaf, path, values)
            continue
        # A cheap look first, so that noise costs no run of the shadow.
        least = witness_spread_comparison.floor(case, leaf, path, measured=True)
        one, *others = [np.where(np.isfinite(v), v, 0.0) for v in values.values()]
        if not any(worth_a_look(other, one, least, resolution(first.dtype)) for other in others):
            continue
        if _within(case, leaf, first, path, values):
            continue
        run = case.shadow()
        found = measure_of(run, leaf, first, path, case)
        if isinstance(found, str):
            yield from witness_spread_comparison.judge_spread(case, leaf, path, values, found)
            continue
        yield from _judge(case, leaf, path, values, found)


def _within(case: Case, leaf: Leaf, first: np.ndarray, path: Dataflow, values: Mapping[str, np.ndarray]) -> bool:
    """Whether all targets are within the bounds of the quick shadow, and so within those of the whole one."""
    run = case.quick_shadow()
    measure = "" if run is None else measure_of(run, leaf, first, path, case)
    return isinstance(measure, ShadowReference) and not any((measure.ratios(v) > 1).any() for v in values.values())


def measure_of(run: ShadowRun, leaf: Leaf, first: np.ndarray, path: Dataflow, case: Case) -> ShadowReference | str:
    """Reference and bound of one output, or why the shadow has none.

    Args:
        run: of the shadow, with its moves.
        leaf: the tensor of the output.
        first: what one target gave, for the shape and the element type.
        path: what the output is computed by; quantising operators on it widen the bound.
        case: of which the magnitude is taken for that.

    Returns:
        A text if the shadow refused the program, or gave another shape or no floats.
    """
    if run.refused:
        return f"no shadow: {run.refused}"
    reference = run.reference.get(leaf.label)
    if reference is None or reference.shape != first.shape or reference.dtype.kind != "f":
        return "the shadow gives another kind of output"
    reference = reference.astype(np.float64)
    bound = bound_of(reference, run.small[leaf.label], run.wide[leaf.label], run.width, first.dtype)
    if path.quantised:
        # A fused operator leaves out roundings to integers that stand in the program.
        top = case.magnitude(leaf)
        bound = np.maximum(bound, witness_spread_comparison.quantised_by(path, top))
    return ShadowReference(reference, bound, clean=run.clean, framework=run.framework)


def _judge(
    case: Case, leaf: Leaf, path: Dataflow, values: dict[str, np.ndarray], measure: ShadowReference
) -> Iterator[Verdict]:
    if not any((measure.ratios(v) > 1).any() for v in values.values()):
        return
    measure = _with_moves(case, leaf, path, values, measure)
    far = {name: float(measure.ratios(v).max(initial=0.0)) for name, v in values.items()}
    near = [name for name, ratio in far.items() if ratio <= 1]
    if len(near) == len(values):
        return
    shadow = shadow_target(measure.framework)
    groups = [[shadow, *(case.target(n) for n in near)], *_groups(case, values, measure, near)]
    division = divide(groups, case.witnesses)
    center = [] if division is None else [t for t in division.center if t is not shadow]
    if division is None or not center or shadow not in division.center:
        note = "no target is near the shadow" if not near else "more witnesses are far from the shadow than near it"
        yield from witness_spread_comparison.judge_spread(case, leaf, path, values, note)
        return
    for blame in division.blamed:
        for target, others in plainest(blame.group):
            value = values[target.name]
            away = measure.ratios(value)
            # Beyond the bound from a witness, too, so that whoever looks at these two alone sees it.
            judge = min(center, key=lambda t: -float(np.minimum(away, measure.ratios(value, values[t.name])).max()))
            ratios = np.minimum(away, measure.ratios(value, values[judge.name]))
            place = int(ratios.argmax())
            if ratios.flat[place] > 1:
                yield _verdict(case, leaf, path, measure, values, blame, target, others, tuple(center), place)


def _groups(
    case: Case, values: Mapping[str, np.ndarray], measure: ShadowReference, near: list[str]
) -> list[list[Target]]:
    """Those far from the shadow, together if they are within the bound of each other."""
    groups: list[list[str]] = []
    for name in values:
        if name in near:
            continue
        for group in groups:
            if not (measure.ratios(values[name], values[group[0]]) > 1).any():
                group.append(name)
                break
        else:
            groups.append([name])
    return [[case.target(n) for n in group] for group in groups]


def _with_moves(
    case: Case, leaf: Leaf, path: Dataflow, values: Mapping[str, np.ndarray], measure: ShadowReference
) -> ShadowReference:
    """The measure with what the targets themselves make of moved inputs: a legitimate formula may be more sensitive.

    If nothing rounds there are no formulae, and moved inputs are others.
    """
    nudges = case.nudges()
    unsteady = frozenset(
        name
        for name, before in values.items()
        if (measure.ratios(before, _as_float(nudges.again.get(name, {}).get(leaf.label), before)) > 1).any()
    )
    if path.exact:
        return replace(measure, unsteady=unsteady)
    small = np.zeros(measure.bound.shape)
    wide = np.zeros(measure.bound.shape)
    for name, before in values.items():
        if name in unsteady or witness_spread_comparison.impossible(case.fact(leaf.value), before):
            continue  # what is not repeatable, or far beyond all that can be, is no measure of anything
        inner = nudges.inner if name in witness_spread_comparison.UNFUSED else ()
        for moved in (*nudges.small, *inner):
            small = np.maximum(small, witness_spread_comparison.moved_by(before, moved.get(name, {}).get(leaf.label)))
        for moved in nudges.wide:
            wide = np.maximum(wide, witness_spread_comparison.moved_by(before, moved.get(name, {}).get(leaf.label)))
    small = np.maximum(small, NEIGHBOURS * median_of(small))
    with np.errstate(invalid="ignore"):
        jumps = np.where(wide > JUMP * WIDE * np.maximum(small, measure.bound / SAFETY), wide, 0.0)
    bound = np.maximum.reduce([measure.bound, SAFETY * small, jumps])
    close = np.zeros(bound.shape, bool)
    for value in values.values():
        close |= replace(measure, bound=bound).ratios(value) <= CLOSE
    beside = SAFETY * NEIGHBOURS * np.quantile(small, UPPER)
    return replace(measure, bound=np.where(close, np.maximum(bound, beside), bound), unsteady=unsteady)


def _as_float(value: np.ndarray | None, like: np.ndarray) -> np.ndarray:
    return like if value is None or value.shape != like.shape else value.astype(np.float64)


def _verdict(
    case: Case,
    leaf: Leaf,
    path: Dataflow,
    measure: ShadowReference,
    values: Mapping[str, np.ndarray],
    blame: Blame,
    target: Target,
    others: tuple[Target, ...],
    center: tuple[Target, ...],
    place: int,
) -> Verdict:
    index = tuple(int(i) for i in np.unravel_index(place, measure.bound.shape))
    distance = abs(float(values[target.name][index]) - float(measure.reference[index]))
    scale = witness_spread_comparison.SpreadScale(
        measure.bound, measured=True, unsteady=measure.unsteady, clean=measure.clean
    )
    decided = np.isfinite(measure.bound) & np.isfinite(measure.reference)
    evidence: dict[str, Fact] = {
        "values": ", ".join(f"{n}={leaf.values[n][index]}" for n in leaf.values),
        "elements": int((measure.ratios(values[target.name]) > 1).sum()),
        "undecided elements": int((~decided).sum()),
    }
    dispute = witness_spread_comparison.dispute_of(case, leaf, path, scale, blame, target, center, distance)
    return verdict_on(
        dispute,
        witness_spread_comparison.NAME,
        others,
        evidence,
        output=leaf.output,
        bound=float(measure.bound[index]),
        element=f"{leaf.label}[{', '.join(map(str, index))}]",
        got=str(leaf.values[target.name][index]),
        expected=repr(float(measure.reference[index])),
        rule="float64 shadow",
    )
