"""Whether the local functions of a model can be written out where they are called.

ONNX forbids that a function calls itself, directly or through others (IR specification, "Model Local Functions"). It
does not say how much functions may stand for: forty of them, each of which calls the one before twice, are a trillion
nodes in three kilobytes. Nor does it say how deep calls may lie in one another, and runtimes, onnx and irfuzz go down
them by recursion.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

import onnx_ir as ir

from irfuzz.errors import InvalidProgram
from irfuzz.ir.subgraphs import bodies_of, nodes_within

Name = tuple[str, str, str]
"""Domain, name and overload."""

MOST_NODES = 1_000_000
"""Nodes that a model may stand for when all calls are written out; onnx and runtimes look at each of them."""

MOST_LEVELS = 64
"""Calls and bodies that may lie in one another where functions are called; exporters come to a dozen."""


def check_calls(graph: ir.Graph, functions: Mapping[Name, ir.Function]) -> None:
    """See that no function calls itself, and that neither one nor the graph stands for too many nodes or levels.

    Raises:
        InvalidProgram: one does; of those that call themselves the message names the way.
    """
    if not functions:
        return
    calls = {name: [node.op_identifier() for node in _all(function)] for name, function in functions.items()}
    inner = {name: {one for one in called if one in functions} for name, called in calls.items()}
    try:
        order = list(TopologicalSorter(inner).static_order())
    except CycleError as error:
        way = " -> ".join(map(_told, error.args[1][::-1]))
        raise InvalidProgram(f"function {_told(error.args[1][-1])} calls itself ({way}), which ONNX forbids") from None
    sizes: dict[Name, int] = {}
    for name in order:
        sizes[name] = sum(1 + sizes.get(one, 0) for one in calls[name])
    size = max(sum(1 + sizes.get(node.op_identifier(), 0) for node in _all(graph)), *sizes.values())
    if size > MOST_NODES:
        raise InvalidProgram(
            "functions of the model call each other so often that it stands for about "
            f"10^{int(math.log10(size))} nodes; expected at most {MOST_NODES:,}"
        )
    levels: dict[Name, int] = {}
    for name in order:
        levels[name] = _levels(functions[name], levels)
    if (deepest := max(_levels(graph, levels), *levels.values())) > MOST_LEVELS:
        raise InvalidProgram(
            f"functions and bodies of the model lie in one another {deepest} deep; expected at most {MOST_LEVELS}"
        )


def _levels(nodes: Iterable[ir.Node], levels: Mapping[Name, int]) -> int:
    """How deep bodies, and functions of known depth, lie in one another below some nodes."""
    inner = [1 + levels[name] for node in nodes if (name := node.op_identifier()) in levels]
    return max((*inner, *(1 + _levels(body, levels) for node in nodes for body in bodies_of(node))), default=0)


def _all(nodes: Iterable[ir.Node]) -> Iterator[ir.Node]:
    """Nodes with those of their bodies."""
    for node in nodes:
        yield node
        yield from nodes_within(node)


def _told(name: Name) -> str:
    domain, function, overload = name
    return f"'{domain}::{function}'" if not overload else f"'{domain}::{function}:{overload}'"
