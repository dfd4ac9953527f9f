"""Writes the findings of a campaign into the baseline of a project."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from irfuzz.errors import UsageError
from irfuzz.findings.baseline import BaselineEntry, FindingBaseline, read_baseline
from irfuzz.findings.codec import ABOUT
from irfuzz.report.command_reports.finding_list import ListedFinding, entries


@dataclass(frozen=True, slots=True)
class BaselineExtension:
    """What came into a baseline.

    Attributes:
        file: the baseline.
        added: titles of the new entries, in the order of the file.
        covered: findings that it had before, or of whose cause it had one.
        known: findings that are left out because a rule of known issues explains them.
        total: entries that it has now.
    """

    file: Path
    added: tuple[str, ...]
    covered: int
    known: int
    total: int

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON-able data."""
        return {**asdict(self), "file": str(self.file), "added": list(self.added)}

    def __str__(self) -> str:
        """The titles that were added, and a line with the counts."""
        left = f", {self.known} known left out" if self.known else ""
        counts = f"{len(self.added)} added, {self.covered} covered already{left}, {self.total} in all"
        return "\n".join([*(f"+ {title}" for title in self.added), f"{self.file}: {counts}"])


def extend_baseline(path: Path, file: Path, *, suspects: bool = False) -> BaselineExtension:
    """Add findings to a baseline, which is made if it is not there.

    Left out is what its own script did not show again, what a known issue explains (its rule says until which version),
    and what an entry stands for already. What a person has said of a finding becomes its note.

    Args:
        path: a campaign's folder, or that of a finding.
        file: the baseline; it is replaced as a whole.
        suspects: add suspects, too.

    Raises:
        UsageError: there is no finding's or campaign's folder, the file is something else than a baseline, or it
            cannot be written.
    """
    before = read_baseline(file, f"-o {file}") if file.exists() else FindingBaseline()
    found = [entry for entry in entries([path]) if _is_wanted(entry, suspects=suspects)]
    baseline, covered, known = before, 0, 0
    for listed in found:
        if listed.known and not listed.label:
            known += 1
            continue
        entry = _entry_of(listed)
        same = baseline.entry_of(entry.signature, entry.cause, suspect=entry.suspect)
        if same is None or (same.signature == entry.signature and entry.note and not same.note):
            baseline = baseline.extended([entry])
        covered += same is not None
    _write(file, baseline.to_text())
    had = {(entry.signature, entry.suspect) for entry in before.entries}
    added = tuple(e.title for e in baseline.entries if (e.signature, e.suspect) not in had)
    return BaselineExtension(file, added, covered, known, len(baseline.entries))


def _is_wanted(listed: ListedFinding, *, suspects: bool) -> bool:
    return suspects if listed.about.get("suspect") else listed.about.get("status") != "unreplayed"


def _entry_of(listed: ListedFinding) -> BaselineEntry:
    place = listed.folder / ABOUT
    try:
        entry = BaselineEntry.of(listed.about)
    except (KeyError, ValueError, TypeError) as error:
        raise UsageError(f"{place}: cause: cannot be read: {type(error).__name__}: {error}") from None
    if not entry.signature:
        raise UsageError(f"{place}: signature: expected text that is not empty; `irfuzz reduce` writes it again")
    return entry


def _write(file: Path, text: str) -> None:
    draft = file.with_name(f".{file.name}.draft")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(file)
    except OSError as error:
        raise UsageError(f"-o {file}: cannot be written: {error.strerror}") from None
