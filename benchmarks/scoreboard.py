"""Writes docs/scoreboard.md from results of ``irfuzz conform``: runtimes by operators, and what each gets wrong.

Run ``python -m benchmarks.scoreboard [--add] [PLACE ...]`` from the repository's root. A place is a file of ``irfuzz
conform`` (``--json``) or a folder of ``--out``; their counts and faults are kept in benchmarks/results/scoreboard.json,
with ``--add`` beside those of the targets that the places do not tell of. Without places the page is made of that file.
Nothing is run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from irfuzz.conformance.result_folder import read_results
from irfuzz.conformance.target_results import FAULTS, CaseStatus, TargetResults

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "benchmarks" / "results" / "scoreboard.json"
DOCUMENT = ROOT / "docs" / "scoreboard.md"
MARK = "<!-- made by benchmarks/scoreboard.py; the text above is written by hand -->"
DETAIL = 110
"""Characters of a reason that are kept and shown."""

STATUSES = [status.value for status in CaseStatus]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("places", nargs="*", type=Path, metavar="PLACE")
    parser.add_argument("--add", action="store_true", help="Keep the rows of other targets.")
    a = parser.parse_args()
    if a.places:
        rows = [summary(one) for place in a.places for one in read_results(place) if one.outcomes]
        if a.add:
            rows = beside(rows, json.loads(KEPT.read_text(encoding="utf-8"))["targets"])
        lines = ",\n".join(map(json.dumps, rows))
        KEPT.write_text(f'{{"schema": 1, "targets": [\n{lines}\n]}}\n', encoding="utf-8")
    rows = json.loads(KEPT.read_text(encoding="utf-8"))["targets"]
    text = DOCUMENT.read_text(encoding="utf-8").partition(MARK)[0]
    DOCUMENT.write_text(f"{text}{MARK}\n\n{tables(rows)}", encoding="utf-8")
    return 0


def beside(rows: Sequence[dict[str, Any]], kept: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """New rows, and those of other targets, by name.

    Args:
        rows: new ones.
        kept: of earlier; a row of a target that is among the new ones goes.
    """
    new = {row["target"] for row in rows}
    return sorted([*rows, *(row for row in kept if row["target"] not in new)], key=lambda row: str(row["target"]))


def summary(one: TargetResults) -> dict[str, Any]:
    """What the page says of a target: counts by operator, and each fault.

    Args:
        one: its results.
    """
    inside, refused = one.in_types()
    return {
        "target": one.target,
        "version": one.version,
        "note": one.coverage_note(),
        "counts": [one.counts()[status] for status in CaseStatus],
        "in_types": [inside, refused],
        "counts_as_runtime": one.counts_as_runtime,
        "operators": {op: [counts[status] for status in CaseStatus] for op, counts in one.by_operator().items()},
        "faults": [
            [o.case, o.operator, o.status.value, " ".join(o.detail.split())[:DETAIL], *o.known]
            for o in one.outcomes
            if o.status in FAULTS
        ],
    }


def tables(rows: Sequence[Mapping[str, Any]]) -> str:
    """The part of the page that is made of results.

    Args:
        rows: a ``summary`` of each target.
    """
    counting = [row for row in rows if row["counts_as_runtime"]]
    operators = sorted({operator for row in rows for operator in row["operators"]})
    lines = [
        f"{len(counting)} of {len(rows)} targets count, on {len(operators)} operators.",
        "",
        f"| target | version | cases | {' | '.join(STATUSES)} | refused of those in its types | |",
        "|---|---|---|" + "---|" * (len(STATUSES) + 2),
        *map(_row, rows),
        "",
        "## By operator",
        "",
        "How many are right, of how many; then w are wrong, d dead or hanging, r refused, u undecided.",
        "",
        f"| operator | {' | '.join('`' + row['target'] + '`' for row in rows)} |",
        "|---|" + "---|" * len(rows),
        *(f"| {op} | {' | '.join(_cell(row['operators'].get(op)) for row in rows)} |" for op in operators),
        "",
        "## Wrong, dead or hanging",
        "",
        "| target | case | operator | | what | known |",
        "|---|---|---|---|---|---|",
    ]
    lines += [f"| `{row['target']}` | {_fault(fault)} |" for row in rows for fault in row["faults"]]
    return "\n".join(lines) + "\n"


def _row(row: Mapping[str, Any]) -> str:
    inside, refused = row["in_types"]
    cells = [sum(row["counts"]), *row["counts"], f"{refused} of {inside}"]
    notes = [row["note"], "" if row["counts_as_runtime"] else "does not count"]
    return (
        f"| `{row['target']}` | {row['version']} | {' | '.join(map(str, cells))} | {', '.join(filter(None, notes))} |"
    )


def _cell(counts: Sequence[int] | None) -> str:
    if counts is None:
        return ""
    by_status = dict(zip(STATUSES, counts, strict=True))
    ended = by_status["dies"] + by_status["hangs"]
    more = {"w": by_status["wrong"], "d": ended, "r": by_status["refuses"], "u": by_status["undecided"]}
    return " ".join([f"{by_status['right']}/{sum(counts)}", *(f"{n}{letter}" for letter, n in more.items() if n)])


def _fault(fault: Sequence[str]) -> str:
    """The cells of a fault: what it is, and links to what is written of the issues that explain it."""
    case, operator, status, detail, *known = fault
    links = [f"[{name[:3]}](bugs/{name}/)" if name[:3].isdecimal() else _plain(name) for name in known]
    return " | ".join([*map(_plain, (case, operator, status, detail)), ", ".join(links)])


def _plain(text: str) -> str:
    """A text of a component as a cell of Markdown."""
    for char in "\\|<*_[":
        text = text.replace(char, f"\\{char}")
    return text


if __name__ == "__main__":
    sys.exit(main())
