"""Floating-point elements that differ by far more than rounding and independent witnesses do: without a shadow."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from irfuzz._native import difference
from irfuzz.facts import TensorFact
from irfuzz.oracle.dispute import Dispute
from irfuzz.oracle.excuses import verdict_on
from irfuzz.oracle.numeric.dtype_thresholds import FACTOR, QUANTISATION_MOST, QUANTISATION_STEP, resolution, smallest
from irfuzz.oracle.numeric.error_bound import median_of
from irfuzz.oracle.numeric.perturbation import WIDE
from irfuzz.oracle.verdict import Fact, Symptom, Verdict
from irfuzz.oracle.witnesses_and_blame import Blame, divide, plainest
from irfuzz.spec import with_trait

if TYPE_CHECKING:
    from irfuzz.execute.run_types import Target
    from irfuzz.oracle.dataflow.output_uncertainty_sources import Dataflow
    from irfuzz.oracle.runs_to_judge import Case, Leaf

NAME = "numeric"

PART_OF_ONE = 0.08
"""Behind operators that go through numbers near one; ``FACTOR`` times it is what the shadow's bound allows."""


@dataclass(frozen=True, slots=True)
class SpreadScale:
    """What one element may be off by without anybody being wrong.

    Attributes:
        unit: for every element, in the output's own unit (float64).
        measured: some output element moved when the inputs did.
        unsteady: targets whose results differ from run to run on the same inputs.
        clean: the shadow has met neither NaN nor infinity.
    """

    unit: np.ndarray
    measured: bool
    unsteady: frozenset[str]
    clean: bool = False


def judge_spread(
    case: Case, leaf: Leaf, path: Dataflow, values: dict[str, np.ndarray], note: str = ""
) -> Iterator[Verdict]:
    """A finding exceeds ``FACTOR`` times the spread of at least two independent witnesses; the rest is suspect.

    The spread of an element is the largest of: what the witnesses differ by; a floor of rounding errors; how far any
    target moves when inputs, or values inside, move by one unit in the last place, or inputs by ``WIDE`` units, divided
    by ``WIDE``.

    Args:
        case: the program and its runs.
        leaf: the tensor that is judged.
        path: what it is computed from.
        values: it, of every target, as float64.
        note: why the shadow does not decide, for the evidence.
    """
    # First without any measurement, so that noise costs no reruns.
    if apart(case, values, floor(case, leaf, path, measured=True)) is not None:
        yield from _judge(case, leaf, path, values, note)


def floor(case: Case, leaf: Leaf, path: Dataflow, *, measured: bool) -> float:
    """Rounding errors that any correct component may make: ``eps * magnitude * sqrt(roundings)``.

    Errors of ``n`` roundings grow like ``sqrt(n)`` (Higham and Mary 2019, "A New Approach to Probabilistic Rounding
    Error Analysis"). The resolution is that of the narrowest dtype on the way; the magnitude that of the output
    as most components see it, or of constants that were added on the way, or of the ones in ``exp(x) - 1``; if
    nothing could be measured, of the inputs too, since terms may have cancelled.
    """
    dtype = next(iter(leaf.values.values())).dtype
    eps = max(resolution(d) for d in (path.dtypes | {dtype}))
    top = case.magnitude(leaf)
    least = eps * top * math.sqrt(path.roundings)
    if not measured:
        least = max(least, eps * path.fed)
    if path.ops & with_trait("absolute_error"):
        least = max(least, eps * PART_OF_ONE)
    return max(least, eps * path.absorbed, quantised_by(path, top) / FACTOR, smallest(dtype))


def quantised_by(path: Dataflow, top: float) -> float:
    """What quantising operators may add to an output of a magnitude.

    Args:
        path: to the output; it says how many of them there are, and how large a step is.
        top: magnitude of the output.

    Returns:
        2/127 of the magnitude for each of them, at most half of it, and at least two steps.
    """
    return max(min(QUANTISATION_MOST, QUANTISATION_STEP * path.quantised) * top, 2 * path.step)


