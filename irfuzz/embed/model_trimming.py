"""irfuzz's reduction turned inside out: it offers candidates one by one, and the caller says which still show it."""

from __future__ import annotations

import queue
import threading

from irfuzz.errors import IrfuzzError
from irfuzz.execute.run_types import Value
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.reduce.pass_loop import reduce_case

TRIES = 64
"""Candidates for one entry."""

SECONDS = 20.0


class _Over(Exception):
    """The fuzzer goes on with something else."""


class Trimmer:
    """Trims one model.

    The reduction runs in a thread of its own and waits in it for each answer; never do both work at once.

    Args:
        data: bytes of the model; what is no model has no steps.

    Attributes:
        steps: most candidates that there may be.
    """

    def __init__(self, data: bytes) -> None:
        self._asked: queue.Queue[bytes | None] = queue.Queue()
        self._told: queue.Queue[bool | None] = queue.Queue()
        self._done = 0
        self._best = data
        self._now: bytes | None = None
        self.steps = 0
        self._thread: threading.Thread | None = None
        try:
            program = Program.from_bytes(data)
            inputs = make_inputs(program, 0)
        except (IrfuzzError, ValueError, RecursionError, MemoryError, OverflowError):
            return
        self._thread = threading.Thread(target=self._run, args=(program, inputs), daemon=True)
        self._thread.start()
        self._now = self._asked.get()
        self.steps = TRIES if self._now is not None else 0

    def _run(self, program: Program, inputs: dict[str, Value]) -> None:
        def still(candidate: Program, values: object) -> bool:
            self._asked.put(candidate.to_bytes())
            answer = self._told.get()
            if answer is None:
                raise _Over
            return answer

        try:
            reduce_case(program, inputs, still, seconds=SECONDS, tries=TRIES)
        except (_Over, IrfuzzError):
            pass
        finally:
            self._asked.put(None)

    def candidate(self) -> bytes:
        """What is to be tried next."""
        assert self._now is not None
        return self._now

    def answer(self, success: bool) -> int:
        """Say whether the candidate still shows the same; the number of the next step.

        Args:
            success: if true the candidate is the smallest model so far, and the next ones are made of it.

        Returns:
            ``steps`` once there is nothing more to try; the trimmer is closed then.
        """
        self._done += 1
        if success and self._now is not None:
            self._best = self._now
        self._told.put(bool(success))
        self._now = self._asked.get()
        if self._now is None or self._done >= self.steps:
            self.close()
            return self.steps
        return self._done

    def close(self) -> None:
        """End the thread."""
        if self._thread is not None and self._thread.is_alive():
            self._told.put(None)
            self._thread.join(SECONDS)
        self._thread = None
