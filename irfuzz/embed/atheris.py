"""libFuzzer's custom mutator of ONNX models for Atheris.

Use: ``atheris.Setup(argv, test_one_input, custom_mutator=irfuzz.embed.atheris.custom_mutator,
custom_crossover=irfuzz.embed.atheris.custom_crossover)``.
"""

from __future__ import annotations

from functools import cache

from irfuzz.embed.mutator import ModelMutator, for_fuzzer


@cache
def mutator() -> ModelMutator:
    """The one that both functions use; its ``counts`` say what became of the calls."""
    return for_fuzzer()


def custom_mutator(data: bytes, max_size: int, seed: int) -> bytes:
    """A mutant of at most ``max_size`` bytes (``LLVMFuzzerCustomMutator``).

    Args:
        data: a model, or any other bytes, which are changed as bytes.
        max_size: in bytes.
        seed: equal seeds, sizes and data give equal mutants in every process.
    """
    return mutator().mutate(bytes(data), max_size, seed)


def custom_crossover(data1: bytes, data2: bytes, max_size: int, seed: int) -> bytes:
    """A mutant of the first with a piece of the second (``LLVMFuzzerCustomCrossOver``).

    Args:
        data1: a model, which is mutated.
        data2: another one, which gives the piece.
        max_size: of the mutant, in bytes.
        seed: of all draws.

    Returns:
        An ordinary mutant of the first if nothing of the second fits.
    """
    return mutator().cross(bytes(data1), bytes(data2), max_size, seed)
