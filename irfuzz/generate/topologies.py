"""Puts layers that form a chain, cells or any graph into a growing program."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.generate.program_growth import ELEMENTS, Growth
from irfuzz.mutate.editing.mutation_sites import tensor_fact

_GIVEN_UP = 4
"""Attempts a wanted node after which a program is taken as it is."""

FITTED = 0.35
"""How often a value of any graph may be cast and reshaped for the layer behind it; the nodes for that say little."""

SKIP = 0.3
"""How often a layer of a chain is merged with an earlier one (Muffin's chains with skips)."""


def free(growth: Growth, nodes: int) -> None:
    """Any graph: layers are put behind any value, in front of any input or beside the others (NNSmith's insertion).

    Args:
        growth: an empty program, which is edited.
        nodes: nothing is put in once there are so many; fewer if too many attempts fail.
    """
    choices = growth.choices
    values = [growth.input()]
    for _ in range(_GIVEN_UP * nodes):
        if growth.size >= nodes:
            return
        way = choices.weighted(("behind", "before", "alone"), (6, 2, 2))
        result: ir.Value | None = None
        if way == "behind":
            result = growth.behind(_recent(growth, values), fitted=growth.ops is None and choices.boolean(FITTED))
        elif way == "before" and (
            inputs := [v for v in growth.program.graph.inputs if v.uses() and _usable(growth, v)]
        ):
            growth.before(choices.pick(inputs))
        if way == "alone" or (way == "behind" and result is None):
            result = growth.alone()
        if result is not None:
            values += [v for v in _outputs(result) if _usable(growth, v)]


def chain(growth: Growth, nodes: int) -> None:
    """One layer behind the other, some merged with an earlier one (Gu et al. 2022, chain structure with skips).

    Args:
        growth: an empty program, which is edited.
        nodes: nothing is put in once there are so many; fewer if too many attempts fail.
    """
    choices = growth.choices
    made = [growth.input()]
    for _ in range(_GIVEN_UP * nodes):
        if growth.size >= nodes:
            return
        result = growth.behind(made[-1], fitted=True)
        if result is None:
            continue
        if len(made) > 1 and choices.boolean(SKIP):
            result = growth.join(result, choices.pick(made[:-1]))
        made.append(result)


def cell(growth: Growth, nodes: int) -> None:
    """Cells of layers, each of which reads the two before it; every third one reduces (cell structure, as of NASNet).

    A layer of a cell merges two layers, each of which reads a value of the cell; what nobody reads is merged to the
    cell's result. How the layers of a cell are connected is drawn once for all normal and once for all reducing cells;
    the last cell ends as soon as there are enough nodes.
    """
    choices = growth.choices
    inner = max(1, min(4, nodes // 10))
    plans = {
        kind: [tuple(choices.integer(0, 1 + i) for _ in range(2)) for i in range(inner)]
        for kind in ("normal", "reducing")
    }
    first = growth.input()
    results = [first, first]
    for turn in range(_GIVEN_UP * nodes):
        if growth.size >= nodes:
            return
        reducing = turn % 3 == 2
        states = results[-2:]
        for places in plans["reducing" if reducing else "normal"]:
            if growth.size >= nodes:
                break
            sides = [growth.behind(states[place], fitted=True) if growth.size < nodes else None for place in places]
            left, right = (
                side if side is not None else states[place] for side, place in zip(sides, places, strict=True)
            )
            states.append(growth.join(left, right) if left is not right else left)
        loose = [v for v in states[2:] if not v.uses()] or states[-1:]
        result = loose[0]
        for other in loose[1:]:
            result = growth.join(result, other)
        results.append(_reduced(growth, result) if reducing else result)


def _reduced(growth: Growth, value: ir.Value) -> ir.Value:
    """Half of the last two sizes."""
    fact = tensor_fact(growth.program, value)
    shape = fact.static_shape or ()
    halved = tuple((d + 1) // 2 if i >= len(shape) - 2 else d for i, d in enumerate(shape))
    return growth.adapted(value, TensorFact(fact.dtype, halved))


def _recent(growth: Growth, values: list[ir.Value]) -> ir.Value:
    """Any value, the newer ones more often, so that programs become deep as well as wide."""
    choices = growth.choices
    return choices.pick(values[-3:]) if choices.boolean() else choices.pick(values)


def _outputs(result: ir.Value) -> list[ir.Value]:
    producer = result.producer()
    return [result] if producer is None else [v for v in producer.outputs if v.name]


def _usable(growth: Growth, value: ir.Value) -> bool:
    fact = growth.program.tensor(value)
    if fact is None or not fact.is_static or fact.dtype is ir.DataType.STRING:
        return False
    return 0 < math.prod(fact.static_shape or ()) <= ELEMENTS


TOPOLOGIES: Mapping[str, Callable[[Growth, int], None]] = {"chain": chain, "cell": cell, "free": free}
