"""Which operators optimisers take together, and in how many patterns of the book."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from irfuzz.choices import Choices
from irfuzz.mutate.patterns.near_misses import siblings
from irfuzz.mutate.patterns.pattern_file_reader import patterns

if TYPE_CHECKING:
    from irfuzz.mutate.mutator_context import Novelty

_SIBLING = 0.2
"""How often one of two neighbours is another operator of its family."""

_STRANGER = 0.15
"""How often the second one is any operator that some optimiser looks for."""


@cache
def pairs() -> tuple[tuple[tuple[str, str], ...], tuple[float, ...]]:
    """Operators of which the second reads the first in some pattern, and how often each pair is drawn.

    What more passes rewrite is more often rewritten wrongly, but pairs of a formula (GELU's, say) stand in many.
    """
    found: Counter[tuple[str, str]] = Counter()
    for pattern in patterns():
        made = {name: node.op for node in pattern.nodes for name in node.outputs}
        for node in pattern.nodes:
            for operand in node.inputs:
                if isinstance(operand, str) and operand in made:
                    found[made[operand], node.op] += len(pattern.fused_by)
    order = sorted(found)
    return tuple(order), tuple(math.sqrt(found[pair]) for pair in order)


@cache
def looked_for() -> tuple[str, ...]:
    """Operators of all patterns, each once, in alphabetical order. It is read from the files once a process."""
    return tuple(sorted({node.op for pattern in patterns() for node in pattern.nodes}))


def _drawn(
    known: Sequence[tuple[str, str]], weights: Sequence[float], choices: Choices, seen: Novelty | None
) -> tuple[str, str]:
    """One of some pairs; those seen often come less."""
    if seen is not None:
        weights = [
            weight * math.sqrt(seen.weight(("edge", *pair))) for pair, weight in zip(known, weights, strict=True)
        ]
    return choices.weighted(known, weights)


def draw_next(op: str, choices: Choices, seen: Novelty | None = None) -> str:
    """What may be taken together with an operator that it reads; any that some optimiser looks for if nothing is.

    Args:
        op: the operator whose result is read.
        choices: the draw.
        seen: makes pairs that were seen often less likely; ``None`` if nothing is counted.
    """
    found = [(pair, weight) for pair, weight in zip(*pairs(), strict=True) if pair[0] == op]
    if not found:
        return choices.pick(looked_for())
    return _drawn([pair for pair, _ in found], [weight for _, weight in found], choices, seen)[1]


def draw_pair(choices: Choices, seen: Novelty | None = None) -> tuple[str, str]:
    """Two operators that an optimiser may take together, or take for two that it does.

    One time in five one of them is another one of its family, and now and then the second is any that occurs in a
    pattern. ``seen`` makes frequent pairs less likely.

    Returns:
        The operator that computes, then the one that reads it.
    """
    first, second = _drawn(*pairs(), choices, seen)
    if choices.boolean(_SIBLING):
        if choices.boolean():
            first = sibling(first, choices)
        else:
            second = sibling(second, choices)
    if choices.boolean(_STRANGER):
        second = choices.pick(looked_for())
    return first, second


def sibling(op: str, choices: Choices) -> str:
    """Another operator that stands in the same places as this one (``near_misses.siblings``), drawn; the operator
    itself if there is none.
    """
    return choices.pick([o for o in siblings(op) if o != op] or [op])
