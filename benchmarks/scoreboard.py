"""Writes docs/scoreboard.md from results of ``irfuzz conform``: runtimes by operators, and what each gets wrong.

Run ``python -m benchmarks.scoreboard [PLACE ...]`` from the repository's root. A place is a file of ``irfuzz conform``
(``--json``) or a folder of ``--out``; without one those of benchmarks/results/conformance are read. Nothing is run.
``--keep`` keeps there what was read, with short reasons.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from irfuzz.conformance.result_folder import SUFFIX, read_results
from irfuzz.conformance.target_results import FAULTS, CaseStatus, TargetResults, document

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "conformance"
DOCUMENT = ROOT / "docs" / "scoreboard.md"
MARK = "<!-- made by benchmarks/scoreboard.py; the text above is written by hand -->"
DETAIL = 160
"""Characters of a reason that are kept and shown."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="*", type=Path, default=[RESULTS])
    parser.add_argument("--keep", action="store_true", help=f"keep them in {RESULTS.relative_to(ROOT)}")
    a = parser.parse_args()
    found = [shortened(one) for place in a.results for one in read_results(place) if one.outcomes]
    if a.keep:
        RESULTS.mkdir(parents=True, exist_ok=True)
        for one in found:
            name = f"{one.target}--{one.version}".replace(":", "-")
            (RESULTS / f"{name}{SUFFIX}").write_text(json.dumps(document([one]), indent=0) + "\n", encoding="utf-8")
    text = DOCUMENT.read_text(encoding="utf-8").partition(MARK)[0]
    DOCUMENT.write_text(text + MARK + "\n\n" + tables(found), encoding="utf-8")
    return 0


def shortened(one: TargetResults) -> TargetResults:
    """Results whose reasons are one short line each."""
    kept = tuple(replace(o, detail=" ".join(o.detail.split())[:DETAIL]) for o in one.outcomes)
    return replace(one, outcomes=kept)


def tables(found: Sequence[TargetResults]) -> str:
    """The part of the page that is made of results.

    Args:
        found: results of each target.
    """
    counting = [one for one in found if one.counts_as_runtime]
    operators = {operator for one in counting for operator in one.by_operator()}
    lines = [
        f"{len(counting)} runtimes count, on {len(operators)} operators.",
        "",
        "| target | version | cases | right | wrong | dies | hangs | refuses | undecided | refuses in its types | |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
        *(_row(one) for one in found),
        "",
        "## By operator",
        "",
        "Right of all cases; then w wrong, d dies or hangs, r refuses, u undecided.",
        "",
        "| operator | " + " | ".join(f"`{one.target}`" for one in found) + " |",
        "|---" * (len(found) + 1) + "|",
    ]
    counted = [one.by_operator() for one in found]
    for operator in sorted({operator for one in counted for operator in one}):
        cells = (_cell(one.get(operator, Counter())) for one in counted)
        lines.append(f"| {operator} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", "## Wrong, dead or hanging", "", *_faults(found)]) + "\n"


def _row(one: TargetResults) -> str:
    counts = one.counts()
    inside, refused = one.in_types()
    cells = [counts.total(), *(counts[status] for status in CaseStatus), f"{refused} of {inside}"]
    note = one.coverage_note() if one.counts_as_runtime else f"{one.coverage_note()} does not count".strip()
    return f"| `{one.target}` | {one.version} | " + " | ".join(map(str, cells)) + f" | {note} |"


def _cell(counts: Counter[CaseStatus]) -> str:
    if not counts:
        return ""
    ended = counts[CaseStatus.DIES] + counts[CaseStatus.HANGS]
    more = {
        "w": counts[CaseStatus.WRONG],
        "d": ended,
        "r": counts[CaseStatus.REFUSES],
        "u": counts[CaseStatus.UNDECIDED],
    }
    told = " ".join(f"{number}{letter}" for letter, number in more.items() if number)
    return f"{counts[CaseStatus.RIGHT]}/{counts.total()} {told}".strip()


def _faults(found: Sequence[TargetResults]) -> list[str]:
    lines = ["| target | case | operator | | what |", "|---|---|---|---|---|"]
    for one in found:
        for outcome in one.outcomes:
            if outcome.status in FAULTS:
                what = outcome.detail.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")
                lines.append(f"| `{one.target}` | {outcome.case} | {outcome.operator} | {outcome.status} | {what} |")
    return lines


if __name__ == "__main__":
    sys.exit(main())
