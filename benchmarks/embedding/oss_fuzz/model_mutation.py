"""Fuzzes a function of bytes with mutants of ONNX models, under Atheris or a libFuzzer that is preloaded."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

import atheris  # pyright: ignore[reportMissingImports]

from irfuzz.embed.atheris import custom_crossover, custom_mutator

_MUTATE = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_uint)
_CROSS = ctypes.CFUNCTYPE(
    ctypes.c_size_t,
    *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t),
    ctypes.c_uint,
)


@_MUTATE
def _mutate(data: int, size: int, most: int, seed: int) -> int:
    made = custom_mutator(ctypes.string_at(data, size), most, seed)[:most]
    ctypes.memmove(data, made, len(made))
    return len(made)


@_CROSS
def _cross(data1: int, size1: int, data2: int, size2: int, out: int, most: int, seed: int) -> int:
    made = custom_crossover(ctypes.string_at(data1, size1), ctypes.string_at(data2, size2), most, seed)[:most]
    ctypes.memmove(out, made, len(made))
    return len(made)


def fuzz(test_one_input: Callable[[bytes], None]) -> None:
    """Run libFuzzer with the arguments of this process, and do not return.

    Args:
        test_one_input: gets a model's bytes, mostly valid ones. What it raises is a finding.
    """
    preloaded = getattr(ctypes.CDLL(None), "mutation_set", None)  # of mutation.c
    if preloaded is not None:
        preloaded(_mutate, _cross)
        atheris.Setup(sys.argv, test_one_input)
    else:
        atheris.Setup(sys.argv, test_one_input, custom_mutator=custom_mutator, custom_crossover=custom_crossover)
    atheris.Fuzz()
