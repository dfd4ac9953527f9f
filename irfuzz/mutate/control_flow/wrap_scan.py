"""``wrap-scan``: a region is applied to one slice of its inputs after the other, by a Scan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import Dim, Fact, TensorFact
from irfuzz.ir.program import Program
from irfuzz.ir.subgraphs import Mapping, depth_of
from irfuzz.mutate.control_flow.body_draft import CAPTURED, NODES, OWN, BodyDraft, control_node, require_types
from irfuzz.mutate.editing.convex_regions import (
    Region,
    drawn_for_body,
    fits_bodies,
    gather_region,
    region_sites,
    replace_region,
)
from irfuzz.mutate.editing.layer_rewiring import dims_of, facts_of, largest, predict
from irfuzz.mutate.editing.mutation_sites import exact_values, node_at, tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.value_adaptation import adapt, why_not
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Applied, Profile, Relation, Skipped
from irfuzz.spec import has_trait

MAX_LENGTH = 64
"""Most slices: each one costs a runtime a whole call of the body."""

_TRIES = 5

_D = ir.DataType


@dataclass(frozen=True, slots=True)
class _Plan:
    """What was drawn before anything is edited.

    Attributes:
        scanned: inputs of the region that are cut into slices, each with its axis.
        length: number of slices.
        kept: slices keep their axis, with size 1.
        inside: facts of the region's outputs in the body, before their axis is dropped.
        dropped: outputs of which the body drops the axis again.
    """

    scanned: dict[ir.Value, int]
    length: Dim
    kept: bool
    inside: dict[ir.Value, TensorFact]
    dropped: dict[ir.Value, int]


@dataclass(frozen=True, slots=True)
class WrapScan:
    """Draws the region, which inputs are cut along which axes and how the results are put together."""

    context: Context
    name: ClassVar[str] = "wrap-scan"
    version: ClassVar[int] = 2
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(cost=0.9)

    def sites(self, program: Program) -> list[str]:
        """Nodes of the default domain that may stand in a body, have inputs and no body of their own, and read more
        than shapes.
        """
        return [site for site in region_sites(program, self.context.specs) if _is_plain(node_at(program, site))]

    def apply(self, program: Program, site: str, choices: Choices) -> Applied | Skipped:
        """Draw a region and axes of its inputs, predict what the body computes from slices, build it and restore the
        results.

        One or two inputs are cut along an axis of at most ``MAX_LENGTH`` or of a named size, and some results are
        summed up as well. The edit is ``EQUIVALENT`` if the nodes treat slices alike and nothing is turned, summed or
        adapted; else ``CHANGED``. Skipped if no plan fits after five tries.
        """
        specs = self.context.specs
        region = drawn_for_body(program, specs, node_at(program, site), choices, most=5, also=_is_plain)
        if isinstance(region, Skipped):
            return region
        exact = exact_values(program)
        if any(v in exact for v in region.outputs):
            return Skipped("an output decides a shape")
        free = [v for v in region.inputs if v not in exact and program.constant_of(v) is None and fits_bodies(v)]
        drawn = self._plan(program, region, free, choices)
        for _ in range(_TRIES - 1):
            if isinstance(drawn, Skipped):
                drawn = self._plan(program, region, free, choices)
        if isinstance(drawn, Skipped):
            return drawn
        plan, axes = drawn
        sums = [v for v in region.outputs if _summable(plan, v) and choices.boolean(0.25)]
        passed = [v for v in free if v not in plan.scanned and choices.boolean(0.25)]
        return self._build(program, region, plan, sums, axes, passed, site, choices)

    def _build(
        self,
        program: Program,
        region: Region,
        plan: _Plan,
        sums: list[ir.Value],
        axes: dict[ir.Value, int],
        passed: list[ir.Value],
        site: str,
        choices: Choices,
    ) -> Applied:
        specs = self.context.specs
        facts = [tensor_fact(program, v) for v in region.outputs]
        whole, constants = choices.boolean(), choices.pick((CAPTURED, OWN, NODES))
        before = gather_region(program, region)
        outside = Inserter(program, before)
        starts = [outside.constant(np.zeros(_left(plan, v).static_shape or (), np.float32), "start") for v in sums]
        draft = BodyDraft(program, before)
        totals = [draft.input("total", _left(plan, v), whole=whole) for v in sums]
        mapping: Mapping = {}
        for value in passed:
            mapping[value] = draft.input("state", tensor_fact(program, value).without_value(), whole=whole)
        for value, axis in plan.scanned.items():
            part = draft.input("slice", _slice(tensor_fact(program, value), axis), whole=whole)
            mapping[value] = draft.inserter.unsqueeze(part, [axis]) if plan.kept else part
        draft.copy(region.nodes, mapping)
        results: dict[ir.Value, ir.Value] = {}
        for value in region.outputs:
            found = mapping[value]
            assert found is not None
            drop = plan.dropped.get(value)
            results[value] = found if drop is None else draft.inserter.squeeze(found, [drop])
        added = [draft.inserter.value("Add", t, results[v]) for t, v in zip(totals, sums, strict=True)]
        results.update(zip(sums, added, strict=True))
        invariant = [v for p in passed if (v := mapping[p]) is not None]
        # onnxruntime demands shapes of a Scan's body, and cannot infer them where a Loop stands before it.
        body = draft.close([*added, *invariant, *(results[v] for v in region.outputs)], constants=constants, whole=True)
        count = len(plan.scanned)
        turned_in = [int(choices.boolean(0.3)) for _ in range(count)]
        turned_out = [int(choices.boolean(0.3)) for _ in region.outputs]
        attributes = [
            ir.Attr("body", ir.AttributeType.GRAPH, body),
            ir.AttrInt64("num_scan_inputs", count),
            *_ints("scan_input_axes", list(plan.scanned.values()), choices),
            *_ints("scan_output_axes", [axes[v] for v in region.outputs], choices),
            *_ints("scan_input_directions", turned_in, choices),
            *_ints("scan_output_directions", turned_out, choices),
        ]
        states = len(sums) + len(passed)
        node = control_node(
            program, "Scan", [*starts, *passed, *plan.scanned], states + len(region.outputs), attributes, before
        )
        after = Inserter(program, before)
        final: list[ir.Value] = []
        for place, value in enumerate(region.outputs):
            result = node.outputs[states + place]
            final.append(adapt(specs, after, result, tensor_fact(program, value), choices))
        require_types("Scan", final, facts)
        same = (
            not sums
            and turned_in == turned_out
            and all(has_trait(n, "same_in_slices") and len(n.inputs) == 1 for n in region.nodes)
            and all(axes[v] % (tensor_fact(program, v).rank or 1) in plan.scanned.values() for v in region.outputs)
            and all(v is o for v, o in zip(final, node.outputs[states:], strict=True))
        )
        replace_region(program, region, final)
        return Applied(
            f"{region} at {site} in a Scan of {plan.length} slices of {count} inputs, {len(sums)} summed up",
            Relation.EQUIVALENT if same else Relation.CHANGED,
        )

    def _plan(
        self, program: Program, region: Region, free: list[ir.Value], choices: Choices
    ) -> tuple[_Plan, dict[ir.Value, int]] | Skipped:
        ways = [
            (v, axis)
            for v in free
            if dims_of([fact := tensor_fact(program, v)]) is not None
            for axis, size in enumerate(fact.shape or ())
            if isinstance(size, str) or (type(size) is int and 1 <= size <= MAX_LENGTH)
        ]
        if not ways:
            return Skipped("no input has an axis to scan")
        first, axis = choices.pick(ways)
        length = (tensor_fact(program, first).shape or ())[axis]
        scanned = {first: axis}
        others = [(v, a) for v, a in ways if v is not first and (tensor_fact(program, v).shape or ())[a] == length]
        if others and choices.boolean(0.6):
            scanned.update([choices.pick(others)])
        kept = choices.boolean(0.65)
        inside = self._simulate(program, region, scanned, kept=kept)
        if isinstance(inside, Skipped):
            return inside
        dropped: dict[ir.Value, int] = {}
        for value, fact in inside.items():
            shape = fact.shape or ()
            if kept and axis < len(shape) and shape[axis] == 1 and choices.boolean(0.8):
                dropped[value] = axis
        plan = _Plan(scanned, length, kept, inside, dropped)
        axes = {v: _drawn_axis(plan, v, choices) for v in region.outputs}
        for value in region.outputs:
            found = _put_together(plan, value, axes[value])
            if (found.size() or 0) > largest(program):
                return Skipped("a result that is too large")
            reason = why_not(self.context.specs, program.opset, found, tensor_fact(program, value))
            if reason is not None:
                return Skipped(f"the result cannot be restored: {reason}")
        return plan, axes

    def _simulate(
        self, program: Program, region: Region, scanned: dict[ir.Value, int], *, kept: bool
    ) -> dict[ir.Value, TensorFact] | Skipped:
        """Facts of the region's outputs when some inputs are slices."""
        specs, limit = self.context.specs, largest(program)
        facts: dict[ir.Value, Fact] = {}
        for value, axis in scanned.items():
            own = tensor_fact(program, value)
            part = _slice(own, axis)
            shape = part.shape or ()
            facts[value] = TensorFact(own.dtype, (*shape[:axis], 1, *shape[axis:])) if kept else part
        for node in region.nodes:
            given = [
                f if v is None or v not in facts else facts[v]
                for v, f in zip(node.inputs, facts_of(program, node.inputs), strict=True)
            ]
            found = predict(specs, program.opset, node.op_type, given, node.attributes, len(node.outputs), limit)
            if isinstance(found, Skipped):
                return Skipped(f"not on slices: {found.reason}")
            facts.update(zip(node.outputs, found, strict=True))
        return {v: fact.without_value() for v in region.outputs if isinstance(fact := facts[v], TensorFact)}


