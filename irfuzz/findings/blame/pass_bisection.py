"""The fewest optimiser passes that make a program's fault, by leaving passes out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from irfuzz.execute.onnxruntime_passes import rules

Trial: TypeAlias = Callable[[frozenset[str]], "PassTrial"]
"""Runs the program without some passes."""

Staged: TypeAlias = Callable[[frozenset[str], frozenset[str]], "PassTrial"]
"""Optimises the program without some passes, saves it, and runs what that gives without others."""


@dataclass(frozen=True, slots=True)
class PassTrial:
    """What a run without some passes showed.

    Attributes:
        shows: the fault is still there.
        modified: passes that changed the program, in the order in which they first did, as far as they are told.
    """

    shows: bool
    modified: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BlamedPasses:
    """The passes that make a fault.

    Attributes:
        names: of the passes.
        together: each is needed to make it; otherwise each makes it if the others are left out.
        modified: all passes that changed the program.
        runs: how often the program was run.
    """

    names: tuple[str, ...]
    together: bool
    modified: tuple[str, ...]
    runs: int

    def __str__(self) -> str:
        """``A``, ``A + B`` if both are needed, ``A / B`` if either will do."""
        return (" + " if self.together else " / ").join(self.names)


def blame_passes(
    trial: Trial, passes: Sequence[str] = (), registered: Sequence[str] = (), staged: Staged | None = None
) -> BlamedPasses | None:
    """The smallest set of passes found without which the fault vanishes (design, decision 7).

    Passes are left out, never added, and what the program is run with stays as it is. One that is left out may be
    stood in for by another, which did not change the program before: that one joins the set.

    Args:
        trial: runs the program without some passes.
        passes: candidates, if the component does not tell which changed the program.
        registered: all passes that there are, in their order; if several have to be there, those that make the fault
            with all others left out come first.
        staged: optimises twice: if several passes have to be there, the one that makes the fault of what the others
            left behind is the culprit.

    Returns:
        ``None`` if the fault shows without any of them: it is not the optimiser's.
    """
    seen: dict[frozenset[str], PassTrial] = {}

    def ask(off: Sequence[str]) -> PassTrial:
        key = frozenset(off)
        if key not in seen:
            seen[key] = trial(key)
        return seen[key]

    def vanishes(off: Sequence[str]) -> bool:
        return not ask(off).shows

    first = ask(())
    if not first.shows:
        return None
    known = _rules([*passes, *first.modified])
    while not known or not vanishes(known):
        told = ask(known).modified if known else first.modified
        # A rule that is not known by name is left out with the transformer that holds it.
        new = [n for n in _rules(told) if n not in known] or [n for n in told if n not in known]
        if not new:
            return None
        known += new
    off = _fewest(known, vanishes)
    together = len(off) == 1
    if together:
        off = _makers(off, known, registered, ask, staged)
    return BlamedPasses(tuple(off), together, first.modified or tuple(known), len(seen))


def _makers(
    off: list[str],
    known: Sequence[str],
    registered: Sequence[str],
    ask: Callable[[Sequence[str]], PassTrial],
    staged: Staged | None,
) -> list[str]:
    """Of the passes that have to be there the one that makes the fault; all of them if none does so by itself."""
    everything = list(dict.fromkeys([*known, *_rules(registered)]))

    def without_others(names: Sequence[str]) -> list[str]:
        return [name for name in everything if name not in names]

    if not ask(without_others(known)).shows:
        return off  # some pass that does not say that it changed anything has to be there, too
    acting = _fewest(known, lambda names: ask(without_others(names)).shows)
    if len(acting) == 1 or staged is None:
        return acting
    for name in acting:
        before = frozenset(without_others([other for other in acting if other != name]))
        if staged(before, frozenset(without_others([name]))).shows:
            return [name]
    return acting


def _rules(names: Sequence[str]) -> list[str]:
    """Names with the rules of rule-based transformers in their place."""
    held = rules()
    return list(dict.fromkeys(rule for name in names for rule in held.get(name, (name,))))


def _fewest(names: Sequence[str], vanishes: Callable[[Sequence[str]], bool]) -> list[str]:
    """Of the passes without which it vanishes as few as delta debugging keeps (Zeller and Hildebrandt 2002, ddmin)."""
    kept, parts = list(names), 2
    while len(kept) > 1:
        size = -(-len(kept) // parts)
        pieces = [kept[i : i + size] for i in range(0, len(kept), size)]
        smaller = next((piece for piece in pieces if vanishes(piece)), None)
        if smaller is not None:
            kept, parts = smaller, 2
            continue
        rests = [[n for n in kept if n not in piece] for piece in pieces] if len(pieces) > 2 else []
        smaller = next((rest for rest in rests if vanishes(rest)), None)
        if smaller is not None:
            kept, parts = smaller, max(parts - 1, 2)
        elif size == 1:
            break
        else:
            parts = min(2 * parts, len(kept))
    return kept
