"""The page of a check: names are escaped, and every layer stands below those that feed it."""

from __future__ import annotations

import re

import pytest

from irfuzz.execute.run_types import Target
from irfuzz.localize.check_result import CheckResult, Located
from irfuzz.localize.nodes.localization_map import LocalizationMap, MapLayer
from irfuzz.localize.nodes.single_node_replay import Replayed, ReplayOutcome
from irfuzz.report.command_reports.check_page import LEGEND, as_html

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
    assert "<h1>&lt;m&gt;: targets agree</h1>\n<pre>&lt;m&gt;: 2 targets agree exactly on 1 input\n" in told
    assert "<h2>b&lt; against a, input 3</h2>\n<p>No map: why &amp; not</p>\n<table>" in told
    assert LEGEND not in told
    assert "targets disagree</title>" in page(mapped=False, broken=True)


def test_layers_stand_below_what_feeds_them() -> None:
    layers = (layer("a"), layer("b"), layer("c", "a", "b"), layer("d", "a", "c", highlighted=True, place="loop/<d>"))
    differs = tuple(Replayed(0, 1, name, "Relu", ReplayOutcome.DIFFERS) for name in ("c",))
    agrees = Replayed(0, 1, "a", "Relu", ReplayOutcome.AGREES)
    told = page(*layers, replayed=(*differs, agrees))
    assert LEGEND in told
    assert '<svg viewBox="0 0 420 228" width="420" height="228" role="img">' in told
    boxes = re.findall(
        r'<g><title>(.*?)</title><rect x="(\d+)" y="(\d+)" width="190" height="46" rx="5" fill="(.*?)" (.*?)/>', told
    )
    plain, red = 'stroke="#777"', 'stroke="#c62828" stroke-width="3"'
    assert boxes == [
        ("a", "4", "4", "#eef2f5", plain),
        ("b", "210", "4", "#eef2f5", plain),
        ("c", "4", "80", "#eef2f5", red),
        ("loop/&lt;d&gt;", "4", "156", "#ffb74d", plain),
    ]
    assert re.findall(r'<text x="(\d+)" y="(\d+)"', told)[:4] == [
        ("10", "21"),
        ("10", "39"),
        ("216", "21"),
        ("216", "39"),
    ]
    assert re.findall(r'<line x1="(.*?)" y1="(.*?)" x2="(.*?)" y2="(.*?)"', told) == [
        ("99.0", "50", "99.0", "80"),
        ("305.0", "50", "99.0", "80"),
        ("99.0", "50", "99.0", "156"),
        ("99.0", "126", "99.0", "156"),
    ]
    assert "delta 0.25, R 2.5</text>" in told


def test_a_long_operator_is_cut_and_a_map_without_layers_has_a_width() -> None:
    assert f">{'O' * 26}</text>" in page(layer("a", op="O" * 30))
    assert '<svg viewBox="0 0 214 0" width="214" height="0"' in page()


def test_the_replays_stand_in_a_table() -> None:
    rows = (
        Replayed(0, 1, "n", "Conv", ReplayOutcome.DIFFERS, 2.5, 0.5, 0.25, "at <0>", place="p"),
        Replayed(1, 2, "k", "Add", ReplayOutcome.AGREES),
    )
    told = page(replayed=rows)
    assert "<tr><td>p</td><td>Conv</td><td>differs</td><td>2.5</td><td>0.5</td><td>at &lt;0&gt;</td></tr>\n" in told
    assert "<tr><td>k</td><td>Add</td><td>agrees</td><td>0</td><td>0</td><td></td></tr>\n</table>" in told