UNFUSED = frozenset({"reference", "onnxruntime:disabled", "torch:eager", "numpy:eager", "tensorflow:eager"})
"""Targets that compute node by node, so that a value moved inside leaves everything else as it was."""


def scale_of(case: Case, leaf: Leaf, path: Dataflow, values: dict[str, np.ndarray]) -> SpreadScale:
    """Measure how far every element moves, and put the floor under it.

    Each target is run again on the same inputs, and on inputs and weights that are moved by roundings.

    Args:
        case: that is judged.
        leaf: the tensor.
        path: to it; if that is exact nothing but the floor counts.
        values: of each target by name, as float64.

    Returns:
        The scale of each element, whether the moves could be measured, and the targets that differ from run to run.
    """
    nudges = case.nudges()
    least = floor(case, leaf, path, measured=True)
    unsteady = frozenset(
        name
        for name, before in values.items()
        if float(moved_by(before, nudges.again.get(name, {}).get(leaf.label)).max(initial=0.0)) > FACTOR * least
    )
    small = np.zeros(next(iter(values.values())).shape)
    if path.exact:
        return SpreadScale(np.full_like(small, least), measured=True, unsteady=unsteady)
    wide = np.zeros_like(small)
    for name, before in values.items():
        # A target that is not even repeatable, or gives what cannot be, is no measure of anything; as a witness it
        # counts all the same.
        # What is put between two nodes keeps an optimiser from fusing them: inner moves count where none does.
        if name in unsteady or impossible(case.fact(leaf.value), before):
            continue
        inner = nudges.inner if name in UNFUSED else ()
        for moved in (*nudges.small, *inner, nudges.again):
            small = np.maximum(small, moved_by(before, moved.get(name, {}).get(leaf.label)))
        for moved in nudges.wide:
            wide = np.maximum(wide, moved_by(before, moved.get(name, {}).get(leaf.label)))
    # Behind roundings to steps alone, what no move changes is far from every edge of a step.
    steps = bool(path.quantised) and with_trait("quantises").issuperset(path.jumps)
    measured = nudges.measured and (steps or bool((small > 0).any() or (wide > 0).any()))
    if not measured:
        least = floor(case, leaf, path, measured=False)
    # Few directions may miss the one to which an element is sensitive; its neighbours tell.
    least = max(least, median_of(small))
    return SpreadScale(np.maximum.reduce([np.full_like(small, least), small, wide / WIDE]), measured, unsteady)


def impossible(fact: object, values: np.ndarray) -> bool:
    """Whether an element is farther from all that a program can give than that is wide: a cosine of 1000.

    Args:
        fact: what is known of the tensor.
        values: of it, as float64.
    """
    if not isinstance(fact, TensorFact) or fact.low is None or fact.high is None:
        return False
    room = max(fact.high - fact.low, abs(fact.low), abs(fact.high))
    return bool(((values < fact.low - room) | (values > fact.high + room)).any())


def moved_by(before: np.ndarray, after: np.ndarray | None) -> np.ndarray:
    """How far each element moved; infinitely if it became or ceased to be NaN or infinite.

    Args:
        before: float64.
        after: from another run; ``None`` if there is none.

    Returns:
        Float64 of the shape of ``before``: zeros if there is no other run, infinities if the shape changed.
    """
    if after is None:
        return np.zeros_like(before)
    if after.shape != before.shape:
        return np.full_like(before, np.inf)
    now = after.astype(np.float64)
    same = (now == before) | (np.isnan(now) & np.isnan(before))
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.abs(now - before)
    return np.where(same, 0.0, np.where(np.isfinite(distance), distance, np.inf))


def _scaled(values: dict[str, np.ndarray], unit: np.ndarray | float) -> dict[str, np.ndarray]:
    """Values in units; if a unit is infinite nothing is decided, and everything equal."""
    with np.errstate(over="ignore", invalid="ignore"):
        return {name: np.where(np.isinf(unit), 0.0, v / unit) for name, v in values.items()}


