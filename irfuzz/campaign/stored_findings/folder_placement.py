"""Where the folders of a campaign's findings lie: by suspicion, status, number and symptom."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

from irfuzz.campaign.config import Layout
from irfuzz.findings.codec import label_of
from irfuzz.findings.finding import Finding
from irfuzz.report.finding_folder_writer import write_bundle
from irfuzz.store.blob_store import FolderBlobs
from irfuzz.store.database import Status


def folder_name(finding: Finding) -> str:
    """``0007-difference-onnxruntime-all``: readable, and safe as a file name whatever the target is called.

    Args:
        finding: as it is stored; the name is made of its number, its symptom and its target. Of the latter two at most
            60 characters count.
    """
    words = f"{finding.verdict.symptom} {finding.verdict.target}".lower()
    return f"{finding.number:04d}-{re.sub(r'[^a-z0-9]+', '-', words).strip('-')[:60]}"


def bundle_folder(layout: Layout, finding: Finding) -> Path:
    """The path at which a stored finding's folder belongs; nothing is written.

    Returns:
        A folder in ``suspects`` for a suspect, in ``unreplayed`` for what its own script does not show, else in
        ``findings``.
    """
    kind = layout.suspects if finding.verdict.suspect else layout.findings
    if finding.status is Status.UNREPLAYED and not finding.verdict.suspect:
        kind = layout.unreplayed
    return kind / folder_name(finding)


def withdraw_bundle(layout: Layout, number: int) -> bool:
    """Remove the folder of a finding for which another case is to stand; False if a person has labelled it.

    It goes before the row changes: after a kill in between it is made again from whatever the row holds.
    """
    old = [f for kind in (layout.findings, layout.suspects, layout.unreplayed) for f in _numbered(kind, number)]
    if any(label_of(folder) for folder in old):
        return False
    for folder in old:
        shutil.rmtree(folder, ignore_errors=True)
    return True


def move_bundle(layout: Layout, finding: Finding) -> None:
    """Write a stored finding's folder to its place, and remove the one that it had before it was proven.

    What a person said of that is said of the finding. What another finding explains has no folder any more, unless it
    has a label.
    """
    old = _before_proof(layout, finding)
    if finding.status is not Status.EXPLAINED:
        label = next((text for folder in old if (text := label_of(folder))), finding.label)
        place_bundle(layout, replace(finding, label=label))
    for folder in old:
        shutil.rmtree(folder, ignore_errors=True)


def is_placed(layout: Layout, finding: Finding) -> bool:
    """Whether a stored finding has its folder, and nothing is left of the one that it had before it was proven.

    What another finding explains needs no folder. What is in the folder is not looked at.
    """
    there = finding.status is Status.EXPLAINED or bundle_folder(layout, finding).exists()
    return there and not _before_proof(layout, finding)


def _before_proof(layout: Layout, finding: Finding) -> list[Path]:
    """What is left of the folder that a finding, or what another one explains, had before it was proven."""
    found = _numbered(layout.suspects, finding.number)
    if finding.status is Status.EXPLAINED:
        found += _numbered(layout.unreplayed, finding.number)
        return [folder for folder in found if not label_of(folder)]
    if finding.verdict.suspect:
        return []
    return found if finding.status is Status.UNREPLAYED else [*found, *_numbered(layout.unreplayed, finding.number)]


def _numbered(kind: Path, number: int) -> list[Path]:
    return list(kind.glob(f"{number:04d}-*"))


def place_bundle(layout: Layout, finding: Finding) -> Path:
    """Write a stored finding's folder to its place, unless it is there already.

    Returns:
        Its path. A folder that is there stays as it is, whatever it holds.
    """
    folder = bundle_folder(layout, finding)
    if not folder.exists():
        folder.parent.mkdir(exist_ok=True)  # a campaign's folder that was removed is not made again
        write_bundle(folder, finding, blobs=FolderBlobs(layout.blobs))
    return folder
