"""``merge-values``: two values become one through a merging operator (COMET's ML, table 3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import Dim, TensorFact
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.layer_rewiring import largest, splice_in
from irfuzz.mutate.editing.mutation_sites import flow_values, main_uses, tensor_fact, value_at
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import runs
from irfuzz.mutate.editing.value_adaptation import adapt, why_not
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, PublishedOperator, Relation, Skipped

_NUMERIC = ("Add", "Sub", "Mul", "Max", "Min", "Sum")
_FLOATING = ("Mean", "PRelu", "Pow")
_LOGICAL = ("And", "Or", "Xor")
_ANY = ("Where",)


@dataclass(frozen=True, slots=True)
class MergeValues:
    """Adapts a second value to the first, merges both, and lets later readers of the first read the result."""

    context: Context
    name: ClassVar[str] = "merge-values"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(
        papers=(PublishedOperator("comet", 6, "ML", "Merge Layers", note="a value of another type is adapted first"),)
    )

    def sites(self, program: Program) -> list[str]:
        """Values between layers that some node reads, by name, inputs of the graph first."""
        return [v.name for v in flow_values(program) if v.name and v.uses()]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw a reader of the value, another value that exists before that reader, and an operator.

        Before: ``reader(x)``. After: ``reader(op(x, y))``, with ``y`` adapted to the type and shape of ``x``; that
        reader and all later ones read the result. A Concat is cut to the old size again.
        """
        value = value_at(program, site)
        specs, opset = self.context.specs, program.opset
        fact = tensor_fact(program, value)
        uses = main_uses(program, value)
        if not uses:
            return Skipped("no reader in the main graph")
        reader = uses[0][0] if choices.boolean() else choices.pick(uses)[0]
        places = program.positions()
        place = places[reader]
        others = []
        for other in flow_values(program):
            producer = other.producer()
            if other is value or (producer is not None and places[producer] >= place):
                continue
            other_fact = program.fact(other)
            if isinstance(other_fact, TensorFact) and why_not(specs, opset, other_fact, fact) is None:
                others.append(other)
        if not others:
            return Skipped("no other value that can be adapted")
        # What a Concat gives is twice as large, and must be cut to the first one's size again.
        axes = [i for i, d in enumerate(fact.shape or ()) if type(d) is int]
        doubled = [replace(fact, shape=_twice(fact.shape or (), axis)) for axis in axes]
        joined = bool(axes) and 2 * (fact.size() or 0) <= largest(program)
        joined = joined and not any(why_not(specs, opset, d, fact) for d in doubled)
        ops = [*_operators(fact.dtype), *(("Concat",) if joined else ())]
        ops = [op for op in ops if runs(specs, op, opset, fact.dtype)]
        if not ops:
            return Skipped(f"no operator merges {fact.dtype.name}")
        other = choices.pick(others)
        op = self.context.prefer(choices, ops, lambda name: ("dtype", name, 0, fact.dtype.value))
        inserter = Inserter(program, reader)
        second = adapt(specs, inserter, other, fact, choices)
        pair = [value, second]
        if choices.boolean(0.3):
            pair.reverse()
        spec = specs.get(op, opset)
        assert spec is not None
        if "data_input" in spec.traits:
            mask = np.random.default_rng(choices.seed()).integers(
                0, 2, [d if type(d) is int else 1 for d in fact.shape or ()]
            )
            merged = inserter.value(op, inserter.constant(mask.astype(np.bool_), "mask"), *pair)
        else:
            merged = inserter.value(op, *pair, **({"axis": choices.pick(axes)} if "axis" in spec.attrs else {}))
        later = [(node, index) for node, index in uses if places[node] >= place]
        splice_in(program, specs, inserter, value, merged, choices, later)
        return f"{op} of {site} and {other.name}, read by {reader.op_type}"


def _twice(shape: tuple[Dim, ...], axis: int) -> tuple[Dim, ...]:
    size = shape[axis]
    return (*shape[:axis], 2 * size if type(size) is int else size, *shape[axis + 1 :])


def _operators(dtype: ir.DataType) -> list[str]:
    if dtype is ir.DataType.BOOL:
        return [*_LOGICAL, *_ANY]
    return [*_NUMERIC, *(_FLOATING if dtype.is_floating_point() else ()), *_ANY]
