"""The search for sizes: usual ones first, one group of axes after the other, until inference and a run agree."""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from irfuzz.generate.input_planning.axis_kinds import Kind
from irfuzz.generate.input_planning.open_axes import AxisGroup

MOST_PROBES = 150
"""Combinations of sizes that inference looks at."""

MOST_RUNS = 24
"""Combinations that are run."""

MOST_FURTHER = 6
"""Combinations that may still be better, once one ran that leaves something empty."""

SECONDS = 20.0
"""After so long no further combination is tried."""

Sizes = Mapping[str, int]
"""The size of each group, by its name."""


@dataclass(frozen=True, slots=True, order=True)
class Grade:
    """How good a combination is; more is better.

    Attributes:
        level: one of ``REFUSED``, ``FAILED``, ``EMPTY`` and ``RUNS``.
        full: minus the number of inner tensors without an element.
        why: what is wrong.
        ran: whether a runtime said so.
    """

    level: int
    full: int = 0
    why: str = ""
    ran: bool = False


REFUSED, FAILED, EMPTY, RUNS = range(4)
"""Inference finds a broken rule; the runtime ends with an error; outputs are empty or all NaN; everything is there."""


@dataclass(frozen=True, slots=True)
class FoundSizes:
    """The best combination.

    Attributes:
        sizes: of all groups.
        grade: of it.
    """

    sizes: Sizes
    grade: Grade


def search(
    groups: Sequence[AxisGroup],
    probe: Callable[[Sizes], Grade],
    run: Callable[[Sizes], Grade],
    *,
    runs: int = MOST_RUNS,
    seconds: float = SECONDS,
) -> FoundSizes:
    """The first combination that is good, or the best of those that were tried.

    Args:
        groups: of axes, with the sizes to try.
        probe: what inference says; ``RUNS`` with ``ran`` if no run is needed.
        run: what a run says; asked if inference finds nothing wrong.
        runs: at most so many.
        seconds: no combination is begun after so many.
    """
    end = time.monotonic() + seconds
    best: FoundSizes | None = None
    left, after = runs, MOST_FURTHER
    for sizes in itertools.islice(combinations(groups), MOST_PROBES):
        grade = probe(sizes)
        if grade.level > REFUSED and not grade.ran and left > 0:
            left -= 1
            grade = run(sizes)
        if best is None or (grade.level, grade.full) > (best.grade.level, best.grade.full):
            best = FoundSizes(sizes, grade)
        if grade.level == RUNS and not grade.full:
            return best
        after -= best.grade.level >= EMPTY
        if time.monotonic() > end or left <= 0 or after <= 0:
            break
    assert best is not None
    return best


def combinations(groups: Sequence[AxisGroup]) -> Iterator[dict[str, int]]:
    """All combinations of sizes, likely ones first.

    The rank of one is the sum of how far its groups are from the sizes they would have first; groups of one kind that
    have the same rank count once, as images mostly are square and sequences of one length.
    """
    free = [g for g in groups if not g.total]
    start: tuple[int, ...] = (0,) * len(free)
    heap: list[tuple[float, int, tuple[int, ...]]] = [(0, 0, start)]
    seen: set[tuple[int, ...]] = {start}
    while heap:
        _, _, ranks = heapq.heappop(heap)
        yield _sizes(groups, free, ranks)
        for following in _following(free, ranks):
            if following not in seen:
                seen.add(following)
                heapq.heappush(heap, (_rank(free, following), len(seen), following))


def _following(groups: Sequence[AxisGroup], ranks: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """One group more, or all of one kind together."""
    for kind in dict.fromkeys(g.kind for g in groups):
        together = tuple(r + (g.kind is kind and r + 1 < len(g.sizes)) for g, r in zip(groups, ranks, strict=True))
        if together != ranks:
            yield together
    for at, group in enumerate(groups):
        if ranks[at] + 1 < len(group.sizes):
            yield (*ranks[:at], ranks[at] + 1, *ranks[at + 1 :])


def _rank(groups: Sequence[AxisGroup], ranks: tuple[int, ...]) -> float:
    kinds: dict[Kind, list[int]] = {}
    for group, rank in zip(groups, ranks, strict=True):
        kinds.setdefault(group.kind, []).append(rank)
    # A larger batch seldom mends anything.
    return sum(
        (2.0 if kind is Kind.BATCH else 1.0) * (max(found) + 0.75 * sum(max(found) - r for r in found))
        for kind, found in kinds.items()
    )


def _sizes(groups: Sequence[AxisGroup], free: Sequence[AxisGroup], ranks: tuple[int, ...]) -> dict[str, int]:
    sizes = {group.name: group.sizes[rank] for group, rank in zip(free, ranks, strict=True)}
    return with_totals(groups, sizes)


def with_totals(groups: Sequence[AxisGroup], sizes: Sizes) -> dict[str, int]:
    """A copy of ``sizes`` with those of groups that are sums of others; terms that have no size count with the group's
    first one.
    """
    found = dict(sizes)
    for group in groups:
        if group.total:
            found[group.name] = sum(int(t) if t.isdigit() else found.get(t, group.sizes[0]) for t in group.total)
    return found
