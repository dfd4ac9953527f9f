"""``change-rank``: a layer computes on more or fewer dimensions, restored behind it (COMET's MDims, table 3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import Dim, Fact, TensorFact
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.layer_rewiring import (
    attributes,
    call_again,
    facts_of,
    inputs_alike,
    largest,
    replacement,
    reshaped_facts,
    shape_text,
)
from irfuzz.mutate.editing.mutation_sites import has_open_indices, is_exact, layer_sites, node_at
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, PublishedOperator, Relation, Skipped
from irfuzz.spec import trait_values

MAX_RANK = 6
_TRIES = 6


@dataclass(frozen=True, slots=True)
class _Way:
    """How the inputs change: ``shape`` for each index, and new attributes."""

    shapes: dict[int, tuple[Dim, ...]]
    attrs: dict[str, Any]
    text: str


@dataclass(frozen=True, slots=True)
class ChangeRank:
    """Unsqueezes, squeezes, flattens or splits dimensions of a layer's inputs, and restores the outputs."""

    context: Context
    name: ClassVar[str] = "change-rank"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(
        papers=(
            PublishedOperator(
                "comet",
                2,
                "MDims",
                "Mutate Dimension",
                note="sizes are also split and merged; elements are never dropped",
            ),
        )
    )

    def sites(self, program: Program) -> list[str]:
        """Layers whose operator has rules under ``ops/``, by the name of their first output."""
        return layer_sites(program, self.context.specs, overlaid=True)

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw ways to reshape the first input, or all that are like it, until the operator takes one; the results get
        their old shapes.

        An axis of size 1 comes or goes, an axis is split or two are merged; convolutions and pools get one more spatial
        axis, with attributes to match. No rank exceeds ``MAX_RANK``.
        """
        node = node_at(program, site)
        specs, op = self.context.specs, node.op_type
        if has_open_indices(node):
            return Skipped("indices that are not known hold it to its sizes")
        facts = facts_of(program, node.inputs)
        ways = list(_ways(node, facts))
        limit = largest(program)
        for way in choices.sample(ways, _TRIES):
            attrs = {**attributes(node), **way.attrs}
            result = replacement(program, specs, node, reshaped_facts(facts, way.shapes), attrs, limit)
            if result is None:
                continue
            change = {i: partial(_reshaped, shape=shape, choices=choices) for i, shape in way.shapes.items()}
            call_again(program, specs, node, change, attrs, choices)
            return f"{op} at {site} computes {way.text}, giving {shape_text(result[0])}"
        return Skipped("no other rank")


def _ways(node: ir.Node, facts: list[Fact | None]) -> Iterator[_Way]:
    first = facts[0] if facts else None
    if not isinstance(first, TensorFact) or first.shape is None or is_exact(node, 0, first.dtype):
        return
    spatial = trait_values("spatial_inputs").get(node.op_type)
    if spatial is not None:
        yield from _more_spatial(node, facts, spatial)
    alike = inputs_alike(node, facts)
    for shape, text in _other_shapes(first.shape):
        yield _Way({0: shape}, {}, text)
        if len(alike) > 1:
            yield _Way(dict.fromkeys(alike, shape), {}, f"{text} at all inputs")


def _other_shapes(shape: tuple[Dim, ...]) -> Iterator[tuple[tuple[Dim, ...], str]]:
    """Shapes of other ranks with the same elements; named sizes stay at their index."""
    rank = len(shape)
    fixed = max((i + 1 for i, d in enumerate(shape) if type(d) is not int), default=0)
    if rank < MAX_RANK:
        for axis in range(fixed, rank + 1):
            yield (*shape[:axis], 1, *shape[axis:]), f"with an axis of size 1 at {axis}"
        for axis in range(fixed, rank):
            size = shape[axis]
            assert type(size) is int
            for factor in (2, 3, 4):
                if size > factor and size % factor == 0:
                    yield (
                        (*shape[:axis], factor, size // factor, *shape[axis + 1 :]),
                        f"with axis {axis} split by {factor}",
                    )
    for axis in range(fixed, rank):
        if shape[axis] == 1:
            yield shape[:axis] + shape[axis + 1 :], f"without axis {axis}"
    for axis in range(fixed, rank - 1):
        left, right = shape[axis], shape[axis + 1]
        if type(left) is int and type(right) is int:
            yield (*shape[:axis], left * right, *shape[axis + 2 :]), f"with axes {axis} and {axis + 1} merged"


def _more_spatial(node: ir.Node, facts: list[Fact | None], count: int) -> Iterator[_Way]:
    """One more spatial axis of size 1, in front of the others."""
    shapes: dict[int, tuple[Dim, ...]] = {}
    for index in range(count):
        fact = facts[index] if index < len(facts) else None
        if not isinstance(fact, TensorFact) or fact.shape is None or not 3 <= len(fact.shape) < MAX_RANK:
            return
        shapes[index] = (*fact.shape[:2], 1, *fact.shape[2:])
    attrs: dict[str, Any] = {}
    for name, extra in (("kernel_shape", 1), ("strides", 1), ("dilations", 1), ("output_padding", 0)):
        if name in node.attributes:
            attrs[name] = [extra, *node.attributes[name].as_ints()]
    if "pads" in node.attributes:
        pads = list(node.attributes["pads"].as_ints())
        half = len(pads) // 2
        attrs["pads"] = [0, *pads[:half], 0, *pads[half:]]
    if "output_shape" in node.attributes:
        return
    yield _Way(shapes, attrs, "with one more spatial axis")


def _reshaped(inserter: Inserter, value: ir.Value, shape: tuple[Dim, ...], choices: Choices) -> ir.Value:
    """``value`` in another shape; a constant sometimes as another constant."""
    tensor = inserter.program.constant_of(value)
    if tensor is not None and choices.boolean():
        return inserter.constant(tensor.numpy().reshape([d for d in shape if type(d) is int]), "reshaped")
    return inserter.reshape(value, [d if type(d) is int else 0 for d in shape])
