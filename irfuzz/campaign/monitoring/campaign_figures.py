"""Reads from a campaign's database what its page shows: figures, curves over time, and what each target did."""

from __future__ import annotations

import fcntl
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path

from irfuzz.campaign.config import TARGETS, Layout
from irfuzz.campaign.monitoring.coverage_across_jobs import FIRED_CURVE, curve_of, passes_of
from irfuzz.campaign.targets.start_reports import together
from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Exit
from irfuzz.report.pages.index_page import CampaignSummary, TargetTally
from irfuzz.report.pages.line_charts import Curve
from irfuzz.search.coverage.operator_call_coverage import CRITERIA
from irfuzz.store.database import Database, FindingRow, Status
from irfuzz.store.finding_sightings import readable_database

_REFUSED = frozenset({Exit.REJECTED.value, Exit.UNSUPPORTED.value})

PAUSE = 600.0
"""Seconds between two findings after which the campaign is taken to have been paused, if it tells nothing else."""


def campaign_figures(out: Path) -> CampaignSummary:
    """What the page of a campaign says besides its findings.

    Args:
        out: folder of the campaign, which may be running. Without a database in it only its name is known, and whether
            one is about to begin.

    Raises:
        UsageError: the database cannot be read, or another version of irfuzz wrote it.
    """
    layout = Layout(out)
    if not layout.database.is_file():
        return CampaignSummary(out.resolve().name, running=is_running(layout))
    try:
        with readable_database(layout.database) as path, closing(Database(path)) as database:
            rows = curve_of(database)
            settings = database.settings()
            tallies = database.tallies()
            found = database.findings(bare=True)
            passes = sum(share.covered for share in passes_of(database).shares().values())
            corpus = database.corpus_size()
    except OSError as error:
        raise UsageError(f"{layout.database}: cannot be read: {error.strerror}") from None
    counts: Counter[str] = Counter()
    for _, _, _, more in tallies:
        counts.update(more)
    programs = sum(tally[2] for tally in tallies)
    seconds = rows[-1][0] if rows else _span(found)
    return CampaignSummary(
        out.resolve().name,
        running=is_running(layout),
        seconds=seconds,
        programs=programs,
        corpus=corpus,
        updated=layout.database.stat().st_mtime,
        coverage=dict(zip(CRITERIA, rows[-1][2:], strict=False)) if rows else {},
        passes=passes,
        programs_curve=[(row[0], row[1]) for row in rows],
        passes_curve=json.loads(settings.get(FIRED_CURVE, "[]")),
        coverage_curves=[Curve(n, [(row[0], row[2 + at]) for row in rows]) for at, n in enumerate(CRITERIA)]
        if rows
        else [],
        findings_curves=_findings_curves(found, seconds),
        targets=target_tallies(settings, counts, found),
    )


def is_running(layout: Layout) -> bool:
    """Whether a process holds the campaign's folder now.

    Args:
        layout: of the folder, which is only read.
    """
    if not layout.lock().is_file():
        return False
    with layout.lock().open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def _span(found: Sequence[FindingRow]) -> float:
    """Seconds from the first finding to the last, without long pauses."""
    times = sorted(row.first for row in found)
    return sum(after - before for before, after in pairwise(times) if after - before < PAUSE)


def _findings_curves(found: Sequence[FindingRow], seconds: float) -> list[Curve]:
    """How many findings and suspects there were, on the clock of the campaign, which stands still while it is paused.

    Rows say when, by the clock of the machine; pauses are left out, and the last ends as the campaign does.
    """
    told = sorted((row.first, row.suspect) for row in found if row.status == Status.CONFIRMED or row.suspect)
    if not told:
        return []
    busy = 0.0
    times = [0.0]
    for (before, _), (after, _) in pairwise(told):
        busy += min(after - before, PAUSE)
        times.append(busy)
    lead = max(0.0, seconds - busy)
    curves: list[Curve] = []
    for name, wanted in (("findings", False), ("suspects", True)):
        at = [lead + time for time, (_, suspect) in zip(times, told, strict=True) if suspect is wanted]
        points = [(0.0, 0.0), *((time, float(many)) for many, time in enumerate(at, 1))]
        if at:
            curves.append(Curve(name, [*points, (max(seconds, at[-1]), float(len(at)))]))
    return curves


def target_tallies(
    settings: Mapping[str, str], counts: Mapping[str, int], found: Sequence[FindingRow]
) -> list[TargetTally]:
    """What each target of a campaign did, those first that were wrong most often, and behind them those not used.

    Args:
        settings: of the campaign's database, where its jobs say which targets they use.
        counts: of its jobs, summed up.
        found: findings and suspects, which say how often a target was wrong.
    """
    told = together([text for key, text in settings.items() if key.startswith(f"{TARGETS} ")]) or {}
    wrong: Counter[str] = Counter()
    for row in found:
        if row.status != Status.EXPLAINED:
            wrong[row.target] += row.times
    counted = any(name.endswith(f" {Exit.OK}") for name in counts)
    tallies: list[TargetTally] = []
    for name, version in told.get("used", {}).items():
        ends = {end.value: counts.get(f"{name} {end.value}", 0) for end in Exit}
        refused = sum(n for end, n in ends.items() if end in _REFUSED)
        failed = sum(n for end, n in ends.items() if end not in _REFUSED and end != Exit.OK)
        ran = ends[Exit.OK.value] if counted else None
        tallies.append(TargetTally(name, version, ran, refused, failed, wrong[name]))
    tallies.sort(key=lambda tally: (-tally.disagreed, tally.name))
    return tallies + [TargetTally(name, absent=why) for name, why in told.get("absent", {}).items()]
