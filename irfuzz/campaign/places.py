"""A stored finding enters, the folder that is made of it leaves, where its status wants it."""

from __future__ import annotations

import re
from pathlib import Path

from irfuzz.campaign.config import Layout
from irfuzz.report.bundle import write_bundle
from irfuzz.store.blobs import FolderBlobs
from irfuzz.store.database import FindingRow, Status


def folder_name(number: int, row: FindingRow) -> str:
    """``0007-difference-onnxruntime-all``: readable, and safe as a file name whatever the target is called."""
    slug = re.sub(r"[^a-z0-9]+", "-", f"{row.symptom} {row.target}".lower()).strip("-")[:60]
    return f"{number:04d}-{slug}"


def bundle_folder(layout: Layout, row: FindingRow) -> Path:
    """Where a stored finding's folder belongs."""
    kind = layout.suspects if row.suspect else layout.findings
    if row.status == Status.UNREPLAYED and not row.suspect:
        kind = layout.unreplayed
    return kind / folder_name(row.number, row)


def place_bundle(layout: Layout, row: FindingRow) -> Path:
    """Write a stored finding's folder where it belongs, unless it is there already."""
    folder = bundle_folder(layout, row)
    if not folder.exists():
        write_bundle(folder, row, blobs=FolderBlobs(layout.blobs))
    return folder
