"""Words for people that say in which versions of a component a finding shows."""

from __future__ import annotations

from irfuzz.findings.blame.introduced_fixed_releases import fixed, introduced
from irfuzz.findings.finding import Finding


def where_text(finding: Finding) -> str:
    """``onnxruntime: shows in 1.20.1, 1.22.1; not in 1.23.2, 1.31.1 (fixed after 1.22.1, by 1.23.2)``.

    Empty if fewer than two versions were asked. What cannot be told is listed as such.
    """
    if len(finding.shown) < 2:
        return ""
    yes, no, open_ = (_names(finding, wanted) for wanted in (True, False, None))
    parts = [
        f"shows in {yes}" if yes else "",
        f"not in {no}" if no else "",
        f"cannot be told of {open_}" if open_ else "",
    ]
    span = "; ".join(x for x in (introduced(finding), fixed(finding)) if x)
    return f"{finding.component}: {'; '.join(x for x in parts if x)}" + (f" ({span})" if span else "")


def _names(finding: Finding, wanted: bool | None) -> str:
    return ", ".join(dict.fromkeys(s.version for s in finding.shown if s.shows is wanted))
