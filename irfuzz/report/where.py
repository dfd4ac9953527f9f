"""In which versions of a component a finding was seen enters, words for people leave."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from irfuzz.findings.finding import Shown


def where_text(component: str, shown: Sequence[Shown]) -> str:
    """``onnxruntime: shows in 1.20.1, 1.22.1; not in 1.23.2, 1.31.1 (fixed in 1.23.2 or since 1.22.1)``."""
    if len(shown) < 2:
        return ""
    yes, no, open_ = (_names(shown, wanted) for wanted in (True, False, None))
    parts = [
        f"shows in {yes}" if yes else "",
        f"not in {no}" if no else "",
        f"cannot be told of {open_}" if open_ else "",
    ]
    span = "; ".join(x for x in (introduced(shown), fixed(shown)) if x)
    return f"{component}: {'; '.join(x for x in parts if x)}" + (f" ({span})" if span else "")


def introduced(shown: Sequence[Shown]) -> str:
    """Between which two versions the fault came, where the older one lacks it."""
    return _change(shown, "introduced", first=False)


def fixed(shown: Sequence[Shown]) -> str:
    """Between which two versions the fault went."""
    return _change(shown, "fixed", first=True)


def _change(shown: Sequence[Shown], word: str, *, first: bool) -> str:
    known = [s for s in shown if s.shows is not None]
    for older, newer in pairwise(known):
        if (older.shows, newer.shows) == (first, not first) and older.version != newer.version:
            return f"{word} after {older.version}, by {newer.version}"
    return ""


def _names(shown: Sequence[Shown], wanted: bool | None) -> str:
    return ", ".join(dict.fromkeys(s.version for s in shown if s.shows is wanted))
