"""What a campaign tells a build server, before it is written in the server's format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from irfuzz.findings.baseline import stable_signature
from irfuzz.findings.disposition import DecidedFinding, Disposition, FailOn


@dataclass(frozen=True, slots=True)
class BuildResult:
    """A campaign that has ended, for a build server.

    Attributes:
        out: folder of the campaign.
        fail_on: what makes it fail.
        rows: its findings, oldest first, then those of its suspects that are to be told.
        progress: how far it came, one line.
        seconds: of this run.
        targets: versions of those that ran, by name.
        internal_errors: faults of irfuzz itself in this run.
        suspects: how many there are in all.
    """

    out: Path
    fail_on: FailOn
    rows: tuple[DecidedFinding, ...] = ()
    progress: str = ""
    seconds: float = 0.0
    targets: Mapping[str, str] = field(default_factory=dict[str, str])
    internal_errors: int = 0
    suspects: int = 0

    @property
    def failing(self) -> tuple[DecidedFinding, ...]:
        """The rows because of which the build fails."""
        return tuple(row for row in self.rows if row.fails)

    @property
    def headline(self) -> str:
        """One sentence: how many findings there are, how many are new, and whether the build fails."""
        found = [row for row in self.rows if not row.finding.verdict.suspect]
        new = sum(row.disposition is Disposition.NEW for row in found)
        doubted = sum(row.fails for row in self.rows if row.finding.verdict.suspect)
        told = f"{len(found)} finding{'' if len(found) == 1 else 's'}, {new} new" if found else "nothing found"
        return f"{told}{f', {doubted} undecided suspects' if doubted else ''} (--fail-on {self.fail_on})"


def decision_text(row: DecidedFinding) -> str:
    """What is decided of a finding, for people: ``new``, ``known: 009-...``, ``labelled: wontfix``."""
    return f"{row.disposition}: {row.reason}" if row.reason else row.disposition.value


def lasting_name(row: DecidedFinding) -> str:
    """Text by which a server recognises a finding from one night to the next."""
    return stable_signature(row.finding.signature)


def place_of(row: DecidedFinding, out: Path) -> str:
    """The path of a finding's folder below the campaign's, with slashes; as it is if it lies elsewhere."""
    return row.folder.relative_to(out).as_posix() if row.folder.is_relative_to(out) else row.folder.as_posix()
