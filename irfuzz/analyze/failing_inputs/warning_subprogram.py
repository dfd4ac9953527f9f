"""Cuts out the part of a program that leads to a warning, as a program of its own."""

from __future__ import annotations

from dataclasses import dataclass

import onnx
import onnx_ir as ir

from irfuzz.analyze.abstract_domain.interval import Range
from irfuzz.analyze.initial_ranges import Ranges, start_range
from irfuzz.analyze.numeric_range_analysis import Alarm
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.ir.subgraphs import nodes_within


@dataclass(frozen=True, slots=True)
class WarningProbe:
    """A program whose outputs are the operands of a call and what it computes.

    Attributes:
        program: it; trainable parameters are inputs of it too.
        bounds: of each input.
        operand: name of the output that decides.
        output: name of what the call computes.
        operands: names of all operands that are outputs; none if the call stands in a body.
    """

    program: Program
    bounds: dict[str, Range]
    operand: str
    output: str
    operands: tuple[str, ...]


def probe_of(program: Program, warning: Alarm, ranges: Ranges) -> WarningProbe | None:
    """The probe of a warning, ``None`` if the call is no call of a tensor operator.

    For a call in a body the outputs are those of the control flow around it.

    Args:
        program: that was analysed; it stays as it is.
        warning: one of its warnings.
        ranges: that it was analysed with; they bound the inputs of the probe.
    """
    value = program.value(warning.output)
    node = None if value is None else value.producer()
    inside = node is None
    if inside:
        node = _around(program, warning.output)
        value = None if node is None else node.outputs[0]
    if node is None or value is None or not isinstance(program.fact(value), TensorFact):
        return None
    needed = program.ancestors(value)
    operands = [v for v in node.inputs if v is not None and v.name and isinstance(program.fact(v), TensorFact)]
    operands = [] if inside else operands
    names = {o.name for n in needed for o in n.outputs if o.name}
    proto = program.to_proto()
    graph = proto.graph
    kept = [n for n in graph.node if any(o in names for o in n.output if o)]
    del graph.node[:]
    graph.node.extend(kept)
    used = {i for n in kept for i in n.input} | {v.name or "" for v in operands} | _captured(needed)
    parameters = [p for p in warning.inputs if p in program.graph.initializers]
    constants = [t for t in graph.initializer if t.name in used and t.name not in parameters]
    del graph.initializer[:]
    graph.initializer.extend(constants)
    inputs = [v for v in graph.input if v.name in used]
    del graph.input[:]
    graph.input.extend(inputs)
    graph.input.extend(_info(program, program.graph.initializers[p]) for p in parameters if p in used)
    del graph.output[:]
    graph.output.extend(_info(program, v) for v in dict.fromkeys((*operands, value)))
    del graph.value_info[:]
    cut = Program.from_proto(proto)
    bounds = {v.name: r for v in graph.input if (r := start_range(program, v.name, ranges)) is not None}
    output = value.name or ""
    operand = output if inside else warning.operand
    return WarningProbe(cut, bounds, operand, output, tuple(v.name or "" for v in operands))


def _around(program: Program, name: str) -> ir.Node | None:
    """The main-graph node in whose bodies a value of that name is computed."""
    for node in program.graph:
        if any(o.name == name for inner in nodes_within(node) for o in inner.outputs):
            return node
    return None


def _captured(nodes: set[ir.Node]) -> set[str]:
    """Names that the bodies of nodes read."""
    return {
        v.name or ""
        for node in nodes
        for attr in node.attributes.values()
        if attr.type in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)
        for body in ([attr.as_graph()] if attr.type == ir.AttributeType.GRAPH else attr.as_graphs())
        for inner in body.all_nodes()
        for v in inner.inputs
        if v is not None
    }


def _info(program: Program, value: ir.Value) -> onnx.ValueInfoProto:
    fact = program.fact(value)
    assert isinstance(fact, TensorFact)
    sizes = None if fact.shape is None else list(fact.shape)
    return onnx.helper.make_tensor_value_info(value.name or "", int(fact.dtype), sizes)
