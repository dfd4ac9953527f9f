"""The passes in their order, run until none of them makes the case smaller."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from irfuzz.ir.program import Program
from irfuzz.reduce.cuts import begin_later, cut_single_values
from irfuzz.reduce.elements import simplify_inputs, simplify_weights
from irfuzz.reduce.nodes import bypass_nodes, drop_attributes, drop_optional_inputs
from irfuzz.reduce.outputs import end_earlier, keep_one_output
from irfuzz.reduce.session import OutOfBudget, Reduced, Session, Still, Value, ValuesOf

PASSES: tuple[Callable[[Session], bool], ...] = (
    keep_one_output,
    end_earlier,
    begin_later,
    bypass_nodes,
    cut_single_values,
    drop_optional_inputs,
    drop_attributes,
    simplify_inputs,
    simplify_weights,
)
"""Those that remove most for the fewest tries come first."""


def reduce_case(
    program: Program,
    inputs: Mapping[str, Value],
    still: Still,
    *,
    values_of: ValuesOf | None = None,
    seconds: float = 20.0,
    tries: int = 500,
) -> Reduced:
    """The smallest case found within the budget; the given one where no smaller one fails.

    Args:
        program: the failing program; it stays as it is.
        inputs: by name.
        still: tells whether a candidate still shows the fault.
        values_of: gives inner values, so that a program can be cut in the middle.
        seconds: wall time.
        tries: most calls of ``still``.
    """
    session = Session(program.clone(), inputs, still, values_of, seconds, tries)
    try:
        while any([one(session) for one in PASSES]):  # noqa: C419 - every pass has its turn in each round
            pass
    except OutOfBudget:
        pass  # what was found stands
    return Reduced(session.program, session.inputs)
