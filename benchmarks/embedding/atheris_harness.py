"""The instrumented library under Atheris: ``atheris_harness.py LIBRARY ours|bytes [libFuzzer's arguments]``."""

from __future__ import annotations

import ctypes
import sys

import atheris  # pyright: ignore[reportMissingImports]

from irfuzz.embed.atheris import custom_crossover, custom_mutator

library = ctypes.CDLL(sys.argv[1])
library.LLVMFuzzerInitialize(None, None)
library.LLVMFuzzerTestOneInput.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def test_one_input(data: bytes) -> None:
    """One execution."""
    library.LLVMFuzzerTestOneInput(data, len(data))


mutators = {"custom_mutator": custom_mutator, "custom_crossover": custom_crossover} if sys.argv[2] == "ours" else {}
atheris.Setup([sys.argv[0], *sys.argv[3:]], test_one_input, **mutators)
atheris.Fuzz()
