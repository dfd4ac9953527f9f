"""``swap-layers``: a layer and the one that feeds it change places (LEMON's LS, table 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.layer_rewiring import attributes, put_in_place, uncopyable
from irfuzz.mutate.editing.mutation_sites import is_exact, layer_nodes, node_at, tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.value_adaptation import adapt, why_not
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, PublishedOperator, Relation, Skipped


@dataclass(frozen=True, slots=True)
class SwapLayers:
    """LS: a layer and the one that feeds it change places."""

    context: Context
    name: ClassVar[str] = "swap-layers"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(
        papers=(
            PublishedOperator("lemon", 11, "LS", "Layer Switch", note="what has another shape is adapted", beside=True),
        )
    )

    def sites(self, program: Program) -> list[str]:
        """Layers with one output whose first input comes from another such layer; the second one is named, by its
        output.
        """
        layers = [n for n in layer_nodes(program, self.context.specs) if len(n.outputs) == 1]
        known = {id(n) for n in layers}
        found = []
        for node in layers:
            producer = None if node.inputs[0] is None else node.inputs[0].producer()
            if producer is not None and id(producer) in known:
                found.append(program.site_of(node))
        return found

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """``second(first(x))`` becomes ``first(second(x))``, with both inputs and the result adapted.

        Weights and attributes go with their layers. Skipped if an input must not change, if the layers are connected
        twice, or if types do not fit. Other readers of ``first(x)`` keep it.
        """
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
        refused = uncopyable(program, specs, first) or uncopyable(program, specs, second)
        if refused is not None:
            return refused
        inserter = Inserter(program, second)
        now_first = inserter.node(
            second.op_type, [adapt(specs, inserter, start, b, choices), *second.inputs[1:]], attributes(second)
        )
        value = adapt(specs, inserter, now_first.outputs[0], a, choices)
        now_second = inserter.node(first.op_type, [value, *first.inputs[1:]], attributes(first))
        put_in_place(program, specs, inserter, [end], [now_second.outputs[0]], choices)
        return f"{first.op_type} and {second.op_type} at {site} change places"
