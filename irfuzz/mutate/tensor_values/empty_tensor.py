"""``empty-tensor``: a copy of a layer computes on no elements at all, which adds nothing to what the layer gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram
from irfuzz.facts import Dim, Fact, TensorFact
from irfuzz.ir.inference.call_output_types import CallKey, hashable_attrs
from irfuzz.ir.inference.graph_facts import infer_call
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.layer_rewiring import attributes, facts_of, inputs_alike, with_sizes
from irfuzz.mutate.editing.mutation_sites import (
    has_open_indices,
    is_exact,
    layer_sites,
    main_uses,
    node_after,
    node_at,
    tensor_fact,
)
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import runs
from irfuzz.mutate.model_interface.expose_value import MOST_OUTPUTS
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped
from irfuzz.spec import check_call, has_trait

_TRIES = 6
_MANY = 2
"""Smallest number that stands for a named size."""


@dataclass(frozen=True, slots=True)
class EmptyTensor:
    """Slices no elements out of a layer's input; the empty result is joined to the layer's own, or an output."""

    context: Context
    name: ClassVar[str] = "empty-tensor"
    version: ClassVar[int] = 2
    relation: ClassVar[Relation] = Relation.EQUIVALENT
    profile: ClassVar[Profile] = Profile(weight=0.5)

    def sites(self, program: Program) -> list[str]:
        """Layers with one output whose rules are known and which runtimes run on no elements (not
        ``refuses_empty``).
        """
        found: list[str] = []
        for site in layer_sites(program, self.context.specs, overlaid=True):
            node = node_at(program, site)
            if not has_trait(node, "refuses_empty") and len(node.outputs) == 1:
                found.append(site)
        return found

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw the axis without elements until the operator takes it; what the program computed before stays the same.

        Before: ``y = op(x)``. After: readers of ``y`` read ``Concat(y, op(x[:0]))``, or the empty result is an output
        of its own. Skipped if an input must not change or Slice and Concat do not run.
        """
        node = node_at(program, site)
        specs, opset = self.context.specs, program.opset
        facts, old = facts_of(program, node.inputs), tensor_fact(program, node.outputs[0])
        alike = inputs_alike(node, facts)
        first = facts[0] if facts else None
        if has_open_indices(node) or not isinstance(first, TensorFact) or is_exact(node, 0, first.dtype):
            return Skipped("its first input must not change")
        if not runs(specs, "Slice", opset, first.dtype) or not runs(specs, "Concat", opset, old.dtype):
            return Skipped(f"{first.dtype.name} cannot be sliced, or {old.dtype.name} not be joined")
        if has_trait(node, "reduces") and any(axis < 0 for axis in _reduced(program, node)):
            return Skipped("onnxruntime 1.31.1 does not reduce an empty tensor along an axis counted from its end")
        axes = [axis for axis in _axes(node, first.rank or 0) if type((first.shape or ())[axis]) is int]
        ways = [(axis, where) for axis in axes for where in (alike, [0])]
        for axis, where in choices.sample(ways, _TRIES):
            new = [_cut(f, axis) if i in where else f for i, f in enumerate(facts)]
            shape = self._shape(program, node, new)
            along = None if shape is None else _joined(old.shape or (), shape)
            if along is None:
                continue
            expose = len(program.graph.outputs) < MOST_OUTPUTS and choices.boolean(0.3)
            inserter = Inserter(program, node_after(program, node.outputs[0]))
            made: dict[ir.Value, ir.Value] = {}
            inputs = list(node.inputs)
            for index in where:
                value = inputs[index]
                assert value is not None
                if value not in made:
                    made[value] = inserter.slice(value, [axis], [0], [0])
                inputs[index] = made[value]
            uses = main_uses(program, node.outputs[0])
            empty = inserter.value(node.op_type, *inputs, **attributes(node))
            if expose:
                program.add_output(empty)
                return f"{node.op_type} at {site} without elements along axis {axis} is an output, too"
            pair = [node.outputs[0], empty] if choices.boolean() else [empty, node.outputs[0]]
            whole = inserter.value("Concat", *pair, axis=along)
            program.replace_uses(node.outputs[0], whole, users=uses, outputs=True)
            return f"{node.op_type} at {site} without elements along axis {axis} is joined to its result"
        return Skipped("no axis along which there may be no elements")

    def _shape(self, program: Program, node: ir.Node, facts: Sequence[Fact | None]) -> tuple[Dim, ...] | None:
        """What the operator then gives, if no rule is broken."""
        spec = self.context.specs.get(node.op_type, program.opset)
        known = [fact for fact in facts if fact is None or isinstance(fact, TensorFact)]
        if spec is None or len(known) != len(facts):
            return None
        # A named size may be any number, and a size of 0 is broadcast to few of them.
        names = {size for fact in known if fact is not None for size in fact.shape or () if isinstance(size, str)}
        sizes = {name: _MANY + place for place, name in enumerate(sorted(names))}
        attrs = program.attrs(node)
        if check_call(spec, known, attrs) or check_call(spec, [with_sizes(fact, sizes) for fact in known], attrs):
            return None
        call = CallKey("", node.op_type, program.opset, hashable_attrs(node.attributes), tuple(known), (True,))
        try:
            fact = infer_call(call)[0]
        except InvalidProgram:
            return None
        return fact.shape if isinstance(fact, TensorFact) else None


def _reduced(program: Program, node: ir.Node) -> list[int]:
    """Axes that a reduction names, as an attribute or a constant input."""
    attr = node.attributes.get("axes")
    if attr is not None:
        return list(attr.as_ints())
    array = program.const_array(node.inputs[1] if len(node.inputs) > 1 else None)
    return [] if array is None else array.ravel().tolist()


def _axes(node: ir.Node, rank: int) -> range:
    """Axes along which there may be no elements."""
    if has_trait(node, "empty_batch_only"):
        return range(min(rank, 1))
    # The only one whose attribute is where the normalised axes begin.
    if node.op_type == "LayerNormalization":
        axis = node.attributes["axis"].as_int() if "axis" in node.attributes else -1
        return range(axis % max(rank, 1))
    return range(rank)


def _cut(fact: Fact | None, axis: int) -> Fact | None:
    """The same without elements along an axis."""
    if not isinstance(fact, TensorFact) or fact.shape is None:
        return fact
    return replace(fact.without_value(), shape=(*fact.shape[:axis], 0, *fact.shape[axis + 1 :]))


def _joined(old: tuple[Dim, ...], new: tuple[Dim, ...]) -> int | None:
    """The only axis in which the shapes differ, if the new one has no elements along it."""
    if len(old) != len(new) or None in new:
        return None
    other = [axis for axis, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
    return other[0] if len(other) == 1 and new[other[0]] == 0 else None
