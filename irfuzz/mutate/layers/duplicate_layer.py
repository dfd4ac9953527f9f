"""``duplicate-layer``: a copy of a layer follows it (LEMON's LC, table 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.layer_rewiring import attributes, splice_in, uncopyable
from irfuzz.mutate.editing.mutation_sites import is_exact, layer_sites, node_after, node_at, tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.value_adaptation import adapt, why_not
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, PublishedOperator, Relation, Skipped


@dataclass(frozen=True, slots=True)
class DuplicateLayer:
    """LC: a copy of a layer follows it; its input is the layer's output, adapted."""

    context: Context
    name: ClassVar[str] = "duplicate-layer"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(
        grows=True,
        papers=(PublishedOperator("lemon", 9, "LC", "Layer Copy", note="what has another shape is adapted"),),
    )

    def sites(self, program: Program) -> list[str]:
        """Layers, in the graph's order, by the name of their first output."""
        return layer_sites(program, self.context.specs)

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Copy the layer behind itself: ``op(x)`` becomes ``op(op(x))``, with the first result adapted to what the
        layer reads and the second to what it gave. Nothing is drawn but the ways of adapting.
        """
        node = node_at(program, site)
        specs, first, output = self.context.specs, node.inputs[0], node.outputs[0]
        if first is None or is_exact(node, 0, tensor_fact(program, first).dtype):
            return Skipped("its first input must not change")
        taken, given = tensor_fact(program, first), tensor_fact(program, output)
        reason = why_not(specs, program.opset, given, taken) or why_not(specs, program.opset, given, given)
        if reason is not None:
            return Skipped(f"its output cannot be its input: {reason}")
        refused = uncopyable(program, specs, node)
        if refused is not None:
            return refused
        inserter = Inserter(program, node_after(program, output))
        adapted = adapt(specs, inserter, output, taken, choices)
        copy = inserter.node(node.op_type, [adapted, *node.inputs[1:]], attributes(node), len(node.outputs))
        splice_in(program, specs, inserter, output, copy.outputs[0], choices)
        return f"{node.op_type} at {site} twice"
