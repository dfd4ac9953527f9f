"""Inputs within their ranges: corners, halves and draws, for the search for witnesses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from irfuzz.analyze.abstract_domain.interval import Range

NEAREST = 3
"""Of so many inputs halves are tried before anything else."""

Feeds = dict[str, np.ndarray]


class Box:
    """The ranges of a program's inputs.

    Args:
        base: an array of each input, of its type and shape.
        bounds: of their elements; [-1, 1] if there are none.
        names: of the inputs, those that stand nearest to the operand last.
        rng: of the draws.
    """

    def __init__(
        self, base: Feeds, bounds: Mapping[str, Range], names: Sequence[str], rng: np.random.Generator
    ) -> None:
        self._base, self._bounds, self._names, self._rng = base, bounds, list(names), rng
        self._zero = {n: self._place(n, 0.0) for n in self._names}

    def ends(self, name: str) -> tuple[float, float]:
        """Lowest and highest number of an input, [-1, 1] if it has no range; limited to 1e300, so that their difference
        is finite.
        """
        bounds = self._bounds.get(name)
        if bounds is None:
            return -1.0, 1.0
        # Differences of the ends must not overflow here.
        return max(bounds.low, -1e300), min(bounds.high, 1e300)

    def filled(self, choose: Mapping[str, np.ndarray | float]) -> Feeds:
        """Inputs at given places within their ranges: 0 is the low end and 1 the high one.

        Args:
            choose: a place for each input, or an array of places that broadcasts to its shape.

        Returns:
            New arrays of the inputs' types and shapes: integers are rounded, Booleans true from 0.5 on; strings stay
            what they are.
        """
        made: Feeds = {}
        for name, array in self._base.items():
            low, high = self.ends(name)
            share = np.asarray(choose[name], dtype=np.float64)  # of the array's shape, or broadcast to it at the end
            if array.dtype == bool:
                made[name] = np.broadcast_to(share >= 0.5, array.shape).copy()
                continue
            if array.dtype == object:
                made[name] = array
                continue
            value = low * (1 - share) + high * share
            if array.dtype.kind in "iu":
                value = np.round(value)
            value = np.clip(value, low, high)
            with np.errstate(all="ignore"):
                typed = np.asarray(value).astype(array.dtype)
            made[name] = typed if typed.shape == array.shape else np.broadcast_to(typed, array.shape).copy()
        return made

    def middle(self) -> Feeds:
        """All inputs in the middle of their ranges."""
        return self.filled(dict.fromkeys(self._names, 0.5))

    def likely(self) -> Iterator[Feeds]:
        """All at their ends, in the middle, at 0; and one half high, one low, of what stands nearest to the operand.

        Equal weights give equal logits; the largest differences between those of a dense layer come of such halves.
        """
        for share in (0.0, 1.0, 0.5):
            yield self.filled(dict.fromkeys(self._names, share))
        yield self.filled(self._zero)
        moving = [n for n in self._names if self.ends(n)[0] < self.ends(n)[1]]
        for name in moving[: -NEAREST - 1 : -1]:
            for axis in reversed(range(self._base[name].ndim)):
                for other in (1.0, 0.0, 0.5):
                    yield self._halved(name, axis, other)

    def corners(self) -> Iterator[Feeds]:
        """Each combination of ends of the inputs that stand nearest; halves of every input.

        At most 81 combinations of low end, high end and 0 are tried; then -1 for signed integers, and halves along each
        axis. They are made one at a time, as they are asked for.
        """
        for chosen in itertools.islice(itertools.product((0.0, 1.0, None), repeat=len(self._names)), 81):
            row = zip(self._names, chosen, strict=True)
            yield self.filled({n: self._zero[n] if c is None else c for n, c in row})
        # The most negative integer has no counterpart: divided by -1 it overflows.
        for name in (n for n, a in self._base.items() if a.dtype.kind == "i" and self.ends(n)[0] <= -1):
            for other in (0.0, 1.0):
                feeds = self.filled(dict.fromkeys(self._names, other))
                yield {**feeds, name: np.full_like(feeds[name], -1)}
        # One half high, one low: the largest differences between rows, columns, channels.
        for axis in range(max((a.ndim for a in self._base.values()), default=0)):
            for other in (0.0, 1.0, 0.5):
                for name in self._names:
                    yield self._halved(name, axis, other)
            yield self.filled({n: _halves(a.shape, axis) for n, a in self._base.items()})

    def _halved(self, name: str, axis: int, other: float) -> Feeds:
        return self.filled({n: _halves(a.shape, axis) if n == name else other for n, a in self._base.items()})

    def _place(self, name: str, number: float) -> float:
        low, high = self.ends(name)
        return 0.5 if high <= low else min(max((number - low) / (high - low), 0.0), 1.0)

    def draws(self, count: int) -> Iterator[Feeds]:
        """Each element at an end, or anywhere: in turn rounded to ends, ends or 0, uniform draws, and one number for
        all elements.

        Args:
            count: of inputs to draw.
        """
        for index in range(count):
            shares = {n: self._rng.random(a.shape) for n, a in self._base.items()}
            if index % 4 == 3:
                # Equal elements, whose deviations cancel.
                shares = {n: np.full(a.shape, self._rng.random()) for n, a in self._base.items()}
            elif index % 3 == 0:
                shares = {n: np.round(s) for n, s in shares.items()}
            elif index % 3 == 1:
                shares = {
                    n: np.where(self._rng.random(s.shape) < 0.5, np.round(s), self._place(n, 0.0))
                    for n, s in shares.items()
                }
            yield self.filled(shares)


def _halves(shape: tuple[int, ...], axis: int) -> np.ndarray:
    """1 in the first half along an axis, 0 in the second; to be broadcast along the others."""
    if axis >= len(shape):
        return np.ones(())
    index = np.arange(shape[axis]) < (shape[axis] + 1) // 2
    return index.reshape([-1 if d == axis else 1 for d in range(len(shape))]).astype(np.float64)
