"""Puts the batch of a recurrent layer in front, turns its sequence, or splits its two directions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.rewrite.node_operands import operand
from irfuzz.rewrite.rewrite_rule import Exactness, Rewrite
from irfuzz.rewrite.rule_builders import rewrite_nodes

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

_LAYERS = ("RNN", "GRU", "LSTM")
_LAYOUT_SINCE = 14
_STATES = {"RNN": (5,), "GRU": (5,), "LSTM": (5, 6)}
"""Inputs that hold a state at the start; in time-major order the directions come first."""


def _time_major(program: Program, node: ir.Node) -> bool:
    return program.opset >= _LAYOUT_SINCE and not program.attrs(node).get("layout", 0)


def _batch_major(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    """ONNX Operators.md, RNN: ``layout`` 1 puts the batch first in X, Y and all states."""
    given = list(node.inputs)
    for place in (0, *_STATES[node.op_type]):
        value = given[place] if place < len(given) else None
        if value is not None:
            given[place] = inserter.value("Transpose", value, perm=[1, 0, 2])
    attrs = {**inserter.program.attrs(node), "layout": 1}
    # [batch, time, directions, hidden] becomes [time, directions, batch, hidden].
    return inserter.value("Transpose", inserter.node(node.op_type, given, attrs).outputs[0], perm=[1, 2, 0, 3])


def _one_way(program: Program, node: ir.Node) -> bool:
    attrs = program.attrs(node)
    whole = len(node.inputs) < 5 or node.inputs[4] is None
    return whole and attrs.get("direction", "forward") != "bidirectional" and not attrs.get("layout", 0)


def _turned(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    attrs = inserter.program.attrs(node)
    way = "forward" if attrs.get("direction", "forward") == "reverse" else "reverse"
    x = operand(node)
    layer = inserter.node(node.op_type, [_reversed(inserter, x), *node.inputs[1:]], {**attrs, "direction": way})
    return _reversed(inserter, layer.outputs[0])


def _reversed(inserter: Inserter, value: ir.Value) -> ir.Value:
    return inserter.slice(value, [0], [-1], [-(2**63)], [-1])


_ACTIVATIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}
"""How many functions a direction has."""


def _two_ways(program: Program, node: ir.Node) -> bool:
    attrs = program.attrs(node)
    whole = len(node.inputs) < 5 or node.inputs[4] is None
    plain = not attrs.get("layout", 0) and "activation_alpha" not in attrs and "activation_beta" not in attrs
    return whole and plain and attrs.get("direction", "forward") == "bidirectional"


def _each_way(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    """Weights and states have the directions first."""
    attrs = inserter.program.attrs(node)
    x, *rest = node.inputs
    count = _ACTIVATIONS[node.op_type]
    parts: list[ir.Value] = []
    for place, way in enumerate(("forward", "reverse")):
        given = [None if v is None else inserter.slice(v, [0], [place], [place + 1]) for v in rest]
        own = {**attrs, "direction": way}
        if "activations" in attrs:
            own["activations"] = list(attrs["activations"])[place * count : (place + 1) * count]
        parts.append(inserter.node(node.op_type, [x, *given], own).outputs[0])
    return inserter.value("Concat", *parts, axis=1)


REWRITES: tuple[Rewrite, ...] = (
    rewrite_nodes(
        "batch-major", Exactness.BOUNDED, "time-major RNN, GRU, LSTM -> layout 1 between Transposes", _LAYERS,
        _batch_major, _time_major, eagle=10,
    ),
    rewrite_nodes(
        "turn-sequence", Exactness.BOUNDED, "forward RNN, GRU, LSTM -> reverse(reverse layer(reverse x))", _LAYERS,
        _turned, _one_way,
    ),
    rewrite_nodes(
        "directions-apart", Exactness.BOUNDED, "bidirectional RNN, GRU, LSTM -> Concat(forward, reverse)", _LAYERS,
        _each_way, _two_ways, eagle=10,
    ),
)  # fmt: skip
