"""Looks for inputs within their ranges for which a call really goes wrong."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from irfuzz.analyze.abstract_domain.interval import INF
from irfuzz.analyze.abstract_domain.number_formats import format_of
from irfuzz.analyze.failing_inputs.equal_elements import EqualElements
from irfuzz.analyze.failing_inputs.fault_gradient import Gradients
from irfuzz.analyze.failing_inputs.input_candidates import Box, Feeds
from irfuzz.analyze.failing_inputs.reduced_elements import reduced_elements
from irfuzz.analyze.failing_inputs.warning_subprogram import WarningProbe, probe_of
from irfuzz.analyze.initial_ranges import Ranges
from irfuzz.analyze.numeric_range_analysis import Alarm
from irfuzz.execute.request_batching import Task
from irfuzz.execute.run_types import Exit, RunResult
from irfuzz.execute.runner import Runner
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program

BATCH = 4
"""Most inputs that run together: the runtime prepares a program once for them."""

POOL = 8
"""Best inputs that the search goes on from (AUDEE's selection of m)."""

DIVES = 48
"""Halvings between two inputs whose operands lie on both sides of 0."""


@dataclass(frozen=True, slots=True)
class Witness:
    """Inputs that trigger a fault.

    Attributes:
        inputs: by name; trainable parameters too.
        probe: the program that shows it.
        shown: what was seen, for people.
        runs: how many the search took.
        way: how they were found: ``corner`` of the ranges, ``equal`` elements of what is reduced, ``gradient``,
            ``draw``, ``step`` (AUDEE's search), ``bisection`` between two sides of 0.
    """

    inputs: Mapping[str, np.ndarray]
    probe: WarningProbe
    shown: str
    runs: int
    way: str


ROUNDS = 12
"""Times that the search goes on along the gradient from the inputs that came nearest."""
STARTS = 4
"""Draws from which elements are made equal, if the middle of the ranges does not lead there."""
EQUAL = 0.75
"""Of the time that is left, the part in which elements are made equal."""


class WitnessSearch:
    """Looks for witnesses on one target.

    Args:
        runner: with one target, which runs the probes.
        seed: of all draws.
        seconds: for each warning.
        gradients: of the lowering to PyTorch, if the search may use them.

    Attributes:
        undecided: what the last search saw if it found none, for people; empty if there is nothing to say.
    """

    def __init__(self, runner: Runner, seed: int = 0, seconds: float = 3.0, gradients: Gradients | None = None) -> None:
        self._runner = runner
        self._seed = seed
        self._seconds = seconds
        self._gradients = gradients
        self.undecided = ""

    def find(self, program: Program, warning: Alarm, ranges: Ranges) -> Witness | None:
        """Inputs for which the call gives NaN, an infinity or an error from operands without any.

        If none are found, inputs with which it is NaN or infinite after an operand was are the second choice.

        Args:
            program: that was analysed; it stays as it is.
            warning: one of its warnings.
            ranges: that it was analysed with; no candidate lies outside.

        Returns:
            ``None`` if nothing was found in time, or if the call has no probe.
        """
        self.undecided = ""
        probe = probe_of(program, warning, ranges)
        if probe is None:
            return None
        hunt = _Hunt(self._runner, probe, warning, self._seed, self._seconds, self._gradients)
        found = hunt.run()
        if found is None and hunt.equal is not None:
            self.undecided = hunt.equal.told()
        return found


class _Hunt:
    """The search for one warning: corners, gradients, draws, Cauchy steps from the best; and between two sides."""

    def __init__(
        self,
        runner: Runner,
        probe: WarningProbe,
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
        self.equal: EqualElements | None = None
        base = make_inputs(probe.program, seed)
        self.base: Feeds = {n: np.asarray(v) for n, v in base.items() if isinstance(v, np.ndarray)}
        self.given = len(self.base) == len(base)
        self.box = Box(self.base, probe.bounds, _nearest_last(probe, self.base), self.rng)

    def run(self) -> Witness | None:
        if not self.given:
            return None
        for way, size, feeds in self._batches():
            self.way = way
            if time.monotonic() > self.until:
                break
            found = self._first_witness(feeds)
            if found is None and len(self.sides) == 2 and self.runs % 16 < size:
                dived = self._dive()
                if dived is not None:
                    return Witness(dived, self.probe, self.shown, self.runs, "bisection")
            if found is not None:
                return Witness(found, self.probe, self.shown, self.runs, way)
        if self.later is None:
            return None
        feeds, way = self.later
        shown = f"{self.probe.output} is NaN or infinite after an operand was"
        return Witness(feeds, self.probe, shown, self.runs, way)

    def _batches(self) -> Iterator[tuple[str, int, list[Feeds]]]:
        """What is tried, in turn: a way, and inputs of it that run together, more of them the longer it takes."""
        stages = (
            ("corner", BATCH, self.box.likely()),
            ("equal", BATCH, self._equalised()),
            ("gradient", 1, self._along_gradients()),
            ("corner", BATCH, self.box.corners()),
            ("draw", BATCH, self.box.draws(48)),
            ("step", 1, self._steps()),
        )
        for way, most, stage in stages:
            size = 1
            while feeds := list(itertools.islice(stage, size)):
                yield way, len(feeds), feeds
                size = min(size + 1, most)

    def _first_witness(self, batch: list[Feeds]) -> Feeds | None:
        """Run all of a batch, for the price of one session; the first that goes wrong."""
        rows = self.runner.run_all([Task(self.probe.program, feeds) for feeds in batch])
        for feeds, (result,) in zip(batch, rows, strict=True):
            if self._goes_wrong(feeds, result):
                return feeds
        return None

    def _equalised(self) -> Iterator[Feeds]:
        """Where all elements whose reductions make the operand are nearly equal; for ``EQUAL`` of the time, at most."""
        reduced = None if self.gradients is None else reduced_elements(self.probe)
        if reduced is None or self.gradients is None or not self._torch_started():
            return
        self.equal = EqualElements(reduced, self.gradients, {n: self.box.ends(n) for n in self.base})
        began, end = time.monotonic(), 0.0
        for feeds in self.equal.candidates(itertools.chain([self.box.middle()], self.box.draws(STARTS))):
            if not end:  # the first one waits for what PyTorch loads to compute many gradients at once
                self.until += time.monotonic() - began
                end = time.monotonic() + (self.until - time.monotonic()) * EQUAL
            if time.monotonic() > end:
                return
            yield feeds

    def _torch_started(self) -> bool:
        """Whether gradients can be asked for; PyTorch starts once for all warnings, and this time does not count."""
        began = time.monotonic()
        started = self.gradients is not None and self.gradients.start()
        self.until += time.monotonic() - began
        return started

    def _along_gradients(self) -> Iterator[Feeds]:
        """Where gradients lead from the corner that came nearest, and on from there while it comes nearer."""
        if self.gradients is None or not self.pool or not self._torch_started():
            return
        ends = {n: self.box.ends(n) for n in self.base}
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
                yield next(self.box.draws(1))

    def _steps(self) -> Iterator[Feeds]:
        """Cauchy noise on some elements of one of the best, or genes of two of them (AUDEE, algorithm 1)."""
        while True:
            if not self.pool:
                yield from self.box.draws(3)
                continue
            parent = self.pool[int(self.rng.integers(len(self.pool)))][1]
            other = self.pool[int(self.rng.integers(len(self.pool)))][1]
            child: Feeds = {}
            rate = float(self.rng.choice((0.02, 0.1, 0.5, 1.0)))
            for name, array in parent.items():
                low, high = self.box.ends(name)
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
        """Run; whether it goes wrong."""
        return self._first_witness([feeds]) is not None

    def _goes_wrong(self, feeds: Feeds, result: RunResult) -> bool:
        """Whether a run shows the fault. Otherwise the inputs are kept by how near they came."""
        self.runs += 1
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


def _nearest_last(probe: WarningProbe, names: Iterable[str]) -> list[str]:
    """Inputs by how few calls stand between them and the operand, those with the most first."""
    start = probe.program.value(probe.operand)
    distance: dict[str, int] = {}
    pending = [] if start is None else [(start, 0)]
    for value, steps in pending:  # grows while it is read: breadth first
        name = value.name or ""
        if name in distance:
            continue
        distance[name] = steps
        node = value.producer()
        pending += [] if node is None else [(v, steps + 1) for v in node.inputs if v is not None]
    return sorted(names, key=lambda name: -distance.get(name, len(distance)))


def _extent(array: np.ndarray) -> str:
    if not array.size:
        return "empty"
    low, high = float(array.min()), float(array.max())
    return f"= {low:.6g}" if low == high else f"in [{low:.6g}, {high:.6g}]"
