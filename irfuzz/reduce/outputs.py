"""Fewer and earlier outputs: a session enters; what lies behind the first failing value is dropped."""

from __future__ import annotations

from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.reduce.session import Session


def keep_one_output(session: Session) -> bool:
    """Keep a single graph output."""
    if len(session.program.graph.outputs) < 2:
        return False
    return any(_with_outputs(session, [v.name or ""]) for v in list(session.program.graph.outputs))


def end_earlier(session: Session) -> bool:
    """Let the program end at the earliest inner value that still shows the fault, found by bisection."""
    names = [
        o.name
        for node in session.program.nodes()
        for o in node.outputs[:1]
        if o.name and not o.is_graph_output() and isinstance(session.program.fact(o), TensorFact)
    ]
    low, high, found = 0, len(names), False
    # Deviations usually stay visible once they are there; where they do not, later passes still help.
    while low < high:
        middle = (low + high) // 2
        if _with_outputs(session, [names[middle]]):
            high, found = middle, True
        else:
            low = middle + 1
    return found


def _with_outputs(session: Session, names: list[str]) -> bool:
    candidate = session.program.clone()
    if not set_outputs(candidate, names):
        return False
    return session.attempt(candidate)


def set_outputs(program: Program, names: list[str]) -> bool:
    """Make the named values the only graph outputs and drop what they do not need; False where one cannot be."""
    for name in names:
        value = program.value(name)
        if value is None or value.is_graph_input():
            return False
        program.add_output(value)
    for value in list(program.graph.outputs):
        if value.name not in names:
            program.graph.outputs.remove(value)
    try:
        program.prune()
    except InvalidProgram:
        return False
    drop_unused_inputs(program)
    return True


def drop_unused_inputs(program: Program) -> None:
    """Remove graph inputs that nothing reads."""
    for value in list(program.graph.inputs):
        if not value.uses() and not value.is_graph_output():
            program.graph.inputs.remove(value)
            program.forget(value)
