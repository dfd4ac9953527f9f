"""NaN/Inf oracle: an element is finite for some targets and NaN or infinite for others, or NaN against Inf."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from irfuzz._native import difference
from irfuzz.execute.run_types import Target
from irfuzz.oracle.dispute import Dispute
from irfuzz.oracle.excuses import verdict_on
from irfuzz.oracle.numeric.dtype_thresholds import huge, is_float
from irfuzz.oracle.numeric.shadow_comparison import measure_of
from irfuzz.oracle.onnx_rules.rule_verdicts import judge_by_rule, wrong_class
from irfuzz.oracle.runs_to_judge import Case, Leaf
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.oracle.witnesses_and_blame import Division, divide, plainest

NAME = "nan-inf"

_FINITE, _NAN, _POSITIVE, _NEGATIVE = range(4)


def judge_special(case: Case) -> Iterator[Verdict]:
    """Only elements whose class no target changes when the inputs move by rounding errors are decided.

    A class is finite, NaN or an infinity of a sign. If ONNX's own rules decide elements of a tensor (``judge_by_rule``)
    nothing else is said of it; tensors behind random operators, and those in which all agree, are passed over.

    Args:
        case: its floating-point tensors are judged one by one.
    """
    for leaf in case.leaves():
        arrays = list(leaf.values.values())
        if not is_float(arrays[0].dtype) or not any(difference(arrays[0], a).mismatched for a in arrays[1:]):
            continue
        path = case.path(leaf.value)
        if path.random:
            continue
        ruled = list(judge_by_rule(case, leaf, Symptom.NAN_INF, NAME, wrong_class))
        if ruled:
            yield from ruled
            continue
        classes = {name: classify(a) for name, a in leaf.values.items()}
        shape = next(iter(classes.values())).shape
        undecided = np.zeros(shape, bool) if path.exact else _undecided(case, leaf, classes)
        division = _divide(case, classes, undecided)
        blurred = division is None
        if division is None:
            division = _divide(case, classes, np.zeros_like(undecided))
        if division is None:
            continue
        yield from _verdicts(case, leaf, classes, division, undecided, blurred=blurred)


def classify(array: np.ndarray) -> np.ndarray:
    """For every element 0 if finite, 1 for NaN, 2 for +Inf, 3 for -Inf (int8)."""
    x = array.astype(np.float64)
    return np.where(np.isnan(x), _NAN, np.where(np.isinf(x), np.where(x > 0, _POSITIVE, _NEGATIVE), _FINITE)).astype(
        np.int8
    )


def _undecided(case: Case, leaf: Leaf, classes: dict[str, np.ndarray]) -> np.ndarray:
    nudges = case.nudges()
    mask = np.zeros(next(iter(classes.values())).shape, bool)
    for moved in (*nudges.small, *nudges.wide):
        for name, before in classes.items():
            after = moved.get(name, {}).get(leaf.label)
            if after is not None:
                mask |= classify(after) != before if after.shape == before.shape else True
    run = case.shadow() if case.has_shadow else None
    for moves in () if run is None else (run.small, run.wide):
        found = moves.get(leaf.label)
        if found is not None and found.shape == mask.shape:
            mask |= np.isinf(found)
    return mask


def _divide(case: Case, classes: dict[str, np.ndarray], undecided: np.ndarray) -> Division | None:
    groups: dict[bytes, list[str]] = {}
    for name, found in classes.items():
        groups.setdefault(found[~undecided].tobytes(), []).append(name)
    return divide([[case.target(n) for n in group] for group in groups.values()], case.witnesses)


def _verdicts(
    case: Case, leaf: Leaf, classes: dict[str, np.ndarray], division: Division, undecided: np.ndarray, *, blurred: bool
) -> Iterator[Verdict]:
    path = case.path(leaf.value)
    judge = division.center[0]
    ignored = np.zeros_like(undecided) if blurred else undecided
    for blame in division.blamed:
        for target, others in plainest(blame.group):
            differs = (classes[target.name] != classes[judge.name]) & ~ignored
            if not differs.any():
                continue
            index = tuple(int(i) for i in np.argwhere(differs)[0])
            dispute = Dispute(
                case,
                Symptom.NAN_INF,
                target,
                division.center,
                blame.firm,
                path=path,
                leaf=leaf,
                specials=path.specials or bool(classes[judge.name].any()),
                clean=lambda: (run := case.whole_shadow()) is not None and run.clean,
                settled=functools.partial(_settled, case, leaf, judge, differs),
                measured=lambda: path.exact or case.nudges().measured,
                blurred=blurred,
            )
            yield verdict_on(
                dispute,
                NAME,
                others,
                {"elements": int(differs.sum())},
                output=leaf.output,
                element=_place(leaf.label, index),
                got=str(leaf.values[target.name][index]),
                expected=str(leaf.values[judge.name][index]),
            )


def _settled(case: Case, leaf: Leaf, judge: Target, differs: np.ndarray) -> bool:
    """Whether nothing overflows in the shadow, and it gives what a witness gives wherever another target differs."""
    run = case.whole_shadow()
    if run is None or run.overflowed:
        return False
    given = leaf.values[judge.name]
    measure = measure_of(run, leaf, given, case.path(leaf.value), case)
    if isinstance(measure, str) or (classify(measure.reference) != classify(given))[differs].any():
        return False
    right = measure.reference[differs]
    limit = min(huge(dtype) for dtype in (case.path(leaf.value).dtypes | {given.dtype}))
    moderate = not (np.abs(right[np.isfinite(right)]) >= limit).any()
    return moderate and bool((measure.ratios(given.astype(np.float64))[differs] <= 1).all())


def _place(label: str, index: tuple[int, ...]) -> str:
    return f"{label}[{', '.join(map(str, index))}]"
