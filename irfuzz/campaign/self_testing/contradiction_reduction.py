"""Makes a contradiction small: its program, its rewrites, and one of the ways that show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from irfuzz.errors import InvalidProgram, Unsupported
from irfuzz.execute.run_types import Value
from irfuzz.findings.causes.upstream_cause import ending_at
from irfuzz.reduce import reduce_case

if TYPE_CHECKING:
    from irfuzz.campaign.self_testing.contradiction_record import Contradiction
    from irfuzz.campaign.self_testing.equivalent_form_testing import Equivalence
    from irfuzz.ir.program import Program

MOST_NODES = 64
"""Programs with more nodes are not cut to find the operator that a way to run goes wrong with."""


def with_fewer(engine: Equivalence, found: Contradiction) -> Contradiction:
    """Without the rewrites that it does without.

    Each rewrite is left out in turn, and stays out if fresh processes still show a contradiction.

    Args:
        engine: runs the shorter chains.
        found: with at least one rewrite; one stays in any case.
    """
    index = 0
    while len(found.chain) > 1 and index < len(found.chain):
        fewer = (*found.chain[:index], *found.chain[index + 1 :])
        target = found.results[0].target
        again = engine.again(found.model, found.program, _own(found, found.program), target, fewer)
        if again is None:
            index += 1
        else:
            found = again
    return found


def smallest(engine: Equivalence, found: Contradiction, *, seconds: float) -> Contradiction:
    """The same contradiction on the smallest program that shows it, by the same steps or the first such way.

    Args:
        engine: runs candidates, the last one in fresh processes.
        found: in whose program calls and sizes are reduced; it stays as it is.
        seconds: most time for that.

    Returns:
        On the program of ``found`` if fresh processes do not show it on the smaller one.
    """
    target = found.results[0].target
    steps = found.chain if found.other is None else ()

    def still(candidate: Program, given: Mapping[str, Value]) -> bool:
        try:
            again = engine.again(found.model, candidate, given, target, steps, found.other, fresh=False)
        except (InvalidProgram, Unsupported):
            return False
        return again is not None and again.comparison.symptom == found.comparison.symptom

    small = reduce_case(found.program, _own(found, found.program), still, seconds=seconds)
    again = engine.again(found.model, small.program, small.inputs, target, steps, found.other)
    found = again or found
    return found if found.other is None else _first_way(engine, located(engine, found))


def located(engine: Equivalence, found: Contradiction) -> Contradiction:
    """With the first operator that the other way goes wrong with: the last of the shortest part that shows it."""
    nodes = found.program.nodes()
    if len(nodes) > MOST_NODES:
        return found
    target = found.results[0].target
    for node in nodes:
        output = next((o for o in node.outputs if o.name and (o.uses() or o.is_graph_output())), None)
        if output is None or output.name is None:
            continue
        try:
            part = ending_at(found.program, output.name)
            again = engine.again(found.model, part, _own(found, part), target, (), found.other, fresh=False)
        except (InvalidProgram, Unsupported):
            continue
        if again is not None:
            step = replace(found.step, site=found.program.site_of(node), operator=node.op_type)
            return replace(found, step=step, chain=(step,))
    return found


def _first_way(engine: Equivalence, found: Contradiction) -> Contradiction:
    """The same in the first way that does what the found one does.

    What several ways agree on against the target's own run is one fault, mostly of that run, and has one name.
    """
    assert found.other is not None
    target, inputs = found.results[0].target, _own(found, found.program)
    for other in engine.ways(found.target):
        if other.target.name == found.other.target.name:
            break
        again = engine.again(found.model, found.program, inputs, target, (), other)
        if again is not None and again.comparison.symptom == found.comparison.symptom and engine.agree(found, again):
            step = replace(again.step, site=found.step.site, operator=found.step.operator)
            return replace(again, step=step, chain=(step,))
    return found


def _own(found: Contradiction, program: Program) -> dict[str, Value]:
    """The inputs that a program takes of those of the contradiction."""
    names = {value.name for value in program.graph.inputs}
    return {name: value for name, value in found.inputs.items() if name in names}
