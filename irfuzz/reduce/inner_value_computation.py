"""Inner values of a program, so that it can be cut in the middle: from the quickest target that computes it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from irfuzz.errors import UsageError
from irfuzz.execute.intermediate_values import tap
from irfuzz.execute.run_types import Exit, Value
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits

SOURCES = ("onnxruntime:disabled", "reference")
"""Targets that are asked, one after the other, until one can run the program; neither changes it before it does."""


class InnerValues:
    """Computes the inner values of programs; a worker starts when it is needed first.

    A context manager. Not for use from several threads.

    Args:
        seconds: that one target may take with one program.

    Attributes:
        started: the runner of each source that was asked so far; ``None`` if it is not installed.
    """

    def __init__(self, seconds: float) -> None:
        self._limits = Limits(seconds=seconds)
        self._open = contextlib.ExitStack()
        self.started: dict[str, Runner | None] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def __call__(self, program: Program, inputs: Mapping[str, Value]) -> Mapping[str, Value]:
        """Values by name; none if no target runs the program."""
        probe = tap(program)
        for name in SOURCES:
            runner = self._runner(name)
            if runner is None:
                continue
            (result,) = runner.run(probe, inputs)
            if result.exit is Exit.OK:
                return result.outputs
        return {}

    def _runner(self, name: str) -> Runner | None:
        """The runner of one source; ``None`` if it is not installed."""
        if name not in self.started:
            try:
                self.started[name] = self._open.enter_context(Runner(resolve([name]), self._limits))
            except UsageError:
                self.started[name] = None
        return self.started[name]
