"""``transpose-pair``: layers compute on another layout, between a Transpose and its inverse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.layer_rewiring import attributes
from irfuzz.mutate.editing.mutation_sites import layer_nodes, node_at, tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import runs
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped
from irfuzz.spec import has_trait

MAX_LAYERS = 4
"""At most this many layers stand between the pair."""

_AXIS_SINCE = 13
"""First opset in which an attribute ``axis`` names one axis, so that all lines along it are treated alike."""


@dataclass(frozen=True, slots=True)
class TransposePair:
    """Transposes what a few connected layers read and undoes it behind them, NCHW to NHWC and back for one."""

    context: Context
    name: ClassVar[str] = "transpose-pair"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.EQUIVALENT
    profile: ClassVar[Profile] = Profile(grows=True)

    def sites(self, program: Program) -> list[str]:
        """Layers that treat elements or lines alike, with one result of rank 2 at least, all of whose types Transpose
        takes.
        """
        return [program.site_of(node) for node in self._layers(program)]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw a permutation and up to three neighbouring layers of the same rank.

        What they read is transposed, an axis attribute is renamed, and what others read of them is transposed back;
        values of a single element stay as they are. What the program computes stays the same.
        """
        node = node_at(program, site)
        layers = self._layers(program)
        if node not in layers:
            return Skipped("not a layer that computes alike in any layout")
        rank = tensor_fact(program, node.outputs[0]).rank or 0
        perm = self._permutation(rank, choices)
        chosen = {node}
        for _ in range(choices.integer(0, MAX_LAYERS - 1)):
            near = [
                n
                for n in layers
                if n not in chosen
                and tensor_fact(program, n.outputs[0]).rank == rank
                and any(m in chosen for m in _neighbours(n))
            ]
            if not near:
                break
            chosen.add(choices.pick(near))
        names = _move(program, [n for n in program.graph if n in chosen], perm)
        program.prune()
        return f"{', '.join(names)} at {site} in the layout {perm}"

    def _layers(self, program: Program) -> list[ir.Node]:
        return [n for n in layer_nodes(program, self.context.specs) if self._fits(program, n)]

    def _fits(self, program: Program, node: ir.Node) -> bool:
        opset = program.opset
        if not has_trait(node, "elementwise") and (opset < _AXIS_SINCE or not has_trait(node, "along_axis")):
            return False
        out = tensor_fact(program, node.outputs[0])
        values = [v for v in (*node.inputs, *node.outputs) if v is not None]
        return (
            (out.rank or 0) >= 2
            and len(node.outputs) == 1
            and all((tensor_fact(program, v).rank or 0) <= (out.rank or 0) for v in values)
            and all(runs(self.context.specs, "Transpose", opset, tensor_fact(program, v).dtype) for v in values)
        )

    def _permutation(self, rank: int, choices: Choices) -> list[int]:
        """Channels last, channels first, reversed, or any that moves something."""
        known = [[0, *range(2, rank), 1], [0, rank - 1, *range(1, rank - 1)], [*reversed(range(rank))]]
        if rank == 2 or choices.boolean():
            return known[choices.integer(0, 2)] if rank > 2 else [1, 0]
        drawn = choices.sample(range(rank), rank)
        return drawn if drawn != sorted(drawn) else known[0]


def _is_unary(node: ir.Node) -> bool:
    """True if the inputs behind the first are scalars."""
    return has_trait(node, "elementwise") and not has_trait(node, "broadcasts")


def _neighbours(node: ir.Node) -> Iterator[ir.Node]:
    for value in node.inputs:
        if value is not None and (producer := value.producer()) is not None:
            yield producer
    for value in node.outputs:
        for use in value.uses():
            yield use.node


def _move(program: Program, nodes: list[ir.Node], perm: list[int]) -> list[str]:
    """Copies of ``nodes``, which are in order, on transposed values; names of their operators."""
    rank = len(perm)
    inverse = [perm.index(axis) for axis in range(rank)]
    moved: dict[ir.Value, ir.Value] = {}
    chosen = set(nodes)
    for node in nodes:
        inserter = Inserter(program, node)
        inputs = [
            value if value is None or (index and _is_unary(node)) else _transposed(inserter, value, perm, moved)
            for index, value in enumerate(node.inputs)
        ]
        attrs = attributes(node)
        if has_trait(node, "along_axis"):
            axis = node.attributes["axis"].as_int() if "axis" in node.attributes else -1
            attrs["axis"] = perm.index(axis % rank)
        new = inserter.node(node.op_type, inputs, attrs)
        old = node.outputs[0]
        moved[old] = new.outputs[0]
        outside = [(use.node, use.idx) for use in old.uses() if use.node not in chosen]
        if outside or old.is_graph_output():
            back = inserter.value("Transpose", new.outputs[0], perm=inverse)
            program.replace_uses(old, back, users=outside, outputs=True)
    return [node.op_type for node in nodes]


def _transposed(inserter: Inserter, value: ir.Value, perm: list[int], moved: dict[ir.Value, ir.Value]) -> ir.Value:
    """The value in the new layout; one that broadcasts as it is stays."""
    fact: TensorFact = inserter.fact(value)
    if all(size == 1 for size in fact.shape or ()):
        return value
    if value not in moved:
        rank = fact.rank or 0
        full = value if rank == len(perm) else inserter.unsqueeze(value, list(range(len(perm) - rank)))
        moved[value] = inserter.value("Transpose", full, perm=perm)
    return moved[value]
