"""Keeps Python's collector from looking at objects that stay, in a process that makes many programs."""

from __future__ import annotations

import ctypes
import gc
import time


def settle() -> None:
    """Call once all is loaded, in a process that is irfuzz's own.

    What is there by now (specs, schemas, modules) stays for good, so that the collector need not go through it again;
    and a program dies young and takes thousands of objects with it, so that seldom looking is enough. A third of the
    time of a mutation.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)


def give_back(last: float, every: float = 120.0) -> float:
    """Collect what waits for the collector, and give memory that nobody uses back to the system, now and then.

    Takes about half a second in a job, for a tenth of what it holds. glibc keeps what is freed
    between what is used; with another C library collecting has to do.

    Args:
        last: when that was done, by ``time.monotonic``.
        every: seconds until it is done again; before that nothing happens.

    Returns:
        When it was done last.
    """
    if time.monotonic() < last + every:
        return last
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    return time.monotonic()
