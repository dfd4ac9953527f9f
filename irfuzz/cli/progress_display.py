"""What a long command has done, of how much, and what it waits for, as lines on standard error.

Nothing is printed in the first ``FIRST`` seconds. In a terminal one line is then kept up to date; elsewhere a line is
printed every ``EVERY`` seconds, so that the log of a build server stays short.

    with Progress("comparing", total=8, unit="inputs") as progress:
        for number, sample in enumerate(samples):
            progress(number)
            ...
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextvars import ContextVar
from typing import Generic, Self, TypeVar

from irfuzz import stop_request
from irfuzz.api.progress_update import Update
from irfuzz.report.terminal_text_cleaning import one_line

FIRST = 2.0
"""Seconds of work after which its progress is worth a line."""

EVERY = 10.0
"""Seconds between two lines where they stay."""

REFRESH = 0.5
"""Seconds between two states of the line of a terminal."""

LONG = 1.0
"""Seconds after which it is told that a worker is waited for."""

T = TypeVar("T")

_QUIET: ContextVar[bool] = ContextVar("quiet", default=False)


@contextlib.contextmanager
def quiet(*, silent: bool) -> Generator[None]:
    """No progress is shown inside, if ``silent`` (``--quiet``); if it is false, what holds outside holds
    inside, too.
    """
    token = _QUIET.set(_QUIET.get() or silent)
    try:
        yield
    finally:
        _QUIET.reset(token)


def say(text: str) -> None:
    """Print a line of a command's own on standard error, unless it is to be quiet."""
    if not _QUIET.get():
        print(f"irfuzz: {text}", file=sys.stderr, flush=True)


class ProgressLine:
    """Shows how far something has come, from a thread of its own, so that a worker that is waited for is seen too.

    Args:
        doing: what is done, such as ``comparing``.
        total: how many there are to do, if known.
        unit: of what.
        silent: show nothing, as with ``--quiet``.
    """

    def __init__(self, doing: str, total: int | None = None, unit: str = "", *, silent: bool = False) -> None:
        self._doing = doing
        self._total = total
        self._unit = unit
        self._done: int | None = None if total is None else 0
        self._note = ""
        self._began = time.monotonic()
        self._shown = not (silent or _QUIET.get()) and sys.stderr is not None
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if self._shown:
            self._thread = threading.Thread(target=self._run, name="irfuzz-progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def __call__(self, done: int | None = None, total: int | None = None, note: str = "") -> None:
        """Say how far it has come; what is ``None`` stays as it was.

        Args:
            done: how many are done.
            total: of how many.
            note: what else is to be known, such as the best so far.
        """
        self._done = self._done if done is None else done
        self._total = self._total if total is None else total
        self._note = note

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The same items, counted: before each of them is given, those that were given before count as done, if a total
        is known.

        Args:
            items: are taken one by one.
        """
        for number, item in enumerate(items):
            self(number if self._total is not None else None)
            yield item

    def line(self) -> str:
        """How far it has come, in one line: what is done, how many of how many, the note, the seconds, and a worker
        that is waited for.
        """
        parts = [self._doing]
        if self._done is not None:
            of = "" if self._total is None else f" of {self._total}"
            parts.append(f"{self._done}{of} {self._unit}".strip())
        parts += [self._note] if self._note else []
        told = f"{': '.join(parts[:2])}{''.join(f', {part}' for part in parts[2:])}"
        slow = next((call for call in stop_request.under_way() if call.seconds >= LONG), None)
        waits = "" if slow is None else f"; waiting for {slow.worker} for {slow.seconds:.0f} s"
        return f"irfuzz: {told}, {time.monotonic() - self._began:.0f} s{waits}"

    def _run(self) -> None:
        moves = sys.stderr.isatty()
        if self._over.wait(FIRST):
            return
        while True:
            with contextlib.suppress(OSError, ValueError):  # nobody reads it, or it is closed
                line = one_line(self.line())
                width = shutil.get_terminal_size().columns - 1
                sys.stderr.write(f"\r\x1b[K{line[:width]}" if moves else f"{line}\n")
                sys.stderr.flush()
            if self._over.wait(REFRESH if moves else EVERY):
                break
        if moves:
            with contextlib.suppress(OSError, ValueError):
                print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def remarked(update: Update) -> None:
    """Print the remark of an update on standard error, on one line, even if the command is to be quiet; nothing if it
    has none.
    """
    if update.remark:
        print(f"irfuzz: {one_line(update.remark)}", file=sys.stderr, flush=True)


class UpdateDisplay(Generic[T]):
    """Shows the updates of a call of the Python API: its remarks, and one ``ProgressLine`` after another.

    Args:
        silent: show only remarks.
    """

    def __init__(self, *, silent: bool = False) -> None:
        self._silent = silent
        self._doing = ""
        self._shown = contextlib.ExitStack()
        self._progress = ProgressLine("", silent=True)
        self._so_far: Callable[[], T | None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._shown.close()

    def __call__(self, update: Update[T]) -> None:
        """Show an update."""
        remarked(update)
        self._so_far = update.so_far or self._so_far
        if update.doing and update.doing != self._doing:
            self._shown.close()
            self._doing = update.doing
            progress = ProgressLine(update.doing, update.total, update.unit, silent=self._silent)
            self._progress = self._shown.enter_context(progress)
        if update.doing:
            self._progress(update.done, update.total, update.note)

    def known(self) -> T | None:
        """What the call knows so far, as its last update that offered it can tell; ``None`` if none did, or nothing is
        known.
        """
        return None if self._so_far is None else self._so_far()
