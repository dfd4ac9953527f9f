"""Looks for inputs within their ranges for which a call really goes wrong."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from irfuzz.analyze.analysis import Alarm
from irfuzz.analyze.formats import format_of
from irfuzz.analyze.gradient import Gradients
from irfuzz.analyze.interval import INF
from irfuzz.analyze.probe import Probe, probe_of
from irfuzz.analyze.ranges import Ranges
from irfuzz.execute.runner import Runner
from irfuzz.execute.types import Exit
from irfuzz.generate.inputs import make_inputs
from irfuzz.ir.program import Program

POOL = 8
"""Best inputs that the search goes on from (AUDEE's selection of m)."""

DIVES = 48
"""Halvings between two inputs whose operands lie on both sides of 0."""

Feeds = dict[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Witness:
    """Inputs that trigger a fault.

    Attributes:
        inputs: by name; trainable parameters too.
        probe: the program that shows it.
        shown: what was seen, for people.
        runs: how many the search took.
        way: how they were found: ``corner`` of the ranges, ``gradient``, ``draw``, ``step`` (AUDEE's search),
            ``bisection`` between two sides of 0.
    """

    inputs: Mapping[str, np.ndarray]
    probe: Probe
    shown: str
    runs: int
    way: str


ROUNDS = 12
"""Times that the search goes on along the gradient from the inputs that came nearest."""


class Search:
    """Looks for witnesses on one target.

    Args:
        runner: with one target, which runs the probes.
        seed: of all draws.
        seconds: for each warning.
        gradients: of the lowering to PyTorch, where the search may use them.
    """

    def __init__(self, runner: Runner, seed: int = 0, seconds: float = 3.0, gradients: Gradients | None = None) -> None:
        self._runner = runner
        self._seed = seed
        self._seconds = seconds
        self._gradients = gradients

    def find(self, program: Program, warning: Alarm, ranges: Ranges) -> Witness | None:
        """Inputs for which the call gives NaN, an infinity or an error from operands without any."""
        probe = probe_of(program, warning, ranges)
        return (
            None
            if probe is None
            else _Hunt(self._runner, probe, warning, self._seed, self._seconds, self._gradients).run()
        )


class _Hunt:
    """The search for one warning: corners, gradients, draws, Cauchy steps from the best; and between two sides."""

    def __init__(
        self,
        runner: Runner,
        probe: Probe,
        warning: Alarm,
        seed: int,
        seconds: float,
        gradients: Gradients | None,
    ) -> None:
        self.runner = runner
        self.gradients = gradients
        self.probe = probe
        self.warning = warning
        self.rng = np.random.default_rng((seed, len(warning.output), *warning.output.encode()))
        self.until = time.monotonic() + seconds
        self.runs = 0
        self.pool: list[tuple[float, Feeds]] = []
        self.sides: dict[int, Feeds] = {}
        self.shown = ""
        self.later: tuple[Feeds, str] | None = None
        self.way = ""
        base = make_inputs(probe.program, seed)
        self.base: Feeds = {n: np.asarray(v) for n, v in base.items() if isinstance(v, np.ndarray)}
        self.given = len(self.base) == len(base)

    def run(self) -> Witness | None:
        if not self.given:
            return None
        stages = (
            ("corner", self._corners()),
            ("gradient", self._along_gradients()),
            ("draw", self._draws(48)),
            ("step", self._steps()),
        )
        for self.way, feeds in ((way, feeds) for way, stage in stages for feeds in stage):
            if time.monotonic() > self.until:
                break
            if self._try(feeds):
                return Witness(feeds, self.probe, self.shown, self.runs, self.way)
            if len(self.sides) == 2 and self.runs % 16 == 0:
                found = self._dive()
                if found is not None:
                    return Witness(found, self.probe, self.shown, self.runs, "bisection")
        if self.later is None:
            return None
        feeds, way = self.later
        shown = f"{self.probe.output} is NaN or infinite after an operand was"
        return Witness(feeds, self.probe, shown, self.runs, way)

    def _range(self, name: str) -> tuple[float, float]:
        bounds = self.probe.bounds.get(name)
        if bounds is None:
            return -1.0, 1.0
        # Differences of the ends must not overflow here.
        return max(bounds.low, -1e300), min(bounds.high, 1e300)

    def _filled(self, choose: Mapping[str, np.ndarray | float]) -> Feeds:
        """Inputs at given places within their ranges: 0 is the low end and 1 the high one."""
        made: Feeds = {}
        for name, array in self.base.items():
            low, high = self._range(name)
            share = np.broadcast_to(np.asarray(choose[name], dtype=np.float64), array.shape)
            if array.dtype == bool:
                made[name] = np.asarray(share >= 0.5)
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
            made[name] = typed
        return made

    def _corners(self) -> Iterator[Feeds]:
        """All at their ends, in the middle, at 0; and for few inputs each combination of ends."""
        names = list(self.base)
        zero = {n: self._place(n, 0.0) for n in names}
        for share in (0.0, 1.0, 0.5):
            yield self._filled(dict.fromkeys(names, share))
        yield self._filled(zero)
        for chosen in itertools.islice(itertools.product((0.0, 1.0, None), repeat=len(names)), 81):
            yield self._filled({n: zero[n] if c is None else c for n, c in zip(names, chosen, strict=True)})
        # The most negative integer has no counterpart: divided by -1 it overflows.
        for name in (n for n, a in self.base.items() if a.dtype.kind == "i" and self._range(n)[0] <= -1):
            for other in (0.0, 1.0):
                feeds = self._filled(dict.fromkeys(names, other))
                yield {**feeds, name: np.full_like(feeds[name], -1)}
        # One half high, one low: the largest differences between rows, columns, channels.
        for axis in range(max((a.ndim for a in self.base.values()), default=0)):
            for other in (0.0, 1.0, 0.5):
                for name in names:
                    halves = {n: _halves(a.shape, axis) if n == name else other for n, a in self.base.items()}
                    yield self._filled(halves)
            yield self._filled({n: _halves(a.shape, axis) for n, a in self.base.items()})

    def _along_gradients(self) -> Iterator[Feeds]:
        """Where gradients lead from the corner that came nearest, and on from there while it comes nearer."""
        if self.gradients is None or not self.pool:
            return
        began = time.monotonic()
        if not self.gradients.start():
            return
        self.until += time.monotonic() - began  # PyTorch starts once for all warnings
        ends = {n: self._range(n) for n in self.base}
        tried: set[int] = set()
        for _ in range(ROUNDS):
            fresh = [feeds for _, feeds in self.pool if id(feeds) not in tried]
            if not fresh:
                return
            tried.add(id(fresh[0]))
            flat = True
            for feeds in self.gradients.nearer(self.probe, self.warning.fault, fresh[0], ends):
                flat = False
                yield feeds
            if flat:  # in the middle between two ways down, or where the slope has drowned
                yield next(self._draws(1))

    def _place(self, name: str, number: float) -> float:
        low, high = self._range(name)
        return 0.5 if high <= low else min(max((number - low) / (high - low), 0.0), 1.0)

    def _draws(self, count: int) -> Iterator[Feeds]:
        """Each element at an end, or anywhere."""
        for index in range(count):
            shares = {n: self.rng.random(a.shape) for n, a in self.base.items()}
            if index % 4 == 3:
                # Equal elements, whose deviations cancel.
                shares = {n: np.full(a.shape, self.rng.random()) for n, a in self.base.items()}
            elif index % 3 == 0:
                shares = {n: np.round(s) for n, s in shares.items()}
            elif index % 3 == 1:
                shares = {
                    n: np.where(self.rng.random(s.shape) < 0.5, np.round(s), self._place(n, 0.0))
                    for n, s in shares.items()
                }
            yield self._filled(shares)

    def _steps(self) -> Iterator[Feeds]:
        """Cauchy noise on some elements of one of the best, or genes of two of them (AUDEE, algorithm 1)."""
        while True:
            if not self.pool:
                yield from self._draws(3)
                continue
            parent = self.pool[int(self.rng.integers(len(self.pool)))][1]
            other = self.pool[int(self.rng.integers(len(self.pool)))][1]
            child: Feeds = {}
            rate = float(self.rng.choice((0.02, 0.1, 0.5, 1.0)))
            for name, array in parent.items():
                low, high = self._range(name)
                if array.dtype == bool or array.dtype == object:
                    child[name] = array
                    continue
                wide = array.astype(np.float64)
                wide = np.where(self.rng.random(wide.shape) < 0.3, other[name].astype(np.float64), wide)
                step = self.rng.standard_cauchy(wide.shape) * (high - low) * 0.05
                moved = np.where(self.rng.random(wide.shape) < rate, wide + step, wide)
                if array.dtype.kind in "iu":
                    moved = np.round(moved)
                child[name] = np.asarray(np.clip(moved, low, high)).astype(array.dtype)
            yield child

    def _try(self, feeds: Feeds) -> bool:
        """Run; whether it goes wrong. Otherwise the inputs are kept by how near they came."""
        self.runs += 1
        (result,) = self.runner.run(self.probe.program, feeds)
        fault = self.warning.fault
        if result.exit in (Exit.CRASH, Exit.EXITED):
            self.shown = f"the process ends: {result.error or result.exit}"
            return fault.kind == "crash"
        if result.exit != Exit.OK:
            if fault.kind in ("crash", "empty", "division") and result.exit == Exit.REJECTED:
                self.shown = f"{result.error}"
                # Where only a dividend is at fault, what is refused is a divisor of 0: that is another warning.
                return ("zero" in result.error.lower()) is fault.nonzero or fault.kind == "empty"
            return False
        outputs = {n: np.asarray(v) for n, v in result.outputs.items()}
        operands = [outputs[n].astype(np.float64) for n in self.probe.operands if outputs[n].dtype != object]
        if fault.range.finite and any(not np.isfinite(o).all() for o in operands):
            # It goes wrong, but because something before it did.
            if self.later is None and not np.isfinite(outputs[self.probe.output].astype(np.float64)).all():
                self.later = feeds, self.way
            return False
        output = outputs[self.probe.output]
        operand = outputs[self.probe.operand].astype(np.float64)
        if self._wrong(operand, output):
            return True
        score = self._distance(operand)
        if np.isnan(score):
            return False
        if fault.nonzero and operand.size:
            for index, sign in ((1, operand.reshape(-1)[0] > 0), (-1, operand.reshape(-1)[0] < 0)):
                if sign:
                    self.sides.setdefault(index, feeds)
        self.pool = sorted([*self.pool, (score, feeds)], key=lambda p: p[0])[:POOL]
        return False

    def _wrong(self, operand: np.ndarray, output: np.ndarray) -> bool:
        fault = self.warning.fault
        with np.errstate(all="ignore"):
            numbers = output.astype(np.float64)
        # Where the operands hold infinities, or a constant NaN, only NaN is wrong.
        given = fault.kind == "domain" and (fault.operand is None or fault.range.nan)
        odd = np.isnan(numbers) if given else ~np.isfinite(numbers)
        if odd.any():
            self.shown = f"{self.warning.output} is {numbers[odd][0]} with {self.probe.operand} {_extent(operand)}"
            return True
        if not format_of(self.probe.program.tensor(self.probe.program.value(self.probe.output)).dtype).floating:  # type: ignore[union-attr]
            if fault.nonzero and bool((operand == 0).any()):
                self.shown = f"{self.probe.operand} is 0"
                return True
            self.shown = f"{self.probe.operand} {_extent(operand)} is beyond what the type holds"
            return bool(((operand < fault.low) | (operand > fault.high)).any()) and fault.kind == "domain"
        return False

    def _distance(self, operand: np.ndarray) -> float:
        """How far an operand is from where the call goes wrong (AUDEE's fitness for NaN); smaller is nearer."""
        if not operand.size:
            return INF
        fault = self.warning.fault
        if fault.nonzero:
            return float(np.abs(operand).min())
        distances: list[float] = []
        if fault.low > -INF:
            distances.append(float(operand.min()) - fault.low)
        if fault.high < INF:
            distances.append(fault.high - float(operand.max()))
        return min(distances) if distances else -float(np.abs(operand).max())

    def _dive(self) -> Feeds | None:
        """Between inputs with a positive and with a negative operand there may be one with 0."""
        low, high = self.sides[-1], self.sides[1]
        first = self._first(low)
        for _ in range(DIVES):
            if time.monotonic() > self.until or first is None:
                break
            middle: Feeds = {}
            for name, array in low.items():
                if array.dtype == bool or array.dtype == object:
                    middle[name] = array
                else:
                    mean = array.astype(np.float64) / 2 + high[name].astype(np.float64) / 2
                    middle[name] = np.asarray(np.round(mean) if array.dtype.kind in "iu" else mean).astype(array.dtype)
            if self._try(middle):
                return middle
            first = self._first(middle)
            if first is None or first == 0:
                break
            if first < 0:
                low = middle
            else:
                high = middle
        self.sides.clear()
        return None

    def _first(self, feeds: Feeds) -> float | None:
        self.runs += 1
        (result,) = self.runner.run(self.probe.program, feeds)
        if result.exit != Exit.OK:
            return None
        return float(np.asarray(result.outputs[self.probe.operand]).astype(np.float64).reshape(-1)[0])


def _halves(shape: tuple[int, ...], axis: int) -> np.ndarray:
    """1 in the first half along an axis, 0 in the second."""
    if axis >= len(shape):
        return np.ones(shape)
    index = np.arange(shape[axis]) < (shape[axis] + 1) // 2
    return np.broadcast_to(index.reshape([-1 if d == axis else 1 for d in range(len(shape))]), shape).astype(np.float64)


def _extent(array: np.ndarray) -> str:
    if not array.size:
        return "empty"
    low, high = float(array.min()), float(array.max())
    return f"= {low:.6g}" if low == high else f"in [{low:.6g}, {high:.6g}]"
