"""Later beginnings: replaces what computes a value by an input with that value's elements."""

from __future__ import annotations

import math
from collections.abc import Iterator

import ml_dtypes
import numpy as np
import onnx_ir as ir

from irfuzz.execute.run_types import Value
from irfuzz.facts import TensorFact
from irfuzz.ir.input_domain import MOST_ELEMENTS
from irfuzz.ir.program import Program
from irfuzz.ir.subgraphs import nodes_within
from irfuzz.reduce.session import Change, NotPossible, Session

PARTS = 8
"""Of a program's length: in such steps the longest prefix is looked for that can be dropped."""


def begin_later(session: Session) -> bool:
    """Drop as long a prefix of the node list as can be dropped: found by bisection, else the first of eight lengths.

    What shows without a prefix mostly shows without a shorter one, and bisection asks about a few of hundreds of
    lengths. If it does not, one of the eight may still do.
    """
    if _bisect(session):
        return True
    nodes = session.program.nodes()
    lengths = {min(len(nodes) * part // PARTS, len(nodes) - 1) for part in range(PARTS, 0, -1)} - {0}
    borders = [_border(nodes, length) for length in sorted(lengths, reverse=True)]
    return session.first(_cutting(session, names) for names in borders if names)


def _bisect(session: Session) -> bool:
    """Drop all but the last node, else a prefix and again one of what is left, in steps that get half as long."""
    found, most = False, len(session.program.nodes()) - 1
    length = most
    while most > 0:
        nodes = session.program.nodes()
        names = _border(nodes, length)
        if names and session.edit(_cutting(session, names)):
            found = True
            most = min(most - length, len(session.program.nodes()) - 1)
        else:
            most = length - 1
        length = (most + 1) // 2
    return found


def cut_single_values(session: Session) -> bool:
    """Replace single inner values by inputs, those with the longest history first.

    The new input has the elements that the value had; if no target can tell them, ones for floats and zeros for
    integers, given that its shape is known.
    """
    return session.each(_cutting(session, [name]) for name in reversed(session.sites()))


def _border(nodes: list[ir.Node], length: int) -> list[str]:
    """What the nodes behind a prefix read of it; nothing if it has a graph output."""
    outputs = [o for node in nodes[:length] for o in node.outputs]
    if any(o.is_graph_output() for o in outputs):
        return []
    kept = set(_with_inner(nodes[length:]))
    return [o.name or "" for o in outputs if any(user in kept for user in o.consumers())]


def _with_inner(nodes: list[ir.Node]) -> Iterator[ir.Node]:
    """Nodes and those of their subgraphs, which may read values of the main graph too."""
    for node in nodes:
        yield node
        yield from nodes_within(node)


def _cutting(session: Session, names: list[str]) -> Change:
    def change(program: Program) -> dict[str, Value]:
        known = session.inner_values()
        inputs: dict[str, Value] = {}
        for name in names:
            value = program.value(name)
            fact = program.tensor(value)
            data = _elements(known.get(name), fact)
            if value is None or fact is None or data is None or value.producer() is None or value.is_graph_output():
                raise NotPossible
            new = program.add_input(TensorFact(fact.dtype, tuple(map(int, data.shape))), "cut")
            program.replace_uses(value, new)
            inputs[new.name or ""] = data
        return inputs

    return change


def _elements(told: Value, fact: TensorFact | None) -> np.ndarray | None:
    """What the value was, or ones if nobody could tell and its shape is known."""
    if isinstance(told, np.ndarray):
        return told
    shape = None if fact is None else fact.static_shape
    if fact is None or shape is None or fact.dtype in (ir.DataType.STRING, ir.DataType.UNDEFINED):
        return None
    if min(shape, default=0) < 0 or math.prod(shape) > MOST_ELEMENTS:  # of a candidate that no runtime could run
        return None
    dtype = np.dtype(fact.dtype.numpy())
    floating = dtype.kind == "f" or dtype == np.dtype(ml_dtypes.bfloat16)
    # Integers may be sizes or positions, and there 0 is right more often than 1.
    return np.ones(shape, dtype) if floating else np.zeros(shape, dtype)
