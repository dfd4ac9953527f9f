"""Builds a program of a selection of another program's parts."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.generate.synthesis_steps.covered_features import WantedFeatures
from irfuzz.generate.synthesis_steps.nodes_as_parts import Kind, NodePart, PartInput
from irfuzz.generate.synthesis_steps.part_selection import Selection
from irfuzz.generate.synthesis_steps.weight_reduction import is_shrinkable
from irfuzz.ir.evaluation.constant_values import computed_constants
from irfuzz.ir.fact_type_conversion import declare
from irfuzz.ir.program import Program
from irfuzz.ir.value import fact_of

_HEAVY = 1 << 12
"""Nodes with more weights than this stay without readers where none is wanted, so that they can be made lighter."""


CONSTANT = "constant"
"""Ends the key of a value that is computed from constants alone: it stands for none that is not."""


FEW = 1 << 10
"""Constants of so many elements, and smaller ones, are stored, however the original makes them."""


def assemble(
    program: Program, parts: list[NodePart], wanted: WantedFeatures, selection: Selection, choices: Choices
) -> Program:
    """The chosen nodes, wired as wanted, and beyond that as often as the original has such a sequence.

    What is left to be read becomes an input of the graph, one for each type; a weight that is computed from constants
    keeps the nodes that make it. What nobody reads becomes an output.
    """
    small = program.clone()
    nodes = small.nodes()
    chosen = [parts[i] for i in selection.chosen]
    wires = {(w.consumer, w.position): (w.producer, w.output) for w in selection.wires}
    feeding = {w.producer for w in selection.wires}
    feeding |= {s.producer for p in chosen for s in p.slots if s.kind is None and s.producer is not None}
    spared = {
        p.index for p in chosen if p.weights > _HEAVY and p.index not in feeding and is_shrinkable(nodes[p.index])
    }
    pairs = {(f[1], f[2]) for f in wanted.named if f[0] == "sequence"}
    inputs: dict[tuple[object, ...], ir.Value] = {}
    constants = computed_constants(small)
    makers: set[ir.Node] = set()
    before: list[NodePart] = []
    read: dict[int, int] = defaultdict(int)
    for part in chosen:
        node = nodes[part.index]
        for slot in part.slots:
            wire = wires.get((part.index, slot.position))
            if wire is None and slot.kind is not None:
                wire = _spare(part, slot, [p for p in before if p.index not in spared], pairs, read, choices)
            if wire is not None:
                read[wire[0]] += 1
                value = nodes[wire[0]].outputs[wire[1]]
            elif slot.kind is None:
                continue
            else:
                value = _source(small, node, slot, inputs, constants)
                makers |= small.ancestors(value)
            if value is not node.inputs[slot.position]:
                node.replace_input_with(slot.position, value)
        before.append(part)
    kept = makers.union(nodes[p.index] for p in chosen)
    _leave(small, [node for node in nodes if node in kept])
    return Program.from_bytes(small.to_bytes())


def _spare(
    part: NodePart,
    slot: PartInput,
    before: list[NodePart],
    pairs: set[tuple[str, str]],
    read: dict[int, int],
    choices: Choices,
) -> tuple[int, int] | None:
    """A value that may stand at an input of which nothing is wanted: the original one, else one that is read least."""
    found: list[tuple[int, int]] = []
    for other in before:
        if other.index == slot.producer:
            return other.index, slot.output
        if (other.op, part.op) in pairs:
            found += [(other.index, place) for place, kinds in enumerate(other.gives) if slot.kind in kinds][:1]
    fewest = min((read[index] for index, _ in found), default=0)
    found = [option for option in found if read[option[0]] == fewest]
    return choices.pick(found) if found else None


def _source(
    program: Program, node: ir.Node, slot: PartInput, inputs: dict[Kind, ir.Value], constants: set[ir.Value]
) -> ir.Value:
    """A constant as the original makes it, if it is one there; else an input of the graph."""
    old = node.inputs[slot.position]
    assert old is not None
    if old.producer() is None:
        inputs.setdefault(slot.kind or (), old)
        return old
    constant = program.constant_of(old)
    if constant is not None:
        return program.constant(constant, "c")
    fact = fact_of(old)
    array = program.const_array(old)
    if array is not None and array.size <= FEW:
        return program.constant(array, "c")
    assert isinstance(fact, TensorFact)
    if fact.known:
        elements = np.array(fact.value).astype(fact.dtype.numpy()).reshape(fact.static_shape or ())
        return program.constant(elements, "c")
    key = slot.kind or ()
    if old in constants:
        return inputs.setdefault((*key, CONSTANT), old)
    if key not in inputs:
        inputs[key] = program.add_input(TensorFact(fact.dtype, fact.shape), "x")
    return inputs[key]


def _leave(program: Program, kept: list[ir.Node]) -> None:
    """Drop all other nodes and the inputs that nobody reads, and make outputs of what nobody reads."""
    graph = program.graph
    keep = set(kept)
    graph.outputs.clear()
    gone = [node for node in graph if node not in keep]
    for node in reversed(gone):
        program.remove(node)
    for node in kept:
        for value in node.outputs:
            if value.name and not value.uses():
                fact = fact_of(value)
                if isinstance(fact, TensorFact) and fact.shape is None:
                    value = program.insert("Size", [value]).outputs[0]  # an output needs a rank
                declare(value, fact_of(value))
                graph.outputs.append(value)
    for value in [v for v in graph.inputs if not v.uses()]:
        graph.inputs.remove(value)
    program.prune()
