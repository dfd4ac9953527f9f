"""The page of a table of conformance: targets, then operators by targets, then what each gets wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from irfuzz.conformance.target_results import FAULTS, CaseStatus, TargetResults
from irfuzz.report.pages.html_elements import Markup, element
from irfuzz.report.pages.page_frame import PageAssets, page

_PILLS = {CaseStatus.WRONG: "sev-high", CaseStatus.DIES: "sev-high", CaseStatus.HANGS: "sev-high",
          CaseStatus.REFUSES: "sev-medium", CaseStatus.UNDECIDED: "sev-low"}  # fmt: skip


def as_html(targets: Sequence[TargetResults], witnesses: Sequence[str]) -> str:
    """One page that needs nothing else.

    Args:
        targets: results of each.
        witnesses: that judged them, with versions.
    """
    head = element(
        "section",
        element("h1", "Conformance"),
        element("p", f"Judged beside {', '.join(witnesses) or 'ONNX’s expected values alone'}.", class_="note"),
        _rows(targets),
        class_="lead",
    )
    body = [head, _operators(targets), *(_cases(one) for one in targets)]
    return page("Conformance", *body, assets=PageAssets())


def _rows(targets: Sequence[TargetResults]) -> Markup:
    heads = ["target", "version", "cases", *(status.value for status in CaseStatus), ""]
    rows: list[Markup] = []
    for one in targets:
        counts = one.counts()
        note = one.coverage_note() or ("" if one.counts_as_runtime else "does not count: it refuses too much")
        numbers = [counts.total(), *(counts[status] for status in CaseStatus)]
        rows.append(_row([one.target, one.version, *numbers, note]))
    return _table(heads, rows, "Targets")


def _operators(targets: Sequence[TargetResults]) -> Markup:
    """A line for each operator, a column for each target: of how many cases how many are right, and what is not."""
    counted = [one.by_operator() for one in targets]
    operators = sorted({operator for one in counted for operator in one})
    rows = [_row([operator, *(_cell(one.get(operator, Counter())) for one in counted)]) for operator in operators]
    return element(
        "section", element("h2", "By operator"), _table(["operator", *(t.target for t in targets)], rows, "By operator")
    )  # fmt: skip


def _cell(counts: Counter[CaseStatus]) -> Markup:
    if not counts:
        return Markup("")
    bad = [
        element("span", f"{counts[status]} {status.value}", class_=f"pill {_PILLS[status]}")
        for status in _PILLS
        if counts[status]
    ]
    return element("span", f"{counts[CaseStatus.RIGHT]} of {counts.total()} ", *bad)


def _cases(one: TargetResults) -> Markup:
    """What a target gets wrong, dies of or hangs with; what is undecided can be opened."""
    faults = [outcome for outcome in one.outcomes if outcome.status in FAULTS]
    doubts = [outcome for outcome in one.outcomes if outcome.status is CaseStatus.UNDECIDED]
    heads = ["case", "operator", "", "what"]
    shown = [_row([o.case, o.operator, o.status.value, o.told()]) for o in faults]
    hidden = [_row([o.case, o.operator, o.status.value, o.detail]) for o in doubts]
    return element(
        "section",
        element("h2", f"{one.target}: {len(faults)} wrong, dead or hanging"),
        _table(heads, shown, f"Faults of {one.target}") if shown else element("p", "None.", class_="empty"),
        element(
            "details", element("summary", f"{len(doubts)} undecided"), _table(heads, hidden, f"Doubts of {one.target}")
        )
        if hidden
        else None,
    )


def _row(cells: Sequence[str | int]) -> Markup:
    return element("tr", element("th", cells[0], scope="row"), *(element("td", cell) for cell in cells[1:]))


def _table(heads: Sequence[str], rows: Sequence[Markup], name: str) -> Markup:
    head = element("thead", element("tr", *(element("th", text, scope="col") for text in heads)))
    table = element("table", head, element("tbody", *rows))
    return element("div", table, class_="scroll", tabindex="0", role="region", aria_label=name)
