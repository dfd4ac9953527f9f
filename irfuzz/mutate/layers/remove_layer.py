"""``remove-layer``: a layer is bypassed; ``remove-activation``: an activation is (LEMON's LR and ARem, table 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.layer_rewiring import put_in_place
from irfuzz.mutate.editing.mutation_sites import layer_nodes, node_at, tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.value_adaptation import why_not
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import MutatorUse, Profile, PublishedOperator, Relation, Skipped
from irfuzz.spec import has_trait


@dataclass(frozen=True, slots=True)
class RemoveLayer:
    """LR: readers of a layer read its input instead, adapted."""

    context: Context
    name: ClassVar[str] = "remove-layer"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(
        weight=0.75,
        papers=(PublishedOperator("lemon", 10, "LR", "Layer Removal", note="what has another shape is adapted"),),
    )

    def sites(self, program: Program) -> list[str]:
        """Layers with one output, in the graph's order, by that output's name."""
        return [program.site_of(n) for n in layer_nodes(program, self.context.specs) if len(n.outputs) == 1]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Bypass the layer along one of its computed inputs, drawn from those that can be adapted to the result's type
        and shape.

        Before: ``reader(op(x, w))``. After: ``reader(x)``. Skipped if no input will do.
        """
        node = node_at(program, site)
        specs, opset = self.context.specs, program.opset
        wanted = tensor_fact(program, node.outputs[0])
        ways = []
        for value in node.inputs:
            fact = None if value is None else program.fact(value)
            if value is None or not isinstance(fact, TensorFact) or program.constant_of(value) is not None:
                continue
            if why_not(specs, opset, fact, wanted) is None:
                ways.append(value)
        if not ways:
            return Skipped("no input can stand for its output")
        value = choices.pick(ways)
        put_in_place(program, specs, Inserter(program, node), node.outputs, [value], choices)
        return f"{node.op_type} at {site} is bypassed by {value.name}"


@dataclass(frozen=True, slots=True)
class RemoveActivation(RemoveLayer):
    """ARem: readers of an activation read its input instead."""

    name: ClassVar[str] = "remove-activation"
    profile: ClassVar[Profile] = Profile(
        use=MutatorUse.PART,
        papers=(PublishedOperator("lemon", 6, "ARem", "Activation Removal", note="what has another shape is adapted"),),
    )

    def sites(self, program: Program) -> list[str]:
        """Activations among the layers (Relu, Sigmoid, ...: the trait ``activation``), by the name of their output."""
        return [program.site_of(n) for n in layer_nodes(program, self.context.specs) if has_trait(n, "activation")]
