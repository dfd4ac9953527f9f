"""Which numbers a campaign feeds a program: mostly ordinary ones, and those at which kernels go wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from irfuzz.facts import TensorFact
from irfuzz.generate.input_values import Numbers

if TYPE_CHECKING:
    from irfuzz.choices import Choices
    from irfuzz.ir.program import Program

KINDS: tuple[Numbers, ...] = get_args(Numbers)

SHARES = {"ordinary": 0.55, "edges": 0.07, "nan": 0.03, "wide": 0.35}
"""How often inputs hold which; floats that are not ordinary may come to NaN, infinity or nothing on their way."""

SHARES_OF_FEW = {"ordinary": 0.4, "edges": 0.1, "nan": 0.17, "wide": 0.33}
"""The same of a program of few nodes: what one operator makes of NaN and infinities can be told there."""

FEW = 4
"""So many nodes."""

SHARES_OF_WHOLE = {"ordinary": 0.35, "edges": 0.1, "nan": 0.0, "wide": 0.55}
"""The same of a program all of whose inputs are integers: whatever they are, results can be compared."""


def draw_numbers(program: Program, choices: Choices) -> Numbers:
    """Which numbers the inputs of a program are to hold, drawn by the shares of its kind: of integers only, of few
    nodes, or any other. ``make_inputs`` takes the answer as ``numbers``.
    """
    facts = [program.fact(value) for value in program.graph.inputs]
    whole = bool(facts) and all(isinstance(fact, TensorFact) and fact.dtype.is_integer() for fact in facts)
    shares = SHARES_OF_WHOLE if whole else SHARES_OF_FEW if len(program.graph) <= FEW else SHARES
    return choices.weighted(KINDS, [shares[kind] for kind in KINDS])
