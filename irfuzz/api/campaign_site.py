"""Writes the pages of a campaign: what its database and its folders say, for people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from irfuzz.campaign.config import Layout
from irfuzz.campaign.monitoring.campaign_figures import campaign_figures
from irfuzz.errors import UsageError
from irfuzz.report.command_reports.finding_list import entries
from irfuzz.report.pages.site_files import WrittenSite, write_site


def write_campaign_site(
    campaign: Path, out: Path, tell: Callable[[int, int], None] = lambda done, total: None
) -> WrittenSite:
    """Write a page of a campaign and one of each of its findings into a folder, as files that need no server.

    Args:
        campaign: its ``--out`` folder, which is only read; it may be running.
        out: the folder of the pages, made if it is missing. Earlier pages there are replaced.
        tell: is called with how many pages of findings are written, and of how many.

    Raises:
        UsageError: there is no campaign, ``out`` is its own folder or holds other pages, or cannot be written.
    """
    if out.resolve() == campaign.resolve() or Layout(out).database.exists():
        raise UsageError(f"{out}: is a campaign's folder; expected one for pages, such as {out / 'site'}")
    return write_site(out, campaign_figures(campaign), entries([campaign]), tell)
