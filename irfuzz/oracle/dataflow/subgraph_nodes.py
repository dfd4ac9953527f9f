"""All that a node computes by, in its bodies and functions, and how often each is computed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.ir.inlining import function_of, turns_of
from irfuzz.ir.subgraphs import bodies_of
from irfuzz.spec import has_trait

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

UNKNOWN_TURNS = 16
"""Turns that are assumed of a loop whose number nobody knows before the run."""

_DEPTH = 8


def nodes_inside(program: Program, node: ir.Node, times: int = 1, depth: int = 0) -> Iterator[tuple[ir.Node, int]]:
    """A node, those in its bodies and those of the local functions that they call, with how often each one runs."""
    yield node, times
    for body in bodies_of(node):
        turns = 1
        if has_trait(node, "iterates"):
            known = turns_of(program, node)
            turns = UNKNOWN_TURNS if known is None else max(1, known)
        for inner in body:
            yield from nodes_inside(program, inner, times * turns, depth)
    function = function_of(program, node)
    if function is not None and depth < _DEPTH:
        for inner in function:
            yield from nodes_inside(program, inner, times, depth + 1)


def is_shell(program: Program, node: ir.Node) -> bool:
    """True if a node computes nothing but what stands in its bodies or function.

    That is so of control flow such as If, Loop and Scan, and of a call of one of the model's own functions.
    """
    return next(bodies_of(node), None) is not None or function_of(program, node) is not None


def values_inside(nodes: list[ir.Node]) -> set[ir.Value]:
    """What nodes read, and what they compute and somebody reads.

    Args:
        nodes: of one graph or of several.

    Returns:
        All their inputs that are not omitted, and of their outputs those that another node reads or a graph gives.
    """
    read = {v for n in nodes for v in n.inputs if v is not None}
    return read | {o for n in nodes for o in n.outputs if o.uses() or o.is_graph_output()}


def has_open_sizes(program: Program, node: ir.Node) -> bool:
    """True if the shape of an output is not known before the run.

    A symbolic size or an unknown rank is enough, and so is an output of which nothing is known or that is no tensor.
    Outputs without a name do not count.
    """
    facts = [program.fact(o) for o in node.outputs if o.name]
    return not all(isinstance(fact, TensorFact) and fact.is_static for fact in facts)
