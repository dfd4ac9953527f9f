"""Finds stretches of nodes that repeat one after the other, as the layers of a network do."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

LEAST = 3
"""Nodes of a block that is worth hiding; shorter ones are read as quickly as their number."""

MOST = 80
"""Nodes of a longer block are not read as one thing."""


@dataclass(frozen=True, slots=True)
class RepeatedBlock:
    """Nodes from ``start`` on: ``times`` blocks of ``length`` each, one behind the other.

    Attributes:
        start: place of the first node.
        length: nodes of one block.
        times: at least 2.
    """

    start: int
    length: int
    times: int

    @property
    def end(self) -> int:
        """The place behind its last node."""
        return self.start + self.length * self.times


def repeated_blocks(kinds: Sequence[Hashable]) -> list[RepeatedBlock]:
    """Blocks that repeat at once, as many nodes in them as possible; they do not overlap.

    Of the blocks that cover a stretch the shortest is taken: a network of 12 layers is 12 blocks and not 6 pairs.

    Args:
        kinds: what each node is like, in the order of the program; nodes of one kind look the same.

    Returns:
        In the order of the program.
    """
    numbers: dict[Hashable, int] = {}
    tokens = np.array([numbers.setdefault(kind, len(numbers)) for kind in kinds], np.int64)
    found: list[RepeatedBlock] = []
    for length in range(LEAST, min(MOST, len(tokens) // 2) + 1):
        equal = np.concatenate(([False], tokens[:-length] == tokens[length:], [False]))
        edges = np.flatnonzero(equal[1:] != equal[:-1])
        for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            if end - start >= length:
                found.append(RepeatedBlock(start, length, (end - start) // length + 1))
    found.sort(key=lambda block: (-block.length * block.times, block.length, block.start))
    taken = np.zeros(len(tokens), bool)
    kept: list[RepeatedBlock] = []
    for block in found:
        if not taken[block.start : block.end].any() and _varied(tokens, block):
            taken[block.start : block.end] = True
            kept.append(block)
    return sorted(kept, key=lambda block: block.start)


def _varied(tokens: np.ndarray, block: RepeatedBlock) -> bool:
    """Whether it is more than one kind of node over and over, which says nothing of layers."""
    return len(set(tokens[block.start : block.start + block.length].tolist())) > 1
