"""A failing case enters; the passes in their order, run until none makes it smaller, and the smallest case leave."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from irfuzz.execute.types import Value
from irfuzz.ir.program import Program
from irfuzz.reduce.bodies import inline_calls, simplify_bodies, unwrap_bodies
from irfuzz.reduce.bypass import bypass_nodes
from irfuzz.reduce.casts import drop_casts
from irfuzz.reduce.constants import fold_known
from irfuzz.reduce.cuts import begin_later, cut_single_values
from irfuzz.reduce.elements import simplify_inputs, simplify_weights
from irfuzz.reduce.names import drop_texts, shorten_names
from irfuzz.reduce.optional import drop_attributes, drop_optional_inputs
from irfuzz.reduce.outputs import end_earlier, keep_one_output
from irfuzz.reduce.session import OutOfBudget, Reduced, Session, Still, ValuesOf
from irfuzz.reduce.sizes import bind_names, shrink_sizes

Pass: TypeAlias = Callable[[Session], bool]
"""Tries to make the best case smaller; True where it did."""

STRUCTURE: tuple[Pass, ...] = (
    keep_one_output,
    end_earlier,
    begin_later,
    inline_calls,
    unwrap_bodies,
    fold_known,
    bypass_nodes,
    cut_single_values,
    drop_casts,
    simplify_bodies,
    drop_optional_inputs,
    drop_attributes,
)
"""Fewer nodes; those that remove most for the fewest tries come first."""

DATA: tuple[Pass, ...] = (bind_names, shrink_sizes, simplify_inputs, simplify_weights)
"""Smaller and plainer tensors, once no node can be removed."""

LOOKS: tuple[Pass, ...] = (drop_texts, shorten_names)
"""Nothing that a reader does not need; once, at the end."""


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
        still: tells whether a candidate still shows the fault; it is only given valid programs.
        values_of: gives inner values, so that a program can be cut in the middle.
        seconds: wall time.
        tries: most calls of ``still``.
    """
    session = Session(program.clone(), inputs, still, values_of, seconds, tries)
    complete = True
    try:
        while True:
            _settle(session, STRUCTURE)
            # Data that became plainer may be what kept a node.
            if not _settle(session, DATA):
                break
        for one in LOOKS:
            one(session)
    except OutOfBudget:
        complete = False  # what was found stands
    return Reduced(session.program, session.inputs, session.tries, complete)


def _settle(session: Session, passes: tuple[Pass, ...]) -> bool:
    """Run passes until none of them makes the case smaller."""
    found = False
    while any([one(session) for one in passes]):  # noqa: C419 - every pass has its turn in each round
        found = True
    return found
