"""Spells RNN, GRU and LSTM by the formulas of ONNX's text, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.mutate.editing.mutation_sites import tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.rewrite.node_operands import FLOATS, operand
from irfuzz.rewrite.rewrite_rule import Exactness, Rewrite
from irfuzz.rewrite.rule_builders import rewrite_nodes

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

_MOST_STEPS = 8
_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
_OTHERWISE = ("activations", "activation_alpha", "activation_beta", "clip", "input_forget", "layout")
"""Attributes that change the formula, unless they are 0."""


def _plain(program: Program, node: ir.Node) -> bool:
    """Few whole sequences, time first, and the usual activations."""
    attrs, fact = program.attrs(node), tensor_fact(program, operand(node))
    whole = len(node.inputs) < 5 or node.inputs[4] is None
    few = 0 < (fact.static_shape or (0,))[0] <= _MOST_STEPS
    return whole and few and fact.dtype in FLOATS and not any(attrs.get(name) for name in _OTHERWISE)


class _Direction:
    """One direction of a layer: what its gates read, and its states."""

    def __init__(self, inserter: Inserter, node: ir.Node, place: int) -> None:
        self.to, self.node = inserter, node
        self.hidden = int(inserter.program.attrs(node)["hidden_size"])
        self.steps, self.batch, _ = inserter.fact(operand(node)).static_shape or (0, 0, 0)
        self.place = place
        self.w, self.r, self.b = self.own(1), self.own(2), self.own(3)

    def own(self, index: int) -> ir.Value | None:
        """Weights, biases or a state of this direction, which are the first axis; with two axes left at least."""
        value = self.node.inputs[index] if index < len(self.node.inputs) else None
        if value is None:
            return None
        shape = self.to.fact(value).static_shape or (0, 0)
        one = self.to.slice(value, [0], [self.place], [self.place + 1])
        return self.to.reshape(one, shape[1:] if len(shape) == 3 else (1, shape[1]))

    def start(self, index: int) -> ir.Value:
        """The state before the first step, 0 if none is given."""
        given = self.own(index)
        if given is not None:
            return given
        zero = self.to.scalar(0.0, self.to.fact(operand(self.node)).dtype)
        return self.to.expand(zero, [self.batch, self.hidden])

    def step(self, time: int) -> ir.Value:
        """The input at a time, ``[batch, input]``."""
        x = operand(self.node)
        shape = self.to.fact(x).static_shape or ()
        return self.to.reshape(self.to.slice(x, [0], [time], [time + 1]), shape[1:])

    def part(self, value: ir.Value | None, gate: int, axis: int) -> ir.Value:
        """The rows or columns of one gate."""
        assert value is not None
        return self.to.slice(value, [axis], [gate * self.hidden], [(gate + 1) * self.hidden])

    def product(self, x: ir.Value, weights: ir.Value | None, gate: int) -> ir.Value:
        """``x * (W[gate]^T)``."""
        turned = self.to.value("Transpose", self.part(weights, gate, 0), perm=[1, 0])
        return self.to.value("MatMul", x, turned)

    def biased(self, value: ir.Value, *gates: int) -> ir.Value:
        """With biases added, those of the input first and those of the recurrence behind them."""
        for gate in gates if self.b is not None else ():
            value = self.to.value("Add", value, self.part(self.b, gate, 1))
        return value

    def gate(self, x: ir.Value, state: ir.Value, gate: int) -> ir.Value:
        """``x * (W[gate]^T) + H * (R[gate]^T) + Wb[gate] + Rb[gate]``."""
        both = self.to.value("Add", self.product(x, self.w, gate), self.product(state, self.r, gate))
        return self.biased(both, gate, _GATES[self.node.op_type] + gate)


def _rnn(of: _Direction, x: ir.Value, h: ir.Value, c: ir.Value | None) -> tuple[ir.Value, ir.Value | None]:
    return of.to.value("Tanh", of.gate(x, h, 0)), None


def _gru(of: _Direction, x: ir.Value, h: ir.Value, c: ir.Value | None) -> tuple[ir.Value, ir.Value | None]:
    """Gates z, r, h."""
    value = of.to.value
    update, reset = (value("Sigmoid", of.gate(x, h, gate)) for gate in (0, 1))
    if of.to.program.attrs(of.node).get("linear_before_reset", 0):
        inner = value("Mul", reset, of.biased(of.product(h, of.r, 2), 5))
    else:
        inner = of.biased(of.product(value("Mul", reset, h), of.r, 2), 5)
    new = value("Tanh", value("Add", of.biased(of.product(x, of.w, 2), 2), inner))
    one = of.to.scalar(1.0, of.to.fact(x).dtype)
    return value("Add", value("Mul", value("Sub", one, update), new), value("Mul", update, h)), None


def _lstm(of: _Direction, x: ir.Value, h: ir.Value, c: ir.Value | None) -> tuple[ir.Value, ir.Value | None]:
    """Gates i, o, f, c; peepholes of i, o, f."""
    value, peep = of.to.value, of.own(7)
    assert c is not None

    def gate(index: int, cell: ir.Value) -> ir.Value:
        whole = of.gate(x, h, index)
        seen = whole if peep is None else value("Add", whole, value("Mul", of.part(peep, index, 1), cell))
        return value("Sigmoid", seen)

    kept = value("Mul", gate(2, c), c)
    cell = value("Add", kept, value("Mul", gate(0, c), value("Tanh", of.gate(x, h, 3))))
    return value("Mul", gate(1, cell), value("Tanh", cell)), cell


_FORMULA = {"RNN": _rnn, "GRU": _gru, "LSTM": _lstm}


def _unrolled(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    way = inserter.program.attrs(node).get("direction", "forward")
    ways = ("forward", "reverse") if way == "bidirectional" else (way,)
    rows: list[ir.Value] = []
    for place, each in enumerate(ways):
        of = _Direction(inserter, node, place)
        h, c = of.start(5), of.start(6) if node.op_type == "LSTM" else None
        times = range(of.steps) if each == "forward" else range(of.steps - 1, -1, -1)
        states: dict[int, ir.Value] = {}
        for time in times:
            h, c = _FORMULA[node.op_type](of, of.step(time), h, c)
            states[time] = inserter.unsqueeze(h, [0, 1])
        row = [states[time] for time in range(of.steps)]
        rows.append(inserter.value("Concat", *row, axis=0) if len(row) > 1 else row[0])
    return inserter.value("Concat", *rows, axis=1) if len(rows) > 1 else rows[0]


REWRITES: tuple[Rewrite, ...] = (
    rewrite_nodes(
        "recurrent-formula", Exactness.BOUNDED, "RNN, GRU, LSTM of few steps -> their formula, step by step", _GATES,
        _unrolled, _plain, eagle=7,
    ),
)  # fmt: skip
