"""Which parts are taken, where that is not plain from the outside."""

from __future__ import annotations

import pytest

from irfuzz.choices import Choices
from irfuzz.generate.synthesis_steps.covered_features import WantedFeatures
from irfuzz.generate.synthesis_steps.nodes_as_parts import Kind, NodePart, PartInput
from irfuzz.generate.synthesis_steps.part_selection import Wire, select

pytestmark = pytest.mark.unit

ONE: Kind = ("float32", (2,))
OTHER: Kind = ("float32", (3,))


def part(index: int, op: str, gives: Kind, *read: tuple[int, Kind], heavy: int = 0) -> NodePart:
    slots = tuple(PartInput(place, kind, producer) for place, (producer, kind) in enumerate(read))
    own = frozenset({("op", op)})
    return NodePart(index, op, own, slots, (frozenset({gives}),), frozenset({index}), heavy, 6)


def test_two_parts_make_room_where_one_does_not() -> None:
    """What B needs is taken by the light A; the heavy one, with a reader of its own, has to come for it to move."""
    parts = [
        part(0, "A", ONE),
        part(1, "B", ONE),
        part(2, "C", ONE, (1, ONE)),
        part(3, "A", OTHER, heavy=1000),
        part(4, "C", OTHER, (3, OTHER), heavy=1000),
    ]
    wanted = WantedFeatures(frozenset({("op", "A"), ("op", "C"), ("sequence", "A", "C"), ("sequence", "B", "C")}), {})
    for seed in range(20):
        found = select(parts, wanted, 4, 100, Choices.from_seed(seed))
        assert set(found.chosen) == {1, 2, 3, 4}
        assert set(found.wires) == {Wire(1, 0, 2, 0), Wire(3, 0, 4, 0)}
