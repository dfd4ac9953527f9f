"""The quickest runtime that is installed, as a callable that runs one program once and returns how that ended."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Exit, Value
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.generate.input_planning import TrialRun
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits

PREFERRED = ("onnxruntime:disabled", "torch:eager", "openvino", "reference")
"""What runs models, quick ones first: the first that is installed and has every operator of the model."""

SECONDS = 10.0
"""What one run may take."""


class QuickRuntime:
    """Runs programs in a worker; nothing is started before the first call.

    A context manager. A runtime that has no kernel for something gives way to the next one, for that program and all
    later ones; but not for an operator of another domain, which no later program needs to have.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        self._limits = Limits(seconds=seconds)
        self._left = list(PREFERRED)
        self._runner: Runner | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def __call__(self, program: Program, inputs: Mapping[str, Value]) -> TrialRun:
        """Run one program once."""
        while True:
            runner = self._start()
            if runner is None:
                return TrialRun(error="no runtime that has all its operators is installed")
            (result,) = runner.run(program, inputs)
            if result.exit is not Exit.UNSUPPORTED or _is_opaque(program):
                break
            self._close()
        error = "" if result.exit is Exit.OK else result.error or str(result.exit)
        return TrialRun(error, result.seconds, result.outputs)

    def _start(self) -> Runner | None:
        while self._runner is None and self._left:
            name = self._left.pop(0)
            try:
                self._runner = Runner(resolve([name]), self._limits).__enter__()
            except UsageError:  # not installed here
                continue
        return self._runner

    def _close(self) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            runner.close()


def _is_opaque(program: Program) -> bool:
    return any(program.inference.is_opaque(node) for node in program.graph)
