"""Stored findings are replayed before a campaign starts, so that it is known which of them are gone."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from irfuzz.api.progress_update import Observer, Update, unobserved
from irfuzz.errors import UsageError
from irfuzz.execute.adapters.plugin import allowed_to
from irfuzz.execute.run_types import Target
from irfuzz.execute.target_table import resolve
from irfuzz.findings.baseline import FindingBaseline
from irfuzz.findings.codec import read_folder
from irfuzz.findings.disposition import Disposition, decided
from irfuzz.findings.finding import Finding
from irfuzz.report.command_reports.finding_list import entries
from irfuzz.report.script_replay import run_repro

LONGEST = 60.0
"""Seconds that one script may take."""

T = TypeVar("T")


class StoredFindingState(StrEnum):
    """What the script of a stored finding says today."""

    SHOWS = "shows"
    """The fault is still there."""
    GONE = "gone"
    """It does not show."""
    UNTOLD = "cannot be told"
    """The script could not run, took too long, or there was no time for it."""


@dataclass(frozen=True, slots=True)
class ReplayedFinding:
    """A stored finding with what its script says today.

    Attributes:
        finding: as its folder has it, without models and inputs.
        folder: of it.
        outcome: what its script says.
        when: it ended, in seconds since 1970.
        why: the last line that it printed, or why it did not run, if the outcome is ``UNTOLD``.
    """

    finding: Finding
    folder: Path
    outcome: StoredFindingState
    when: float = 0.0
    why: str = ""

    def to_json(self) -> dict[str, str]:
        """What stands of it in the summary for programs."""
        about = {"folder": str(self.folder), "title": self.finding.title, "signature": self.finding.signature}
        return {**about, "outcome": self.outcome.value, "why": self.why}


def gone_folders(found: Sequence[tuple[Finding, Path]], replayed: Sequence[ReplayedFinding]) -> set[Path]:
    """Folders of a campaign's findings that are gone.

    Args:
        found: with their folders, and with the time at which the campaign saw each for the last time.
        replayed: before the campaign ran; what it saw again afterwards is not gone.
    """
    ended = {r.folder.resolve(): r.when for r in replayed if r.outcome is StoredFindingState.GONE}
    return {folder for finding, folder in found if finding.last <= ended.get(folder.resolve(), -1.0)}


def replay_stored(
    places: Sequence[Path],
    baseline: FindingBaseline,
    seconds: float,
    *,
    jobs: int = 1,
    progress: Observer[T] = unobserved,
) -> tuple[ReplayedFinding, ...]:
    """Run the ``repro.py`` of confirmed findings, of which nothing is decided first.

    Args:
        places: folders of campaigns or of findings; each finding counts once.
        baseline: of the project: what it has comes last.
        seconds: how long; what is left then is ``UNTOLD``.
        jobs: scripts that run side by side.
        progress: gets an ``Update`` for each.

    Returns:
        In the order in which they were begun.

    Raises:
        UsageError: a place holds no findings, or one cannot be read.
    """
    folders = {e.folder.resolve(): e for e in entries(places) if not e.about.get("suspect")}
    listed = [e for e in folders.values() if e.about.get("status") != "unreplayed"]
    found = [(read_folder(entry.folder, cases=False), entry.folder) for entry in listed]
    rows = decided(found, baseline=baseline)
    order = sorted(rows, key=lambda row: row.disposition is not Disposition.NEW)
    until = time.monotonic() + seconds
    target_of = _targets({row.finding.verdict.target for row in order})
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(_replay, row.finding, row.folder, target_of, until) for row in order]
        replayed: list[ReplayedFinding] = []
        for future in futures:
            progress(Update("replaying stored findings", done=len(replayed), total=len(order)))
            replayed.append(future.result())
    return tuple(replayed)


def _targets(names: set[str]) -> Mapping[str, Target | str]:
    """Each target, or why it cannot be used."""
    found: dict[str, Target | str] = {}
    for name in names:
        try:
            found[name] = resolve([name])[0]
        except UsageError as error:
            found[name] = str(error)
    return found


def _replay(finding: Finding, folder: Path, targets: Mapping[str, Target | str], until: float) -> ReplayedFinding:
    outcome, why = _said_by_script(folder, targets[finding.verdict.target], until - time.monotonic())
    return ReplayedFinding(finding, folder, outcome, time.time(), why)


def _said_by_script(folder: Path, target: Target | str, left: float) -> tuple[StoredFindingState, str]:
    """What a folder's script says, and if it says nothing, why."""
    if isinstance(target, str) or left <= 0:
        return StoredFindingState.UNTOLD, target if isinstance(target, str) else "there was no time left"
    source = target.options.get("class")
    allowed = allowed_to(target.name, source) if isinstance(source, str) else ()
    try:
        ended = run_repro(folder, seconds=min(left, LONGEST), python=target.interpreter, allowed=allowed)
    except OSError as error:
        return StoredFindingState.UNTOLD, f"it cannot be run: {error}"
    if ended.shows or ended.code == 0:
        return (StoredFindingState.SHOWS if ended.shows else StoredFindingState.GONE), ""
    if ended.code is None:
        return StoredFindingState.UNTOLD, f"it took longer than {min(left, LONGEST):.0f} s"
    said = ended.output.decode(errors="replace").strip().splitlines()
    return StoredFindingState.UNTOLD, said[-1] if said else "it printed nothing"
