"""Pages as people open them: in Chromium, at two sizes, with hostile names, many findings and large models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from irfuzz.report.command_reports.coverage_page import as_html
from irfuzz.report.command_reports.finding_list import ListedFinding, entries
from irfuzz.report.finding_folder_writer import write_bundle
from irfuzz.report.pages.html_elements import element
from irfuzz.report.pages.index_page import CampaignSummary, TargetTally, index_page
from irfuzz.report.pages.line_charts import Curve
from irfuzz.report.pages.page_frame import PageAssets, page
from irfuzz.report.pages.program_graph import NodeMark, graph_data, graph_view
from irfuzz.report.pages.site_files import INDEX, write_finding_page, write_site
from irfuzz.search.coverage.coverable_call_space import SCHEMA, load
from irfuzz.search.coverage.fusion_coverage import Fusions
from irfuzz.search.coverage.operator_call_coverage import CRITERIA, Coverage
from irfuzz.store.finding_sightings import Sightings
from tests.report.pages.conftest import HOSTILE, SIZES, finding, layers, tangle

SECONDS = 2.0
"""What opening a page may take."""

Open = Callable[..., Any]

SUMMARY = CampaignSummary(
    "nightly", seconds=3600, programs=120_000, corpus=900,
    programs_curve=[(0, 0), (1800, 70_000), (3600, 120_000)],
    passes_curve=[(10, 3), (700, 41), (3000, 57)],
    coverage_curves=[Curve("input", [(0, 0.2), (3600, 0.8)]), Curve("sequence", [(0, 0.0), (3600, 0.3)])],
    findings_curves=[Curve("findings", [(0, 0), (900, 3), (3600, 12)])],
    targets=[
        TargetTally("onnxruntime:all", "1.32.0", 110_000, 9_000, 12, 9),
        TargetTally("reference", "1.23.2", 119_000, 1_000),
        TargetTally("tensorflow:xla", absent="not installed"),
    ],
)  # fmt: skip


@pytest.fixture
def opened(browser: Any) -> Any:
    """Opens a page and returns it with what it complained of and the seconds of work that opening it took."""
    contexts = []

    def open_page(path: Path, size: tuple[int, int] = SIZES[0], **options: Any) -> Any:
        context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **options)
        contexts.append(context)
        tab = context.new_page()
        complaints: list[str] = []
        tab.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("request", lambda request: complaints.append(request.url) if request.url.startswith("http") else None)
        meter = context.new_cdp_session(tab)
        # The processor's time of the page: other tests run beside this one.
        meter.send("Performance.enable", {"timeDomain": "threadTicks"})
        tab.goto(path.as_uri())
        told = {m["name"]: m["value"] for m in meter.send("Performance.getMetrics")["metrics"]}
        return tab, complaints, told["TaskDuration"]

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of three findings, one of them with names that are code."""
    campaign = tmp_path_factory.mktemp("campaign")
    names = ("y", HOSTILE, "known")
    for number, name in enumerate(names, 1):
        folder = campaign / "findings" / f"{number:04d}-difference-onnxruntime-all"
        write_bundle(folder, finding(name))
        about = json.loads((folder / "finding.json").read_text())
        about |= {"label": name} if name == HOSTILE else {}
        about |= {"known": [{"id": "009", "title": HOSTILE, "link": "javascript:alert(1)"}]} if name == "known" else {}
        (folder / "finding.json").write_text(json.dumps(about))
    out = tmp_path_factory.mktemp("site")
    write_site(out, SUMMARY, entries([campaign]))
    return out


def _pages(site: Path) -> dict[str, Path]:
    found = sorted(site.glob("findings/*/index.html"))
    return {"campaign": site / INDEX, "finding": found[0], "hostile": found[1]}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["campaign", "finding", "hostile"])
def test_pages_open_without_complaint_and_fit(
    site: Path, opened: Open, screenshots: Path, name: str, size: tuple[int, int]
) -> None:
    tab, complaints, _ = opened(_pages(site)[name], size)
    assert complaints == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= size[0]
    tab.screenshot(path=screenshots / f"{name}-{size[0]}.png", full_page=True)


