"""Draws a connected, convex region of a program's main graph, and finds what it reads and what is read of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram
from irfuzz.facts import Fact, TensorFact
from irfuzz.ir.inlining import function_of
from irfuzz.ir.subgraphs import bodies_of, reads_of
from irfuzz.ir.value import fact_of
from irfuzz.mutate.mutator_protocol import Skipped
from irfuzz.spec import has_trait

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.spec import Specs

MAX_NODES = 8
"""Most nodes of a region, but for those that make it convex."""

_MOST = 12
"""Most nodes of a region in all."""

MAX_DEPTH = 3
"""Deepest nesting of bodies and functions that is built."""

MAX_INSIDE = 60
"""Most nodes in the bodies of a node that still gets into another body."""

_DEFAULT = ("", "ai.onnx")

_NOT_CARRIED = frozenset({
    *("INT2", "UINT2", "INT4", "UINT4", "FLOAT4E2M1", "FLOAT6E2M3", "FLOAT6E3M2", "FLOAT8E8M0"),
})  # fmt: skip
"""Names of the element types that onnxruntime 1.32.0 neither gives to a body nor takes from one."""

Wanted = Callable[[ir.Node], bool]
"""Whether a node may be part of a region."""


@dataclass(frozen=True, slots=True)
class Region:
    """Nodes of the main graph, without a way from one to another that leads through a node outside.

    Attributes:
        nodes: in the graph's order.
        inputs: values from outside that they read, constants among them, each once.
        outputs: values that they compute and that others read, or that are graph outputs.
    """

    nodes: tuple[ir.Node, ...]
    inputs: tuple[ir.Value, ...]
    outputs: tuple[ir.Value, ...]

    def __str__(self) -> str:
        names = [node.op_type for node in self.nodes]
        return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"


def movable(program: Program, specs: Specs, node: ir.Node) -> bool:
    """True if a node may stand in a body as well: understood, determined, and typed without a declaration.

    It belongs to the default domain or calls a local function, is neither random nor in need of known sizes, and reads
    and computes dense tensors of known rank. What it holds itself is nested less than ``MAX_DEPTH`` deep, with
    ``MAX_INSIDE`` nodes at most.
    """
    if node.domain in _DEFAULT:
        if (
            has_trait(node, "random")
            or has_trait(node, "needs_known_sizes")
            or specs.get(node.op_type, program.opset) is None
        ):
            return False
    elif function_of(program, node) is None:
        return False
    outputs = [v for v in node.outputs if v.name]
    if not outputs or not all(_is_dense(v) for v in (*outputs, *reads_of(node))):
        return False
    depth, count = extent_of(program, node)
    return depth < MAX_DEPTH and count <= MAX_INSIDE


def extent_of(program: Program, node: ir.Node) -> tuple[int, int]:
    """How deep bodies and functions are nested in a node, and how many nodes it stands for with all of them; ``(0, 1)``
    for a plain operator.
    """
    function = function_of(program, node)
    inside: list[ir.Graph | ir.Function] = [*bodies_of(node), *([] if function is None else [function])]
    if not inside:
        return 0, 1
    found = [extent_of(program, n) for nodes in inside for n in nodes]
    return 1 + max((depth for depth, _ in found), default=0), 1 + sum(count for _, count in found)


def _is_dense(value: ir.Value) -> bool:
    fact = fact_of(value)
    return isinstance(fact, TensorFact) and fact.shape is not None


def needs_declaration(program: Program, node: ir.Node) -> bool:
    """True if only what the model declares tells the type or shape of an output, so that it is lost in a body. The node
    is inferred once more from what it reads.
    """
    try:
        found = program.inference.node(node, "region")
    except InvalidProgram:
        return True
    for value, fact in zip(node.outputs, found, strict=True):
        own = fact_of(value)
        if value.name and isinstance(own, TensorFact) and not same_type(own, fact):
            return True
    return False


def fits_bodies(value: ir.Value) -> bool:
    """True if a Loop or Scan can give a value to its body, and these and an If take one like it from theirs: a dense
    tensor of any element type but those of 2, 4 and 6 bits and FLOAT8E8M0.
    """
    fact = fact_of(value)
    return isinstance(fact, TensorFact) and fact.dtype.name not in _NOT_CARRIED


def same_type(one: Fact, other: Fact) -> bool:
    """True for dense tensors of one element type and shape; names of sizes must be equal, ranges and known elements do
    not matter.
    """
    return (
        isinstance(one, TensorFact)
        and isinstance(other, TensorFact)
        and (one.dtype, one.shape) == (other.dtype, other.shape)
    )


def draw_region(program: Program, last: ir.Node, wanted: Wanted, choices: Choices, most: int = MAX_NODES) -> Region:
    """A region that grows from a node against and along the flow of data; at least the node itself.

    Args:
        program: it is not changed.
        last: the node to begin with.
        wanted: whether a node may belong to the region; it is not asked for ``last``.
        choices: draw the size and each next node.
        most: nodes that are aimed at; those that make the region convex may come on top.
    """
    places = program.positions()
    nodes = {last}
    for _ in range(choices.integer(0, most - 1)):
        around = sorted(
            {n for n in _neighbours(program, nodes) if n not in nodes and wanted(n)}, key=places.__getitem__
        )
        if not around:
            break
        grown = closed(places, {*nodes, choices.pick(around)})
        if len(grown) > _MOST or not all(n in nodes or wanted(n) for n in grown):
            break
        nodes = grown
    return region_of(program, sorted(nodes, key=places.__getitem__))


def region_of(program: Program, nodes: Sequence[ir.Node]) -> Region:
    """The region of given nodes, which must be convex and in the graph's order; inputs and outputs are found here, in
    the order of the nodes.
    """
    own = set(nodes)
    inputs: dict[ir.Value, None] = {}
    outputs: list[ir.Value] = []
    for node in nodes:
        inputs.update(dict.fromkeys(v for v in reads_of(node) if v.producer() not in own))
        outputs += [v for v in node.outputs if v.is_graph_output() or outer_uses(program, own, v)]
    return Region(tuple(nodes), tuple(inputs), tuple(outputs))


def outer_uses(program: Program, own: set[ir.Node], value: ir.Value) -> list[tuple[ir.Node, int]]:
    """Uses of a value by nodes, or nodes in bodies of nodes, that do not belong to a set of main-graph nodes.

    Returns:
        Pairs of the node that reads it, which may stand in a body, and the input's index.
    """
    return [(use.node, use.idx) for use in value.uses() if program.owner(use.node) not in own]


def _neighbours(program: Program, nodes: Iterable[ir.Node]) -> Iterable[ir.Node]:
    for node in nodes:
        for value in reads_of(node):
            producer = value.producer()
            if producer is not None:
                yield producer
        for value in node.outputs:
            for use in value.uses():
                yield program.owner(use.node)


def closed(places: dict[ir.Node, int], nodes: set[ir.Node]) -> set[ir.Node]:
    """The nodes with all that stand on a way between two of them.

    Args:
        places: place of every node of the main graph, in topological order.
        nodes: at least one; the set is not changed.
    """
    first, last = min(places[n] for n in nodes), max(places[n] for n in nodes)
    between = [n for n, place in places.items() if first <= place <= last]
    after: set[ir.Node] = set()
    for node in between:
        if node in nodes or any(v.producer() in after for v in reads_of(node)):
            after.add(node)
    before: set[ir.Node] = set()
    for node in reversed(between):
        if node in nodes:
            before.add(node)
        if node in before:
            before.update(p for v in reads_of(node) if (p := v.producer()) is not None and p in places)
    return {n for n in between if n in after and n in before}


def gather_region(program: Program, region: Region) -> ir.Node | None:
    """Move what depends on a region behind its last node.

    Returns:
        The node before which something that replaces the region has to stand; ``None``: at the end.
    """
    own = set(region.nodes)
    last = region.nodes[-1]
    after: set[ir.Node] = set(own)
    started, late = False, []
    for node in program.nodes():
        if node is last:
            break
        started = started or node in own
        if started and node not in own and any(v.producer() in after for v in reads_of(node)):
            after.add(node)
            late.append(node)
    if late:
        program.graph.remove(late)
        program.graph.insert_after(last, late)
    nodes = program.nodes()
    place = nodes.index(last) + 1
    return nodes[place] if place < len(nodes) else None


def replace_region(program: Program, region: Region, results: Sequence[ir.Value]) -> None:
    """Let everybody outside of a region read other values of the same types instead of its outputs, and drop it.

    Args:
        program: it is edited and pruned.
        region: as ``gather_region`` has left it.
        results: one for each output, in order, computed before every reader.
    """
    own = set(region.nodes)
    for old, new in zip(region.outputs, results, strict=True):
        program.replace_uses(old, new, users=outer_uses(program, own, old), outputs=True)
    program.prune()


class Regions:
    """Draws regions whose nodes may stand in a body; remembers what it found of each node.

    Args:
        program: it is not changed.
        specs: operator specs.
    """

    def __init__(self, program: Program, specs: Specs) -> None:
        self.program = program
        self.specs = specs
        self._known: dict[ir.Node, bool] = {}

    def wanted(self, node: ir.Node) -> bool:
        """True if a node may be part of a region: ``movable``, and typed without a declaration. Each node is judged
        once.
        """
        found = self._known.get(node)
        if found is None:
            found = movable(self.program, self.specs, node) and not needs_declaration(self.program, node)
            self._known[node] = found
        return found

    def draw(self, last: ir.Node, choices: Choices, most: int = MAX_NODES, also: Wanted | None = None) -> Region | None:
        """A region around a node, ``None`` if not even that node will do.

        Args:
            last: the node to begin with.
            choices: every draw.
            most: nodes that are aimed at.
            also: a further condition on every node, if given.
        """

        def wanted(node: ir.Node) -> bool:
            return self.wanted(node) and (also is None or also(node))

        return draw_region(self.program, last, wanted, choices, most) if wanted(last) else None


def drawn_for_body(
    program: Program, specs: Specs, last: ir.Node, choices: Choices, most: int = MAX_NODES, also: Wanted | None = None
) -> Region | Skipped:
    """A region around a node that a body of a control flow node may hold, or ``Skipped`` with the reason if there is
    none.

    The arguments are those of ``Regions.draw``. Types of outputs must be such as bodies give.
    """
    region = Regions(program, specs).draw(last, choices, most, also)
    if region is None:
        return Skipped("the node cannot stand in a body")
    if not all(fits_bodies(value) for value in region.outputs):
        return Skipped("an output is of a type that no body gives")
    return region


def region_sites(program: Program, specs: Specs) -> list[str]:
    """Nodes around which a region may be drawn: those that compute something from something, in the graph's order, each
    by the name of its first output.
    """
    return [
        program.site_of(node)
        for node in program.graph
        if not has_trait(node, "not_a_seed") and reads_of(node) and movable(program, specs, node)
    ]