def _is_plain(node: ir.Node) -> bool:
    return (
        node.domain in ("", "ai.onnx")
        and depth_of(node) == 0
        and bool(node.inputs)
        and not has_trait(node, "shape_only")
    )


def _slice(fact: TensorFact, axis: int) -> TensorFact:
    shape = fact.shape or ()
    return TensorFact(fact.dtype, shape[:axis] + shape[axis + 1 :])


def _left(plan: _Plan, value: ir.Value) -> TensorFact:
    """What the body gives of an output."""
    fact = plan.inside[value]
    return fact if value not in plan.dropped else _slice(fact, plan.dropped[value])


def _summable(plan: _Plan, value: ir.Value) -> bool:
    fact = _left(plan, value)
    return fact.dtype is _D.FLOAT and fact.is_static


def _drawn_axis(plan: _Plan, value: ir.Value, choices: Choices) -> int:
    rank = _left(plan, value).rank or 0
    usual = next(iter(plan.scanned.values()))
    return usual if usual <= rank and choices.boolean(0.7) else choices.integer(0, rank)


def _put_together(plan: _Plan, value: ir.Value, axis: int) -> TensorFact:
    fact = _left(plan, value)
    shape = fact.shape or ()
    return TensorFact(fact.dtype, (*shape[:axis], plan.length, *shape[axis:]))


def _ints(name: str, numbers: Sequence[int], choices: Choices) -> list[ir.Attr]:
    """The attribute, which may be left out if all numbers are 0."""
    if not any(numbers) and choices.boolean():
        return []
    return [ir.AttrInt64s(name, numbers)]
