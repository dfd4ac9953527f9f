"""Moves inputs nearer to a warning's fault, by gradients in PyTorch."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Self

import numpy as np

from irfuzz.analyze.abstract_domain.interval import INF
from irfuzz.analyze.abstract_domain.number_formats import format_of
from irfuzz.analyze.failing_inputs.reduced_elements import ELEMENTS
from irfuzz.analyze.failing_inputs.warning_subprogram import WarningProbe
from irfuzz.analyze.numeric_range_analysis import Alarm
from irfuzz.analyze.unsafe_conditions import Fault
from irfuzz.errors import UsageError
from irfuzz.execute.adapters.generated_source import TORCH
from irfuzz.execute.run_types import Exit, Target
from irfuzz.execute.runner import Runner
from irfuzz.ir.program import Program

STEPS = (1.0, 1.001, 2.0, 0.5)
"""How far to go, in units of the step that reaches the end of a linear operand; a square's takes 2."""

MOST = 512
"""Objectives of one worker: two for each warning."""

_EACH = ("each", ELEMENTS)


class Gradients:
    """Gradients of how near operands are to the end of their domain, in the lowering to PyTorch.

    A context manager; its worker starts with the first question, and serves the probes of all warnings.

    Args:
        warnings: that will be asked about.

    Attributes:
        absent: why there are none: PyTorch is not installed. Empty if it is, or nothing was asked yet.
    """

    def __init__(self, warnings: Iterable[Alarm]) -> None:
        asked = ((kind, name) for w in warnings for kind, _ in goals(w.fault, 0.0) for name in (w.operand, w.output))
        objectives = [_EACH, *list(dict.fromkeys(asked))[:MOST]]
        self._places = {objective: place for place, objective in enumerate(objectives)}
        self._runner: Runner | None = None
        self.absent = ""

    def __enter__(self) -> Self:
        """Start nothing yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner is not None:
            self._runner.__exit__(kind, error, trace)
            self._runner = None

    def start(self) -> bool:
        """Start PyTorch if that has not been done; whether there is any.

        If not, ``absent`` says why, and further calls do not try again.
        """
        if self._runner is None and not self.absent:
            mode = f"gradient {json.dumps([[kind, name, name] for kind, name in self._places])}"
            target = Target("torch:gradient", "torch", interpreter=sys.executable, options={"mode": mode})
            runner = Runner([target], adapters={target.name: replace(TORCH, modes=(mode,))})
            try:
                runner.__enter__()
            except UsageError as error:
                self.absent = str(error)
            else:
                self._runner = runner
        return self._runner is not None

    def nearer(
        self,
        probe: WarningProbe,
        fault: Fault,
        feeds: Mapping[str, np.ndarray],
        ends: Mapping[str, tuple[float, float]],
    ) -> Iterator[dict[str, np.ndarray]]:
        """Inputs to which the gradients at ``feeds`` lead; none if the lowering gives none.

        For each goal of the fault: four lengths of Newton's step, the corner that the gradient points to, and the
        middle between there and here. Inputs without a gradient stay what they are.

        Args:
            probe: of the warning.
            fault: its fault.
            feeds: the inputs to start from; they stay as they are.
            ends: lowest and highest number of each input.
        """
        if not self.start() or self._runner is None:
            return
        (result,) = self._runner.run(probe.program, feeds)
        if result.exit is not Exit.OK:
            return
        fact = probe.program.tensor(probe.program.value(probe.operand))  # type: ignore[arg-type]
        biggest = format_of(fact.dtype).biggest if fact is not None else INF
        for kind, goal in goals(fault, biggest):
            place = self._places.get((kind, probe.operand))
            score = result.outputs.get(f"{place}/")
            if not isinstance(score, np.ndarray):
                continue
            slopes = {
                name: np.asarray(value, dtype=np.float64)
                for name in feeds
                if isinstance(value := result.outputs.get(f"{place}/{name}"), np.ndarray)
            }
            yield from _moved(feeds, slopes, goal - float(score), ends)

    def of_elements(
        self, program: Program, feeds: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, dict[str, np.ndarray]] | None:
        """The elements that a program of ``reduced_elements`` computes, and the gradients of each of them.

        Args:
            program: its output is ``ELEMENTS``.
            feeds: the inputs at which; they stay as they are.

        Returns:
            The elements, and for each float input on which they depend an array of their number and the input's shape;
            all of double precision. ``None`` if the lowering gives none, or none that is finite.
        """
        if not self.start() or self._runner is None:
            return None
        (result,) = self._runner.run(program, feeds)
        elements = result.outputs.get(f"{self._places[_EACH]}/")
        if result.exit is not Exit.OK or not isinstance(elements, np.ndarray):
            return None
        found = {name: result.outputs.get(f"{self._places[_EACH]}/{name}") for name in feeds}
        slopes = {n: np.asarray(a, dtype=np.float64) for n, a in found.items() if isinstance(a, np.ndarray)}
        return elements.astype(np.float64), slopes


def goals(fault: Fault, biggest: float) -> list[tuple[str, float]]:
    """What is to grow beyond which number for a fault to occur; ``biggest`` is the largest number of the type.

    Returns:
        Pairs of an objective (``zeros``, ``least``, ``most``, or ``largest`` if the fault has no limits) and the
        number.
    """
    found: list[tuple[str, float]] = []
    if fault.nonzero:
        found.append(("zeros", 0.0))
    if fault.low > -INF:
        found.append(("least", -fault.low))
    if fault.high < INF:
        found.append(("most", fault.high))
    return found or [("largest", biggest)]


def _moved(
    feeds: Mapping[str, np.ndarray],
    slopes: Mapping[str, np.ndarray],
    short: float,
    ends: Mapping[str, tuple[float, float]],
) -> Iterator[dict[str, np.ndarray]]:
    """Newton's step for one equation, and the corner that the gradient points to; within the ends."""
    norm = sum(float(np.sum(s * s)) for s in slopes.values())
    if not norm > 0 or not math.isfinite(norm):
        return
    if short > 0 and math.isfinite(short):
        for share in STEPS:
            yield _within(
                feeds, {n: feeds[n].astype(np.float64) + s * (short * share / norm) for n, s in slopes.items()}, ends
            )
    towards = {
        n: np.where(s > 0, ends[n][1], np.where(s < 0, ends[n][0], feeds[n].astype(np.float64)))
        for n, s in slopes.items()
    }
    yield _within(feeds, towards, ends)
    yield _within(feeds, {n: (feeds[n].astype(np.float64) + t) / 2 for n, t in towards.items()}, ends)


def _within(
    feeds: Mapping[str, np.ndarray], moved: Mapping[str, np.ndarray], ends: Mapping[str, tuple[float, float]]
) -> dict[str, np.ndarray]:
    return {
        name: np.clip(moved[name], *ends[name]).astype(array.dtype) if name in moved else array
        for name, array in feeds.items()
    }
