"""The parts of pages: escaping, blocks that repeat, models as graphs, values, and curves."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import numpy as np
import onnx.parser
import pytest
from onnx import TensorProto, helper

from irfuzz.report.pages.html_elements import Markup, element, json_block, together
from irfuzz.report.pages.line_charts import Curve, duration_text, line_chart, number_text
from irfuzz.report.pages.markdown_text import rendered
from irfuzz.report.pages.page_frame import LICENCES, SCRIPT, STYLE, PageAssets, asset, page
from irfuzz.report.pages.program_graph import NodeMark, graph_data
from irfuzz.report.pages.repeated_blocks import LEAST, MOST, RepeatedBlock, repeated_blocks
from irfuzz.report.pages.value_pictures import TABLE, BothSides, value_section
from tests.report.pages.conftest import HOSTILE, layers

pytestmark = pytest.mark.unit


def test_text_is_escaped_and_markup_is_not() -> None:
    made = element("p", "<b>", Markup("<i>x</i>"), None, [1, "&"], title='"', class_="a", hidden=True, id=None)
    assert made == '<p title="&quot;" class="a" hidden>&lt;b&gt;<i>x</i>1&amp;</p>'
    assert together("\u202e\x1b[2J") == "\\x202e\\x1b[2J"
    assert element("img", src="x") == '<img src="x">'


def test_no_data_ends_its_block() -> None:
    block = json_block("d", {"name": HOSTILE})
    inside = block.removeprefix('<script type="application/json" id="d">').removesuffix("</script>")
    assert "<" not in inside
    assert json.loads(inside) == {"name": HOSTILE}


def test_html_in_a_report_is_text_and_its_links_are_addresses() -> None:
    html = rendered(
        f"# T\n\n{HOSTILE}\n\n[a](javascript:alert(1)) [b](https://onnx.ai)\n\n| a |\n|---|\n| `b` |\n\n```\n<x>\n```"
    )
    assert "<script" not in html
    assert "<img" not in html
    assert 'href="javascript' not in html
    assert '<a href="https://onnx.ai">b</a>' in html
    assert "<h2>T</h2>" in html
    assert "<td><code>b</code></td>" in html


@pytest.mark.parametrize(
    ("kinds", "found"),
    [
        ("abcabcabc", [RepeatedBlock(0, 3, 3)]),
        ("xabcdabcdy", [RepeatedBlock(1, 4, 2)]),
        ("ababab", []),  # a block of two is shorter than LEAST, and one of four does not repeat
        ("abababab", [RepeatedBlock(0, 4, 2)]),
        ("aaaaaaaa", []),
        ("abcd", []),
        ("abcabcXdefgdefgdefg", [RepeatedBlock(0, 3, 2), RepeatedBlock(7, 4, 3)]),
    ],
)
def test_blocks_that_repeat(kinds: str, found: list[RepeatedBlock]) -> None:
    assert LEAST == 3
    assert repeated_blocks(kinds) == found


def test_a_block_is_not_longer_than_people_read() -> None:
    longest = [str(n) for n in range(MOST)]
    assert repeated_blocks(longest * 2) == [RepeatedBlock(0, MOST, 2)]
    assert repeated_blocks([*longest, "x"] * 2) == []


def test_constants_are_folded_into_their_readers() -> None:
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[2,3] x) => (float[2,3] y)
        <float[1] w = {2.5}> { c = Constant <value_float = 3.0> () m = Mul(x, w) y = Add(m, c) }"""
    graph = graph_data(onnx.parser.parse_model(text), {"m": NodeMark("blamed", "here")})
    main = graph["graphs"][0]
    assert [node["op"] for node in main["nodes"]] == ["Mul", "Add"]
    assert main["nodes"][0]["consts"] == [["B", "float32[1] = 2.5", "w"]]
    assert main["nodes"][0]["in"] == [[-1, 0, "A"]]
    assert main["nodes"][1]["consts"] == [["B", "3", "c"]]
    assert main["values"][0] == ["x", "float32[2, 3]"]
    assert main["nodes"][0]["mark"] == ["blamed", "here"]
    assert graph["focus"] == [0, 0]


def test_bodies_and_what_they_read_from_outside() -> None:
    text = """<ir_version: 8, opset_import: ["": 17]> g (bool c, float[2] x) => (float[2] y) {
        y = If (c) <then_branch = t () => (float[2] a) { a = Neg(x) },
                    else_branch = e () => (float[2] b) { b = Abs(x) }> }"""
    main, then, other = graph_data(onnx.parser.parse_model(text))["graphs"]
    assert main["nodes"][0]["bodies"] == [["then_branch", 1], ["else_branch", 2]]
    assert [body["nodes"][0]["op"] for body in (then, other)] == ["Neg", "Abs"]
    assert then["nodes"][0]["in"][0][0] is None


