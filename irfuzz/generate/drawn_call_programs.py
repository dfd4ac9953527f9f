"""Programs that are one drawn call of one operator."""

from __future__ import annotations

from irfuzz.choices import Choices
from irfuzz.generate.one_node_programs import sprouts
from irfuzz.ir.program import Program
from irfuzz.mutate.drawn_calls.identity_program_filling import bare, start_anew
from irfuzz.mutate.drawn_calls.single_call_draw import Start, draw_usual
from irfuzz.mutate.mutator_context import Context
from irfuzz.spec import OpSpec

LARGEST = 1 << 10
"""Most elements of a value."""


def drawn_call(context: Context, opset: int, spec: OpSpec, start: Start, seed: str) -> Program | None:
    """A program that is one valid call, as plain as most calls are.

    Args:
        context: specs, and what was seen before.
        opset: of the program; one that ``sprouts`` has.
        spec: the operator.
        start: one of ``starts_of`` the operator.
        seed: decides every draw.

    Returns:
        ``None`` if what was drawn is not valid.
    """
    choices = Choices.from_seed(seed)
    draft = draw_usual(context, opset, spec, start, choices, LARGEST)
    if draft is None:
        return None
    program = next(p for p in sprouts().values() if p.opset == opset).clone()
    node = bare(program)
    assert node is not None
    start_anew(context.specs, program, node, draft, choices)
    return program
