"""Moves inputs to where all elements that are reduced are nearly equal, so that rounding decides a variance's sign."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from irfuzz.analyze.abstract_domain.number_formats import NumberFormat, format_of
from irfuzz.analyze.failing_inputs.bounded_least_squares import shortest, within
from irfuzz.analyze.failing_inputs.fault_gradient import Gradients
from irfuzz.analyze.failing_inputs.input_candidates import Feeds
from irfuzz.analyze.failing_inputs.reduced_elements import ELEMENTS, ReducedElements

ROUNDS = 16
"""Steps of Gauss and Newton from one start, at most; an affine operand needs none but the first."""

SHARES = (1.0, 0.5, 0.2, 0.05)
"""Of a step, how much of it is taken if more comes no nearer."""

CLOSE = 1e-3
"""Elements whose deviation is this share of their mean are near enough for the search among their neighbours."""

REACH = 1e4
"""Inputs are not moved farther from 0, lest their squares overflow."""

ENTRIES = 1 << 22
"""Larger Jacobian matrices are not asked for."""

LEVELS = (1.0, 0.3, 0.1, 0.03)
"""Means that are tried, in shares of a quarter of what the inputs can move an element by."""

NEIGHBOURS = tuple(np.concatenate([[0.0], np.geomspace(1e-7, 0.7, 47)]))
"""By which share the mean is lowered: each gives other numbers to be rounded."""

SUBNORMAL = tuple(np.exp2(np.arange(-1, 3, 0.02)))
"""Squares of the mean, in units of the smallest number: squares as small lose most of their digits."""


@dataclass(frozen=True, slots=True)
class _Line:
    """Inputs for each mean of the elements: ``start + mean * slope``, in shares of their ranges.

    Attributes:
        start, slope: of the line.
        mean: at which all inputs lie within their ranges, the farthest from 0 that was found.
        deviation: of the elements there, by their linear approximation, as a share of the mean.
    """

    start: np.ndarray
    slope: np.ndarray
    mean: float
    deviation: float


@dataclass(frozen=True, slots=True)
class _Point:
    """Elements at some inputs, and their linear approximation.

    Attributes:
        shares: the inputs.
        elements: of double precision.
        matrix: their gradients, a row for each.
    """

    shares: np.ndarray
    elements: np.ndarray
    matrix: np.ndarray

    def off(self, mean: float) -> float:
        """How far the elements are from all being ``mean``, as a share of it."""
        return float(np.sqrt(np.mean((self.elements - mean) ** 2))) / abs(mean)


@dataclass(slots=True)
class EqualElements:
    """A source of candidates.

    Attributes:
        reduced: the elements.
        gradients: of the lowering to PyTorch.
        ends: lowest and highest number of each input.
        nearest: the smallest standard deviation of the elements that was seen, as a share of their mean.
        count: of the elements.
    """

    reduced: ReducedElements
    gradients: Gradients
    ends: Mapping[str, tuple[float, float]]
    nearest: float = field(default=math.inf)
    count: int = 0

    def told(self) -> str:
        """How near the elements came to being equal, and how near they must be; empty if that was not tried."""
        if not math.isfinite(self.nearest):
            return ""
        where = f"the {self.count} elements of {self.reduced.value} along axes {[*self.reduced.axes]}"
        near = f"a standard deviation of {self.nearest:.2g} times their mean"
        enough = math.sqrt(self.count * self._format().eps)
        if self.nearest < enough:
            return f"{where} came to {near}, and no difference of their moments was negative there"
        return (
            f"{where} came no nearer to one another than {near}; rounding can take a difference of their moments below "
            f"0 only under about {enough:.1g}"
        )

    def _format(self) -> NumberFormat:
        return format_of(self.reduced.program.tensor(self.reduced.program.value(ELEMENTS)).dtype)  # type: ignore[union-attr, arg-type]

    def candidates(self, starts: Iterator[Feeds]) -> Iterator[Feeds]:
        """Inputs at which the elements are nearly equal, and their neighbours; none if PyTorch gives no gradients.

        Inputs on the way there are among them, so that a caller who looks at the clock is asked often.

        Args:
            starts: where to begin, one after the other.
        """
        for feeds in starts:
            told = self.gradients.of_elements(self.reduced.program, feeds)
            if told is None or not told[1] or told[0].size < 2 or sum(s.size for s in told[1].values()) > ENTRIES:
                return
            space = _Space(feeds, [*told[1]], self.ends)
            here = self._at(space, space.shares(feeds))
            for sign in (1.0, -1.0):
                if here is not None:
                    yield from self._from(space, here, sign)

    def _from(self, space: _Space, here: _Point, sign: float) -> Iterator[Feeds]:
        """As if the elements were affine; then by steps from where that leads."""
        line = _line(here, sign)
        if line is None:
            return
        for mean in self._means(line):
            yield space.feeds(line.start + mean * line.slope)
        now = self._at(space, line.start + line.mean * line.slope)
        mean = sign * max(abs(float(here.elements.mean())), float(here.elements.std()))
        for _ in range(ROUNDS):
            if now is None or not mean:
                return
            if now.off(mean) < CLOSE:
                yield from self._around(space, now, mean)
            step, _ = within(now.matrix, mean - now.elements, -1 - now.shares, 1 - now.shares)
            for share in SHARES:
                then = self._at(space, now.shares + share * step)
                if then is not None and then.off(mean) < now.off(mean) * (1 - share / 10):
                    now = then
                    break
            else:
                return
            yield space.feeds(now.shares)

    def _at(self, space: _Space, shares: np.ndarray) -> _Point | None:
        told = self.gradients.of_elements(self.reduced.program, space.feeds(shares))
        if told is None or {*told[1]} != {*space.names}:
            return None
        elements, slopes = told
        self.count = elements.size
        mean = abs(float(elements.mean()))
        self.nearest = min(self.nearest, float(elements.std()) / mean if mean else math.inf)
        matrix = np.concatenate([slopes[n].reshape(elements.size, -1) for n in space.names], axis=1)
        return _Point(np.clip(shares, -1, 1), elements, matrix * space.half)

    def _means(self, line: _Line) -> Iterator[float]:
        """Means to try on a line, those at which rounding may make a difference of moments negative."""
        if line.deviation < CLOSE:
            yield from (line.mean * (1 - share) for share in NEIGHBOURS)
        elif np.abs(line.start).max() < CLOSE * np.abs(line.mean * line.slope).max():
            smallest = self._format().smallest
            yield from (math.copysign(math.sqrt(smallest * square), line.mean) for square in SUBNORMAL)

    def _around(self, space: _Space, point: _Point, mean: float) -> Iterator[Feeds]:
        """Where the elements are a little less than they should be."""
        for share in NEIGHBOURS:
            wanted = mean * (1 - share) - point.elements
            yield space.feeds(point.shares + shortest(point.matrix, wanted))


class _Space:
    """Float inputs as one vector of shares: -1 and 1 are the ends of their ranges."""

    def __init__(self, feeds: Feeds, names: Sequence[str], ends: Mapping[str, tuple[float, float]]) -> None:
        self._base, self.names = feeds, names
        low = np.concatenate([np.full(feeds[n].size, max(ends[n][0], -REACH)) for n in names])
        high = np.concatenate([np.full(feeds[n].size, min(ends[n][1], REACH)) for n in names])
        self._low, self._high = np.minimum(low, high), np.maximum(low, high)
        self._middle = (self._low + self._high) / 2
        self.half = (self._high - self._low) / 2

    def shares(self, feeds: Feeds) -> np.ndarray:
        moved = np.concatenate([feeds[n].astype(np.float64).reshape(-1) for n in self.names]) - self._middle
        return np.divide(moved, self.half, out=np.zeros_like(moved), where=self.half > 0)

    def feeds(self, shares: np.ndarray) -> Feeds:
        flat = np.clip(self._middle + shares * self.half, self._low, self._high)
        made, place = dict(self._base), 0
        for name in self.names:
            array = self._base[name]
            made[name] = flat[place : place + array.size].reshape(array.shape).astype(array.dtype)
            place += array.size
        return made


def _line(point: _Point, sign: float) -> _Line | None:
    """Where the linear approximation is as equal as can be, the mean of a sign; ``None`` if nowhere."""
    matrix, count = point.matrix, point.matrix.shape[1]
    middle = point.elements - matrix @ point.shares
    start, slope = _solved(matrix, middle, (matrix != 0).any(axis=0), np.zeros(count))
    low, high = _limits(start, slope)
    farthest = (max(high, 0.0) if sign > 0 else min(low, 0.0)) if low <= high else 0.0
    if math.isfinite(farthest) and farthest:
        mean = 0.9 * farthest if low <= 0.9 * farthest <= high else farthest
        return _Line(start, slope, mean, _relative(matrix, middle, start + mean * slope, mean))
    most = float(np.median(np.abs(matrix).sum(axis=1)))
    found: list[_Line] = []
    for mean in (sign * most / 4 * level for level in LEVELS):
        if mean:
            fixed, free = within(matrix, mean - middle, np.full(count, -1.0), np.full(count, 1.0))
            start, slope = _solved(matrix, middle, free, fixed)
            found.append(_Line(start, slope, mean, _relative(matrix, middle, start + mean * slope, mean)))
            if found[-1].deviation < CLOSE / 100:
                break
    return min(found, key=lambda line: line.deviation, default=None)


def _solved(
    matrix: np.ndarray, middle: np.ndarray, free: np.ndarray, fixed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The line of the shortest inputs that solve for each mean, by least squares; inputs that are not free stay."""
    start, slope = np.where(free, 0.0, fixed), np.zeros(matrix.shape[1])
    if free.any():
        wanted = np.stack([-middle - matrix[:, ~free] @ fixed[~free], np.ones(len(middle))], axis=1)
        start[free], slope[free] = shortest(matrix[:, free], wanted).T
    return start, slope


def _limits(start: np.ndarray, slope: np.ndarray) -> tuple[float, float]:
    """The least and the largest mean for which all of a line's inputs are within [-1, 1]."""
    with np.errstate(all="ignore"):
        one, two = (-1 - start) / slope, (1 - start) / slope
    moving = slope != 0
    if not moving.any() or (np.abs(start[~moving]) > 1).any():
        return math.inf, -math.inf
    return float(np.minimum(one, two)[moving].max()), float(np.maximum(one, two)[moving].min())


def _relative(matrix: np.ndarray, middle: np.ndarray, shares: np.ndarray, mean: float) -> float:
    elements = middle + matrix @ np.clip(shares, -1, 1)
    return float(np.sqrt(np.mean((elements - mean) ** 2))) / abs(mean)
