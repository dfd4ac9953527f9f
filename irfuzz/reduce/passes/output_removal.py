"""Fewer and earlier outputs: drops what lies behind the first failing value."""

from __future__ import annotations

from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.reduce.session import Change, NotPossible, Session


def keep_one_output(session: Session) -> bool:
    """Keep a single graph output, the first in their order with which the case still fails; what only the others need
    is removed.
    """
    names = [v.name or "" for v in session.program.graph.outputs]
    return len(names) > 1 and session.first(_ending_at(name) for name in names)


def end_earlier(session: Session) -> bool:
    """Let the program end at the earliest inner value that still shows the fault, found by bisection.

    That value becomes the only output. Candidates are the first outputs of nodes; for example ``Relu(Neg(x))`` ->
    ``Neg(x)``.
    """
    names = [
        o.name
        for node in session.program.nodes()
        for o in node.outputs[:1]
        if o.name and not o.is_graph_output() and isinstance(session.program.fact(o), TensorFact)
    ]
    low, high, found = 0, len(names), False
    # Deviations usually stay visible once they are there; where they do not, other passes still help.
    while low < high:
        middle = (low + high) // 2
        if session.edit(_ending_at(names[middle])):
            high, found = middle, True
        else:
            low = middle + 1
    return found


def _ending_at(name: str) -> Change:
    def change(program: Program) -> None:
        value = program.value(name)
        if value is None or value.is_graph_input():
            raise NotPossible
        program.add_output(value)
        for other in list(program.graph.outputs):
            if other is not value:
                program.graph.outputs.remove(other)

    return change
