"""NaN/Inf oracle: an element is finite for some targets and NaN or infinite for others, or NaN against Inf."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from irfuzz._native import difference
from irfuzz.oracle import traits
from irfuzz.oracle.case import Case, Leaf
from irfuzz.oracle.numbers import huge, is_float
from irfuzz.oracle.path import Path
from irfuzz.oracle.types import Symptom, Verdict
from irfuzz.oracle.witnesses import Division, divide, plainest

NAME = "nan-inf"

_FINITE, _NAN, _POSITIVE, _NEGATIVE = range(4)


def judge_special(case: Case) -> Iterator[Verdict]:
    """Only elements whose class no target changes when the inputs move by rounding errors are decided."""
    for leaf in case.leaves():
        arrays = list(leaf.values.values())
        if not is_float(arrays[0].dtype) or not any(difference(arrays[0], a).mismatched for a in arrays[1:]):
            continue
        path = case.path(leaf.value)
        if path.random:
            continue
        classes = {name: classify(a) for name, a in leaf.values.items()}
        undecided = _undecided(case, leaf, classes)
        division = _divide(case, classes, undecided)
        blurred = division is None
        if division is None:
            division = _divide(case, classes, np.zeros_like(undecided))
        if division is None:
            continue
        yield from _verdicts(case, leaf, classes, division, undecided, blurred=blurred)


def classify(array: np.ndarray) -> np.ndarray:
    """For every element 0 where finite, 1 for NaN, 2 for +Inf, 3 for -Inf (int8)."""
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
        groups.setdefault(np.where(undecided, 0, found).tobytes(), []).append(name)
    return divide([[case.target(n) for n in group] for group in groups.values()])


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
            why = "no two independent witnesses against it alone" if not blame.firm else ""
            if blurred:
                why = "moving the inputs by rounding errors changes it"
            why = why or _doubt(case, leaf, path, classes, judge.name, target.name, differs)
            evidence: dict[str, str | int | float] = {
                "element": _place(leaf.label, index),
                "got": str(leaf.values[target.name][index]),
                "expected": str(leaf.values[judge.name][index]),
                "elements": int(differs.sum()),
            }
            if others:
                evidence["also"] = ", ".join(t.name for t in others)
            if why:
                evidence["suspect"] = why
            yield Verdict(
                NAME, Symptom.NAN_INF, target.name, tuple(t.name for t in division.center), bool(why), leaf.output,
                evidence=evidence,
            )  # fmt: skip


def _doubt(
    case: Case,
    leaf: Leaf,
    path: Path,
    classes: dict[str, np.ndarray],
    judge: str,
    target: str,
    differs: np.ndarray,
) -> str:
    """Why two correct components might differ here; empty where none of the known reasons applies."""
    unsafe = sorted(path.ops - traits.SPECIAL_SAFE)
    specials = path.specials or bool(classes[judge].any())
    if case.expected_invalid:
        return "the program is invalid on purpose"
    if path.open:
        return f"undefined behaviour ({', '.join(o.what for o in path.open)})"
    if specials and unsafe:
        return f"NaN or Inf flows through {', '.join(unsafe[:4])}, where ONNX does not define it"
    # Only what comes with NaN or Inf from outside, and passes through operators that IEEE 754 defines, is left to judge
    # without looking at magnitudes.
    limit = min(huge(d) for d in (path.dtypes | {leaf.values[judge].dtype}))
    top = max(path.largest, path.absorbed, *(_finite_top(a) for a in leaf.values.values()))
    if top >= limit:
        return f"magnitudes up to {top:.3g} are close to an overflow"
    if blur := path.flushed(case.target(target)) or path.blur():
        return blur
    if path.narrow:
        return "half precision overflows where a component does not compute in single"
    if not path.specials and (found := sorted(path.ops & traits.EXPLOSIVE)):
        return f"{', '.join(found[:4])} may overflow inside, depending on the formula"
    if not path.specials and not case.nudges().measured and (found := sorted(path.ops & traits.EDGED)):
        return f"rounding decides on which side of an edge {', '.join(found[:4])} falls, and could not be measured"
    if path.jumps and not case.nudges().measured:
        return f"{', '.join(path.jumps)} jump, and how far could not be measured"
    return ""


def _finite_top(array: np.ndarray) -> float:
    d = difference(array, array)
    return d.max_a


def _place(label: str, index: tuple[int, ...]) -> str:
    return f"{label}[{', '.join(map(str, index))}]"
