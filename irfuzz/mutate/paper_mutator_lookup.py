"""The mutation operators that papers define, by name, as the mutators that do the same say of themselves."""

from __future__ import annotations

from collections.abc import Sequence

from irfuzz.mutate.mutator_protocol import MutatorUse, PublishedOperator, profile_of
from irfuzz.mutate.mutator_table import BUILTIN


def _rows(paper: str) -> tuple[PublishedOperator, ...]:
    """A paper's operators, each once, in the paper's order."""
    found = (p for made in BUILTIN.values() for p in profile_of(made).papers if p.paper == paper and not p.beside)
    return tuple(sorted(found, key=lambda p: p.row))


def mutators_of(operator: PublishedOperator) -> tuple[str, ...]:
    """Names of the mutators that do it, those on demand too; the first one is the operator itself, the others do more
    of its kind.
    """
    found = [(p, name) for name, made in BUILTIN.items() for p in profile_of(made).papers]
    same = [(p.beside, name) for p, name in found if (p.paper, p.row) == (operator.paper, operator.row)]
    return tuple(name for _, name in sorted(same, key=lambda item: item[0]))


PAPERS: dict[str, tuple[PublishedOperator, ...]] = {paper: _rows(paper) for paper in ("comet", "lemon", "muffin")}
"""Names of groups that stand for all mutators of a paper, wherever mutators are named."""

OPERATORS: dict[str, tuple[str, ...]] = {
    p.name: tuple(name for name in mutators_of(p) if profile_of(BUILTIN[name]).use is not MutatorUse.ON_DEMAND)
    for paper in PAPERS.values()
    for p in paper
}
"""By an operator's name in its paper, the mutators that do it; rare types are no part of what runs everywhere."""


def group(paper: str) -> tuple[str, ...]:
    """The mutators that do a paper's operators, each once, in the order of the paper's table; without those that are
    used on demand only.

    Args:
        paper: ``comet``, ``lemon`` or ``muffin``.
    """
    return tuple(dict.fromkeys(name for p in PAPERS[paper] for name in OPERATORS[p.name]))


def expanded(wanted: Sequence[str]) -> tuple[str, ...]:
    """Names of mutators, with those of each paper and each paper's operator in its place; names that are neither stay
    as they are, known or not. Repeats are not removed.
    """
    return tuple(name for item in wanted for name in (group(item) if item in PAPERS else OPERATORS.get(item, (item,))))
