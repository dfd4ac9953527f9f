"""``outline-function``: a region becomes a local function that is called in its place, and wherever it occurs again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.ir.fact_type_conversion import undeclare
from irfuzz.ir.inlining import function_of
from irfuzz.ir.program import Program
from irfuzz.ir.subgraphs import Mapping, bodies_of, copy_nodes, copy_value, hint_of
from irfuzz.ir.value import UNTYPED, new_value, set_fact
from irfuzz.mutate.control_flow.body_draft import constant_node, is_plain_constant, require_types
from irfuzz.mutate.editing.convex_regions import (
    Region,
    Regions,
    closed,
    gather_region,
    region_of,
    region_sites,
    replace_region,
)
from irfuzz.mutate.editing.mutation_sites import node_at, tensor_fact
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped

DOMAIN = "irfuzz.local"

MOST_CALLS = 4
"""Most regions that one edit replaces."""

_FUNCTIONS = 8
"""First IR version with local functions (ONNX IR.md)."""

_DEFAULTS = 9
"""First IR version whose functions have attributes with defaults."""

_A = ir.AttributeType
_PLAIN = frozenset({_A.INT, _A.FLOAT, _A.STRING, _A.INTS, _A.FLOATS, _A.STRINGS})


@dataclass(frozen=True, slots=True)
class _Parameter:
    """An attribute of a node in the region that the call gives.

    Attributes:
        node: place of the node in the region.
        attr: name of its attribute.
        name: what the function calls it.
        default: what holds if a call says nothing; ``None``: each call gives it.
    """

    node: int
    attr: str
    name: str
    default: ir.Attr | None


@dataclass(frozen=True, slots=True)
class OutlineFunction:
    """Constants are inputs of the function or stand inside; some attributes of its nodes are attributes of its own."""

    context: Context
    name: ClassVar[str] = "outline-function"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.EQUIVALENT
    profile: ClassVar[Profile] = Profile(weight=0.75)

    def sites(self, program: Program) -> list[str]:
        """Nodes that may stand in a function: known operators and calls, nothing random, that read something and give
        dense tensors of known rank.
        """
        return region_sites(program, self.context.specs)

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw a region around the node and what of it is a parameter, and replace it, with up to three others like it,
        by calls of one function.

        Constants become inputs of the function or stand inside. Up to three attributes become its own, some with a
        default that a call may leave out. The model imports ``DOMAIN``, and its IR version rises to 8, or to 9 for
        defaults.
        """
        regions = Regions(program, self.context.specs)
        region = regions.draw(node_at(program, site), choices)
        if region is None:
            return Skipped("the node cannot stand in a function")
        inside = [v for v in region.inputs if is_plain_constant(program, v)] if choices.boolean(0.4) else []
        parameters = _parameters(program, region, choices)
        alike = self._alike(program, regions, region, inside, parameters)
        facts = [[tensor_fact(program, v) for v in r.outputs] for r, _ in alike]

        program.model.ir_version = max(program.model.ir_version, _FUNCTIONS)
        if any(p.default is not None for p in parameters):
            program.model.ir_version = max(program.model.ir_version, _DEFAULTS)
        formal = [v for v in region.inputs if v not in inside]
        function = _function(program, region, formal, inside, parameters)
        program.model.functions[function.identifier()] = function
        program.model.opset_imports[DOMAIN] = 1
        now: dict[ir.Value, ir.Value] = {}
        calls = 0
        for (one, given), wanted in zip(alike, facts, strict=True):
            if one.nodes[-1].graph is None:
                continue  # nothing read it, so it went with what else is unread
            calls += 1
            before = gather_region(program, one)
            outputs = [new_value(program.fresh("call")) for _ in one.outputs]
            call = ir.Node(
                function.domain,
                function.name,
                [now.get(given[v], given[v]) for v in formal],
                _arguments(one, parameters, choices),
                outputs=outputs,
                name=program.fresh(f"{function.name}_node"),
            )
            program.put_in([call], before)
            require_types(function.name, outputs, wanted)
            replace_region(program, one, outputs)
            now.update(zip(one.outputs, outputs, strict=True))
        return (
            f"{region} at {site} in a function, called {calls} times, with {len(formal)} inputs "
            f"and {len(parameters)} attributes"
        )

    def _alike(
        self,
        program: Program,
        regions: Regions,
        region: Region,
        inside: list[ir.Value],
        parameters: list[_Parameter],
    ) -> list[tuple[Region, dict[ir.Value, ir.Value]]]:
        """The region and others of the same nodes and attributes, with what they read in place of its inputs."""
        found = [(region, {v: v for v in region.inputs})]
        last = region.nodes[-1]
        if any(next(bodies_of(n), None) is not None for n in region.nodes):
            return found
        places = program.positions()
        used = set(region.nodes)
        free = {(p.node, p.attr) for p in parameters}
        for node in places:
            if node in used or node.op_identifier() != last.op_identifier() or len(found) == MOST_CALLS:
                continue
            match = _Match(program, region, free, set(inside))
            if not match.bind(last, node) or len(match.nodes) < len(region.nodes):
                continue
            own = set(match.nodes.values())
            if own & used or closed(places, own) != own or not all(map(regions.wanted, own)):
                continue
            twin = region_of(program, sorted(own, key=places.__getitem__))
            order = [match.nodes[n] for n in region.nodes]
            outputs = [match.nodes[_producer(v)].outputs[v.index() or 0] for v in region.outputs]
            if set(twin.outputs) - set(outputs) or any(v.producer() in own for v in match.values.values()):
                continue
            found.append((Region(tuple(order), twin.inputs, tuple(outputs)), match.values))
            used |= own
        # A region that reads what another one computes has to come after it.
        return sorted(found, key=lambda one: places[one[0].nodes[-1]])


