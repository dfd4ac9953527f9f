"""Records of a census enter; the table, the page of the documentation and what is wrong leave as text."""

from __future__ import annotations

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


def summary(record: Census) -> str:
    """One version on one line."""
    counts = ", ".join(f"{v} {k}" for k, v in sorted(record.counts.items()))
    return f"{record.op}-{record.since} ({record.drawn} drawn, {'+'.join(record.components) or 'nobody'}): {counts}"


def by_operator(records: Sequence[Census]) -> dict[str, list[Census]]:
    """The versions of each operator."""
    out: dict[str, list[Census]] = {}
    for record in records:
        out.setdefault(record.op, []).append(record)
    return out


def table(records: Sequence[Census]) -> str:
    """One line an operator, and the sum, as Markdown."""
    lines = [
        "| operator | versions | run by | calls | " + " | ".join(name for name, _ in COLUMNS) + " | numbers differ |",
        "|---|---|---|" + "---:|" * (len(COLUMNS) + 2),
    ]
    for op, versions in by_operator(records).items():
        lines.append(_line(op, ", ".join(str(v.since) for v in versions), versions))
    lines.append(_line("**all**", str(len(records)), records))
    return "\n".join(lines)


def _line(name: str, versions: str, records: Sequence[Census]) -> str:
    counts: Counter[str] = Counter()
    for r in records:
        counts.update(r.counts)
    who = sorted({c for r in records for c in r.components})
    letters = "".join({"reference": "r", "onnxruntime": "o", "torch": "t"}.get(c, c) for c in who)
    cells = [name, versions, letters if name[0] != "*" else "", str(sum(r.calls for r in records))]
    cells += [str(counts[agreement.value]) for _, agreement in COLUMNS]
    cells.append(str(sum(r.differ for r in records)))
    return "| " + " | ".join(cells) + " |"


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


def document(records: Sequence[Census], components: Mapping[str, str], command: str) -> str:
    """The page: its own words stay, the part below the mark is made anew."""
    kept = DOCUMENT.read_text().partition(MARK)[0].rstrip() if DOCUMENT.exists() else "# Census of the operators"
    calls = sum(r.calls for r in records)
    over = sum(r.counts[Agreement.OVER_REFUSED.value] for r in records)
    under = sum(r.counts[Agreement.UNDER_REFUSED.value] for r in records)
    names = ", ".join(f"{name} {version}" for name, version in components.items())
    drawn = sum(r.drawn for r in records)
    what = f"{len(by_operator(records))} operators in {len(records)} versions, {drawn} drawn calls, {calls} perturbed"
    head = [
        MARK,
        "",
        f"`{command}`: {what}; {names}.",
        "",
        f"Under-refused: {under}. Over-refused: {over} ({over / max(1, calls):.2%}).",
        "",
    ]
    return "\n".join([kept, "", *head, table(records)]) + "\n"
