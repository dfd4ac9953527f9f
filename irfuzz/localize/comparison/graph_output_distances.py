"""What a check measures of each graph output: the base's values, and how far every target is from them.

Arrays are read once by the native kernels. Medians and percentiles come from up to ``POOL`` distances that are kept for
each target and output: all of them if they fit, evenly spaced ones otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from irfuzz._native import distances
from irfuzz.execute.run_types import Exit, RunResult
from irfuzz.oracle.numeric.dtype_thresholds import is_float
from irfuzz.oracle.value_structure import leaves_of

POOL = 1 << 17
"""So many distances are kept for the median and percentile of one target and output."""

BLOCK = 1 << 20
"""So many elements are widened at once."""


@dataclass(frozen=True, slots=True)
class OutputRange:
    """The base's values of one output, over all inputs.

    Attributes:
        output: its name, with an index if the tensor stands in a sequence.
        count: elements.
        low: smallest finite one; NaN without any.
        high: largest finite one; NaN without any.
        mean: of the finite ones; NaN without any.
        special: elements that are NaN or infinite.
        empty: on every target and input it has no element that is a number: all are NaN, or there are none.
    """

    output: str
    count: int
    low: float
    high: float
    mean: float
    special: int
    empty: bool


@dataclass(frozen=True, slots=True)
class OutputDistance:
    """How far one target is from the base in one output, over all inputs.

    Attributes:
        target: name.
        output: as in ``OutputRange``.
        count: pairs that were compared.
        apart: pairs of which only one is finite, or that are infinities of different sign or NaN and infinity; or
            elements of arrays that differ in shape or type.
        largest: absolute difference of a pair; infinite if any is ``apart``.
        mean: of the pairs that are not ``apart``.
        median: of those.
        percentile: the 99th, of those.
        sampled: median and percentile are of evenly spaced pairs, because there are too many.
        atol: smallest absolute tolerance that alone accepts every pair; infinite if none does.
        rtol: smallest relative one, to the base's magnitude; infinite if none does.
    """

    target: str
    output: str
    count: int
    apart: int
    largest: float
    mean: float
    median: float
    percentile: float
    sampled: bool
    atol: float
    rtol: float


@dataclass(slots=True)
class _Range:
    count: int = 0
    finite: int = 0
    low: float = math.inf
    high: float = -math.inf
    total: float = 0.0
    numbers: bool = False


@dataclass(slots=True)
class _Distance:
    count: int = 0
    apart: int = 0
    largest: float = 0.0
    total: float = 0.0
    rtol: float = 0.0
    sampled: bool = False
    pool: list[np.ndarray] = field(default_factory=list["np.ndarray"])


class Measures:
    """Collects the figures input by input.

    Args:
        samples: how many inputs there will be.
    """

    def __init__(self, samples: int) -> None:
        self._share = max(1, POOL // max(1, samples))
        self._ranges: dict[str, _Range] = {}
        self._distances: dict[tuple[str, str], _Distance] = {}

    def add(self, ran: Sequence[RunResult], main: str) -> dict[str, float]:
        """Take in one input.

        Args:
            ran: what each target did.
            main: name of the base; the first that ran through if that one did not.

        Returns:
            Largest difference of any output to the base's, by target.
        """
        through = [r for r in ran if r.exit is Exit.OK]
        base = next((r for r in through if r.target.name == main), through[0] if through else None)
        if base is None:
            return {}
        mine = _leaves(base)
        for label, array in mine.items():
            self._take_range(label, array)
        found: dict[str, float] = {}
        for r in through:
            if r is base:
                continue
            theirs = _leaves(r)
            for label, array in theirs.items():
                self._ranges.setdefault(label, _Range()).numbers |= _has_numbers(array)
            found[r.target.name] = max(
                (self._take_distance(r.target.name, label, mine.get(label), theirs.get(label))
                 for label in dict.fromkeys((*mine, *theirs))),
                default=0.0,
            )  # fmt: skip
        return found

    @property
    def ranges(self) -> tuple[OutputRange, ...]:
        """What the base computed so far, by output, in the order in which outputs came; NaN as bounds and mean if
        nothing was finite.
        """
        found: list[OutputRange] = []
        for name, r in self._ranges.items():
            low, high, mean = (r.low, r.high, r.total / r.finite) if r.finite else (math.nan, math.nan, math.nan)
            found.append(OutputRange(name, r.count, low, high, mean, r.count - r.finite, not r.numbers))
        return tuple(found)

    @property
    def distances(self) -> tuple[OutputDistance, ...]:
        """How far every target is from the base, by target and output.

        Median and percentile come from samples of the differences if there are many (``sampled``); distances are
        infinite if types, shapes or kinds of numbers differ.
        """
        found: list[OutputDistance] = []
        for (target, output), d in self._distances.items():
            pool = np.concatenate(d.pool) if d.pool else np.zeros(0)
            median, high = np.percentile(pool, (50, 99)) if pool.size else (0.0, 0.0)
            mean = d.total / d.count if d.count else 0.0
            found.append(
                OutputDistance(
                    target, output, d.count, d.apart, math.inf if d.apart else d.largest, mean, float(median),
                    float(high), d.sampled, math.inf if d.apart else d.largest, math.inf if d.apart else d.rtol,
                )
            )  # fmt: skip
        return tuple(found)

    def _take_range(self, label: str, array: np.ndarray) -> None:
        kept = self._ranges.setdefault(label, _Range())
        kept.count += array.size
        kept.numbers |= _has_numbers(array)
        if array.dtype.kind in "OUSc" or not array.size:
            return
        for block in _blocks(array):
            wide = block.astype(np.float64)
            wide = wide if wide.size == (finite := wide[np.isfinite(wide)]).size else finite
            if wide.size:
                kept.finite += wide.size
                kept.low, kept.high = min(kept.low, float(wide.min())), max(kept.high, float(wide.max()))
                with np.errstate(over="ignore"):
                    kept.total += float(wide.sum())

    def _take_distance(self, target: str, label: str, base: np.ndarray | None, other: np.ndarray | None) -> float:
        """The largest difference of one output on one input."""
        kept = self._distances.setdefault((target, label), _Distance())
        if base is None or other is None or base.shape != other.shape or base.dtype != other.dtype:
            kept.apart += max(1, *(0 if a is None else a.size for a in (base, other)))
            return math.inf
        if base.dtype.kind in "OUSc":
            differ = int((base != other).sum())
            kept.count, kept.apart = kept.count + base.size - differ, kept.apart + differ
            return math.inf if differ else 0.0
        record = distances([base], [other])[0]
        compared, largest = int(record["compared"]), float(record["max_abs"])
        kept.count += compared
        kept.apart += int(record["mismatched"])
        kept.largest = max(kept.largest, largest)
        kept.total += float(record["sum_abs"])
        if largest:
            kept.rtol = max(kept.rtol, _relative(base, other))
        self._pool(kept, base, other, largest)
        return math.inf if record["mismatched"] else largest

    def _pool(self, kept: _Distance, base: np.ndarray, other: np.ndarray, largest: float) -> None:
        step = -(-base.size // self._share) or 1
        kept.sampled |= step > 1
        if not largest:
            kept.pool.append(np.zeros(-(-base.size // step), np.float32))
            return
        a, b = (v.reshape(-1)[::step].astype(np.float64) for v in (base, other))
        with np.errstate(invalid="ignore", over="ignore"):
            apart = np.abs(a - b)
        kept.pool.append(apart[np.isfinite(apart)].astype(np.float32))


def _relative(base: np.ndarray, other: np.ndarray) -> float:
    """The largest distance of a finite pair over the base's magnitude."""
    worst = 0.0
    for a, b in zip(_blocks(base), _blocks(other), strict=True):
        wide = a.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            apart = np.abs(wide - b.astype(np.float64))
            ratio = np.where(apart == 0, 0.0, apart / np.abs(wide))
        worst = max(worst, float(ratio[np.isfinite(apart)].max(initial=0.0)))
    return worst


def _blocks(array: np.ndarray) -> list[np.ndarray]:
    flat = array.reshape(-1)
    return [flat[at : at + BLOCK] for at in range(0, flat.size, BLOCK)]


def _has_numbers(array: np.ndarray) -> bool:
    """Whether an array has an element that is not NaN."""
    if not array.size or not is_float(array.dtype):
        return bool(array.size)
    return not all(bool(np.isnan(block).all()) for block in _blocks(array))


def _leaves(result: RunResult) -> Mapping[str, np.ndarray]:
    return {label: leaf for name, value in result.outputs.items() for label, leaf in leaves_of(name, value)}
