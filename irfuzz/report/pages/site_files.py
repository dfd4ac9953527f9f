"""Writes the pages of a campaign into a folder, and the page of one finding into that finding's."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from irfuzz.errors import UsageError
from irfuzz.report.command_reports.finding_list import ListedFinding, by_cause, kind_of
from irfuzz.report.pages.finding_page import FILES, FindingPlace, finding_page
from irfuzz.report.pages.index_page import CampaignSummary, index_page
from irfuzz.report.pages.page_frame import LICENCES, SCRIPT, STYLE, PageAssets, asset

INDEX, ASSETS, FINDINGS = "index.html", "assets", "findings"
"""Names in a folder of pages."""

PAGE = "report.html"
"""The page of a finding in the finding's own folder, which needs no other file."""

LARGEST = 8 << 20
"""Bytes of a finding's file that is copied beside its page."""

_MARK = b'content="irfuzz '
"""What stands in the first part of every page."""


@dataclass(frozen=True, slots=True)
class WrittenSite:
    """What ``write_site`` has written.

    Attributes:
        index: the page to open.
        pages: of findings.
        running: the campaign was running then, so that its page loads itself again.
    """

    index: Path
    pages: int
    running: bool


def write_site(
    out: Path,
    summary: CampaignSummary,
    found: Sequence[ListedFinding],
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> WrittenSite:
    """Write the page of a campaign, one of each finding, and what they need, into a folder.

    Pages that say the same as before are not written again, and those of findings that are gone are removed. Each file
    is whole at any time, so the pages of a running campaign can be read while they are written.

    Args:
        out: the folder, made if it is missing.
        summary: of the campaign.
        found: its findings, suspects and what was not replayed.
        tell: is called with how many pages are written, and of how many.

    Raises:
        UsageError: the folder holds a page that is not ours, or cannot be written.
    """
    refuse_foreign(out / INDEX)
    names = {str(entry.folder): entry.folder.name for entry in found}
    causes = _causes(found)
    try:
        for name in (STYLE, SCRIPT, LICENCES):
            _put(out / ASSETS / name, asset(name).encode())
        for place, entry in enumerate(found):
            tell(place, len(found))
            _write_finding(out, entry, _near(entry, causes, names), f"{summary.kind} {summary.name}")
        addresses = {folder: f"{FINDINGS}/{quote(name)}/{INDEX}" for folder, name in names.items()}
        text = index_page(summary, found, addresses, PageAssets(f"{ASSETS}/"))
        _put(out / INDEX, text.encode(errors="replace"))
        _remove_others(out / FINDINGS, set(names.values()))
    except OSError as error:
        raise UsageError(f"{error.filename or out}: cannot be written: {error.strerror}") from None
    return WrittenSite(out / INDEX, len(found), summary.running)


def write_finding_page(entry: ListedFinding) -> Path:
    """Write the page of a finding into its own folder; style, script and graph stand in it.

    Returns:
        Its path.

    Raises:
        UsageError: a file there is no page of irfuzz, or it cannot be written.
    """
    path = entry.folder / PAGE
    refuse_foreign(path)
    try:
        _put(path, finding_page(entry, FindingPlace(PageAssets())).encode(errors="replace"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None
    return path


def refuse_foreign(page: Path) -> None:
    """See that nothing but an earlier page of irfuzz is in the place of a new one.

    Args:
        page: its path.

    Raises:
        UsageError: something else is there, or it cannot be read.
    """
    try:
        start = page.read_bytes()[:4096] if page.exists() else _MARK
    except OSError as error:
        raise UsageError(f"{page}: cannot be read: {error.strerror}") from None
    if _MARK not in start:
        raise UsageError(f"{page}: is there already and is no page of irfuzz; give another folder, or move it")


def _causes(found: Sequence[ListedFinding]) -> Mapping[str, Sequence[ListedFinding]]:
    """By the folder of each finding all those of its cause, itself among them."""
    rows = by_cause([entry for entry in found if kind_of(entry) == FINDINGS])
    return {str(entry.folder): row for row in rows for entry in row}


def _near(
    entry: ListedFinding, causes: Mapping[str, Sequence[ListedFinding]], names: Mapping[str, str]
) -> list[tuple[str, str]]:
    others = [other for other in causes.get(str(entry.folder), ()) if other.folder != entry.folder]
    return [(other.folder.name, f"../{quote(names[str(other.folder)])}/{INDEX}") for other in others]


def _write_finding(out: Path, entry: ListedFinding, near: Sequence[tuple[str, str]], campaign: str) -> None:
    folder = out / FINDINGS / entry.folder.name
    place = FindingPlace(PageAssets(f"../../{ASSETS}/"), up=(campaign, f"../../{INDEX}"), same_cause=near)
    for name in FILES:
        file = entry.folder / name
        if file.is_file() and file.stat().st_size <= LARGEST:
            _put(folder / name, file.read_bytes())
    _put(folder / INDEX, finding_page(entry, place).encode(errors="replace"))


def _put(path: Path, data: bytes) -> None:
    """Let a file hold these bytes; it is left alone if it does, and else replaced as a whole."""
    try:
        if path.read_bytes() == data:
            return
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(prefix=".draft-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(data)
        Path(draft).chmod(0o644)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _remove_others(folder: Path, names: set[str]) -> None:
    """Remove pages of findings that there are no more."""
    for one in folder.iterdir() if folder.is_dir() else ():
        page = one / INDEX
        if one.name not in names and page.is_file() and _MARK in page.read_bytes()[:4096]:
            shutil.rmtree(one)
