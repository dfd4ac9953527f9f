"""The page of a campaign: its figures, curves over time, findings by cause, and what each target did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from irfuzz.findings.fault_severity import Severity, rating_in
from irfuzz.report.command_reports.finding_list import FOLDERS, ListedFinding, by_cause, by_group, kind_of
from irfuzz.report.pages.finding_page import severity_pill, state_of, state_pill, when
from irfuzz.report.pages.html_elements import Markup, element
from irfuzz.report.pages.line_charts import Curve, duration_text, line_chart, number_text, share_bar
from irfuzz.report.pages.page_frame import PageAssets, page

TARGET_PARTS = (("ran", "ran"), ("refused", "refused"), ("failed", "crashed, hung or ran out of memory"))
"""Classes of a target's bar, and what they mean."""


@dataclass(frozen=True, slots=True)
class TargetTally:
    """What a campaign's target did.

    Attributes:
        name: of the target.
        version: of its component; empty if it is not known.
        ran: programs that it ran; ``None`` if an older campaign did not count them.
        refused: programs that it refused, or for which it has no kernel.
        failed: programs at which it died, hung or took too much memory.
        disagreed: how often it was found to be wrong, over all findings and suspects.
        absent: why it was not used; empty if it was.
    """

    name: str
    version: str = ""
    ran: int | None = None
    refused: int = 0
    failed: int = 0
    disagreed: int = 0
    absent: str = ""


@dataclass(frozen=True, slots=True)
class CampaignSummary:
    """What the page of a campaign says besides its findings.

    Attributes:
        name: of its folder.
        running: a process holds it now.
        seconds: that it has run, over all runs.
        programs: that were judged.
        corpus: programs that are kept.
        updated: when its database was written last, in seconds since 1970; 0 if it has none.
        coverage: shares of the criteria by their names.
        passes: passes of optimisers that fired.
        programs_curve, passes_curve: over the seconds of the campaign.
        coverage_curves: one a criterion.
        targets: in the order of the campaign's.
        kind: what it is called.
        curves: more figures over the seconds of the campaign, each with its title.
        sections: more parts of the page, ahead of the findings.
    """

    name: str
    running: bool = False
    seconds: float = 0.0
    programs: int = 0
    corpus: int = 0
    updated: float = 0.0
    coverage: Mapping[str, float] = field(default_factory=dict[str, float])
    passes: int = 0
    programs_curve: Sequence[tuple[float, float]] = ()
    passes_curve: Sequence[tuple[float, float]] = ()
    coverage_curves: Sequence[Curve] = ()
    findings_curves: Sequence[Curve] = ()
    targets: Sequence[TargetTally] = ()
    kind: str = "Campaign"
    curves: Sequence[tuple[str, Sequence[Curve]]] = ()
    sections: Sequence[Markup] = ()


def index_page(
    summary: CampaignSummary, found: Sequence[ListedFinding], addresses: Mapping[str, str], assets: PageAssets
) -> str:
    """The page of a campaign, as HTML.

    Args:
        summary: of it.
        found: findings, suspects and what was not replayed, in any order.
        addresses: relative address of the page of each finding, by the path of its folder; those without stand without
            a link.
        assets: which style and script the page loads.

    Raises:
        UsageError: what is stored of a cause cannot be read.
    """
    kinds = {kind: [entry for entry in found if kind_of(entry) == kind] for kind in FOLDERS}
    findings, suspects, unreplayed = (kinds[kind] for kind in FOLDERS)
    causes = sorted(by_cause(findings), key=_urgency)
    body = [
        _head(summary, findings, suspects, unreplayed),
        _curves(summary),
        *summary.sections,
        _findings(causes, addresses),
        _more("Suspects", "too thinly proven to be findings", by_group(suspects), addresses),
        _more("Not replayed", "seen, but not shown by their own script", [[e] for e in unreplayed], addresses),
        _targets(summary.targets),
    ]
    title = f"{summary.name}: {len(findings)} findings"
    return page(title, *(part for part in body if part), assets=assets, refresh=summary.running)


