"""Says in which release a fault came and in which it went, from what releases showed."""

from __future__ import annotations

from itertools import pairwise

from irfuzz.findings.finding import Finding, VersionAnswer


def introduced_in(finding: Finding) -> str:
    """The first release that shows the fault, if the one just before it does not; empty if that is not known."""
    change = _change(finding, first=False)
    return change[1].version if change is not None and change[1].previous == change[0].version else ""


def fixed_in(finding: Finding) -> str:
    """The first release that does not show it any more, if the one just before it does; empty if that is not known."""
    change = _change(finding, first=True)
    return change[1].version if change is not None and change[1].previous == change[0].version else ""


def introduced(finding: Finding) -> str:
    """In words, as narrowly as is known; empty if no older version lacks it.

    Args:
        finding: with what versions show.

    Returns:
        ``introduced in 1.19.0``, ``introduced after 1.17.0, by 1.19.0``, or ``there since 1.16.0 or before`` if no
        release came before that one.
    """
    first = next((s for s in finding.shown if s.shows is not None), None)
    if first is not None and first.shows and first.previous == "":
        return f"there since {first.version} or before"
    return _words(finding, "introduced", first=False)


def fixed(finding: Finding) -> str:
    """In words, as narrowly as is known; empty if no newer version lacks it.

    Args:
        finding: with what versions show.

    Returns:
        ``fixed in 1.20.0`` or ``fixed after 1.19.0, by 1.21.0``.
    """
    return _words(finding, "fixed", first=True)


def _words(finding: Finding, word: str, *, first: bool) -> str:
    change = _change(finding, first=first)
    if change is None:
        return ""
    older, newer = change
    if newer.previous == older.version:
        return f"{word} in {newer.version}"
    return f"{word} after {older.version}, by {newer.version}"


def _change(finding: Finding, *, first: bool) -> tuple[VersionAnswer, VersionAnswer] | None:
    """The two neighbours, of those that could be told, between which the answer changes so."""
    known = [s for s in finding.shown if s.shows is not None]
    for older, newer in pairwise(known):
        if (older.shows, newer.shows) == (first, not first) and older.version != newer.version:
            return older, newer
    return None
