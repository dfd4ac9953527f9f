"""The searches by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irfuzz.errors import UsageError
from irfuzz.search.strategies.mcmc import Mcmc
from irfuzz.search.strategies.strategy_protocol import Search
from irfuzz.search.strategies.thompson import Thompson
from irfuzz.search.strategies.uniform import Uniform
from irfuzz.search.strategies.weighted import Weighted

SEARCHES: dict[str, Callable[[Sequence[str]], Search]] = {
    "thompson": Thompson,
    "weighted": Weighted,
    "mcmc": Mcmc,
    "random": Uniform,
}

USES: dict[str, tuple[str, ...] | None] = {"mcmc": Mcmc.mutators, "random": Uniform.mutators}
"""Mutators that a search of a paper is about; the others use all."""


def make_search(name: str, mutators: Sequence[str]) -> Search:
    """A search over these mutators, which has learnt nothing yet.

    Args:
        name: a key of ``SEARCHES``, as ``--search`` takes it.
        mutators: names of those that it may plan.

    Raises:
        UsageError: there is none of this name; the message lists those that there are.
    """
    known = SEARCHES.get(name)
    if known is None:
        raise UsageError(f"unknown search {name!r}; known: {', '.join(SEARCHES)}")
    return known(mutators)