@pytest.mark.parametrize("name", ["campaign", "finding"])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_no_serious_violation_of_accessibility(site: Path, opened: Open, axe: str, name: str, colours: str) -> None:
    tab, _, _ = opened(_pages(site)[name], color_scheme=colours)
    tab.evaluate(axe)
    found = tab.evaluate("axe.run()")["violations"]
    assert [
        (v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in found if v["impact"] in ("serious", "critical")
    ] == []


@pytest.mark.parametrize("name", ["campaign", "hostile"])
def test_names_do_nothing_even_if_pages_had_no_policy(site: Path, opened: Open, name: str) -> None:
    tab, _, _ = opened(_pages(site)[name], bypass_csp=True)
    if name == "hostile":
        tab.locator(".graph input").fill("script")
        tab.locator(".graph-found button").first.click()
    assert tab.evaluate("window.hacked") is None
    assert tab.locator("img[src=x]").count() == 0
    assert tab.locator("a[href^=javascript]").count() == 0


def test_pages_can_be_read_without_a_script(site: Path, opened: Open) -> None:
    tab, _, _ = opened(_pages(site)["finding"], java_script_enabled=False)
    text = tab.content()
    assert "0: Conv(x) -&gt; y_c float32" in text
    assert "largest difference" in text
    assert 'class="copy" hidden' in text


def test_the_page_in_a_findings_folder_needs_no_other_file(tmp_path: Path, opened: Open) -> None:
    write_bundle(tmp_path / "f", finding())
    made = write_finding_page(entries([tmp_path / "f"])[0])
    alone = made.rename(tmp_path / "alone.html")
    tab, complaints, _ = opened(alone)
    assert complaints == []
    assert tab.locator("svg.canvas .node.blamed").count() == 1


def test_a_script_is_copied_and_the_list_filtered(site: Path, opened: Open) -> None:
    tab, _, _ = opened(_pages(site)["finding"])
    tab.locator("button.copy").click()
    assert tab.locator("button.copy").text_content() in ("Copied", "Select and copy")
    tab, _, _ = opened(_pages(site)["campaign"])
    tab.get_by_role("button", name="labelled").click()
    assert tab.locator(".findings tbody:visible").count() == 1
    tab.get_by_role("button", name="all").click()
    tab.locator("input[data-filter]").fill("no such thing")
    assert tab.locator(".findings tbody:visible").count() == 0


def test_a_thousand_findings_open_within_two_seconds(tmp_path: Path, opened: Open, screenshots: Path) -> None:
    found = [
        ListedFinding(
            Path(f"findings/{n:04d}"),
            {"title": f"onnxruntime:all gives {n} instead of {n + 1} in Relu", "symptom": "difference",
             "target": "onnxruntime:all", "versions": {"onnxruntime:all": "1.32.0"}},
            Sightings(n % 7 + 1, 1.79e9 + n, 1.79e9 + 60 * n),
        )
        for n in range(1000)
    ]  # fmt: skip
    path = tmp_path / INDEX
    path.write_text(index_page(SUMMARY, found, {str(e.folder): f"{e.folder}/{INDEX}" for e in found}, PageAssets()))
    tab, complaints, seconds = opened(path)
    assert complaints == []
    assert tab.locator(".findings tbody").count() == 1000
    tab.screenshot(path=screenshots / "thousand-1440.png")
    assert seconds < SECONDS


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("name", "blamed"), [("layers", "p170"), ("tangle", "v2500")])
def test_five_thousand_nodes_open_within_two_seconds_at_the_node_at_fault(
    large: dict[str, Path], opened: Open, screenshots: Path, name: str, blamed: str, size: tuple[int, int]
) -> None:
    tab, complaints, seconds = opened(large[name], size)
    assert complaints == []
    box, view = (tab.locator(one).first.bounding_box() for one in (".node.blamed > .box", "svg.canvas"))
    assert view["x"] <= box["x"] <= view["x"] + view["width"] - box["width"]
    assert view["y"] <= box["y"] <= view["y"] + view["height"] - box["height"]
    assert view["y"] + view["height"] / 2 < size[1]
    tab.screenshot(path=screenshots / f"{name}-{size[0]}.png")
    assert seconds < SECONDS
    assert blamed in tab.locator(".graph-panel").text_content()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages of two models of 5,000 nodes: 357 layers of 14, and one in which nothing repeats."""
    folder = tmp_path_factory.mktemp("large")
    made: dict[str, Path] = {}
    for name, model, blamed in (("layers", layers(357), "p170"), ("tangle", tangle(5000), "v2500")):
        view = graph_view("graph", graph_data(model, {blamed: NodeMark("blamed", "at fault")}), name)
        made[name] = folder / f"{name}.html"
        made[name].write_text(page(name, element("section", view), assets=PageAssets()))
    return made


def test_blocks_and_neighbourhoods_open_on_demand(large: dict[str, Path], opened: Open) -> None:
    tab, complaints, _ = opened(large["layers"])
    nodes = tab.locator("svg.canvas .node")
    before = nodes.count()
    tab.get_by_role("button", name="Collapse all repeated blocks").click()
    assert nodes.count() < before
    tab.locator("svg.canvas .node.block").first.focus()
    tab.keyboard.press("Enter")
    assert nodes.count() >= before
    tab, complaints, _ = opened(large["tangle"])
    before = nodes.count()
    tab.locator("input[aria-label^=Find]").fill("n4321")
    tab.locator(".graph-found button").first.click()
    assert "n4321" in tab.locator(".graph-panel").text_content()
    assert complaints == []


@pytest.mark.parametrize("size", SIZES)
def test_the_page_of_coverage_draws_what_every_operator_covers(
    tmp_path: Path, opened: Open, axe: str, screenshots: Path, size: tuple[int, int]
) -> None:
    space = load(17)
    coverage = Coverage(space)
    ranks = [[op, "rank", rank] for op, one in space.operators.items() for rank in sorted(one.ranks)[: len(op) % 3 + 1]]
    pairs = [list(pair) for pair in sorted(space.sequences)[::7]]
    named = {"input": ranks, "parameter": [], "sequence": pairs}
    coverage.absorb({"schema": SCHEMA, "opset": 17, "programs": 90, "named": named, "several": []})
    path = tmp_path / "coverage.html"
    curve: list[tuple[str, dict[str, float]]] = [(f"{n}.onnx", dict.fromkeys(CRITERIA, n / 200)) for n in range(1, 91)]
    path.write_text(as_html(coverage, curve, Fusions()))
    tab, complaints, seconds = opened(path, size)
    assert complaints == []
    assert seconds < SECONDS
    assert tab.evaluate("document.documentElement.scrollWidth") <= size[0]
    worst = tab.locator("svg.canvas .node.warning.chosen > .box").bounding_box()
    view = tab.locator("svg.canvas").bounding_box()
    assert view["x"] <= worst["x"] <= view["x"] + view["width"]
    assert view["y"] <= worst["y"] <= view["y"] + view["height"]
    tab.screenshot(path=screenshots / f"coverage-{size[0]}.png", full_page=True)
    tab.evaluate(axe)
    found = tab.evaluate("axe.run()")["violations"]
    assert [(v["id"], v["nodes"][0]["html"][:200]) for v in found if v["impact"] in ("serious", "critical")] == []
