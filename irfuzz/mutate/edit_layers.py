"""``duplicate-layer``, ``remove-layer``, ``swap-layers``, ``replace-activation``: whole layers are copied, dropped, swapped or exchanged (LEMON, table 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.mutate.adapt import adapt, why_not
from irfuzz.mutate.context import Context
from irfuzz.mutate.insert import Inserter
from irfuzz.mutate.portable import runs
from irfuzz.mutate.relayer import attributes, put_in_place, splice_in
from irfuzz.mutate.sites import is_exact, layer_nodes, layer_sites, node_after, node_at, tensor_fact
from irfuzz.mutate.types import Relation, Skipped

ACTIVATIONS = (
    "Relu", "Sigmoid", "Tanh", "Elu", "Selu", "LeakyRelu", "Softplus", "Softsign", "HardSigmoid", "HardSwish", "Mish",
    "Gelu", "ThresholdedRelu", "Celu", "Erf", "Neg", "Abs", "Sin", "Cos", "Atan", "Identity",
)  # fmt: skip
"""Unary element-wise operators without required attributes and with finite results for finite input."""


@dataclass(frozen=True, slots=True)
class DuplicateLayer:
    """LC: a copy of a layer follows it; its input is the layer's output, adapted."""

    context: Context
    name: ClassVar[str] = "duplicate-layer"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED

    def sites(self, program: Program) -> list[str]:
        """Layers."""
        return layer_sites(program, self.context.specs)

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Copy the layer behind itself."""
        node = node_at(program, site)
        specs, first, output = self.context.specs, node.inputs[0], node.outputs[0]
        if first is None or is_exact(node, 0, tensor_fact(program, first).dtype):
            return Skipped("its first input must not change")
        taken, given = tensor_fact(program, first), tensor_fact(program, output)
        reason = why_not(specs, program.opset, given, taken) or why_not(specs, program.opset, given, given)
        if reason is not None:
            return Skipped(f"its output cannot be its input: {reason}")
        inserter = Inserter(program, node_after(program, output))
        adapted = adapt(specs, inserter, output, taken, choices)
        copy = inserter.node(node.op_type, [adapted, *node.inputs[1:]], attributes(node), len(node.outputs))
        splice_in(program, specs, inserter, output, copy.outputs[0], choices)
        return f"{node.op_type} at {site} twice"


@dataclass(frozen=True, slots=True)
class RemoveLayer:
    """LR and ARem: readers of a layer read its input instead, adapted."""

    context: Context
    name: ClassVar[str] = "remove-layer"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED

    def sites(self, program: Program) -> list[str]:
        """Layers with one output."""
        return [program.site_of(n) for n in layer_nodes(program, self.context.specs) if len(n.outputs) == 1]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Bypass the layer along one of its inputs of the most similar type."""
        node = node_at(program, site)
        specs, opset = self.context.specs, program.opset
        wanted = tensor_fact(program, node.outputs[0])
        ways = []
        for value in node.inputs:
            fact = None if value is None else program.fact(value)
            if value is not None and isinstance(fact, TensorFact) and program.constant_of(value) is None:
                if why_not(specs, opset, fact, wanted) is None:
                    ways.append(value)
        if not ways:
            return Skipped("no input can stand for its output")
        value = choices.pick(ways)
        put_in_place(program, specs, Inserter(program, node), node.outputs, [value], choices)
        return f"{node.op_type} at {site} is bypassed by {value.name}"


@dataclass(frozen=True, slots=True)
class SwapLayers:
    """LS: a layer and the one that feeds it change places."""

    context: Context
    name: ClassVar[str] = "swap-layers"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED

    def sites(self, program: Program) -> list[str]:
        """Layers with one output whose first input comes from another such layer."""
        layers = [n for n in layer_nodes(program, self.context.specs) if len(n.outputs) == 1]
        known = {id(n) for n in layers}
        found = []
        for node in layers:
            producer = None if node.inputs[0] is None else node.inputs[0].producer()
            if producer is not None and id(producer) in known:
                found.append(program.site_of(node))
        return found

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """``second(first(x))`` becomes ``first(second(x))``, with both inputs and the result adapted."""
        second = node_at(program, site)
        middle = second.inputs[0]
        first = None if middle is None else middle.producer()
        if middle is None or first is None or not first.inputs or first.inputs[0] is None:
            return Skipped("no layer feeds it")
        specs, opset, start, end = self.context.specs, program.opset, first.inputs[0], second.outputs[0]
        if program.constant_of(start) is not None or is_exact(first, 0) or is_exact(second, 0):
            return Skipped("an input that must not change")
        if any(v is not None and v in (middle, end) for n in (first, second) for v in n.inputs[1:]):
            return Skipped("the layers are connected twice")
        a, b, c = tensor_fact(program, start), tensor_fact(program, middle), tensor_fact(program, end)
        for have, want in ((a, b), (c, a), (b, c)):
            reason = why_not(specs, opset, have, want)
            if reason is not None:
                return Skipped(f"they do not fit: {reason}")
        inserter = Inserter(program, second)
        now_first = inserter.node(second.op_type, [adapt(specs, inserter, start, b, choices), *second.inputs[1:]], attributes(second))
        value = adapt(specs, inserter, now_first.outputs[0], a, choices)
        now_second = inserter.node(first.op_type, [value, *first.inputs[1:]], attributes(first))
        put_in_place(program, specs, inserter, [end], [now_second.outputs[0]], choices)
        return f"{first.op_type} and {second.op_type} at {site} change places"


@dataclass(frozen=True, slots=True)
class ReplaceActivation:
    """ARep: an activation becomes another one."""

    context: Context
    name: ClassVar[str] = "replace-activation"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED

    def sites(self, program: Program) -> list[str]:
        """Activations."""
        return [program.site_of(n) for n in layer_nodes(program, self.context.specs) if n.op_type in ACTIVATIONS]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw another activation that takes the same element type."""
        node = node_at(program, site)
        value = node.inputs[0]
        if value is None:
            return Skipped("it has no input")
        fact = tensor_fact(program, value)
        others = [op for op in ACTIVATIONS if op != node.op_type and runs(self.context.specs, op, program.opset, fact.dtype)]
        if not others:
            return Skipped(f"no other activation takes {fact.dtype.name}")
        op = self.context.prefer(choices, others, lambda name: ("dtype", name, 0, fact.dtype.value))
        inserter = Inserter(program, node)
        put_in_place(program, self.context.specs, inserter, node.outputs, [inserter.value(op, value)], choices)
        return f"{node.op_type} at {site} becomes {op}"
