"""Whether the local functions of a model can be written out where they are called.

ONNX forbids that a function calls itself, directly or through others (IR specification, "Model Local Functions"). It
does not say how much functions may stand for: forty of them, each of which calls the one before twice, are a trillion
nodes in three kilobytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

import onnx_ir as ir

from irfuzz.errors import InvalidProgram
from irfuzz.ir.subgraphs import nodes_within

Name = tuple[str, str, str]
"""Domain, name and overload."""

MOST_NODES = 1_000_000
"""Nodes that a model may stand for when all calls are written out; onnx and runtimes look at each of them."""


def check_calls(graph: ir.Graph, functions: Mapping[Name, ir.Function]) -> None:
    """See that no function calls itself, and that neither one nor the graph stands for too many nodes.

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


def _all(nodes: Iterable[ir.Node]) -> Iterator[ir.Node]:
    """Nodes with those of their bodies."""
    for node in nodes:
        yield node
        yield from nodes_within(node)


def _told(name: Name) -> str:
    domain, function, overload = name
    return f"'{domain}::{function}'" if not overload else f"'{domain}::{function}:{overload}'"
