"""``wrap-loop``: a region becomes the body of a Loop that runs one to four times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.ir.subgraphs import Mapping
from irfuzz.mutate.control_flow.body_draft import CAPTURED, NODES, OWN, BodyDraft, control_node, require_types
from irfuzz.mutate.control_flow.branch_conditions import condition, is_true, readable, trip_count
from irfuzz.mutate.editing.convex_regions import (
    Region,
    drawn_for_body,
    fits_bodies,
    gather_region,
    region_sites,
    replace_region,
    same_type,
)
from irfuzz.mutate.editing.layer_rewiring import dims_of, largest
from irfuzz.mutate.editing.mutation_sites import exact_values, node_at, tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import runs
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Applied, Profile, Relation, Skipped

MAX_TRIPS = 4

_D = ir.DataType
_TURN, _KEEP = TensorFact(_D.INT64, (), 0.0), TensorFact(_D.BOOL, ())
_NEGATIVE_INDICES = 11
"""First opset whose Gather counts from the end."""


@dataclass(frozen=True, slots=True)
class WrapLoop:
    """Outputs are carried to the next turn if they fit an input, else stacked and one of them taken."""

    context: Context
    name: ClassVar[str] = "wrap-loop"
    version: ClassVar[int] = 2
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(weight=0.75, cost=0.8)

    def sites(self, program: Program) -> list[str]:
        """Nodes that may stand in a body: known operators and calls, nothing random, that read something and give dense
        tensors of known rank.
        """
        return region_sites(program, self.context.specs)

    def apply(self, program: Program, site: str, choices: Choices) -> Applied | Skipped:
        """Draw the region, what is carried, how often it runs and how the turns' results become one.

        Outputs that are not carried from turn to turn are stacked; the last or first one is taken of a stack, or their
        maximum or mean. The edit is ``EQUIVALENT`` if the loop surely gives what the region gave. Regions whose results
        decide a shape are skipped.
        """
        specs = self.context.specs
        region = drawn_for_body(program, specs, node_at(program, site), choices)
        if isinstance(region, Skipped):
            return region
        exact = exact_values(program)
        if any(v in exact for v in region.outputs):
            return Skipped("an output decides a shape")
        facts = [tensor_fact(program, v) for v in region.outputs]
        free = [v for v in region.inputs if v not in exact and program.constant_of(v) is None and fits_bodies(v)]
        # What is carried changes from turn to turn, and with it sizes that depend on elements: they cannot be stacked.
        opened = any(dims_of([fact]) is None for fact in facts)
        carried = {} if opened else _carried(program, region, free, choices)
        stacked = [v for v in region.outputs if v not in carried]
        if any((tensor_fact(program, v).size() or 0) * MAX_TRIPS > largest(program) for v in stacked):
            return Skipped("an output is too large to be stacked")
        passed = [v for v in free if v not in carried.values() and choices.boolean(0.3)]
        whole, constants = choices.boolean(), choices.pick((CAPTURED, OWN, NODES))

        before = gather_region(program, region)
        sources = readable(program, specs, region.inputs)
        trips, start, way = self._limits(program, before, sources, carried_only=not stacked, choices=choices)
        draft = BodyDraft(program, before)
        turn, keep = draft.input("turn", _TURN, whole=True), draft.input("keep", _KEEP, whole=True)
        mapping: Mapping = {}
        states = [*carried.values(), *passed]
        for value in states:
            mapping[value] = draft.input("state", tensor_fact(program, value).without_value(), whole=whole)
        draft.copy(region.nodes, mapping)
        results = {v: _given(mapping, v) for v in region.outputs}
        counted = self._count(draft, turn, results, choices)
        body = draft.close(
            [
                self._again(draft, turn, keep, way, results, choices),
                *(results[v] for v in carried),
                *(_given(mapping, v) for v in passed),
                *(results[v] for v in stacked),
            ],
            constants=constants,
            whole=whole,
        )
        attributes = [ir.Attr("body", ir.AttributeType.GRAPH, body)]
        node = control_node(program, "Loop", [trips, start, *states], len(states) + len(stacked), attributes, before)
        final = dict(zip(carried, node.outputs, strict=False))
        plain = True
        after = Inserter(program, before)
        for value, stack in zip(stacked, node.outputs[len(states) :], strict=True):
            final[value], same = self._of_stack(after, stack, choices)
            plain = plain and same
        require_types("Loop", [final[v] for v in region.outputs], facts)
        once = _number(program, trips) == 1
        # The same is computed in every turn where nothing is carried; but with a condition there may be no turn at all.
        kept = plain and not counted and (once or not carried) and (start is None or is_true(program, start) is True)
        replace_region(program, region, [final[v] for v in region.outputs])
        return Applied(
            f"{region} at {site} in a Loop of {_number(program, trips) or 'a computed number of'} turns, "
            f"{len(carried)} carried, {len(passed)} passed on, {len(stacked)} stacked",
            Relation.EQUIVALENT if kept else Relation.CHANGED,
        )

    def _limits(
        self, program: Program, before: ir.Node | None, sources: list[ir.Value], *, carried_only: bool, choices: Choices
    ) -> tuple[ir.Value | None, ir.Value | None, str]:
        """Trip count, initial condition, and how the body computes the next one."""
        inserter = Inserter(program, before)
        ways = ["trips", "trips", "trips and condition", "condition"] + ["maybe"] * carried_only
        way = choices.pick(ways)
        trips = None if way == "condition" else trip_count(inserter, sources, choices, MAX_TRIPS)
        if way == "trips":
            start = inserter.constant(np.ones((), np.bool_), "condition") if choices.boolean() else None
            return trips, start, choices.pick(("pass", "true"))
        if way == "maybe":
            # Without a turn the carried values stay what they were.
            return trips, condition(inserter, sources, choices, shapes=((),))[0], choices.pick(("pass", "count"))
        start = inserter.constant(np.ones((), np.bool_), "condition")
        return trips, start, "count" if trips is None or choices.boolean(0.7) else "elements"

    def _again(
        self,
        draft: BodyDraft,
        turn: ir.Value,
        keep: ir.Value,
        way: str,
        results: dict[ir.Value, ir.Value],
        choices: Choices,
    ) -> ir.Value:
        """The body's condition."""
        inserter = draft.inserter
        if way == "true":
            return inserter.value("Identity", inserter.constant(np.ones((), np.bool_), "condition"))
        if way == "count":
            return inserter.value("Less", turn, inserter.scalar(choices.integer(0, MAX_TRIPS - 1), _D.INT64))
        if way == "elements":
            sources = readable(draft.program, self.context.specs, list(results.values()))
            if sources:
                value = choices.pick(sources)
                number = value if draft.inserter.fact(value).dtype is _D.FLOAT else inserter.cast(value, _D.FLOAT)
                if rank := inserter.fact(number).rank:
                    number = inserter.reduce("ReduceMax", number, range(rank), keepdims=False)
                return inserter.value("Less", number, inserter.scalar(choices.pick((0.0, 1.0, 10.0)), _D.FLOAT))
        return inserter.value("Identity", keep)

    def _count(self, draft: BodyDraft, turn: ir.Value, results: dict[ir.Value, ir.Value], choices: Choices) -> bool:
        """Sometimes add the number of the turn to a result, which ``results`` then holds."""
        fitting = [v for v, r in results.items() if draft.inserter.fact(r).dtype is _D.FLOAT]
        if not fitting or not choices.boolean(0.25):
            return False
        value = choices.pick(fitting)
        number = draft.inserter.cast(turn, _D.FLOAT)
        results[value] = draft.inserter.value("Add", results[value], number)
        return True

    def _of_stack(self, inserter: Inserter, stack: ir.Value, choices: Choices) -> tuple[ir.Value, bool]:
        """One value of the stacked ones; and whether it is one of them, unchanged."""
        ways = ["last", "first"]
        if runs(self.context.specs, "ReduceMax", inserter.opset, inserter.fact(stack).dtype):
            ways.append("ReduceMax")
        if inserter.fact(stack).dtype is _D.FLOAT:
            ways.append("ReduceMean")
        way = choices.pick(ways)
        if way == "first":
            return inserter.value("Gather", stack, inserter.scalar(0, _D.INT64), axis=0), True
        if way != "last":
            return inserter.reduce(way, stack, [0], keepdims=False), False
        if inserter.opset < _NEGATIVE_INDICES:
            return inserter.squeeze(inserter.slice(stack, [0], [-1], [np.iinfo(np.int64).max]), [0]), True
        return inserter.value("Gather", stack, inserter.scalar(-1, _D.INT64), axis=0), True


def _carried(program: Program, region: Region, free: list[ir.Value], choices: Choices) -> dict[ir.Value, ir.Value]:
    """For some outputs an input of the same type, whose place the output takes in the next turn."""
    found: dict[ir.Value, ir.Value] = {}
    for output in region.outputs:
        fact = tensor_fact(program, output)
        fitting = [v for v in free if v not in found.values() and same_type(tensor_fact(program, v), fact)]
        if fitting and dims_of([fact]) is not None and choices.boolean(0.8):
            found[output] = choices.pick(fitting)
    return found


def _given(mapping: Mapping, value: ir.Value) -> ir.Value:
    found = mapping[value]
    assert found is not None
    return found


def _number(program: Program, value: ir.Value | None) -> int | None:
    fact = None if value is None else program.tensor(value)
    if fact is None or fact.value is None or type(fact.value[0]) is not int:
        return None
    return fact.value[0]
