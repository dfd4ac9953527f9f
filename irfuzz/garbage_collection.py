"""Lets Python's collector look at new objects only, in a process that makes many programs."""

from __future__ import annotations

import gc


def settle() -> None:
    """Call once all is loaded, in a process that is irfuzz's own.

    What is there by now (specs, schemas, modules) stays for good, so that the collector need not go through it again;
    and a program dies young and takes thousands of objects with it, so that seldom looking is enough. A third of the
    time of a mutation.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