def _urgency(row: Sequence[ListedFinding]) -> tuple[int, int, float]:
    """New ones first, then by severity, then those that were seen first last."""
    order = list(Severity)
    rated = rating_in(row[0].about)
    decided = all(state_of(entry)[0] != "new" for entry in row)
    severity = order.index(rated.severity) if rated is not None else len(order)
    return int(decided), severity, -(row[0].seen.first if row[0].seen else 0.0)


def _head(
    summary: CampaignSummary,
    findings: Sequence[ListedFinding],
    suspects: Sequence[ListedFinding],
    unreplayed: Sequence[ListedFinding],
) -> Markup:
    new = sum(state_of(entry)[0] == "new" for entry in findings)
    rate = f"{summary.programs / summary.seconds:.1f} a second" if summary.seconds >= 1 else ""
    tiles = [
        ("new findings", str(new), f"of {len(findings)}", "hot" if new else "calm"),
        ("causes", str(len(by_cause(findings))), "of all findings", ""),
        ("suspects", str(len(suspects)), f"{len(unreplayed)} not replayed" if unreplayed else "", ""),
        ("programs", number_text(summary.programs), rate, ""),
        ("corpus", number_text(summary.corpus), "programs kept", ""),
        ("time", duration_text(summary.seconds), f"of {summary.kind.lower()}", ""),
    ]
    shown = [t for t in tiles if summary.programs or t[0] not in ("programs", "corpus", "time")]
    updated = element("p", "Last written ", when(summary.updated), " UTC", class_="note") if summary.updated else None
    return element(
        "section",
        element("h1", element("span", summary.kind, class_="eyebrow"), " ", summary.name),
        updated,
        element("dl", *(_tile(*tile) for tile in shown), class_="tiles big"),
        class_="lead",
    )


def _tile(name: str, value: str, more: str, kind: str) -> Markup:
    return element(
        "div",
        element("dt", name),
        element("dd", value, " ", element("small", more) if more else None),
        class_=kind or None,
    )  # fmt: skip


def _curves(summary: CampaignSummary) -> Markup | None:
    charts = [
        line_chart("Findings", summary.findings_curves, steps=True) if summary.findings_curves else None,
        line_chart("Programs", [Curve("programs", summary.programs_curve)]) if summary.programs_curve else None,
        line_chart("Coverage", summary.coverage_curves, share=True) if summary.coverage_curves else None,
        line_chart("Passes fired", [Curve("passes", summary.passes_curve)], steps=True)
        if summary.passes_curve
        else None,
        *(line_chart(title, curves, steps=True) for title, curves in summary.curves),
    ]
    drawn = [chart for chart in charts if chart is not None]
    if not drawn:
        return None
    return element("section", element("h2", "Over time"), element("div", *drawn, class_="charts"), class_="curves")


def _findings(causes: Sequence[Sequence[ListedFinding]], addresses: Mapping[str, str]) -> Markup:
    if not causes:
        return element("section", element("h2", "Findings"), element("p", "Nothing found.", class_="empty"))
    states = ["all", "new", "known", "labelled", "baseline"]
    states += ["others"] if any(entry.others for row in causes for entry in row) else []
    controls = element(
        "div",
        element(
            "label", "Filter ",
            element("input", type="search", placeholder="operator, target, version, label ...", data_filter="findings"),
        ),
        element(
            "span", *(_choice(state) for state in states),
            class_="choices", role="group", aria_label="Findings that are shown",
        ),
        element("output", class_="note", data_count="findings", aria_live="polite"),
        class_="controls", hidden=True,
    )  # fmt: skip
    return element(
        "section", element("h2", "Findings by cause"), controls, _table(causes, addresses, "findings"), id="findings"
    )


def _choice(state: str) -> Markup:
    return element("button", state, type="button", data_state=state, aria_pressed="true" if state == "all" else "false")


def _more(
    title: str, told: str, rows: Sequence[Sequence[ListedFinding]], addresses: Mapping[str, str]
) -> Markup | None:
    if not rows:
        return None
    many = sum(map(len, rows))
    head = element("summary", element("h2", title), element("span", f"{many}, {told}", class_="note"))
    return element("section", element("details", head, _table(rows, addresses, title.lower().replace(" ", "-"))))


