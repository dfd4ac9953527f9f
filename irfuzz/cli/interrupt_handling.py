"""Ctrl-C ends a command within two seconds, whatever it does, with what is known so far printed.

Python raises ``KeyboardInterrupt`` in the main thread as soon as that is between two steps of its own. Here the
workers are killed too, so that nobody waits for them, and a thread looks on: if the command has not ended after
``GRACE`` seconds (a long call into a library, a clean-up that hangs), the thread prints what is known, ends every
process and leaves with the code of an interrupt.

A command says what is known by ``telling``; that is asked at most once, by the command's own thread if it can:

    with telling(lambda: f"{written} of {count} mutants are in {out}"):
        ...
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from types import FrameType

from irfuzz import stop_request

STOPPED = 130
"""Exit code of what a signal stopped, as shells have it."""

GRACE = 1.25
"""Seconds that a command has to come to its end by itself."""

AGAIN = 0.1
"""Seconds between two looks for processes that were being made when the first were killed."""


class _Known:
    """What a command tells when it is interrupted, once."""

    def __init__(self, tell: Callable[[], str | None]) -> None:
        self._tell = tell
        self._lock = threading.Lock()

    def __call__(self) -> str:
        """The words for the last line; they are empty for all callers but the first."""
        return (self._tell() or "") if self._lock.acquire(blocking=False) else ""


_known: list[_Known] = []

_lost = threading.Event()
"""Set while an interrupt that was raised has not reached the command."""


@contextlib.contextmanager
def telling(tell: Callable[[], str | None]) -> Generator[None]:
    """Have ``tell`` say what is known so far if what is done inside is interrupted.

    Args:
        tell: prints what is known, flagged as partial, or returns words for the last line (``irfuzz: stopped: ...``),
            or both. It asks no worker, and may be called while another thread changes what it reads.
    """
    known = _Known(tell)
    _known.append(known)
    try:
        yield
    except KeyboardInterrupt as stopped:
        words = known() or str(stopped)
        raise KeyboardInterrupt(*([words] if words else [])) from None
    finally:
        _known.remove(known)


@contextlib.contextmanager
def obeying() -> Generator[None]:
    """What is done inside ends within two seconds of Ctrl-C; only in the main thread, and if nobody else handles it.

    ``KeyboardInterrupt`` is raised inside, and workers are killed. If that does not end it in ``GRACE`` seconds, the
    process prints what is known and exits with ``STOPPED``.
    """
    mine = threading.current_thread() is threading.main_thread()
    if not mine or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    stop_request.resume()
    told, wakes = os.pipe()
    os.set_blocking(wakes, False)
    ended = threading.Event()
    watch = threading.Thread(target=_watch, args=(told, ended), name="irfuzz-interrupt", daemon=True)
    hook = sys.unraisablehook
    sys.unraisablehook = functools.partial(_swallowed, hook)
    _lost.clear()
    before = signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, _asked)
    watch.start()
    try:
        yield
    finally:
        ended.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.set_wakeup_fd(before)
        sys.unraisablehook = hook
        os.close(wakes)
        watch.join()
        os.close(told)


def _asked(_number: int, _frame: FrameType | None) -> None:
    if stop_request.stopped() and not _lost.is_set():
        return  # what is known is being printed, and ``_watch`` sees to the end
    _lost.clear()
    stop_request.stop()
    raise KeyboardInterrupt


def _swallowed(hook: Callable[[sys.UnraisableHookArgs], object], about: sys.UnraisableHookArgs) -> None:
    """See that the interrupt comes again if Python was in a place that may not raise, as a ``__del__``."""
    if issubclass(about.exc_type, KeyboardInterrupt):
        _lost.set()
    else:
        hook(about)


def _watch(told: int, ended: threading.Event) -> None:
    """Wait for a signal, in whose handler the main thread may not be able to run, and see that the command ends."""
    while number := os.read(told, 1):
        if number[0] != signal.SIGINT or signal.getsignal(signal.SIGINT) is not _asked:
            continue  # a campaign finishes what its jobs are busy with
        end = time.monotonic() + GRACE
        while time.monotonic() < end:
            if ended.wait(AGAIN):
                return
            if stop_request.stopped():
                stop_request.stop()  # what was on its way to being started, too
            if _lost.is_set():
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        _leave()


def _leave() -> None:
    """End the process from this thread."""
    try:
        words = [told for known in _known if (told := known())]
    except Exception as error:  # noqa: BLE001 - half a result may be anything, and must not keep it from ending
        words = [f"what is known cannot be printed ({error!r})"]
    try:
        with contextlib.suppress(OSError):  # nobody reads it any more
            print(f"irfuzz: {': '.join(['stopped', *words])}", file=sys.stderr, flush=True)
            sys.stdout.flush()
        from irfuzz.isolate.zygote_client import remove_scratch

        stop_request.stop()
        remove_scratch()
    finally:
        os._exit(STOPPED)
