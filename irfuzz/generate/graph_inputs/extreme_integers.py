"""Draws inputs with the largest and smallest integers in them, if all inputs are integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irfuzz.facts import TensorFact
from irfuzz.generate.input_values import Value, make_inputs

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

TRIES = 8
"""Seeds that are tried until an extreme number is among the elements."""

SMALL = 8
"""Integers of so many bits are drawn from their whole range anyway."""


def inputs_with_extremes(program: Program, seed: int) -> dict[str, Value]:
    """As ``make_inputs``; if every input is an integer, some elements that nothing limits are extreme.

    Integers do not round: a component that computes with them in floating point goes wrong if they are large.

    Raises:
        Unsupported: no inputs can be made.
    """
    graph = program.graph
    facts = [program.fact(value) for value in graph.inputs if value.name not in graph.initializers]
    whole = [fact.dtype for fact in facts if isinstance(fact, TensorFact) and fact.dtype.is_integer()]
    plain = make_inputs(program, seed)
    if len(whole) < len(facts) or all(dtype.bitwidth <= SMALL for dtype in whole):
        return plain
    for more in range(TRIES):
        found = make_inputs(program, seed + more, numbers="edges")
        if any(_extreme(value) for value in found.values()):
            return found
    return plain


def _extreme(value: Value) -> bool:
    if not isinstance(value, np.ndarray) or not value.size or value.dtype.kind not in "iu":
        return False
    limits = np.iinfo(value.dtype)
    return limits.bits > SMALL and int(value.max()) >= limits.max - 1
