"""Spares a check the float64 shadow of inputs that differ no more than others that it has found to be right.

A shadow runs the program up to twelve times in double precision. If one takes long, later inputs need it only if a
target is farther from the base than ``SLACK`` times what the shadow has accepted of that target and output, both
relative to the base's magnitude.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from irfuzz._native import difference
from irfuzz.execute.float64_shadow_runs import ShadowRun
from irfuzz.execute.run_types import Exit, RunResult, Value
from irfuzz.oracle.numeric.dtype_thresholds import is_float
from irfuzz.oracle.runs_to_judge import Shadower

if TYPE_CHECKING:
    from irfuzz.execute.runner import Runner
    from irfuzz.ir.program import Program

LONG = 2.0
"""Seconds of a shadow from which on it is spared."""

SLACK = 2.0

TOO_LONG = 5.0
"""Seconds of a quick shadow from which on the whole one, three times as dear, is not asked: the spread decides."""


class SparingShadow:
    """A shadow that remembers how long it took and what it accepted.

    Args:
        runner: whose shadow is asked.
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._slow = False
        self._quick_seconds = 0.0
        self._given_up: ShadowRun | None = None
        self._accepted: dict[tuple[str, str], float] = {}

    def __call__(self, program: Program, inputs: Mapping[str, Value]) -> ShadowRun:
        """Run the whole of it, unless the quick one took too long."""
        if self._quick_seconds > TOO_LONG:
            return ShadowRun(refused=f"a part of it took {self._quick_seconds:.3g} s")
        return self._timed(self._runner.shadow, program, inputs)

    def quick(self, program: Program, inputs: Mapping[str, Value]) -> ShadowRun:
        """Run the quick one, unless it took long before and came to nothing; then that result is given again.

        Args:
            program: stays as it is.
            inputs: values by graph input name.
        """
        if self._given_up:
            return self._given_up
        began = time.monotonic()
        run = self._timed(self._runner.quick_shadow, program, inputs)
        self._quick_seconds = max(self._quick_seconds, time.monotonic() - began)
        if run.refused and self._quick_seconds > TOO_LONG:
            self._given_up = run
        return run

    def _timed(self, shadow: Shadower, program: Program, inputs: Mapping[str, Value]) -> ShadowRun:
        began = time.monotonic()
        run = shadow(program, inputs)
        self._slow = self._slow or (not run.refused and time.monotonic() - began > LONG)
        return run

    def accept(self, ran: Sequence[RunResult], main: str) -> None:
        """Remember the distances of an input that was judged and found to be right; nothing is kept before a shadow
        took long.

        Args:
            ran: what each target did.
            main: name of the base.
        """
        if self._slow:
            for key, far in _relative(ran, main).items():
                self._accepted[key] = max(self._accepted.get(key, 0.0), far)

    def accepts(self, ran: Sequence[RunResult], main: str) -> bool:
        """Whether an input differs no more than those that were judged; never before a shadow took long.

        Args:
            ran: what each target did; each output may be ``SLACK`` times as far from the base's as it was before.
            main: name of the base.
        """
        if not self._accepted:
            return False
        return all(far <= SLACK * self._accepted.get(key, 0.0) for key, far in _relative(ran, main).items())


def _relative(ran: Sequence[RunResult], main: str) -> dict[tuple[str, str], float]:
    """Largest difference over the base's largest magnitude by target and output; infinite if it is one of kind."""
    through = [r for r in ran if r.exit is Exit.OK]
    base = next((r for r in through if r.target.name == main), None)
    found: dict[tuple[str, str], float] = {}
    for r in through:
        for name in dict.fromkeys((*r.outputs, *(() if base is None else base.outputs))):
            mine = None if base is None else base.outputs.get(name)
            found[r.target.name, name] = 0.0 if r is base else _far(mine, r.outputs.get(name))
    return found


def _far(a: Value, b: Value) -> float:
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)) or a.dtype != b.dtype or a.shape != b.shape:
        return np.inf
    if not is_float(a.dtype):
        return 0.0 if np.array_equal(a, b) else np.inf
    d = difference(a, b)
    if d.mismatched:
        return np.inf
    return d.max_abs / d.max_a if d.max_a else (np.inf if d.max_abs else 0.0)
