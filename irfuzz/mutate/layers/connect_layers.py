"""``connect-layers``: a copy of one layer reads another layer's output and becomes an output (COMET's CL, table 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.layer_rewiring import attributes, uncopyable
from irfuzz.mutate.editing.mutation_sites import (
    flow_values,
    is_exact,
    layer_nodes,
    layer_sites,
    node_after,
    node_at,
    tensor_fact,
)
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.value_adaptation import adapt, why_not
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, PublishedOperator, Relation, Skipped


@dataclass(frozen=True, slots=True)
class ConnectLayers:
    """Copies a layer whose first input is another value, adapted to the type that the layer had."""

    context: Context
    name: ClassVar[str] = "connect-layers"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(papers=(PublishedOperator("comet", 7, "CL", "Connect Layers"),))

    def sites(self, program: Program) -> list[str]:
        """Layers, in the graph's order, by the name of their first output; whether one can be copied, ``apply``
        tells.
        """
        return layer_sites(program, self.context.specs)

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw the layer whose output the copy reads, so that an unseen pair of operators arises.

        The copy keeps the layer's weights and attributes; its first input is the other output, adapted, and its own
        first output becomes one of the graph. What was there before stays as it is.
        """
        node = node_at(program, site)
        specs, opset = self.context.specs, program.opset
        first = node.inputs[0]
        if first is None or is_exact(node, 0, tensor_fact(program, first).dtype):
            return Skipped("its first input must not change")
        refused = uncopyable(program, specs, node)
        if refused is not None:
            return refused
        wanted = tensor_fact(program, first)
        layers = {id(layer) for layer in layer_nodes(program, specs)}
        sources = []
        for value in flow_values(program, graph_inputs=False):
            fact = program.fact(value)
            producer = value.producer()
            if value is first or producer is None or id(producer) not in layers or not isinstance(fact, TensorFact):
                continue
            if why_not(specs, opset, fact, wanted) is None:
                sources.append((value, producer.op_type))
        if not sources:
            return Skipped("no other layer whose output can be adapted")
        source, source_op = self.context.prefer(choices, sources, lambda s: ("edge", s[1], node.op_type))
        places = program.positions()
        last = max(
            (p for v in (source, *node.inputs) if v is not None and (p := v.producer()) is not None),
            key=places.__getitem__,
        )
        inserter = Inserter(program, node_after(program, last.outputs[0]))
        adapted = adapt(specs, inserter, source, wanted, choices)
        copy = inserter.node(node.op_type, [adapted, *node.inputs[1:]], attributes(node), len(node.outputs))
        program.add_output(copy.outputs[0])
        program.prune()
        return f"a copy of {node.op_type} at {site} reads {source.name} of {source_op} and is an output"
