"""Fails where the environment variable MOOD says: on import, in warm() or in describe()."""

from __future__ import annotations

import ctypes
import os
import time

MOOD = os.environ["MOOD"]
if MOOD == "abort on import":
    os.write(2, b"fatal: no such device\n")
    os.abort()
if MOOD == "hang on import":
    ctypes.PyDLL(None).sleep(60)
if MOOD == "raise on import":
    raise OSError("libcudart.so.12: cannot open shared object file")
if MOOD == "missing":
    import no_such_module_of_any_kind  # noqa: F401  # pyright: ignore[reportMissingImports]


def warm():
    if MOOD == "raise in warm":
        raise RuntimeError("cannot set threads")
    if MOOD == "crash in warm":
        ctypes.string_at(0)
    if MOOD == "hang in warm":
        time.sleep(60)


def describe():
    if MOOD == "raise in describe":
        raise RuntimeError("no version")
    return {"component": "moody"}


if MOOD != "no handle":

    def handle(request, values):
        return {}, []
