"""Exact oracle: integers, booleans, strings and complex numbers that are not equal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from irfuzz._native import difference
from irfuzz.facts import TensorFact
from irfuzz.oracle.dispute import Dispute
from irfuzz.oracle.excuses import verdict_on
from irfuzz.oracle.numeric.dtype_thresholds import is_float
from irfuzz.oracle.onnx_rules.rule_verdicts import judge_by_rule, wrong_element
from irfuzz.oracle.verdict import Fact, Symptom, Verdict
from irfuzz.oracle.witnesses_and_blame import LOWERED, Blame, Division, components, divide, plainest, shadow_target

if TYPE_CHECKING:
    from irfuzz.execute.run_types import Target
    from irfuzz.oracle.dataflow.output_uncertainty_sources import Dataflow
    from irfuzz.oracle.runs_to_judge import Case, Leaf

NAME = "exact"


def judge_exact(case: Case) -> Iterator[Verdict]:
    """Decide if no rounding error can have decided.

    Independent of floats any difference counts. Computed from floats, only elements count that no target changes when
    the inputs move by rounding errors, and a step of rounding or quantisation does not.
    """
    for leaf in case.leaves():
        first = next(iter(leaf.values.values()))
        if is_float(first.dtype) or _is_complex_with_nan(leaf):
            continue
        path = case.path(leaf.value)
        if path.random:
            continue
        nothing = np.zeros(first.shape, bool)
        if _divide(case, leaf, nothing) is None:
            continue
        ruled = list(judge_by_rule(case, leaf, Symptom.DIFFERENCE, NAME, wrong_element)) if path.dtypes else []
        if ruled:
            yield from ruled
            continue
        # What is exact is decided, however near a tie it is.
        undecided, moved = (nothing, True) if path.exact or not path.dtypes else _undecided(case, leaf)
        division = _divide(case, leaf, undecided)
        blurred = division is None
        division = division or _divide(case, leaf, nothing)
        if division is not None and not path.dtypes:
            division = _with_integers(case, leaf, division) or _with_shadow(case, leaf, division)
        if division is not None:
            yield from _verdicts(case, leaf, path, division, nothing if blurred else undecided, blurred, moved)


def _is_complex_with_nan(leaf: Leaf) -> bool:
    """Whether elements are complex and one of them equals nothing; ONNX moves complex numbers and computes none."""
    return any(array.dtype.kind == "c" and bool(np.isnan(array).any()) for array in leaf.values.values())


def _undecided(case: Case, leaf: Leaf) -> tuple[np.ndarray, bool]:
    """Elements that some target changes under a move of the inputs; and whether anything could be moved."""
    nudges = case.nudges()
    mask = np.zeros(next(iter(leaf.values.values())).shape, bool)
    for moved in (*nudges.small, *nudges.wide):
        for name, before in leaf.values.items():
            after = moved.get(name, {}).get(leaf.label)
            if after is not None:
                mask |= np.asarray(after != before) if after.shape == before.shape else True
    run = case.shadow() if case.has_shadow else None
    for moves in () if run is None else (run.small, run.wide):
        found = moves.get(leaf.label)
        if found is not None and found.shape == mask.shape:
            mask |= found > 0
    # Nothing may be there to move in the inputs, and much that is rounded on the way.
    return mask, nudges.measured or (run is not None and leaf.label in run.small)


def _divide(case: Case, leaf: Leaf, undecided: np.ndarray) -> Division | None:
    groups: list[list[str]] = []
    for name, array in leaf.values.items():
        for group in groups:
            if not ((array != leaf.values[group[0]]) & ~undecided).any():
                group.append(name)
                break
        else:
            groups.append([name])
    return divide([[case.target(n) for n in group] for group in groups], case.witnesses)


def _with_integers(case: Case, leaf: Leaf, division: Division) -> Division | None:
    """Who is right by exact arithmetic along the program; ``None`` if that is not known, or nobody agrees with it.

    Everybody else is blamed, and firmly if what they answer is the exact number with a rounding, since they compute
    whole numbers in floating point then. Of another one it is irfuzz's reading of ONNX alone that tells, so it takes
    a component from elsewhere that agrees, and none that supports it, or two witnesses as ever.
    """
    truth = case.integers.of(case.sized.value(leaf.value.name or "")) if case.integers.fit else None
    groups = [division.center, *(blame.group for blame in division.blamed)]
    if truth is None or not isinstance(case.fact(leaf.value), TensorFact):
        return None
    right = [group for group in groups if _equal(leaf.values[group[0].name], truth)]
    if len(right) != 1:
        return None
    others = [group for group in groups if group is not right[0]]
    rounded = [_is_rounded(leaf.values[group[0].name], truth) for group in others]
    before = {blame.group[0].name for blame in division.blamed if blame.firm and right[0] is division.center}
    foreign = bool(components(right[0]) - LOWERED)
    blamed = (
        Blame(group, firm=near or group[0].name in before or (foreign and len(components(group)) == 1))
        for group, near in zip(others, rounded, strict=True)
    )
    return Division(right[0], tuple(blamed))


def _equal(array: np.ndarray, truth: np.ndarray) -> bool:
    return (array.shape, array.dtype) == (truth.shape, truth.dtype) and bool((array == truth).all())


def _is_rounded(array: np.ndarray, truth: np.ndarray) -> bool:
    """Whether all elements are those of ``truth`` but for the rounding of single precision, and whole numbers."""
    if (array.shape, array.dtype) != (truth.shape, truth.dtype) or array.dtype.kind not in "iu":
        return False
    got, exact = array.astype(np.float64), truth.astype(np.float64)
    return bool((np.abs(got - exact) <= np.abs(exact) * 2.0**-23).all())


def _with_shadow(case: Case, leaf: Leaf, division: Division) -> Division:
    """The division once more, if nobody is firmly blamed, with the shadow on the side that it agrees with.

    What depends on no float the shadow computes exactly: two versions, or two levels, of one component differ, and it
    says which of them is right.
    """
    if not case.has_shadow or any(blame.firm for blame in division.blamed):
        return division
    run = case.shadow()
    right, shadow = run.reference.get(leaf.label), shadow_target(run.framework)
    groups = [list(division.center), *(list(blame.group) for blame in division.blamed)]
    for group in groups:
        value = leaf.values[group[0].name]
        same_kind = right is not None and (right.shape, right.dtype.kind) == (value.shape, value.dtype.kind)
        if same_kind and bool((right == value).all()):
            again = divide([[*g, shadow] if g is group else g for g in groups], case.witnesses)
            return division if again is None else _without(again, shadow)
    return division


def _without(division: Division, shadow: Target) -> Division:
    """The same without the shadow, which gave nothing that could be shown."""
    blamed = (replace(b, group=tuple(t for t in b.group if t is not shadow)) for b in division.blamed)
    return Division(tuple(t for t in division.center if t is not shadow), tuple(blamed))


def _verdicts(
    case: Case, leaf: Leaf, path: Dataflow, division: Division, undecided: np.ndarray, blurred: bool, measured: bool
) -> Iterator[Verdict]:
    judge = leaf.values[division.center[0].name]
    for blame in division.blamed:
        for target, others in plainest(blame.group):
            got = leaf.values[target.name]
            differs = np.asarray(got != judge) & ~undecided
            if not differs.any():
                continue
            index, distance = _worst(got, judge, differs)
            evidence: dict[str, Fact] = {
                "values": ", ".join(f"{n}={str(a[index])[:40]}" for n, a in leaf.values.items()),
                "elements": int(differs.sum()),
            }
            dispute = Dispute(
                case,
                Symptom.DIFFERENCE,
                target,
                division.center,
                blame.firm,
                path=path,
                leaf=leaf,
                specials=path.specials,
                clean=lambda: case.has_shadow and case.shadow().clean,
                measured=lambda: measured,
                blurred=blurred,
                distance=distance,
            )
            bound = None if distance is None else 0.0
            yield verdict_on(
                dispute,
                NAME,
                others,
                evidence,
                output=leaf.output,
                bound=bound,
                element=f"{leaf.label}[{', '.join(map(str, index))}]",
                got=str(got[index])[:80],
                expected=str(judge[index])[:80],
            )


def _worst(got: np.ndarray, judge: np.ndarray, differs: np.ndarray) -> tuple[tuple[int, ...], float | None]:
    """Place of the largest difference, and its size if elements are real numbers; else of the first."""
    if got.dtype.kind in "OUSc":
        return tuple(int(i) for i in np.argwhere(differs)[0]), None
    d = difference(np.where(differs, got, judge), judge)
    return tuple(int(i) for i in np.unravel_index(d.argmax, judge.shape)), d.max_abs
