"""``wrap-if``: a region becomes a branch of an If; the other branch computes the same, or something of its types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.ir.subgraphs import Mapping
from irfuzz.mutate.control_flow.body_draft import CAPTURED, NODES, OWN, BodyDraft, control_node, require_types, stand_in
from irfuzz.mutate.control_flow.branch_conditions import condition, is_true, readable
from irfuzz.mutate.editing.convex_regions import Region, drawn_for_body, gather_region, region_sites, replace_region
from irfuzz.mutate.editing.mutation_sites import exact_values, node_at, tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import CASTABLE, runs
from irfuzz.mutate.editing.value_adaptation import adapt, why_not
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Applied, Profile, Relation, Skipped

_UNARY = ("Neg", "Abs", "Relu", "Sigmoid", "Tanh", "Floor", "Not")
_STORED = 1 << 12
"""Most elements of a constant that stands in for a result."""


@dataclass(frozen=True, slots=True)
class WrapIf:
    """One branch is the region; the other one a copy of it, a variation, something of its inputs, or constants."""

    context: Context
    name: ClassVar[str] = "wrap-if"
    version: ClassVar[int] = 2
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(weight=0.75)

    def sites(self, program: Program) -> list[str]:
        """Nodes that may stand in a body: known operators and calls, nothing random, that read something and give dense
        tensors of known rank.
        """
        return region_sites(program, self.context.specs)

    def apply(self, program: Program, site: str, choices: Choices) -> Applied | Skipped:
        """Draw the region, the condition and what the other branch computes; the If's results take the places of the
        region's.

        The relation is ``EQUIVALENT`` if both branches compute the same, or the condition is known to choose the
        region.
        """
        specs = self.context.specs
        region = drawn_for_body(program, specs, node_at(program, site), choices)
        if isinstance(region, Skipped):
            return region
        exact = exact_values(program)
        same = choices.boolean(0.4) or any(v in exact for v in region.outputs)
        whole, constants = choices.boolean(), [choices.pick((CAPTURED, OWN, NODES)) for _ in range(2)]
        before = gather_region(program, region)
        facts = [tensor_fact(program, v) for v in region.outputs]
        cond, how = condition(Inserter(program, before), readable(program, specs, region.inputs), choices)
        drafts: list[ir.Graph] = []
        for other, place in zip((False, True), constants, strict=True):
            draft = BodyDraft(program, before)
            mapping: Mapping = {}
            if same or not other:
                draft.copy(region.nodes, mapping)
                results = [mapping[v] for v in region.outputs]
            else:
                results = self._other(program, draft, region, choices)
            drafts.append(draft.close([v for v in results if v is not None], constants=place, whole=whole))
        swapped = choices.boolean(0.3)
        names = ("else_branch", "then_branch") if swapped else ("then_branch", "else_branch")
        branches = dict(zip(names, drafts, strict=True))
        attributes = [ir.Attr(n, ir.AttributeType.GRAPH, branches[n]) for n in ("then_branch", "else_branch")]
        node = control_node(program, "If", [cond], len(facts), attributes, before)
        require_types("If", node.outputs, facts)
        known = is_true(program, cond)
        replace_region(program, region, node.outputs)
        kept = same or (known is not None and known is not swapped)
        what = "itself" if same else "another computation"
        return Applied(
            f"{region} at {site} in an If with {what}, by a condition that is {how}",
            Relation.EQUIVALENT if kept else Relation.CHANGED,
        )

    def _other(self, program: Program, draft: BodyDraft, region: Region, choices: Choices) -> Sequence[ir.Value]:
        """Something of the same types for each output."""
        specs, opset = self.context.specs, program.opset
        copies: Mapping = {}
        results: list[ir.Value] = []
        for output in region.outputs:
            fact = tensor_fact(program, output)
            fitting = [
                v
                for v in region.inputs
                if program.constant_of(v) is None and why_not(specs, opset, tensor_fact(program, v), fact) is None
            ]
            unary = [op for op in _UNARY if runs(specs, op, opset, fact.dtype)]
            stored = fact.dtype in CASTABLE and (fact.size() or _STORED + 1) <= _STORED
            ways = ["input"] * bool(fitting) + ["constant"] * stored + ["varied"]
            way = choices.pick(ways)
            if way == "input":
                results.append(adapt(specs, draft.inserter, choices.pick(fitting), fact.without_value(), choices))
            elif way == "constant":
                results.append(stand_in(draft.inserter, fact, choices))
            else:
                if not copies:
                    draft.copy(region.nodes, copies)
                value = copies[output]
                assert value is not None
                results.append(draft.inserter.value(choices.pick(unary), value) if unary else value)
        return results
