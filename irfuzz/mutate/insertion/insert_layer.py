"""``insert-layer``: an operator sampled from the specs is put behind a value and restored (COMET's IL, table 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.layer_rewiring import dims_of, largest, shape_text, sized_sites, splice_in
from irfuzz.mutate.editing.mutation_sites import main_uses, node_after, tensor_fact, value_at
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import runs
from irfuzz.mutate.editing.value_adaptation import adapt, why_not
from irfuzz.mutate.insertion.data_dependent_size_fixing import Closing, close, draw_closing
from irfuzz.mutate.insertion.drawn_call_inserter import call_on
from irfuzz.mutate.insertion.layer_sampling import DrawnLayer, draw_behind, draw_free, layers
from irfuzz.mutate.model_interface.import_domain import domains_drawn
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, PublishedOperator, Relation, Skipped
from irfuzz.spec import OpSpec, full_name

_TRIES = 5
_BEHIND = 0.75
"""How often an operator is tried on the value as it is before the value is adapted to a call drawn from nothing."""

_JOINS = ("Add", "Sub", "Mul", "Max", "Min", "And", "Or", "Xor")
_JOINED = 0.3
"""How often a result that could take the value's place is combined with it instead."""

_FIRST = 0.6
"""How often the first of several outputs is used."""


@dataclass(frozen=True, slots=True)
class _Way:
    """What is done with a layer's result.

    Attributes:
        output: which one is used.
        closing: how its open sizes are got rid of.
        join: operator that combines it with the value, empty if it takes the value's place.
        target: what it is adapted to.
    """

    output: int
    closing: Closing
    join: str
    target: TensorFact


@dataclass(frozen=True, slots=True)
class InsertLayer:
    """Draws an operator and a call of it on a value, and lets the value's readers read the adapted result."""

    context: Context
    name: ClassVar[str] = "insert-layer"
    version: ClassVar[int] = 3
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(
        weight=4.0,
        campaign_weight=6.0,
        cost=0.7,
        grows=True,
        papers=(
            PublishedOperator("comet", 5, "IL", "Insert Layers", note="the result may also be combined with the value"),
            PublishedOperator(
                "lemon", 8, "LA", "Layer Addition", note="any operator; what has another shape is adapted"
            ),
        ),
    )

    def sites(self, program: Program) -> list[str]:
        """Values between layers, all of whose sizes are known or have names, inputs of the graph first."""
        return sized_sites(program)

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw until the specs give a call whose result can be restored; skipped after five operators without one.

        Before: ``reader(x)``. After: ``reader(op(x))``, or ``reader(x + op(x))`` with some merging operator, with casts
        and changes of shape as needed; either all readers of the value or one read the result.
        """
        value = value_at(program, site)
        fact = tensor_fact(program, value)
        opset = program.opset
        if dims_of([fact]) is None:
            return Skipped("a size that has no name")
        producer = value.producer()
        previous = "<input>" if producer is None else full_name(producer.domain, producer.op_type)
        limit = largest(program)
        specs = layers(self.context.specs, opset, fact.dtype, domains_drawn(program, self.context.specs))
        for _ in range(_TRIES if specs else 0):
            spec = self._operator(choices, specs, previous)
            layer = None
            if choices.boolean(_BEHIND):
                layer = draw_behind(self.context, choices, opset, spec, fact, limit)
            layer = layer or draw_free(self.context, choices, opset, spec, fact, limit)
            way = None if layer is None else self._way(opset, layer, fact, choices)
            if layer is None or way is None:
                continue
            self._insert(program, value, layer, way, choices)
            taken = "nothing" if layer.given is None else shape_text(layer.given)
            return f"{spec.name} on {taken} behind {site}, giving {shape_text(layer.outputs[way.output])}"
        return Skipped("no call was found")

    def _operator(self, choices: Choices, specs: tuple[OpSpec, ...], previous: str) -> OpSpec:
        """One of the operators, rare ones and new neighbours preferred."""
        seen = self.context.seen
        if seen is None:
            return choices.pick(specs)
        weights = [seen.weight(("edge", previous, s.name)) * seen.weight(("operator", s.name)) for s in specs]
        return choices.weighted(specs, weights)

    def _way(self, opset: int, layer: DrawnLayer, fact: TensorFact, choices: Choices) -> _Way | None:
        """What to do with the result, ``None`` if nothing can be done."""
        specs = self.context.specs
        count = len(layer.outputs)
        index = 0 if count == 1 or choices.boolean(_FIRST) else choices.index(count)
        closing = draw_closing(specs, opset, layer.outputs[index], choices, sizes_only="random" in layer.spec.traits)
        if closing is None:
            return None
        whole = layer.position is not None and why_not(specs, opset, closing.fact, fact) is None
        if whole and not choices.boolean(_JOINED):
            return _Way(index, closing, "", fact)
        shape = tuple(d if type(d) is int else 1 for d in fact.shape or ())
        beside = TensorFact(fact.dtype, shape)
        joins = [op for op in _JOINS if runs(specs, op, opset, fact.dtype)]
        if joins and 0 not in shape and why_not(specs, opset, closing.fact, beside) is None:
            return _Way(index, closing, choices.pick(joins), beside)
        return _Way(index, closing, "", fact) if whole else None

    def _insert(self, program: Program, value: ir.Value, layer: DrawnLayer, way: _Way, choices: Choices) -> None:
        specs = self.context.specs
        inserter = Inserter(program, node_after(program, value))
        uses = main_uses(program, value)
        one = [choices.pick(uses)] if len(uses) > 1 and choices.boolean() else None
        node = call_on(specs, inserter, value, layer, choices)
        result = close(inserter, node.outputs[way.output], way.closing)
        if way.join:
            side = adapt(specs, inserter, result, way.target, choices)
            result = inserter.value(way.join, value, side)
        splice_in(program, specs, inserter, value, result, choices, one)
