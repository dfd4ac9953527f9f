"""The page of coverage: the operators as a graph with their criteria, how the shares grew, and tables of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from irfuzz.report.command_reports.coverage import Curve as SharesOverModels
from irfuzz.report.command_reports.coverage import Lines
from irfuzz.report.pages.html_elements import Child, Markup, element
from irfuzz.report.pages.line_charts import Curve, duration_text, line_chart
from irfuzz.report.pages.page_frame import PageAssets, page
from irfuzz.report.pages.program_graph import colour_group, graph_view
from irfuzz.search.coverage.fusion_coverage import Fusions
from irfuzz.search.coverage.operator_call_coverage import CRITERIA, Coverage, Share

LEAST = 0.1
"""Part of the operators that are drawn with a warning: those of which least is covered."""

ARROWS = 2
"""So many arrows lead to one operator: with all of them, a campaign's thousands cannot be laid out, nor read."""

LEGEND = element(
    "p",
    "Each box is an operator that stands in a model, with what is covered of its inputs, its parameters and the "
    f"operators that can feed it. Arrows lead to it from those that were seen to; of many, from the {ARROWS} that feed "
    "the fewest others. Marked yellow: a tenth of the operators, of which least is covered.",
    class_="note",
)


def as_html(
    coverage: Coverage,
    curve: SharesOverModels,
    fusions: Fusions,
    python: Lines | None = None,
    times: Sequence[float] | None = None,
) -> str:
    """One page with the graph of operators, the curves of the criteria and both tables, that needs nothing else.

    Args:
        coverage: of the calls in the models.
        curve: the shares after each model; names of models are escaped.
        fusions: for the table.
        python: lines of the components' Python code, for the table.
        times: of the points of the curve in seconds, one each; they are counted if omitted.
    """
    title = f"Coverage of {coverage.programs} models"
    places = [float(n) for n in range(1, len(curve) + 1)] if times is None else times
    points = list(zip(places, (shares for _, shares in curve), strict=True))
    curves = [Curve(name, [(place, shares[name]) for place, shares in points]) for name in CRITERIA]
    growth = line_chart("Share", curves, share=True, along=_models if times is None else duration_text)
    note = element("p", f"In this order: {curve[0][0]} to {curve[-1][0]}.", class_="note") if curve else None
    drawn = graph_view("operators", operator_graph(coverage), "Operators and what is covered of each")
    return page(
        title,
        element("section", element("h1", title), _criteria(coverage, fusions, python), class_="lead"),
        element("section", element("h2", "Over time" if times else "After each model"), growth, note),
        element("section", element("h2", "What feeds what"), LEGEND, drawn),
        element("section", element("h2", "Operators by criteria"), _operators(coverage)),
        assets=PageAssets(),
    )


def operator_graph(coverage: Coverage) -> dict[str, Any]:
    """The operators that models have as data for the script (``program_graph.graph_data``).

    Args:
        coverage: its operators with something covered become nodes, some of its sequences edges.
    """
    rows = {op: shares for op, shares in coverage.by_operator().items() if any(share.covered for share in shares)}
    places = {op: place for place, op in enumerate(rows)}
    feeding = coverage.feeding()
    busy = Counter(producer for producers, _ in feeding.values() for producer in producers)
    worst = sorted(rows, key=lambda op: (_together(rows[op]), op))
    warned = {*worst[: max(1, round(LEAST * len(worst)))]}
    nodes: list[Mapping[str, Any]] = []
    for op, shares in rows.items():
        producers, most = feeding.get(op, ([], 0))
        every = (*shares, Share(len(producers), most))
        told = [[name, f"{s.covered} of {s.total}"] for name, s in zip(CRITERIA, every, strict=True)]
        drawn = sorted((p for p in producers if p in places), key=lambda p: (busy[p], p))[:ARROWS]
        node = {"op": op, "group": colour_group(op), "in": [[places[p], places[p], ""] for p in drawn]}
        mark = ["warning" if op in warned else "note", f"{_together(rows[op]):.0%}"]
        nodes.append({**node, "out": [places[op]], "attrs": told, "mark": mark})
    graph = {"name": "operators", "nodes": nodes, "inputs": [], "outputs": [], "values": [[op, ""] for op in rows]}
    return {"graphs": [{**graph, "blocks": []}], "focus": [0, places[worst[0]]] if worst else None}


def _criteria(coverage: Coverage, fusions: Fusions, python: Lines | None) -> Markup:
    rows: list[Sequence[Child]] = [
        (name, s.covered, s.total, f"{s.ratio:.1%}") for name, s in (coverage.shares() | fusions.labelled()).items()
    ]
    rows += [
        (f"Python lines of {name}", ran, of, f"{ran / max(of, 1):.1%}") for name, (ran, of) in (python or {}).items()
    ]
    return _table("Criteria", ("criterion", "covered", "of", "share"), rows)


def _operators(coverage: Coverage) -> Markup:
    """Each operator by the criteria that count it, the least covered first."""
    rows = sorted(coverage.by_operator().items(), key=lambda row: (_together(row[1]), row[0]))
    heads = ("operator", "input", "of", "parameter", "of", "share")
    cells = [(op, i.covered, i.total, p.covered, p.total, f"{_together((i, p)):.1%}") for op, (i, p) in rows]
    return _table("Operators by criteria", heads, cells)


def _table(label: str, heads: Sequence[str], rows: Sequence[Sequence[Child]]) -> Markup:
    head = element("thead", element("tr", *(element("th", text, scope="col") for text in heads)))
    body = element("tbody", *(element("tr", *(element("td", cell) for cell in row)) for row in rows))
    return element("div", element("table", head, body), class_="scroll", tabindex="0", role="region", aria_label=label)


def _together(shares: tuple[Share, Share]) -> float:
    """What part of both is covered."""
    return sum(share.covered for share in shares) / max(1, sum(share.total for share in shares))


def _models(count: float) -> str:
    return f"{count:.0f} models"