def test_a_model_that_is_not_valid_is_drawn_with_what_it_declares() -> None:
    graph = helper.make_graph(
        [helper.make_node("NoSuch", ["x", "nobody"], [HOSTILE], domain="own")], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", None])], [],
    )  # fmt: skip
    main = graph_data(helper.make_model(graph, opset_imports=[helper.make_opsetid("own", 1)]))["graphs"][0]
    assert main["nodes"][0]["in"] == [[-1, 0, "0"], [None, 1, "1"]]
    assert main["values"][0] == ["x", "float32[n, ?]"]
    assert "\u202e" not in json.dumps(main, ensure_ascii=False)


def test_layers_are_blocks() -> None:
    assert graph_data(layers(12))["graphs"][0]["blocks"] == [[0, 14, 12]]


def _text(sides: BothSides) -> str:
    return re.sub(r"<[^>]+>", " ", value_section(sides))


def test_values_and_what_is_beyond_the_bound() -> None:
    got = np.array([[1.0, 2.0, np.nan], [4.0, 5.5, 6.0]], np.float32)
    expected = np.array([[1.0, 2.1, 3.0], [4.0, 5.0, 6.0]], np.float32)
    html = value_section(BothSides("y", got, expected, "a<b", "c", bound=0.2))
    assert html.count("data:image/png;base64,") == 3
    assert html.count('class="wrong"') == 2  # 0.5 and the NaN, but not 0.1
    assert "a&lt;b" in html
    assert "a<b" not in html
    assert "2 of 6" in _text(BothSides("y", got, expected, "a", "c", bound=0.2)).replace("\n", " ").replace("  ", " ")


def test_the_picture_is_one(tmp_path: Any) -> None:
    from irfuzz.report.pages.value_pictures import _colours, _png

    cells = np.array([[0.0, 1.0], [np.inf, 0.5]])
    data = _png(_colours(cells, 0.0, 1.0))
    image = pytest.importorskip("PIL.Image").open(io.BytesIO(data))
    assert image.size == (2, 2)
    assert [image.getpixel(at) for at in ((0, 0), (1, 0), (0, 1))] == [(68, 1, 84), (253, 231, 37), (214, 39, 119)]


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (np.zeros(3, np.int64), np.zeros((1, 3), np.int32)),
        (np.array(["a", "<b>"], object), np.array(["a", "c"], object)),
        (np.array(1.5, np.float64), np.array(2, np.int8)),
        (np.zeros((0, 2), np.float32), np.zeros((0, 2), np.float32)),
        (np.array([True, False]), np.array([True, True])),
        (np.array([1 + 2j]), np.array([1 - 2j])),
        (np.zeros(TABLE + 1), np.ones(TABLE + 1)),
        (np.full((500, 700), np.nan), np.zeros((500, 700))),
    ],
)
def test_any_values_can_be_shown(got: np.ndarray, expected: np.ndarray) -> None:
    assert "<b>&" not in value_section(BothSides("y", got, expected, "a", "b"))


@pytest.mark.parametrize(
    ("number", "share", "text"),
    [(0, False, "0"), (9999, False, "9,999"), (10000, False, "10k"), (999_499, False, "999k"), (999_500, False, "1M"),
     (0.125, True, "12.5%"), (1.5, False, "1.5")],
)  # fmt: skip
def test_numbers_for_people(number: float, share: bool, text: str) -> None:
    assert number_text(number, share=share) == text


@pytest.mark.parametrize(("seconds", "text"), [(119.4, "119 s"), (120, "2 min"), (7200, "2 h"), (172800, "2 d")])
def test_times_for_people(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_a_curve_ends_where_its_figure_says() -> None:
    chart = line_chart("Findings", [Curve("a", [(0, 0), (10, 4)]), Curve("empty", [])], steps=True)
    assert "At the end a: 4" in chart
    assert 'd="M46.0 148.0 H330.0 L330.0 10.0' in chart
    assert "nothing yet" in line_chart("Findings", [])


def test_a_page_alone_holds_its_script_and_allows_no_other() -> None:
    text = page("t", element("p", "x"), assets=PageAssets())
    assert asset(SCRIPT) in text
    assert asset(STYLE) in text
    assert "default-src 'none'" in text
    assert "script-src 'sha256-" in text
    assert "unsafe-inline'; script" in text
    assert "</script" not in asset(SCRIPT)
    assert "</style" not in asset(STYLE)
    assert "dagre" in asset(LICENCES)
    assert re.findall(r"""(?:src|href)=["']?https?:""", text) == []


def test_only_a_running_campaign_is_loaded_again() -> None:
    assert 'http-equiv="refresh"' in page("t", assets=PageAssets("a/"), refresh=True)
    assert 'http-equiv="refresh"' not in page("t", assets=PageAssets("a/"))
