"""Which of a layer's parameters alone explains that two targets part (AUDEE, algorithm 2, line 16)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from irfuzz.execute.run_types import Exit, RunResult
from irfuzz.localize.nodes.localization_map import EPSILON
from irfuzz.localize.nodes.parameter_variants import Variant
from irfuzz.oracle.numeric.dtype_thresholds import is_float

AS_IF = 1e-3
"""The base with another value explains a fault if it comes so much nearer to the target than it was without."""

ROUNDING = 1e-5
"""Of the largest element: what an element must move by to be another."""

CONSISTENT, AS_IF_IT_WERE = "consistent", "as if"
"""Why a parameter is named."""

MOVED_ALIKE = 0.02
"""Changes whose shares of moved elements are so near each other explain a fault equally well."""


@dataclass(frozen=True, slots=True)
class ResponsibleParameter:
    """A source: with another value of it the layer is consistent, or fails in a way that says more.

    Attributes:
        name: attribute or optional input.
        was: its value in the model.
        now: with what the inconsistency disappears.
        rate: the largest change rate with that value, however the layer's input was searched.
        why: ``consistent``, ``crash``, ``NaN``, or ``as if``: the target computes what the base computes with ``now``.
        moved: what share of the base's elements the change moves, 1 if it gives another shape.
        given: the model gives its value, which is not merely the default.
        dropped: other attributes that had to go with its value.
    """

    name: str
    was: str
    now: str
    rate: float
    why: str = CONSISTENT
    moved: float = 0.0
    given: bool = True
    dropped: tuple[str, ...] = ()


def guilty(found: Sequence[ResponsibleParameter]) -> tuple[ResponsibleParameter, ...]:
    """Of the parameters whose change makes a layer consistent, those whose change alone explains what was seen.

    A fault that hangs on one parameter often needs others to show: an average that wrongly counts padding shows only if
    there is some, so that other ``pads`` and ``auto_pad`` hide it, too. What fails is kept in any case. Of the others
    those explain the fault with whose other value the base computes exactly what the target did (``as if``); if there
    are none, those whose change moves the least of what the base computes (the paper changes values "minimally",
    section 2.2). A value with which another attribute had to go explains nothing if that attribute alone does.

    Args:
        found: of one parameter perhaps both how it fails and with which value the fault is gone; then the latter
            stays.
    """
    fails = [p for p in found if p.why in ("crash", "NaN")]
    rest = [p for p in found if p.why not in ("crash", "NaN")]
    rest = [p for p in rest if not {q.name for q in rest} & {*p.dropped}]
    exact = [p for p in rest if p.why == AS_IF_IT_WERE and p.moved < math.inf]
    least = min((p.moved for p in rest), default=0.0)
    kept = exact or [p for p in rest if p.moved <= least + MOVED_ALIKE]
    if any(p.given for p in kept):
        kept = [p for p in kept if p.given]  # padding that is not read, and not what it would be by ``auto_pad``
    names = {p.name for p in kept}
    return tuple(p for p in found if p in kept or (p in fails and p.name not in names))


def moved(before: RunResult, after: RunResult) -> float:
    """The share of elements that are others after a change of a parameter; 1 of another shape or type.

    Args:
        before: what a target computed.
        after: what it computes with the change; the output that changed most counts, and rounding does not.
    """
    most = 0.0
    for name, a in before.outputs.items():
        b = after.outputs.get(name)
        if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or (a.shape, a.dtype) != (b.shape, b.dtype):
            return 1.0
        if a.size:
            most = max(most, float((~_alike(a, b)).mean()))
    return most


def tells_nothing(before: RunResult, after: RunResult) -> bool:
    """Whether a change leaves nothing to compare: no elements, NaN or infinities, or one number in all places.

    Args:
        before: what a target computed; if it was no better in this, the change is not to blame.
        after: what it computes with the change.
    """
    for name, a in before.outputs.items():
        b = after.outputs.get(name)
        if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or a.dtype.kind in "OUSc" or not a.size:
            continue
        x, y = a.astype(np.float64), b.astype(np.float64)
        spoilt = not y.size or (np.isfinite(x).all() and not np.isfinite(y).all())
        if spoilt or (y.size > 1 and (y == y.flat[0]).all() and not (x == x.flat[0]).all()):
            return True
    return False


def _alike(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Which elements are the same but for some rounding."""
    if not is_float(a.dtype):
        return a == b
    x, y = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(all="ignore"):
        scale = max(float(np.nanmax(np.abs(np.where(np.isfinite(x), x, 0.0)), initial=0.0)), EPSILON)
        return (x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= ROUNDING * scale)


def as_if(
    right: RunResult, seen: RunResult, tried: Sequence[Variant], ran: Sequence[Sequence[RunResult]]
) -> list[ResponsibleParameter]:
    """Parameters with the value with which the base computes what the target did without any change.

    That the target is consistent with this value, too, is not asked: who swaps two numbers does so with both orders.

    Args:
        right: what the base computed.
        seen: what the target computed.
        tried: layers with other values.
        ran: the base's and the target's results on each.
    """
    found: dict[str, ResponsibleParameter] = {}
    apart = _apart(right, seen)
    apart = apart if math.isfinite(apart) else _size(right)  # of another shape, or NaN on one side
    for variant, (one, *_) in zip(tried, ran, strict=True):
        if seen.exit is not Exit.OK or one.exit is not Exit.OK or _apart(one, seen) > AS_IF * apart:
            continue
        # One number in all places may be alike by chance, and counts only if nothing else explains the fault.
        far = math.inf if _one_number(right, one) else 0.0
        named = ResponsibleParameter(
            variant.parameter, variant.was, variant.now, 0.0, AS_IF_IT_WERE, far, variant.given, variant.dropped
        )
        if variant.parameter not in found or far < found[variant.parameter].moved:
            found[variant.parameter] = named
    return list(found.values())


def _one_number(before: RunResult, after: RunResult) -> bool:
    """Whether a change leaves one number, or NaN, in all places of an output that had several, or no elements."""
    for name, a in before.outputs.items():
        b = after.outputs.get(name)
        if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or a.dtype.kind in "OUSc" or not a.size:
            continue
        if not b.size or (b.size > 1 and _kinds(b) == 1 and _kinds(a) > 1):
            return True
    return False


def _kinds(array: np.ndarray) -> int:
    """How many different numbers an array has; all NaN are one."""
    return len(np.unique(array.astype(np.float64)))


def _size(result: RunResult) -> float:
    """The largest mean magnitude of an output's finite elements."""
    most = 0.0
    for a in result.outputs.values():
        if isinstance(a, np.ndarray) and a.dtype.kind not in "OUSc" and a.size:
            wide = np.abs(a.astype(np.float64))
            most = max(most, float(np.where(np.isfinite(wide), wide, 0.0).mean()))
    return most


def _apart(one: RunResult, two: RunResult) -> float:
    """The largest mean distance of an output; infinite of other shapes, types or names, or where one alone is NaN."""
    if [*one.outputs] != [*two.outputs]:
        return math.inf
    most = 0.0
    for a, b in zip(one.outputs.values(), two.outputs.values(), strict=True):
        if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or (a.shape, a.dtype) != (b.shape, b.dtype):
            return math.inf
        if a.dtype.kind in "OUSc":
            most = most if np.array_equal(a, b) else math.inf
        elif a.size:
            x, y = a.astype(np.float64), b.astype(np.float64)
            with np.errstate(all="ignore"):
                mean = float(np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.abs(x - y)).mean())
            most = max(most, math.inf if math.isnan(mean) else mean)
    return most
