"""The table, the page of the documentation and what is wrong, as text, from the records of a census."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.spec.census.judge import Agreement
from tests.spec.census.run import Census

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "census.md"
MOST_OVER_REFUSED = 0.02
MARK = "<!-- made by benchmarks/census.py; the text above is written by hand -->"
COLUMNS = (
    ("valid", Agreement.VALID),
    ("partly refused", Agreement.PARTLY_REFUSED),
    ("under-refused", Agreement.UNDER_REFUSED),
    ("declared", Agreement.DECLARED),
    ("invalid", Agreement.INVALID),
    ("partly accepted", Agreement.PARTLY_ACCEPTED),
    ("over-refused", Agreement.OVER_REFUSED),
)
NUMBERS = ("drawn", "calls", *(name for name, _ in COLUMNS), "numbers differ")
_LETTERS = {"reference": "r", "onnxruntime": "o", "torch": "t"}

Rows = dict[str, tuple[str, str, list[int]]]
"""By operator: versions, who runs it, and the numbers."""


def summary(record: Census) -> str:
    """One version on one line."""
    counts = ", ".join(f"{v} {k}" for k, v in sorted(record.counts.items()))
    return f"{record.op}-{record.since} ({record.drawn} drawn, {'+'.join(record.components) or 'nobody'}): {counts}"


def rows(records: Sequence[Census]) -> Rows:
    """One row an operator."""
    by: dict[str, list[Census]] = {}
    for record in records:
        by.setdefault(record.op, []).append(record)
    out: Rows = {}
    for op, versions in by.items():
        counts: Counter[str] = Counter()
        for r in versions:
            counts.update(r.counts)
        who = {c for r in versions for c in r.components}
        numbers = [sum(r.drawn for r in versions), sum(r.calls for r in versions)]
        numbers += [counts[agreement.value] for _, agreement in COLUMNS]
        numbers.append(sum(r.differ for r in versions))
        letters = "".join(letter for name, letter in _LETTERS.items() if name in who)
        out[op] = (", ".join(str(v.since) for v in versions), letters, numbers)
    return out


def table(found: Rows) -> str:
    """The rows, by name, and their sum, as Markdown."""
    lines = [
        "| operator | versions | run by | " + " | ".join(NUMBERS) + " |",
        "|---|---|---|" + "---:|" * len(NUMBERS),
    ]
    lines += [_line(op, *row) for op, row in sorted(found.items())]
    lines.append(_line("**all**", str(sum(_count(v) for v, _, _ in found.values())), "", total(found)))
    return "\n".join(lines)


def total(found: Rows) -> list[int]:
    """The sums of the columns."""
    return [sum(column) for column in zip(*(numbers for _, _, numbers in found.values()), strict=True)]


def _count(versions: str) -> int:
    return versions.count(",") + 1


def _line(name: str, versions: str, who: str, numbers: Sequence[int]) -> str:
    return "| " + " | ".join([name, versions, who, *map(str, numbers)]) + " |"


def read(text: str) -> Rows:
    """The rows of a table that ``table`` made."""
    out: Rows = {}
    for line in text.partition(MARK)[2].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if re.fullmatch(r"\w+", cells[0]) and len(cells) == 3 + len(NUMBERS) and cells[3].isdigit():
            out[cells[0]] = (cells[1], cells[2], [int(c) for c in cells[3:]])
    return out


def failures(records: Sequence[Census]) -> list[str]:
    """What breaks the promise, one line each."""
    out: list[str] = []
    calls = sum(r.calls for r in records)
    over = sum(r.counts[Agreement.OVER_REFUSED.value] for r in records)
    for r in records:
        out += [f"{r.op}-{r.since}: a drawn call that nobody runs: {text}" for text in r.bad_draws]
        if not r.drawn:
            out.append(f"{r.op}-{r.since}: no call could be drawn")
        for example in r.examples.get(Agreement.UNDER_REFUSED.value, []):
            out.append(f"{r.op}-{r.since}: valid by spec, refused by all: {example['call']}: {example['answers']}")
    if over > MOST_OVER_REFUSED * calls:
        out.append(f"{over} of {calls} calls are refused by the spec only ({over / calls:.2%})")
    return out


def document(records: Sequence[Census], components: Mapping[str, str], command: str, *, only: bool) -> str:
    """The page: its own words stay, the part below the mark is made anew; with ``only``, the rows of ``records``."""
    text = DOCUMENT.read_text(encoding="utf-8") if DOCUMENT.exists() else "# Census of the operators"
    found = {**read(text), **rows(records)} if only else rows(records)
    sums = dict(zip(NUMBERS, total(found), strict=True))
    names = ", ".join(f"{name} {version}" for name, version in components.items())
    versions = sum(_count(v) for v, _, _ in found.values())
    what = f"{len(found)} operators in {versions} versions, {sums['drawn']} drawn and {sums['calls']} perturbed calls"
    share = f"{sums['over-refused'] / max(1, sums['calls']):.2%}"
    faults = f"Under-refused: {sums['under-refused']}. Over-refused: {sums['over-refused']} ({share})."
    head = f"`{command}` ({names}): {what}. {faults}"
    return "\n".join([text.partition(MARK)[0].rstrip(), "", MARK, "", head, "", table(found)]) + "\n"
