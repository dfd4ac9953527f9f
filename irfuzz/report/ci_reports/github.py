"""A campaign for GitHub Actions: annotations on standard output, and a summary in Markdown."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from irfuzz.findings.disposition import DecidedFinding, Disposition
from irfuzz.report.ci_reports.build_result import BuildResult, decision_text, place_of
from irfuzz.report.terminal_text_cleaning import one_line

MOST = 10
"""GitHub shows so many annotations of a kind a step."""

ROWS = 50
"""Rows of the summary's table; GitHub drops a summary of more than 1 MiB."""


def workflow_commands(result: BuildResult) -> list[str]:
    """Lines that GitHub Actions shows beside a job.

    Args:
        result: of the campaign.

    Returns:
        ``::error`` lines for what fails the build and ``::warning`` lines for what is new and does not, ten of each at
        most, the last one with the number of those that are left out.
    """
    new = [row for row in result.rows if row.disposition is Disposition.NEW and not row.fails]
    return [*_lines("error", result.failing, result), *_lines("warning", new, result)]


def _lines(level: str, rows: Sequence[DecidedFinding], result: BuildResult) -> list[str]:
    shown = rows if len(rows) <= MOST else rows[: MOST - 1]
    lines: list[str] = []
    for row in shown:
        verdict = row.finding.verdict
        title = _property(f"irfuzz: {verdict.symptom} of {verdict.target}")
        lines.append(f"::{level} title={title}::{_data(f'{row.finding.title} ({place_of(row, result.out)})')}")
    if len(shown) < len(rows):
        lines.append(f"::{level} title=irfuzz::{_data(f'and {len(rows) - len(shown)} more in {result.out}')}")
    return lines


def _data(text: str) -> str:
    """The message of a workflow command, on one line; it has an escape for ``%`` alone besides those of line ends."""
    return one_line(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def step_summary(result: BuildResult) -> str:
    """Markdown for the summary of a job: the headline, a table of what was found, and what to do with it.

    Args:
        result: of the campaign.

    Returns:
        Text that ends with an empty line, so that other steps may append to it.
    """
    lines = [f"### irfuzz: {_cell(result.headline)}", "", _cell(result.progress), ""]
    rows = sorted(result.rows, key=lambda row: (not row.fails, row.disposition is not Disposition.NEW))
    if rows:
        lines += [
            "| | Finding | Folder | Decided |",
            "|---|---|---|---|",
            *(_row(row, result) for row in rows[:ROWS]),
            "",
        ]
    if len(rows) > ROWS:
        lines += [f"and {len(rows) - ROWS} more", ""]
    if result.suspects:
        lines += [f"{result.suspects} suspects are too thinly proven to be findings.", ""]
    if result.internal_errors:
        lines += [f"irfuzz itself failed {result.internal_errors} times; please report it.", ""]
    if result.failing:
        accept = f"irfuzz findings baseline {shlex.quote(one_line(result.out))} -o FILE"
        lines += [
            "Each folder holds `report.md`, to be pasted into a bug report, and `repro.py`.",
            f"To accept what is there, commit the file of `{accept}`.",
            "",
        ]
    return "\n".join(lines) + "\n"


def _row(row: DecidedFinding, result: BuildResult) -> str:
    mark = "fails" if row.fails else ""
    return f"| {mark} | {_cell(row.finding.title)} | `{place_of(row, result.out)}` | {_cell(decision_text(row))} |"


def _cell(text: str) -> str:
    """Text that is no Markdown, HTML or end of a cell, whatever a component has said."""
    text = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(f"\\{c}" if c in "\\|`*_[]#!~" else c for c in text)
