"""Writes the pages of a campaign: what its database and its folders say, for people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from irfuzz.campaign.config import Layout
from irfuzz.campaign.monitoring.campaign_figures import campaign_figures
from irfuzz.errors import UsageError
from irfuzz.findings.baseline import NO_BASELINE, FindingBaseline
from irfuzz.report.command_reports.finding_list import FOLDERS, entries, with_baseline
from irfuzz.report.pages.site_files import FINDINGS, WrittenSite, write_site


def write_campaign_site(
    campaign: Path,
    out: Path,
    tell: Callable[[int, int], None] = lambda done, total: None,
    *,
    baseline: FindingBaseline = NO_BASELINE,
) -> WrittenSite:
    """Write a page of a campaign and one of each of its findings into a folder, as files that need no server.

    Args:
        campaign: its ``--out`` folder, which is only read; it may be running.
        out: the folder of the pages, made if it is missing. Earlier pages there are replaced.
        tell: is called with how many pages of findings are written, and of how many.
        baseline: of the project; what it has is no news on the pages.

    Raises:
        UsageError: there is no campaign, ``out`` is its own folder, lies among its findings or would put pages among
            those of a campaign, holds other pages, or cannot be written.
    """
    if out.resolve() == campaign.resolve() or Layout(out).database.exists():
        raise UsageError(f"{out}: is a campaign's folder; expected one for pages, such as {out / 'site'}")
    if Layout(out / FINDINGS).database.exists():
        raise UsageError(
            f"{out}: {FINDINGS} in it is a campaign's folder; expected one for pages, such as {out / 'site'}"
        )
    if any(out.resolve().is_relative_to((campaign / name).resolve()) for name in FOLDERS):
        raise UsageError(f"{out}: lies among findings; expected a folder for pages, such as {campaign / 'site'}")
    return write_site(out, campaign_figures(campaign), with_baseline(entries([campaign]), baseline), tell)
