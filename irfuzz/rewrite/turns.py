"""A program enters; rewrites that fit it leave, in the order in which they are to be tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from irfuzz.rewrite.engine import operator_at
from irfuzz.rewrite.types import Rewrite

if TYPE_CHECKING:
    from irfuzz.choices import Choices
    from irfuzz.ir.program import Program
    from irfuzz.spec import Specs

RARE = 12
"""Of so many of the pairs of a rewrite and an operator that were tried least, one begins the forms of a mutant."""


class Turns:
    """Which rewrites are tried first.

    Args:
        specs: operator specs.
        rewrites: those to draw from.
    """

    def __init__(self, specs: Specs, rewrites: Mapping[str, Rewrite]) -> None:
        self._specs = specs
        self._rewrites = rewrites
        self._tried: Counter[tuple[str, str]] = Counter()

    def each(self, program: Program) -> list[Rewrite]:
        """Those that have a site in a program: EAGLE's rules first, then those with the fewest sites."""
        sites = {name: len(rewrite.sites(program, self._specs)) for name, rewrite in self._rewrites.items()}
        fit = [rewrite for name, rewrite in self._rewrites.items() if sites[name]]
        return sorted(fit, key=lambda rewrite: (rewrite.eagle is None, sites[rewrite.name]))

    def rarest(self, program: Program, choices: Choices) -> list[Rewrite]:
        """One of those that were tried least with an operator, confined to it; none where nothing fits."""
        pairs: dict[tuple[str, str], int] = {}
        for rewrite in self.each(program):
            for site in rewrite.sites(program, self._specs):
                pair = rewrite.name, operator_at(program, site)
                pairs[pair] = self._tried[pair]
        if not pairs:
            return []
        least = min(pairs.values())
        name, operator = choices.pick([pair for pair, tried in pairs.items() if tried == least][:RARE])
        self._tried[name, operator] += 1
        return [self._confined(self._rewrites[name], operator)]

    def _confined(self, rewrite: Rewrite, operator: str) -> Rewrite:
        def sites(program: Program, specs: Specs) -> list[str]:
            return [site for site in rewrite.sites(program, specs) if operator_at(program, site) == operator]

        return replace(rewrite, sites=sites)
