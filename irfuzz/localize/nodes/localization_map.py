"""CRADLE's localisation map, from the hidden states of a program on two targets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz._native import difference
from irfuzz.execute.intermediate_values import beyond, run_tapped
from irfuzz.execute.run_types import RunResult, Target, Value
from irfuzz.ir.subgraphs import nodes_within
from irfuzz.localize.nodes.control_flow_unrolling import place_of

if TYPE_CHECKING:
    from irfuzz.execute.runner import Runner
    from irfuzz.ir.program import Program

EPSILON = 1e-7
"""Of equation 6."""

QUANTILE = 0.75
"""Layers whose rate is above it are highlighted."""


@dataclass(frozen=True, slots=True)
class MapLayer:
    """A node of the main graph on the map.

    Attributes:
        name: of its first named output.
        op: operator.
        inbound: names of the nodes on the map that feed it, through nodes of which no state is known.
        delta: mean absolute difference of its outputs on the two targets, the largest of several; infinite if only
            one is NaN or infinite, or their shapes or types differ.
        before: the largest ``delta`` of the inbound nodes (equation 5).
        rate: the inconsistency introduction rate ``R_L`` (equation 6).
        highlighted: the rate is above the third quartile.
        place: where in the model it stands, if that is inside a body or function (``unfold.PLACE``).
    """

    name: str
    op: str
    inbound: tuple[str, ...]
    delta: float
    before: float
    rate: float
    highlighted: bool
    place: str = ""


@dataclass(frozen=True, slots=True)
class LocalizationMap:
    """A localisation map (section III.E).

    Attributes:
        layers: in the program's order.
        quartile: the third quartile of the rates.
        faithful: reading the hidden states changed the outputs of neither target; otherwise the map is of another
            computation than the one that disagreed.
    """

    layers: tuple[MapLayer, ...]
    quartile: float
    faithful: bool

    @property
    def ranked(self) -> list[MapLayer]:
        """The layers, the highest rate first; layers of equal rates keep the program's order."""
        return sorted(self.layers, key=lambda layer: -layer.rate)


def rate(delta: float, before: float) -> float:
    """The inconsistency introduction rate (equation 6): ``(delta - before) / (before + EPSILON)``.

    Args:
        delta: of the layer.
        before: largest of those that feed it; if it is infinite, the rate is 0 for an infinite ``delta``, else -1.
    """
    if math.isinf(before):
        return 0.0 if math.isinf(delta) else -1.0
    return (delta - before) / (before + EPSILON)


def more_deltas(
    runner: Runner,
    program: Program,
    inputs: Mapping[str, Value],
    targets: tuple[Target, Target],
    stopping: Callable[[], bool] = lambda: False,
) -> dict[str, float]:
    """The deltas of hidden states for which one run has no room (``taps.beyond``), by name.

    They are read some at a time, measured and forgotten, so that a map takes no more memory than a few of them.

    Args:
        runner: has the targets.
        program: stays as it is.
        inputs: values by graph input name.
        targets: that are compared.
        stopping: asked before each run; true if what is known has to do.
    """
    found: dict[str, float] = {}
    for names in beyond(program):
        if stopping():
            break
        one, two = run_tapped(runner, program, inputs, targets, names)
        if one.taps_faithful and two.taps_faithful:
            deltas = ((name, _delta(name, one.taps, two.taps)) for name in names)
            found.update((name, delta) for name, delta in deltas if delta is not None)
    return found


def localise(
    program: Program, one: RunResult, two: RunResult, more: Mapping[str, float] | None = None
) -> LocalizationMap:
    """The map of two runs with taps (``run_tapped``) on the same inputs.

    Args:
        program: that ran.
        one: on the base.
        two: on the other target.
        more: deltas of states that are in neither (``more_deltas``).
    """
    known = more or {}
    states = [{**r.outputs, **r.taps} for r in (one, two)]
    found: dict[str, tuple[str, tuple[str, ...], float, float]] = {}
    places: dict[str, str] = {}
    by_node: dict[ir.Node, str] = {}
    for node in program.nodes():
        inbound = _inbound(node, by_node)
        named = [o.name for o in node.outputs if o.name]
        deltas = [d for n in named if (d := known.get(n, _delta(n, *states))) is not None]
        name = next((o.name for o in node.outputs if o.name), "")
        if not name or not deltas:
            continue
        by_node[node] = name
        before = max((found[i][2] for i in inbound), default=0.0)
        found[name] = (node.op_type, inbound, max(deltas), before)
        places[name] = place_of(node)
    rates = {name: rate(delta, before) for name, (_, _, delta, before) in found.items()}
    quartile = _quantile([r for r in rates.values() if math.isfinite(r)])
    layers = tuple(
        MapLayer(name, op, inbound, delta, before, rates[name], rates[name] > quartile, places[name])
        for name, (op, inbound, delta, before) in found.items()
    )
    return LocalizationMap(layers, quartile, one.taps_faithful and two.taps_faithful)


def _quantile(rates: list[float]) -> float:
    return float(np.quantile(rates, QUANTILE)) if rates else 0.0


def _inbound(node: ir.Node, known: Mapping[ir.Node, str]) -> tuple[str, ...]:
    """The nearest nodes before it of which the state is known."""
    names: dict[str, None] = {}
    todo, seen = [node], {node}
    while todo:
        current = todo.pop()
        for reader in (current, *nodes_within(current)):
            for value in reader.inputs:
                producer = None if value is None else value.producer()
                if producer is None or producer in seen or producer.graph is not node.graph:
                    continue
                seen.add(producer)
                if producer in known:
                    names[known[producer]] = None
                else:
                    todo.append(producer)
    return tuple(names)


def _delta(name: str, one: Mapping[str, Value], two: Mapping[str, Value]) -> float | None:
    a, b = one.get(name), two.get(name)
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return None
    if a.shape != b.shape or a.dtype != b.dtype:
        return math.inf
    if a.dtype.kind in "OUSc":
        return None
    apart = difference(a, b)
    return math.inf if apart.mismatched else apart.mean_abs
