"""A wish to stop ends every process below this one, and from then on no worker answers or starts.

A thread that waits for a worker notices no Ctrl-C: Python tells the main thread alone, and only between two steps of
its own. So the request that it waits for is what ends: ``stop`` has the workers killed, and each ``Worker`` that loses
its process, or is asked for another, raises ``Interrupted`` instead of calling that a crash of the component.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass


class Interrupted(KeyboardInterrupt):
    """A worker was not asked, or its answer is not waited for, because the user wants to stop."""


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """A request that is under way.

    Attributes:
        worker: its name.
        seconds: how long it has been waited for.
    """

    worker: str
    seconds: float


# Of the process as a whole, as signals and children are: a wish to stop reaches every worker, whoever made it.
_stopping = threading.Event()
_calls: dict[int, tuple[str, float]] = {}
_enders: list[Callable[[], None]] = []


def at_stop(end: Callable[[], None]) -> None:
    """Have ``end`` called by ``stop``, from any thread and perhaps several times.

    A function that is registered already is not registered again; none is ever taken off.
    """
    if end not in _enders:
        _enders.append(end)


def stop() -> None:
    """End all processes that were registered; no worker starts or answers any more.

    May be called from any thread and again, for a process may have been on its way to being made.
    """
    _stopping.set()
    for end in _enders:
        end()


def resume() -> None:
    """Let workers start again, at the beginning of another command of the same process; ``at_stop`` still holds."""
    _stopping.clear()


def stopped() -> bool:
    """Whether somebody wants to stop: ``stop`` was called, and ``resume`` not since."""
    return _stopping.is_set()


def check() -> None:
    """Return if nobody wants to stop.

    Raises:
        Interrupted: somebody does.
    """
    if _stopping.is_set():
        raise Interrupted


@contextlib.contextmanager
def waiting(worker: str) -> Generator[None]:
    """A context in which this thread waits for a worker, as ``under_way`` tells; one request a thread.

    Args:
        worker: its name, for messages.
    """
    key = threading.get_ident()
    _calls[key] = (worker, time.monotonic())
    try:
        yield
    finally:
        _calls.pop(key, None)


def under_way() -> list[PendingRequest]:
    """The requests that are waited for now, in all threads, the longest first; empty if there are none."""
    now = time.monotonic()
    return [
        PendingRequest(name, now - began) for name, began in sorted(_calls.copy().values(), key=lambda call: call[1])
    ]
