"""What is already decided of a finding, and whether it fails a build."""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from irfuzz.findings.baseline import NO_BASELINE, FindingBaseline
from irfuzz.findings.codec import label_of
from irfuzz.findings.finding import Finding


class Disposition(StrEnum):
    """What is decided of a finding or suspect."""

    NEW = "new"
    """Nothing: somebody has to look at it."""
    KNOWN = "known"
    """A rule of known issues explains it."""
    LABELLED = "labelled"
    """A person has said something of it (``irfuzz findings label``)."""
    BASELINE = "baseline"
    """The baseline of the project has it."""
    OTHERS = "others"
    """It blames nobody but a component that the project's own is compared with, such as a runtime."""
    GONE = "gone"
    """Its own script shows it no more, and it was not seen again."""


class FailOn(StrEnum):
    """What makes a campaign exit with 1."""

    NEW = "new"
    """A finding of which nothing is decided."""
    UNDECIDED = "undecided"
    """The same, or a suspect of which nothing is decided."""
    ANY = "any"
    """Any finding."""
    NEVER = "never"
    """Nothing."""


@dataclass(frozen=True, slots=True)
class DecidedFinding:
    """A finding or suspect of a campaign with what is decided of it.

    Attributes:
        finding: without models and inputs.
        folder: of it.
        disposition: what is decided.
        reason: ids of the known issues, the label, the note or title in the baseline, or the component that is
            blamed; empty if it is new.
        fails: the campaign exits with 1 because of it.
    """

    finding: Finding
    folder: Path
    disposition: Disposition
    reason: str = ""
    fails: bool = False


def decided(
    found: Sequence[tuple[Finding, Path]],
    fail_on: FailOn = FailOn.NEW,
    baseline: FindingBaseline = NO_BASELINE,
    gone: Container[Path] = (),
    own: Collection[str] = (),
) -> tuple[DecidedFinding, ...]:
    """Say of findings and suspects what is decided of each; labels are read from the folders.

    Args:
        found: each with its folder.
        fail_on: what fails.
        baseline: of the project, if it has one.
        gone: folders of those that were replayed and do not show any more; they never fail.
        own: names of the targets that the project tests; what blames none of them is no news of it. Empty: all are.

    Returns:
        One for each, in the same order. A label comes before a known issue, and both before the baseline.
    """
    rows: list[DecidedFinding] = []
    for finding, folder in found:
        disposition, reason = _decision(finding, folder, baseline)
        if disposition is Disposition.NEW and own and not {*finding.verdict.blamed} & {*own}:
            disposition, reason = Disposition.OTHERS, f"a fault of {finding.component}"
        if disposition is Disposition.NEW and folder in gone:
            disposition, reason = Disposition.GONE, "its repro.py does not show it any more"
        fails = _fails(finding, disposition, fail_on)
        rows.append(DecidedFinding(finding, folder, disposition, reason, fails))
    return tuple(rows)


def _decision(finding: Finding, folder: Path, baseline: FindingBaseline) -> tuple[Disposition, str]:
    label = finding.label or label_of(folder)
    if label:
        return Disposition.LABELLED, label
    if finding.known:
        return Disposition.KNOWN, ", ".join(known.id for known in finding.known)
    entry = baseline.entry_of(finding.signature, finding.cause, suspect=finding.verdict.suspect)
    if entry is not None:
        return Disposition.BASELINE, entry.note or entry.title
    return Disposition.NEW, ""


def _fails(finding: Finding, disposition: Disposition, fail_on: FailOn) -> bool:
    if finding.verdict.suspect:
        return fail_on is FailOn.UNDECIDED and disposition is Disposition.NEW
    if disposition is Disposition.GONE:
        return False
    if fail_on in (FailOn.ANY, FailOn.NEVER):
        return fail_on is FailOn.ANY
    return disposition is Disposition.NEW
