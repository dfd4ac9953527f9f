"""The live screen of a campaign in a terminal, in the manner of AFL++: one panel for each question that one asks."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from irfuzz.report.terminal_text_cleaning import one_line

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.panel import Panel
    from rich.table import Table

    from irfuzz.api.fuzz_report import FuzzReport
    from irfuzz.campaign.campaign import CampaignProgress

Rows = list[tuple[str, str]]
"""Names, each with its value."""

NARROW = 72
"""Columns below which panels stand one below the other."""

NAMED = 3
"""Targets whose refusals and failures are told."""

NAME = 19
"""Columns that a name takes at most; what follows is what one looks for."""


def screen(report: FuzzReport, seconds: float, width: int) -> RenderableType:
    """What is shown now.

    Args:
        report: of the campaign so far.
        seconds: that it may take.
        width: columns of the terminal.
    """
    from rich.console import Group

    process, findings, coverage, targets, now = (
        _panel(title, rows)
        for title, rows in (
            ("process", _process(report, seconds)),
            ("findings", _findings(report)),
            ("coverage", _coverage(report.progress)),
            ("targets", _targets(report)),
            ("now", _now(report)),
        )
    )
    if width < NARROW:
        return Group(process, findings, coverage, targets, now)
    return Group(_side_by_side(process, findings, 1, 1), _side_by_side(coverage, targets, 2, 3), now)


def _panel(title: str, rows: Rows) -> Panel:
    """Each row is one line, whatever its length, so that the screen keeps its height and fits into 24 lines."""
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    names = [name if len(name) <= NAME else f"{name[: NAME - 1]}…" for name, _ in rows]
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(no_wrap=True, style="dim", min_width=max(map(len, names)))
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for name, (_, value) in zip(names, rows, strict=True):
        table.add_row(Text(name), Text(value))
    return Panel(table, title=title, title_align="left", padding=(0, 1))


def _side_by_side(left: Panel, right: Panel, *ratios: int) -> Table:
    from rich.table import Table

    grid = Table.grid(expand=True)
    for ratio in ratios:
        grid.add_column(ratio=ratio)
    grid.add_row(left, right)
    return grid


def _process(report: FuzzReport, seconds: float) -> Rows:
    from irfuzz.campaign.targets.slow_sampling import SAMPLED, share_of

    p = report.progress
    rows = [
        ("run time", f"{_clock(p.seconds)} of {_clock(seconds)}" + ("" if p.programs_this_run else ", starting")),
        ("programs", f"{p.programs}" + (f"  (+{p.programs_this_run})" if p.programs != p.programs_this_run else "")),
        ("rate", f"{p.rate:.1f}/s"),
        ("corpus", str(p.corpus)),
    ]
    share = share_of(p.counts)
    if share is not None:
        rows.append(("slow targets", f"{share:.0%} of the time, on {p.counts.get(SAMPLED, 0)} programs"))
    waits = p.counts.get("untriaged", 0)
    return [*rows, ("triage", f"{waits} wait" if waits else "nothing waits")]


def _now(report: FuzzReport) -> Rows:
    """What is looked into, each job's on a line, and the last new finding."""
    rows = [("looks into", one_line(text)) for text in report.looked_into] or [("looks into", "nothing")]
    last = max(report.findings, key=lambda finding: finding.first, default=None)
    return [*rows, ("last new", "none yet" if last is None else one_line(last.title))]


def _findings(report: FuzzReport) -> Rows:
    from irfuzz.api.fuzz_report import ago
    from irfuzz.findings.disposition import Disposition

    p = report.progress
    kinds = Counter(row.disposition for row in report.decided[: len(report.findings)])
    rows = [("new", str(kinds[Disposition.NEW])), ("known", str(kinds[Disposition.KNOWN]))]
    decided = kinds[Disposition.LABELLED] + kinds[Disposition.BASELINE]
    rows += [("decided", str(decided))] if decided else []  # labelled, or in the baseline
    rows += [("of others", str(kinds[Disposition.OTHERS]))] if kinds[Disposition.OTHERS] else []
    rows.append(("suspects", str(p.suspects)))
    rows += [("unreplayed", str(p.unreplayed))] if p.unreplayed else []
    rows += [("internal errors", str(p.internal_errors))] if p.internal_errors else []
    return [*rows, ("last new", "none yet" if p.last is None else f"{ago(p.last)} ago")]


def _coverage(p: CampaignProgress) -> Rows:
    from irfuzz.api.fuzz_report import python_lines

    rows = [(name, f"{share:.1%}") for name, share in p.coverage.items()]
    rows += [("Python lines", python_lines(p))] if p.python_lines else []
    return rows or [("", "nothing is counted yet")]


def _targets(report: FuzzReport) -> Rows:
    """How many there are, how often the worst of them did not give an answer, and which did not start."""
    ends = _not_ok(report.progress.counts)
    runs = report.progress.counts.get("runs", 0)
    rows = [("under test", str(len(report.targets)))]
    rows += [("runs", f"{runs}, {sum(map(Counter.total, ends.values()))} not ok")] if runs else []
    worst = sorted(ends, key=lambda name: -ends[name].total())[:NAMED]
    rows += [(_short(name), ", ".join(f"{n} {end}" for end, n in ends[name].most_common())) for name in worst]
    waits = [*report.starting_targets, *report.unanswered]
    return [*rows, ("waits for", ", ".join(map(_short, waits)))] if waits else rows


def _not_ok(counts: Mapping[str, int]) -> dict[str, Counter[str]]:
    from irfuzz.execute.run_types import Exit

    found: dict[str, Counter[str]] = {}
    for name, count in counts.items():
        target, _, end = name.rpartition(" ")
        if target and end in set(Exit):
            found.setdefault(target, Counter())[end] += count
    return found


def _short(name: str) -> str:
    """A target's name without the folders of its file."""
    return one_line(name.rpartition("/")[2])


def _clock(seconds: float) -> str:
    """A time as a clock shows it: ``0:09:30``; days in front if there are any."""
    days, rest = divmod(int(seconds), 86400)
    return (f"{days} d " if days else "") + time.strftime("%-H:%M:%S", time.gmtime(rest))
