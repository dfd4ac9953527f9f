"""Where the folders of a campaign's findings lie: by suspicion, status, number and symptom."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from irfuzz.campaign.config import Layout
from irfuzz.findings.codec import label_of
from irfuzz.findings.finding import Finding
from irfuzz.report.bundle import write_bundle
from irfuzz.store.blobs import FolderBlobs
from irfuzz.store.database import Status


def folder_name(finding: Finding) -> str:
    """``0007-difference-onnxruntime-all``: readable, and safe as a file name whatever the target is called."""
    words = f"{finding.verdict.symptom} {finding.verdict.target}".lower()
    return f"{finding.number:04d}-{re.sub(r'[^a-z0-9]+', '-', words).strip('-')[:60]}"


def bundle_folder(layout: Layout, finding: Finding) -> Path:
    """Where a stored finding's folder belongs."""
    kind = layout.suspects if finding.verdict.suspect else layout.findings
    if finding.status is Status.UNREPLAYED and not finding.verdict.suspect:
        kind = layout.unreplayed
    return kind / folder_name(finding)


def replace_bundle(layout: Layout, finding: Finding) -> None:
    """Write the folder of a finding for which another case stands now, unless a person has labelled the one there."""
    old = [*layout.findings.glob(f"{finding.number:04d}-*"), *layout.unreplayed.glob(f"{finding.number:04d}-*")]
    if any(label_of(folder) for folder in old):
        return
    for folder in old:
        shutil.rmtree(folder, ignore_errors=True)
    place_bundle(layout, finding)


def place_bundle(layout: Layout, finding: Finding) -> Path:
    """Write a stored finding's folder where it belongs, unless it is there already."""
    folder = bundle_folder(layout, finding)
    if not folder.exists():
        write_bundle(folder, finding, blobs=FolderBlobs(layout.blobs))
    return folder
