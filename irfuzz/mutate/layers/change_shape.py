"""``change-shape``: a layer computes on another size of one axis, restored behind it (COMET's MShape, table 3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
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
from irfuzz.mutate.editing.value_adaptation import adapt, why_not
from irfuzz.mutate.feature_counts import size_class
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, PublishedOperator, Relation, Skipped

if TYPE_CHECKING:
    from irfuzz.spec import Specs

_TRIES = 6


@dataclass(frozen=True, slots=True)
class ChangeShape:
    """Pads, crops, repeats or reduces an input of a layer along one axis, and restores the outputs."""

    context: Context
    name: ClassVar[str] = "change-shape"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(
        papers=(
            PublishedOperator(
                "comet", 3, "MShape", "Mutate Shape", note="one axis at a time; also by repetition and reduction"
            ),
        )
    )

    def sites(self, program: Program) -> list[str]:
        """Layers whose operator has rules under ``ops/``, by the name of their first output."""
        return layer_sites(program, self.context.specs, overlaid=True)

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw an axis of known size and another size until the operator takes them.

        The first input, or all of its shape, is padded, cropped, repeated or reduced along that axis, and the results
        are adapted to what they were. Skipped after six draws.
        """
        node = node_at(program, site)
        specs, op = self.context.specs, node.op_type
        if has_open_indices(node):
            return Skipped("indices that are not known hold it to its sizes")
        facts = facts_of(program, node.inputs)
        first = facts[0] if facts else None
        if not isinstance(first, TensorFact) or first.shape is None or is_exact(node, 0, first.dtype):
            return Skipped("no input whose size may change")
        alike = inputs_alike(node, facts)
        axes = [axis for axis, size in enumerate(first.shape) if type(size) is int]
        if not axes:
            return Skipped("no axis of known size")
        limit = largest(program)
        for _ in range(_TRIES):
            axis = choices.pick(axes)
            size = first.shape[axis]
            assert type(size) is int
            want = self.context.prefer(
                choices, _sizes(size), lambda n, axis=axis: ("shape", op, 0, _classes(first.shape or (), axis, n))
            )
            where = choices.pick([[0], alike]) if len(alike) > 1 else [0]
            shape = (*first.shape[:axis], want, *first.shape[axis + 1 :])
            new = reshaped_facts(facts, dict.fromkeys(where, shape))
            if any(why_not(specs, program.opset, facts[i], new[i]) for i in where):  # type: ignore[arg-type]
                continue
            if replacement(program, specs, node, new, node.attributes, limit) is None:
                continue
            change = {
                i: partial(_adapted, specs=specs, wanted=f, choices=choices)
                for i, f in enumerate(new)
                if i in where and isinstance(f, TensorFact)
            }
            call_again(program, specs, node, change, attributes(node), choices)
            return (
                f"{op} at {site} computes on {shape_text(replace(first, shape=shape))} instead of {shape_text(first)}"
            )
        return Skipped("no other size")


def _adapted(inserter: Inserter, value: ir.Value, *, specs: Specs, wanted: TensorFact, choices: Choices) -> ir.Value:
    return adapt(specs, inserter, value, wanted, choices)


def _sizes(size: int) -> list[int]:
    """Other sizes worth trying, in a fixed order."""
    found = [1, 2, 3, size - 1, size + 1, size // 2, 2 * size, size + 3, size + 7, (size + 15) // 16 * 16]
    return [n for n in dict.fromkeys(found) if n > 0 and n != size]


def _classes(shape: tuple[object, ...], axis: int, want: int) -> tuple[object, ...]:
    changed = (*shape[:axis], want, *shape[axis + 1 :])
    return tuple(map(size_class, changed[-3:]))