def apart(
    case: Case, values: dict[str, np.ndarray], unit: np.ndarray | float
) -> tuple[list[list[str]], dict[tuple[str, str], float]] | None:
    """Targets linked by distances of at most ``FACTOR`` units, and all distances; ``None`` if all are one group.

    Args:
        case: that is judged.
        values: of each target by name.
        unit: what a distance is measured in, for all elements or for each.

    Returns:
        Groups of names, and the distance of each two names in both orders. A group may hold targets that are farther
        apart, if others stand between them.
    """
    scaled = _scaled(values, unit)
    names = list(scaled)
    groups = [[n] for n in names]
    far: dict[tuple[str, str], float] = {}
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            far[a, b] = far[b, a] = difference(scaled[a], scaled[b]).max_abs
            if far[a, b] <= FACTOR:
                one, two = (next(g for g in groups if n in g) for n in (a, b))
                if one is not two:
                    one += two
                    groups.remove(two)
    return None if len(groups) < 2 else (groups, far)


def _judge(case: Case, leaf: Leaf, path: Dataflow, values: dict[str, np.ndarray], note: str) -> Iterator[Verdict]:
    scale = scale_of(case, leaf, path, values)
    found = apart(case, values, scale.unit)
    if found is None:
        return
    groups, far = found
    division = divide([[case.target(n) for n in group] for group in groups], case.witnesses)
    if division is None:
        return
    center = [t.name for t in division.center]
    spread = max([1.0, *(far[a, b] for a in center for b in center if a != b)])
    scaled = _scaled(values, scale.unit)
    for blame in division.blamed:
        for target, others in plainest(blame.group):
            judge = min(center, key=lambda n: far[target.name, n])
            ratio = far[target.name, judge] / spread
            if ratio <= 1:
                continue
            place = difference(scaled[target.name], scaled[judge]).argmax
            yield _verdict(
                case, leaf, path, scale, values, blame, target, others, division.center, judge, place, spread, note
            )


def _verdict(
    case: Case,
    leaf: Leaf,
    path: Dataflow,
    scale: SpreadScale,
    values: dict[str, np.ndarray],
    blame: Blame,
    target: Target,
    others: tuple[Target, ...],
    center: tuple[Target, ...],
    judge: str,
    place: int,
    spread: float,
    note: str,
) -> Verdict:
    index = tuple(int(i) for i in np.unravel_index(place, scale.unit.shape))
    with np.errstate(over="ignore"):
        distance = abs(float(values[target.name][index]) - float(values[judge][index]))
    unit = float(scale.unit[index]) * spread
    evidence: dict[str, Fact] = {
        "values": ", ".join(f"{n}={leaf.values[n][index]}" for n in leaf.values),
        "spread": unit,
        "sensitivity": "measured" if scale.measured else "not measured",
    }
    dispute = replace(dispute_of(case, leaf, path, scale, blame, target, center, distance), spread=FACTOR * unit)
    return verdict_on(
        dispute,
        NAME,
        others,
        evidence,
        output=leaf.output,
        bound=FACTOR * unit,
        element=f"{leaf.label}[{', '.join(map(str, index))}]",
        got=str(leaf.values[target.name][index]),
        expected=str(leaf.values[judge][index]),
        rule="spread of the targets" + (f" ({note})" if note else ""),
    )


def dispute_of(
    case: Case,
    leaf: Leaf,
    path: Dataflow,
    scale: SpreadScale,
    blame: Blame,
    target: Target,
    center: tuple[Target, ...],
    distance: float,
) -> Dispute:
    """What the excuses look at of floating-point elements that differ.

    Args:
        case: that is judged.
        leaf: the tensor.
        path: to it.
        scale: how far it was seen to move.
        blame: of the group that is wrong; whether that is firm goes on.
        target: that is blamed.
        center: targets that are taken to be right.
        distance: between the two, in units.
    """
    specials = (path.specials and not scale.clean) or any(
        not np.isfinite(a.astype(np.float64)).all() for a in leaf.values.values()
    )
    return Dispute(
        case,
        Symptom.DIFFERENCE,
        target,
        center,
        blame.firm,
        path=path,
        leaf=leaf,
        specials=specials,
        clean=lambda: scale.clean,
        measured=lambda: scale.measured,
        unsteady=scale.unsteady,
        distance=distance,
    )
