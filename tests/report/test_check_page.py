"""The page of a check: names are escaped, and every layer is drawn with those that feed it."""

from __future__ import annotations

import pytest

from irfuzz.execute.run_types import Target
from irfuzz.localize.check_result import CheckResult, Located
from irfuzz.localize.nodes.localization_map import LocalizationMap, MapLayer
from irfuzz.localize.nodes.single_node_replay import Replayed, ReplayOutcome
from irfuzz.report.command_reports.check_page import LEGEND, as_html, map_data

pytestmark = pytest.mark.unit


def layer(name: str, *inbound: str, highlighted: bool = False, place: str = "", op: str = "Relu") -> MapLayer:
    return MapLayer(name, op, inbound, 0.25, 0.0, 2.5, highlighted, place)


def page(*layers: MapLayer, replayed: tuple[Replayed, ...] = (), mapped: bool = True, broken: bool = False) -> str:
    made = LocalizationMap(layers, 1.0, faithful=True) if mapped else None
    report = CheckResult(
        targets=(Target("a", "a"), Target("b", "b")), absent={}, samples=1, wanted=1, disagreements=(), divergences=(),
        inconsistencies=(), located=(Located("a", "b<", 3, made, replayed, "why & not"),), farthest={"b": 0.0},
        base="a", outputs={}, broken=("rule",) if broken else (),
    )  # fmt: skip
    return as_html(report, "<m>")


def test_the_page_says_who_agrees_and_where_no_map_is() -> None:
    told = page(mapped=False)
    assert "<title>&lt;m&gt;: targets agree</title>" in told
    assert '<h1>&lt;m&gt;: targets agree</h1><pre tabindex="0">&lt;m&gt;: 2 targets agree exactly on 1 input\n' in told
    assert "<h2>b&lt; against a, input 3</h2><p>No map: why &amp; not</p><div" in told
    assert LEGEND not in told
    assert "targets disagree</title>" in page(mapped=False, broken=True)


def test_layers_are_drawn_with_what_feeds_them_and_marked() -> None:
    layers = (layer("a"), layer("b"), layer("c", "a", "b"), layer("d", "a", "c", highlighted=True, place="loop/<d>"))
    made = LocalizationMap(layers, 1.0, faithful=True)
    differs = Replayed(0, 1, "c", "Relu", ReplayOutcome.DIFFERS)
    data = map_data(made, [differs, Replayed(0, 1, "a", "Relu", ReplayOutcome.AGREES)])
    nodes = data["graphs"][0]["nodes"]
    assert [[maker for maker, _, _ in node["in"]] for node in nodes] == [[], [], [0, 1], [0, 2]]
    assert [node.get("mark") for node in nodes] == [None, None, ["blamed", "differs alone"], ["warning", "adds most"]]
    assert nodes[3]["name"] == "loop/<d>"
    assert nodes[0]["attrs"] == [["delta", "0.25"], ["R", "2.5"]]
    assert data["focus"] == [0, 2]
    assert map_data(made)["focus"] == [0, 3]
    assert map_data(LocalizationMap((), 0.0, faithful=True))["focus"] is None
    told = page(*layers)
    assert LEGEND in told
    assert 'data-graph="map0-data"' in told
    assert "loop/<d>" not in told


def test_the_replays_stand_in_a_table() -> None:
    rows = (
        Replayed(0, 1, "n", "Conv", ReplayOutcome.DIFFERS, 2.5, 0.5, 0.25, "at <0>", place="p"),
        Replayed(1, 2, "k", "Add", ReplayOutcome.AGREES),
    )
    told = page(replayed=rows)
    assert "<tr><td>p</td><td>Conv</td><td>differs</td><td>2.5</td><td>0.5</td><td>at &lt;0&gt;</td></tr>" in told
    assert "<tr><td>k</td><td>Add</td><td>agrees</td><td>0</td><td>0</td><td></td></tr></tbody></table>" in told
