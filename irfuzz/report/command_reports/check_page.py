"""The page of a check: the verdict, the localisation maps as graphs, and the replays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irfuzz.localize.check_result import CheckResult, Located
from irfuzz.localize.nodes.localization_map import LocalizationMap
from irfuzz.localize.nodes.single_node_replay import Replayed
from irfuzz.report.command_reports.check_text import as_text
from irfuzz.report.pages.html_elements import Markup, element, shown
from irfuzz.report.pages.page_frame import PageAssets, page
from irfuzz.report.pages.program_graph import colour_group, graph_view
from irfuzz.report.pages.repeated_blocks import repeated_blocks

LEGEND = element(
    "p",
    "Each box is a node with the mean absolute difference of its outputs (delta) and the rate at which it adds to what "
    "its inputs bring (R). Marked yellow: R above the third quartile. Marked red: it differs alone, fed with the other "
    "target's inputs.",
    class_="note",
)


def as_html(report: CheckResult, model: str) -> str:
    """One page with the verdict, the maps as graphs and the replays, that needs nothing else.

    Args:
        report: of the check.
        model: its name, which stands in the title; it is escaped, as are all names.
    """
    title = f"{model}: targets {'agree' if report.agree else 'disagree'}"
    verdict = element("pre", as_text(report, model), tabindex="0")
    head = element("section", element("h1", title), verdict, class_="lead")
    located = [_located(found, place) for place, found in enumerate(report.located)]
    return page(title, head, *located, assets=PageAssets())


def _located(found: Located, place: int) -> Markup:
    """The node at which two targets part on one input."""
    heading = element("h2", f"{found.target} against {found.base}, input {found.sample}")
    if found.map is None:
        return element("section", heading, element("p", f"No map: {found.why_not}"), _replay_table(found.replayed))
    drawing = graph_view(f"map{place}", map_data(found.map, found.replayed), "The localisation map")
    return element("section", heading, LEGEND, drawing, _replay_table(found.replayed))


def map_data(made: LocalizationMap, replayed: Sequence[Replayed] = ()) -> dict[str, Any]:
    """A localisation map as data for the script (``program_graph.graph_data``).

    Args:
        made: its layers become nodes, and what feeds them edges.
        replayed: nodes that differ alone are marked as at fault, other highlighted ones with a warning.
    """
    faulty = {r.name for r in replayed if r.faulty}
    places = {layer.name: place for place, layer in enumerate(made.layers)}
    nodes: list[Mapping[str, Any]] = []
    for place, layer in enumerate(made.layers):
        node: dict[str, Any] = {
            "op": shown(layer.op),
            "group": colour_group(layer.op),
            "name": shown(layer.place or layer.name),
            "in": [[places[name], places[name], ""] for name in layer.inbound],
            "out": [place],
            "attrs": [["delta", f"{layer.delta:.3g}"], ["R", f"{layer.rate:.4g}"]],
        }
        if layer.name in faulty:
            node["mark"] = ["blamed", "differs alone"]
        elif layer.highlighted:
            node["mark"] = ["warning", "adds most"]
        nodes.append(node)
    marked = sorted((k for k, n in enumerate(nodes) if "mark" in n), key=lambda k: nodes[k]["mark"][0] != "blamed")
    values = [[shown(layer.name), ""] for layer in made.layers]
    blocks = [[b.start, b.length, b.times] for b in repeated_blocks([layer.op for layer in made.layers])]
    graph = {"name": "map", "nodes": nodes, "inputs": [], "outputs": [], "values": values, "blocks": blocks}
    return {"graphs": [graph], "focus": [0, marked[0]] if marked else None}


def _replay_table(replayed: Sequence[Replayed]) -> Markup:
    heads = ("node", "operator", "alone", "over bound", "largest difference", "where")
    rows = (
        element(
            "tr",
            *(
                element("td", text)
                for text in (r.place or r.name, r.op, str(r.outcome), f"{r.ratio:.3g}", f"{r.distance:.3g}", r.detail)
            ),
        )
        for r in replayed
    )
    head = element("thead", element("tr", *(element("th", text, scope="col") for text in heads)))
    table = element("table", head, element("tbody", *rows))
    return element("div", table, class_="scroll", tabindex="0", role="region", aria_label="Nodes that ran alone")