class _Match:
    """Another place in the graph where a region's nodes stand, bound from the last one on against the flow."""

    def __init__(self, program: Program, region: Region, free: set[tuple[int, str]], fixed: set[ir.Value]) -> None:
        self.program = program
        self.own = {node: place for place, node in enumerate(region.nodes)}
        self.free = free
        self.fixed = fixed
        self.nodes: dict[ir.Node, ir.Node] = {}
        self.values: dict[ir.Value, ir.Value] = {}

    def bind(self, mine: ir.Node, other: ir.Node) -> bool:
        """True if ``other`` and all that it stands on is like ``mine``."""
        if mine in self.nodes or other in self.nodes.values():
            return self.nodes.get(mine) is other
        if (
            mine.op_identifier() != other.op_identifier()
            or len(mine.inputs) != len(other.inputs)
            or len(mine.outputs) != len(other.outputs)
            or not self._same_attributes(mine, other)
        ):
            return False
        self.nodes[mine] = other
        return all(self._same_value(a, b) for a, b in zip(mine.inputs, other.inputs, strict=True))

    def _same_value(self, mine: ir.Value | None, other: ir.Value | None) -> bool:
        if mine is None or other is None:
            return mine is other
        producer = mine.producer()
        if producer is not None and producer in self.own:
            maker = other.producer()
            return maker is not None and mine.index() == other.index() and self.bind(producer, maker)
        if mine in self.fixed:
            a, b = self.program.constant_of(mine), self.program.constant_of(other)
            return a is not None and b is not None and a.dtype is b.dtype and np.array_equal(a.numpy(), b.numpy())
        return self.values.setdefault(mine, other) is other

    def _same_attributes(self, mine: ir.Node, other: ir.Node) -> bool:
        if set(mine.attributes) != set(other.attributes):
            return False
        place = self.own[mine]
        return all(
            attr.type is (twin := other.attributes[name]).type
            and attr.type in _PLAIN
            and ((place, name) in self.free or attr.value == twin.value)
            for name, attr in mine.attributes.items()
        )


def _producer(value: ir.Value) -> ir.Node:
    node = value.producer()
    assert node is not None
    return node


def _parameters(program: Program, region: Region, choices: Choices) -> list[_Parameter]:
    """Up to three attributes of operators without bodies that become the function's."""
    possible = [
        (place, name)
        for place, node in enumerate(region.nodes)
        if function_of(program, node) is None and next(bodies_of(node), None) is None
        for name, attr in node.attributes.items()
        if attr.type in _PLAIN and not attr.is_ref()
    ]
    found: list[_Parameter] = []
    for place, name in choices.sample(possible, choices.integer(0, 3)):
        attr = region.nodes[place].attributes[name]
        own = f"{name}_{place}"
        default = ir.Attr(own, attr.type, attr.value) if choices.boolean(0.3) else None
        found.append(_Parameter(place, name, own, default))
    return found


def _function(
    program: Program,
    region: Region,
    formal: list[ir.Value],
    inside: list[ir.Value],
    parameters: list[_Parameter],
) -> ir.Function:
    """The function; its values say nothing of their types, for each call may have others."""
    inputs = [new_value(program.fresh(hint_of(v))) for v in formal]
    mapping: Mapping = dict(zip(formal, inputs, strict=True))
    constants: list[ir.Node] = []
    for value in inside:
        twin = copy_value(value, program.fresh(hint_of(value)))
        mapping[value] = twin
        constants.append(constant_node(program, twin))
    nodes = copy_nodes(region.nodes, mapping, program.fresh)
    for parameter in parameters:
        attributes = nodes[parameter.node].attributes
        kind = attributes[parameter.attr].type
        attributes[parameter.attr] = ir.RefAttr(parameter.attr, parameter.name, kind)
    for node in (*constants, *nodes):
        for value in node.outputs:
            undeclare(value)
            set_fact(value, UNTYPED)
    own = program.model.opset_imports
    needed = {"" if n.domain == "ai.onnx" else n.domain for n in nodes} | {""}
    for node in nodes:
        needed |= {"" if n.domain == "ai.onnx" else n.domain for body in bodies_of(node) for n in body.all_nodes()}
    imports = {domain: version for domain, version in own.items() if domain in needed or domain == "ai.onnx"}
    index = 0
    while (DOMAIN, f"Region_{index}", "") in program.model.functions:
        index += 1
    outputs = [v for o in region.outputs if (v := mapping[o]) is not None]
    graph = ir.Graph(inputs, outputs, nodes=[*constants, *nodes], opset_imports=imports, name=f"Region_{index}")
    declared = [
        ir.Attr(p.name, region.nodes[p.node].attributes[p.attr].type, None) if p.default is None else p.default
        for p in parameters
    ]
    return ir.Function(DOMAIN, f"Region_{index}", graph=graph, attributes=declared)


def _arguments(region: Region, parameters: list[_Parameter], choices: Choices) -> list[ir.Attr]:
    """The attributes of a call; one that equals the default may be left out."""
    found: list[ir.Attr] = []
    for parameter in parameters:
        attr = region.nodes[parameter.node].attributes[parameter.attr]
        if parameter.default is not None and parameter.default.value == attr.value and choices.boolean(0.7):
            continue
        found.append(ir.Attr(parameter.name, attr.type, attr.value))
    return found
