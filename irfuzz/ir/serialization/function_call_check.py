"""Whether the local functions of a model can be written out where they are called.

ONNX forbids that a function calls itself, directly or through others (IR specification, "Model Local Functions"). It
does not say how much functions may stand for: forty of them, each of which calls the one before twice, are a trillion
nodes in three kilobytes.
"""

from __future__ import annotations

from collections.abc import Mapping

import onnx_ir as ir

from irfuzz.errors import InvalidProgram

Functions = Mapping[tuple[str, str, str], ir.Function]

MOST_NODES = 1_000_000
"""Nodes that a function may stand for when all calls within it are written out."""


def check_calls(graph: ir.Graph, functions: Functions) -> None:
    """See that no function calls itself, and that neither one nor the graph stands for too many nodes.

    Raises:
        InvalidProgram: one does; the message names the functions on the way.
    """
    sizes: dict[tuple[str, str, str], int] = {}
    for name in functions:
        _size(name, functions, sizes)
    if functions:
        _limit("the model", sum(1 + sizes.get(node.op_identifier(), 0) for node in graph.all_nodes()))


def _size(start: tuple[str, str, str], functions: Functions, sizes: dict[tuple[str, str, str], int]) -> None:
    """Count the nodes of a function and of all that it calls; without recursion, for chains may be long."""
    way = [start]
    while way:
        name = way[-1]
        if name in sizes:
            way.pop()
            continue
        called = [node.op_identifier() for node in functions[name].all_nodes()]
        inner = [one for one in called if one in functions]
        open_ones = [one for one in inner if one not in sizes]
        for one in open_ones:
            if one in way:
                circle = " -> ".join(_told(step) for step in [*way[way.index(one) :], one])
                raise InvalidProgram(f"function {_told(one)} calls itself ({circle}), which ONNX forbids")
        if open_ones:
            way.append(open_ones[0])
            continue
        sizes[name] = len(called) + sum(sizes[one] for one in inner)
        _limit(f"function {_told(name)}", sizes[name])


def _limit(what: str, size: int) -> None:
    if size > MOST_NODES:
        raise InvalidProgram(
            f"{what} stands for {size} nodes when calls of functions are written out; expected at most {MOST_NODES}"
        )


def _told(name: tuple[str, str, str]) -> str:
    domain, function, overload = name
    return f"'{domain}::{function}'" if not overload else f"'{domain}::{function}:{overload}'"
