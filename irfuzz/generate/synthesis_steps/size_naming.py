"""Gives sizes that equal an input's named size that name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import onnx_ir as ir

from irfuzz.errors import InvalidProgram
from irfuzz.facts import Dim, TensorFact
from irfuzz.ir.program import Program
from irfuzz.ir.value import fact_of, set_fact

_NUMBERS = (
    (101, 107, 113, 131, 139, 151, 163, 173, 181, 193, 199, 223, 229, 239),
    (103, 109, 127, 137, 149, 157, 167, 179, 191, 197, 211, 227, 233, 241),
)
"""What sizes of inputs are tried with: primes, so that few are equal by chance, and larger than kernels."""


def name_sizes(program: Program) -> Program:
    """A copy in which the sizes of inner tensors that always equal a named one of an input have its name.

    Inference follows names through few operators: what a padded convolution makes of a named axis is of unknown size.
    Here the program is inferred twice with numbers for the names, and a size that is the name's number both times has
    that name. Others stay unknown: if such a tensor becomes an input of its own, nothing would tell how its size has
    to be chosen.

    Args:
        program: it stays as it is, and is given back if there is nothing to name or no number fits.
    """
    given = dict.fromkeys(d for v in program.graph.inputs for d in _sizes(fact_of(v)) if isinstance(d, str))
    if not given or len(given) > len(_NUMBERS[0]):
        return program
    try:
        first, second = (_with(program, dict(zip(given, numbers, strict=False))) for numbers in _NUMBERS)
    except InvalidProgram:
        return program
    names: dict[tuple[Dim, Dim], str] = dict(zip(zip(*_NUMBERS, strict=True), given, strict=False))
    named = program.clone()
    for value, one, two in zip(_computed(named), _computed(first), _computed(second), strict=True):
        fact = fact_of(value)
        numbers = list(zip(_sizes(fact_of(one)), _sizes(fact_of(two)), strict=False))
        if isinstance(fact, TensorFact) and fact.shape is not None and len(numbers) == len(fact.shape):
            shape = tuple(names.get(pair) if d is None else d for d, pair in zip(fact.shape, numbers, strict=True))
            set_fact(value, replace(fact, shape=shape))
    return named


def _with(program: Program, numbers: Mapping[Dim, int]) -> Program:
    """The program with numbers for the names of its inputs' sizes."""
    copy = program.clone()
    facts = {v: f for v in copy.graph.inputs if isinstance(f := fact_of(v), TensorFact) and f.shape is not None}
    copy.declare_inputs(
        {v: replace(f, shape=tuple(numbers.get(d, d) for d in f.shape or ())) for v, f in facts.items()}
    )
    return copy


def _computed(program: Program) -> Iterator[ir.Value]:
    for node in program.graph:
        yield from node.outputs


def _sizes(fact: object) -> tuple[Dim, ...]:
    return fact.shape or () if isinstance(fact, TensorFact) else ()
