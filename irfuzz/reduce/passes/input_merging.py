"""Fewer inputs: makes one of inputs of one type and shape, and of weights of that shape, too."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from irfuzz.ir.program import Program
from irfuzz.reduce.session import Change, NotPossible, Session


def merge_inputs(session: Session) -> bool:
    """Let what reads one input read an earlier one that is alike: all at once, else pair by pair.

    Alike are inputs of the same type and shape, in fact and in data; pairs of equal elements come first. For example
    ``Add(x, y)`` -> ``Add(x, x)``.
    """
    pairs = _pairs(session)
    if len(pairs) > 1 and session.edit(_merging(pairs)):
        return True
    return session.each(_merging([pair]) for pair in pairs)


def _pairs(session: Session) -> list[tuple[str, str]]:
    """Each input with every earlier one of its type and shape; those of equal data first."""
    found: list[tuple[bool, str, str]] = []
    inputs = [v for v in session.program.graph.inputs if v.name in session.inputs and not v.is_initializer()]
    for place, value in enumerate(inputs):
        own, data = session.program.fact(value), session.inputs[value.name or ""]
        for other in inputs[:place]:
            theirs = session.inputs[other.name or ""]
            if own != session.program.fact(other) or not isinstance(data, np.ndarray):
                continue
            if isinstance(theirs, np.ndarray) and (theirs.shape, theirs.dtype) == (data.shape, data.dtype):
                found.append((not np.array_equal(data, theirs), value.name or "", other.name or ""))
    return [(name, other) for _, name, other in sorted(found, key=lambda f: f[0])]


def _merging(pairs: list[tuple[str, str]]) -> Change:
    def change(program: Program) -> None:
        done: set[str] = set()
        for name, other in pairs:
            value, kept = program.value(name), program.value(other)
            if name in done or value is None or kept is None or not value.is_graph_input() or value.is_graph_output():
                continue
            program.replace_uses(value, kept)
            done.add(name)
        if not done:
            raise NotPossible

    return change


def feed_weights(session: Session) -> bool:
    """Let what reads an initializer of floats read an input of its type and shape instead.

    For example ``Mul(x, w)`` -> ``Mul(x, x)``; the elements of the two may differ, as the candidate is tried anyway.
    """
    return session.each(_sharing(session))


def _sharing(session: Session) -> Iterator[Change]:
    for name, value in list(session.program.graph.initializers.items()):
        array = session.program.const_array(value)
        for other, data in session.inputs.items():
            if array is None or not isinstance(data, np.ndarray) or array.dtype.kind != "f":
                continue
            if array.dtype == data.dtype and array.shape == data.shape:
                yield lambda program, name=name, other=other: _share(program, name, other)


def _share(program: Program, name: str, other: str) -> None:
    value, kept = program.value(name), program.value(other)
    if value is None or kept is None or not kept.is_graph_input():
        raise NotPossible
    if not program.replace_uses(value, kept):
        raise NotPossible
