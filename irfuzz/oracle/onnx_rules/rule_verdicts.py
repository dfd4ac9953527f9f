"""Who is right about elements that ONNX's rules decide: those who give them, however many give something else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from irfuzz.facts import TensorFact
from irfuzz.oracle.dispute import Dispute
from irfuzz.oracle.excuses import verdict_on
from irfuzz.oracle.numeric.dtype_thresholds import is_float, resolution, vanishing
from irfuzz.oracle.verdict import Fact, Symptom, Verdict
from irfuzz.oracle.witnesses_and_blame import LOWERED, components, plainest, rank

if TYPE_CHECKING:
    from irfuzz.execute.run_types import Target
    from irfuzz.oracle.onnx_rules.known_elements import Elements, OpenElements
    from irfuzz.oracle.runs_to_judge import Case, Leaf

RULE = "ONNX's rules"

ROUNDINGS = 8.0
"""What is exact by the rules may be computed by a function that is right to a few units: Sigmoid of infinity is one."""

Wrong = Callable[[np.ndarray, "Elements"], np.ndarray]
"""Where an answer, floats as float64, is none that the rules allow."""


def wrong_class(got: np.ndarray, truth: Elements) -> np.ndarray:
    """Which elements are NaN, or an infinity, and should not be, or the reverse.

    Args:
        got: what a target gave, as float64.
        truth: of the same shape. An open element is wrong only if it is infinite outside of what its choice allows.

    Returns:
        Booleans of that shape.
    """
    right = truth.values
    same = (np.isnan(got) & np.isnan(right)) | (got == right) | (np.isfinite(got) & np.isfinite(right))
    wrong = truth.decided & ~same
    if truth.choice is not None:
        wrong |= np.isinf(got) & _outside(got, truth.choice, 0.0)
    return wrong


def wrong_number(dtype: np.dtype) -> Wrong:
    """Which finite floats of a type are farther away than functions of exact numbers may be.

    Args:
        dtype: of the output. Allowed are ``ROUNDINGS`` of its roundings, and what underflow may take away.

    Returns:
        A function of what a target gave (float64) and of the truth, which gives booleans of their shape.
    """

    def wrong(got: np.ndarray, truth: Elements) -> np.ndarray:
        finite = np.isfinite(got) & np.isfinite(truth.values)
        with np.errstate(invalid="ignore", over="ignore"):
            allowed = _allowed(truth.values, dtype)
            found = finite & truth.decided & (np.abs(got - truth.values) > allowed)
            if truth.choice is not None:
                found |= finite & _outside(got, truth.choice, allowed)
        return found

    return wrong


def _allowed(right: Any, dtype: np.dtype) -> Any:
    return np.maximum(ROUNDINGS * resolution(dtype) * np.abs(right), vanishing(dtype))


def wrong_element(got: np.ndarray, truth: Elements) -> np.ndarray:
    """Which integers or booleans are others.

    Args:
        got: what a target gave, in its own type.
        truth: of the same shape; an open element is wrong only outside of what its choice allows.
    """
    wrong = truth.decided & (got != truth.values)
    return wrong if truth.choice is None else wrong | _outside(got.astype(np.float64), truth.choice, 0.0)


def _outside(got: np.ndarray, choice: OpenElements, allowed: Any) -> np.ndarray:
    return (got < choice.low - allowed) | (got > choice.high + allowed)


@dataclass(frozen=True, slots=True)
class _Answer:
    target: Target
    values: np.ndarray
    wrong: np.ndarray


def judge_by_rule(case: Case, leaf: Leaf, symptom: Symptom, oracle: str, wrong_in: Wrong) -> Iterator[Verdict]:
    """Verdicts on who gives something else than ONNX's rules decide, if somebody gives that.

    The rules are irfuzz's reading of ONNX, as its lowerings are, so it takes a component from elsewhere that agrees
    with them, while no two agree against it; or two independent witnesses.
    """
    truth = case.decided.of(case.sized.value(leaf.value.name or ""))
    first = next(iter(leaf.values.values()))
    if truth is None or not isinstance(case.fact(leaf.value), TensorFact) or truth.values.shape != first.shape:
        return
    answers = [_answer(case, name, array, truth, wrong_in) for name, array in leaf.values.items()]
    right = sorted((a.target for a in answers if not a.wrong.any()), key=rank)
    wrong = [a for a in answers if a.wrong.any()]
    if not right or not wrong:
        return
    witnesses = case.witnesses(right)
    for group in _alike(wrong):
        alone = len(components([a.target for a in group])) == 1
        firm = len(witnesses) >= 2 or (bool(witnesses - {"lowered", *LOWERED}) and alone)
        for target, others in plainest([a.target for a in group]):
            answer = next(a for a in group if a.target is target)
            yield _verdict(case, leaf, symptom, oracle, answer, others, tuple(right), truth, firm=firm)


def _answer(case: Case, name: str, array: np.ndarray, truth: Elements, wrong_in: Wrong) -> _Answer:
    values = array.astype(np.float64) if is_float(array.dtype) else array
    return _Answer(case.target(name), array, wrong_in(values, truth))


def _alike(wrong: list[_Answer]) -> list[list[_Answer]]:
    """Those that are wrong in the same way, together."""
    groups: dict[bytes, list[_Answer]] = {}
    for answer in wrong:
        key = np.where(answer.wrong, answer.values, np.zeros((), answer.values.dtype)).tobytes()
        groups.setdefault(key, []).append(answer)
    return list(groups.values())


def _verdict(
    case: Case, leaf: Leaf, symptom: Symptom, oracle: str, answer: _Answer, others: tuple[Target, ...],
    right: tuple[Target, ...], truth: Elements, *, firm: bool,
) -> Verdict:  # fmt: skip
    index = _worst(answer, truth)
    got, right_one = answer.values[index], truth.values[index]
    distance = bound = None
    if symptom is not Symptom.NAN_INF:
        distance = abs(float(got) - float(right_one))
        bound = float(_allowed(right_one, answer.values.dtype)) if is_float(answer.values.dtype) else 0.0
    path = case.path(leaf.value)
    dispute = Dispute(
        case, symptom, answer.target, right, firm, path=path, leaf=leaf, ruled=True, distance=distance,
        specials=path.specials or not _finite(truth.values[truth.decided]),
    )  # fmt: skip
    evidence: dict[str, Fact] = {
        "values": ", ".join(f"{n}={a[index]}" for n, a in leaf.values.items()),
        "elements": int(answer.wrong.sum()),
    }
    return verdict_on(
        dispute,
        oracle,
        others,
        evidence,
        output=leaf.output,
        bound=bound,
        element=f"{leaf.label}[{', '.join(map(str, index))}]",
        got=str(got),
        expected=_expected(truth, index),
        rule=RULE,
    )


def _finite(values: np.ndarray) -> bool:
    return not is_float(values.dtype) or bool(np.isfinite(values).all())


def _worst(answer: _Answer, truth: Elements) -> tuple[int, ...]:
    """Where it is farthest off, of those that are wrong."""
    with np.errstate(invalid="ignore", over="ignore"):
        away = np.abs(answer.values.astype(np.float64) - truth.values.astype(np.float64))
    away = np.where(answer.wrong, np.where(np.isnan(away), np.inf, away), -1.0)
    return tuple(int(i) for i in np.unravel_index(int(away.argmax()), away.shape))


def _expected(truth: Elements, index: tuple[int, ...]) -> str:
    if truth.decided[index] or truth.choice is None:
        return str(truth.values[index])
    low, high = truth.choice.low[index], truth.choice.high[index]
    number = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    return f"{number} or nan" if truth.choice.nan[index] else number
