"""Calls a user's converter in this process and runs its witnesses in workers."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
import onnx

from irfuzz.errors import UsageError
from irfuzz.execute.request_batching import Runnable
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target, Value
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program
from irfuzz.oracle.witnesses_and_blame import witnesses_of

Convert: TypeAlias = "Callable[[onnx.ModelProto], Callable[[dict[str, Any]], Any]]"
"""Of a model what computes it: arrays by name enter, arrays by name or in order, or the only one, leave."""

OWN = Target(name="convert", component="convert")
"""The user's converter among the targets."""

WITNESSES = ("reference", "onnxruntime:disabled")
"""Two independent components, without which no difference is proven."""


class InProcessRunner(Runner):
    """Targets in workers, and a converter that is called here: it is the user's code under the user's own test.

    Args:
        convert: the converter. What it raises is its rejection of a model, ``NotImplementedError`` a gap.
        targets: names of the witnesses.
        tolerance: how far, absolutely and relative to the expected element, an element may be off without being
            looked at; ``None`` leaves it to the oracle's bounds.
    """

    def __init__(self, convert: Convert, targets: Sequence[str] = WITNESSES, tolerance: float | None = None) -> None:
        found = resolve(targets)
        if len(witnesses_of(found)) < 2:
            names = ", ".join(t.name for t in found)
            raise UsageError(f"targets: expected two independent components, got {names or 'none'}")
        super().__init__(found)
        self.witnesses: tuple[Target, ...] = ()
        self._convert = convert
        self._tolerance = tolerance

    def __enter__(self) -> Self:
        """Start the witnesses' workers."""
        super().__enter__()
        self.witnesses = self.targets
        self.targets = (*self.witnesses, OWN)
        return self

    def run(
        self,
        program: Program | bytes,
        inputs: Mapping[str, Value],
        targets: Sequence[Target] | None = None,
        *,
        inflight: Path | None = None,
        tag: str = "",
    ) -> list[RunResult]:
        """Like ``Runner.run``; the converter itself runs in this process, without a time or memory limit.

        Args:
            program: the program, or its ONNX bytes.
            inputs: values by graph input name.
            targets: the converter, witnesses or both; all if ``None``.
            inflight: as for ``Runner.run``; for the witnesses alone.
            tag: likewise.
        """
        return self._both(partial(super().run, inflight=inflight, tag=tag), program, inputs, targets)

    def run_fresh(
        self, program: Program | bytes, inputs: Mapping[str, Value], targets: Sequence[Target] | None = None
    ) -> list[RunResult]:
        """See ``Runner.run_fresh``; the converter has no process but this one."""
        return self._both(super().run_fresh, program, inputs, targets)

    def run_all(self, tasks: Sequence[Runnable]) -> list[list[RunResult]]:
        """Like ``Runner.run_all``, but one task after another.

        Returns:
            For each task what ``run`` gives for its program, inputs and targets, in the order of the tasks.
        """
        return [self.run(task.program, task.inputs, task.targets) for task in tasks]

    def run_own(self, program: Program | bytes, inputs: Mapping[str, Value]) -> RunResult:
        """What the converter makes of a model, and computes.

        Args:
            program: the program, or its ONNX bytes.
            inputs: values by name; the converter gets copies, so it cannot change them.

        Returns:
            ``UNSUPPORTED`` if it raised ``NotImplementedError`` and ``REJECTED`` if it raised anything else, with the
            first line as the error and the traceback as the log; the stage says whether it was converting or running.
        """
        model = onnx.load_from_string(program if isinstance(program, bytes) else program.to_bytes())
        names = [output.name for output in model.graph.output]
        stage, began = Stage.CONVERT, time.monotonic()
        try:
            converted = self._convert(model)
            stage = Stage.RUN
            answer = converted({name: _copied(value) for name, value in inputs.items()})
            outputs = _outputs(answer, names)
        except Exception as error:  # noqa: BLE001 - whatever the converter raises is what it has to say
            gap = isinstance(error, NotImplementedError)
            text = f"{type(error).__name__}: {error}".splitlines()[0]
            return RunResult(
                OWN, stage, Exit.UNSUPPORTED if gap else Exit.REJECTED, error=text, log=traceback.format_exc(limit=-8)
            )
        return RunResult(OWN, stage, Exit.OK, outputs, seconds=time.monotonic() - began)

    def compare(self, program: Program, inputs: Mapping[str, Value], own: RunResult) -> list[RunResult]:
        """What the witnesses do, with what the converter did already.

        Args:
            program: that both run.
            inputs: values by name.
            own: the converter's result on the same inputs; the converter is not run again.

        Returns:
            The results of the witnesses, then the converter's. If there is a tolerance, elements of the latter that are
            within it are replaced by those of a witness.
        """
        results = super().run(program, inputs, self.witnesses)
        return [*results, self._tolerated(own, results)]

    def _both(
        self,
        run: Callable[..., list[RunResult]],
        program: Program | bytes,
        inputs: Mapping[str, Value],
        targets: Sequence[Target] | None,
    ) -> list[RunResult]:
        wanted = self.targets if targets is None else tuple(targets)
        others = [t for t in wanted if t.name != OWN.name]
        found = {r.target.name: r for r in run(program, inputs, others)} if others else {}
        if len(others) < len(wanted):
            found[OWN.name] = self._tolerated(self.run_own(program, inputs), list(found.values()))
        return [found[t.name] for t in wanted]

    def _tolerated(self, own: RunResult, others: Sequence[RunResult]) -> RunResult:
        """The converter's result, with a witness's elements in place of those that are near enough."""
        right = next((r for r in others if r.exit is Exit.OK), None)
        if self._tolerance is None or own.exit is not Exit.OK or right is None:
            return own
        outputs = {name: self._near(value, right.outputs.get(name)) for name, value in own.outputs.items()}
        return RunResult(OWN, own.stage, own.exit, outputs, seconds=own.seconds)

    def _near(self, value: Value, wanted: Value) -> Value:
        if not (isinstance(value, np.ndarray) and isinstance(wanted, np.ndarray)):
            return value
        if value.dtype != wanted.dtype or value.shape != wanted.shape or value.dtype.kind not in "fV":
            return value
        assert self._tolerance is not None
        a, b = value.astype(np.float64), wanted.astype(np.float64)
        return np.where(np.isclose(a, b, rtol=self._tolerance, atol=self._tolerance), wanted, value)


def _copied(value: Value) -> Value:
    """So that the converter cannot change what the others are given."""
    return [_copied(v) for v in value] if isinstance(value, list) else None if value is None else value.copy()


def _outputs(answer: Any, names: Sequence[str]) -> dict[str, Value]:
    """The answer by output name, as arrays of its own."""
    if isinstance(answer, Mapping):
        rows = dict(answer)
    elif isinstance(answer, list | tuple):
        rows = dict(zip(names, answer, strict=False)) if len(answer) == len(names) else {}
    else:
        rows = {names[0]: answer} if len(names) == 1 else {}
    missing = [name for name in names if name not in rows]
    if missing:
        got = f"{len(answer)} values" if isinstance(answer, list | tuple) else type(answer).__name__
        raise ValueError(f"outputs: expected {', '.join(names)}, got {got}; missing: {', '.join(missing)}")
    return {name: _value(rows[name]) for name in names}


def _value(value: Any) -> Value:
    if value is None:
        return None
    if isinstance(value, list):
        return [_value(item) for item in value]
    array = np.array(value)
    return array.astype(object) if array.dtype.kind in "US" else array
