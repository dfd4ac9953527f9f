"""Compares rewritten forms of what a model computes inside If, Loop, Scan and functions, which rewrites skip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from irfuzz.localize.nodes.control_flow_unrolling import has_bodies, unfold

if TYPE_CHECKING:
    from irfuzz.campaign.self_testing.contradiction_record import Contradiction
    from irfuzz.campaign.self_testing.equivalent_form_testing import Equivalence
    from irfuzz.campaign.self_testing.rounds_until_deadline import RoundTiming
    from irfuzz.execute.run_types import Value
    from irfuzz.execute.runner import Runner
    from irfuzz.ir.program import Program

SUFFIX = " (bodies written out)"
"""Follows the name of a model if a contradiction is about its written out bodies."""


def check_unfolded(
    engine: Equivalence,
    runner: Runner,
    name: str,
    program: Program,
    forms: int,
    inputs: Mapping[str, Value],
    *,
    pace: RoundTiming | None = None,
) -> Iterator[Contradiction]:
    """As ``Equivalence.check``, for the program with the bodies that these inputs run written out.

    Nothing is told of programs without bodies and calls, nor if no target runs the program.

    Args:
        engine: tests its targets against themselves.
        runner: the engine's.
        name: of the model.
        program: stays as it is.
        forms: how many are compared.
        inputs: values by graph input name; they decide which branches are taken.
        pace: when to end.

    Raises:
        Unsupported: a form needs an input that cannot be made.
    """
    if not has_bodies(program):
        return
    for target in engine.targets:
        made = unfold(runner, program, inputs, target)
        if made is not None:
            yield from engine.check(name + SUFFIX, made.program, forms, inputs=inputs, since=0, pace=pace)
            return