def _table(rows: Sequence[Sequence[ListedFinding]], addresses: Mapping[str, str], name: str) -> Markup:
    heads = ("severity", "finding", "component", "seen", "state")
    head = element("thead", element("tr", *(element("th", text, scope="col") for text in heads)))
    bodies = (
        element(
            "tbody", *(_row(entry, addresses, below=place > 0) for place, entry in enumerate(row)),
            data_states=" ".join(sorted({state_of(entry)[0] for entry in row})),
        )
        for row in rows
    )  # fmt: skip
    table = element("table", head, *bodies, class_="findings", id=f"{name}-table")
    return element("div", table, class_="scroll", role="region", tabindex="0", aria_label=f"Table of {name}")


def _row(entry: ListedFinding, addresses: Mapping[str, str], *, below: bool) -> Markup:
    about = entry.about
    target = str(about.get("target", ""))
    versions = about.get("versions", {})
    version = str(versions.get(target, "")) if isinstance(versions, dict) else ""
    address = addresses.get(str(entry.folder))
    title = str(about.get("title", entry.folder.name))
    link = element("a", title, href=address) if address else element("span", title)
    span = [
        about.get("introduced") and f"since {about['introduced']}",
        about.get("fixed") and f"fixed {about['fixed']}",
    ]
    released = ", ".join(filter(None, span))
    state, why = state_of(entry)
    cells = (
        element("td", severity_pill(rating_in(about))),
        element("td", element("span", "same cause", class_="chip") if below else None, link, class_="what"),
        element("td", element("code", target), " ", version, element("small", released) if released else None),
        element("td", _seen(entry)),
        element("td", state_pill(entry), element("small", why) if state in ("known", "labelled") else None),
    )
    return element("tr", *cells, class_="below" if below else None)


def _seen(entry: ListedFinding) -> Markup | str:
    if entry.seen is None:
        return ""
    many = f"{entry.seen.times} times" if entry.seen.times > 1 else "once"
    last = [" to ", when(entry.seen.last)] if entry.seen.times > 1 else None
    return element("span", when(entry.seen.first), last, element("small", many), class_="seen")


def _targets(targets: Sequence[TargetTally]) -> Markup | None:
    used = [target for target in targets if not target.absent]
    if not used:
        return None
    keys = [
        element("span", element("i", class_=f"key bar-{name}"), told, class_="legend") for name, told in TARGET_PARTS
    ]
    heads = ("target", "version", "programs", "ran", "refused", "failed", "wrong")
    head = element("thead", element("tr", *(element("th", text, scope="col") for text in heads)))
    table = element("table", head, element("tbody", *map(_target, used)), class_="targets")
    absent = [target for target in targets if target.absent]
    why = (element("li", element("code", t.name), f": {t.absent}") for t in absent)
    return element(
        "section",
        element("h2", "Targets"),
        element("p", *keys, class_="note"),
        element("div", table, class_="scroll", role="region", tabindex="0", aria_label="Table of targets"),
        element(
            "details",
            element("summary", f"{len(absent)} target{'s were' if len(absent) > 1 else ' was'} not used"),
            element("ul", *why),
        )
        if absent
        else None,
        id="targets",
        class_="targets-section",
    )


def _target(target: TargetTally) -> Markup:
    parts = [("ran", target.ran or 0), ("refused", target.refused), ("failed", target.failed)]
    told = f"{target.name}: ran {target.ran or 'unknown'}, refused {target.refused}, failed {target.failed}"
    ran = "" if target.ran is None else f"{target.ran:,}"
    bar = share_bar(parts, told) if target.ran is not None else None
    cells = (target.version, bar, ran, f"{target.refused:,}", f"{target.failed:,}")
    return element(
        "tr",
        element("th", element("code", target.name), scope="row"),
        *(element("td", cell) for cell in cells),
        element("td", f"{target.disagreed:,}", class_="wrong" if target.disagreed else None),
    )
