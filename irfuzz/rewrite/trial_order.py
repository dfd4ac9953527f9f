"""The order in which the rewrites that fit a program are tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from irfuzz.rewrite.rewrite_chain import operator_at
from irfuzz.rewrite.rewrite_rule import Rewrite

if TYPE_CHECKING:
    from irfuzz.choices import Choices
    from irfuzz.ir.program import Program
    from irfuzz.spec import Specs

RARE = 12
"""Of so many of the pairs of a rewrite and an operator that were tried least, one begins the forms of a mutant."""


class TrialOrder:
    """Which rewrites are tried first.

    Args:
        specs: operator specs.
        rewrites: those to draw from.
    """

    def __init__(self, specs: Specs, rewrites: Mapping[str, Rewrite]) -> None:
        self._specs = specs
        self._rewrites = rewrites
        self._tried: Counter[tuple[str, str]] = Counter()
        self._last: tuple[Program | None, list[tuple[Rewrite, Sequence[str]]]] = None, []

    def each(self, program: Program) -> list[Rewrite]:
        """Those that have a site in a program: EAGLE's rules first, then those with the fewest sites; ties keep the
        order of the table.
        """
        return [rewrite for rewrite, _ in self._fitting(program)]

    def rarest(self, program: Program, choices: Choices) -> list[Rewrite]:
        """One of those that were tried least with an operator, confined to it; none if nothing fits.

        Each call counts as a try of what it returns.

        Args:
            program: in which it has to have a site.
            choices: draws among the first ``RARE`` pairs of a rewrite and an operator that were tried least.
        """
        pairs = dict.fromkeys(
            (rewrite.name, operator_at(program, site)) for rewrite, sites in self._fitting(program) for site in sites
        )
        if not pairs:
            return []
        least = min(self._tried[pair] for pair in pairs)
        name, operator = choices.pick([pair for pair in pairs if self._tried[pair] == least][:RARE])
        self._tried[name, operator] += 1
        return [self._confined(self._rewrites[name], operator)]

    def _fitting(self, program: Program) -> list[tuple[Rewrite, Sequence[str]]]:
        """Rewrites with their sites, as ``each`` sorts them; finding them takes milliseconds, so the last are kept."""
        if self._last[0] is not program:
            sites = ((rewrite, rewrite.sites(program, self._specs)) for rewrite in self._rewrites.values())
            fit = sorted((pair for pair in sites if pair[1]), key=lambda pair: (pair[0].eagle is None, len(pair[1])))
            self._last = program, fit
        return self._last[1]

    def _confined(self, rewrite: Rewrite, operator: str) -> Rewrite:
        def sites(program: Program, specs: Specs) -> list[str]:
            return [site for site in rewrite.sites(program, specs) if operator_at(program, site) == operator]

        return replace(rewrite, sites=sites)
