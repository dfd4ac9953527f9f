"""What every handler does around its component: it says how far a run is, times it, and reports what the run raises.

Runs in the worker's interpreter: imports only the standard library.
"""

from __future__ import annotations

import os
import re
import time
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TypeAlias  # of Python 3.10

Answer: TypeAlias = "tuple[dict[str, Any], list[Any]]"
"""What a handler gives: JSON, and the values that travel beside it."""


SPENT = re.compile(
    r"(?i:illegal memory access|device-side assert|unspecified launch failure|misaligned address"
    r"|illegal instruction was encountered|hardware stack error|invalid program counter)"
    r"|CUDA_ERROR_(?:ILLEGAL_|ASSERT|LAUNCH_FAILED|MISALIGNED_|HARDWARE_STACK_|INVALID_PC)"
)
"""What CUDA says of an error after which every other call of the process fails, too, whatever it is about."""


class Course:
    """How far a run has come: where it stands when it dies, or raises.

    Attributes:
        stage: import, convert, compile or run (see ``irfuzz.execute.adapters.adapter.Adapter``).
    """

    def __init__(self, variant: int = 0, stage: str = "import") -> None:
        self._variant = variant
        self.at(stage)

    def at(self, stage: str) -> None:
        """Enter a stage; the last such line in the log tells where the process died."""
        self.stage = stage
        os.write(2, f"irfuzz-at {self._variant} {stage}\n".encode())


class Failure:
    """How a run failed.

    Attributes:
        exit: unsupported, rejected, memory or protocol.
        error: one line.
        log: more, if there is more.
    """

    def __init__(self, exit: str, error: str, log: str | None = None) -> None:  # noqa: A002 - the answer's own word
        self.exit = exit
        self.error = error
        self.log = log


def each(variants: list[Any], run: Callable[[int, Any], Answer]) -> Answer:
    """The answer to a request: ``run`` of each variant, whatever became of those before it.

    It says ``spent`` if the process is of no use for another request.
    """
    runs: list[dict[str, Any]] = []
    values: list[Any] = []
    for place, options in enumerate(variants):
        status, outputs = run(place, options)
        runs.append(status)
        values.extend(outputs)
    spent = any(SPENT.search(status.get("error", "")) for status in runs)
    return {"runs": runs, **({"spent": True} if spent else {})}, values


def attempt(course: Course, compute: Callable[[], Answer], failed: Callable[[Exception, str], Failure]) -> Answer:
    """One run's status and its values, none if it raises.

    Args:
        course: says in which stage it is.
        compute: gives what the status has to say (``outputs``, ``log``), and the values.
        failed: of an error and the stage, what it means; a ``MemoryError`` means that memory ran out.
    """
    started = time.perf_counter()
    values: list[Any] = []
    try:
        more, values = compute()
        status: dict[str, Any] = {"stage": course.stage, "exit": "ok", **more}
    except MemoryError as error:
        status = {"stage": course.stage, "exit": "memory", "error": f"MemoryError: {error}"}
    except Exception as error:  # noqa: BLE001 - what a component raises is the result
        failure = failed(error, course.stage)
        status = {"stage": course.stage, "exit": failure.exit, "error": failure.error}
        if failure.log is not None:
            status["log"] = failure.log
    status["seconds"] = time.perf_counter() - started
    return status, values


def named(outputs: dict[str, Any]) -> Answer:
    """What the status says of outputs that the transport carries as they are, and these."""
    return {"outputs": [{"name": name} for name in outputs]}, list(outputs.values())


def in_order(names: list[str], values: list[Any]) -> Answer:
    """The same of values without names.

    Raises:
        RuntimeError: there are more names, or fewer.
    """
    if len(values) != len(names):
        raise RuntimeError(f"{len(values)} outputs, the model has {len(names)}")
    return named(dict(zip(names, values)))  # noqa: B905 - Python 3.9


def first_line(error: BaseException) -> str:
    """The kind of an error and the first line of what it says."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:500]}"


def stack() -> str:
    """The stack of the error that is being handled."""
    return traceback.format_exc()[-4000:]
