"""The page of coverage: operators with what is covered of each, what feeds what, and where the curves run."""

from __future__ import annotations

import re

import onnx
import pytest

from irfuzz.ir.program import Program
from irfuzz.report.command_reports.coverage_page import LEGEND, as_html, operator_graph
from irfuzz.search.coverage.coverable_call_space import SCHEMA, load
from irfuzz.search.coverage.fusion_coverage import Fusions
from irfuzz.search.coverage.operator_call_coverage import CRITERIA, Coverage

pytestmark = pytest.mark.unit

TEXT = """<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x) => (float[2, 3] y)
{ a = Relu (x) b = Softmax <axis = 0> (a) c = Relu (b) y = Add (c, b) }"""


@pytest.fixture(scope="module")
def coverage() -> Coverage:
    found = Coverage(load(17))
    found.add(Program.from_proto(onnx.parser.parse_model(TEXT)))
    return found


def page(coverage: Coverage, *values: float, times: list[float] | None = None) -> str:
    curve: list[tuple[str, dict[str, float]]] = [
        (f"m<{n}>", dict.fromkeys(CRITERIA, value)) for n, value in enumerate(values)
    ]
    return as_html(coverage, curve, Fusions(), {"<onnx>": (3, 4), "b": (0, 0)}, times)


def test_operators_are_nodes_and_what_feeds_them_edges(coverage: Coverage) -> None:
    data = operator_graph(coverage)
    nodes = {node["op"]: node for node in data["graphs"][0]["nodes"]}
    assert sorted(nodes) == ["Add", "Relu", "Softmax"]
    names = [value for value, _ in data["graphs"][0]["values"]]
    fed = {op: sorted(names[maker] for maker, _, _ in node["in"]) for op, node in nodes.items()}
    assert fed == {"Add": ["Relu", "Softmax"], "Relu": ["Softmax"], "Softmax": ["Relu"]}, (
        "what goes round is drawn, too"
    )
    inputs, parameters = coverage.by_operator()["Softmax"]
    assert nodes["Softmax"]["attrs"] == [
        ["input", f"{inputs.covered} of {inputs.total}"], ["parameter", f"1 of {parameters.total}"],
        ["sequence", f"1 of {coverage.feeding()['Softmax'][1]}"],
    ]  # fmt: skip
    assert nodes["Relu"]["group"] == "activation"


def test_of_many_that_feed_one_those_are_drawn_that_feed_few_others() -> None:
    named = {
        "input": [[op, "rank", 1] for op in ("Abs", "Add", "Neg", "Relu")],
        "parameter": [],
        "sequence": [["Abs", "Add"], ["Neg", "Add"], ["Relu", "Add"], ["Abs", "Neg"], ["Sin", "Neg"]],
    }
    found = Coverage(load(17))
    found.absorb({"schema": SCHEMA, "opset": 17, "programs": 1, "named": named, "several": []})
    graph = operator_graph(found)["graphs"][0]
    names = [value for value, _ in graph["values"]]
    nodes = {node["op"]: node for node in graph["nodes"]}
    assert [names[maker] for maker, _, _ in nodes["Add"]["in"]] == ["Neg", "Relu"]
    assert nodes["Add"]["attrs"][2] == ["sequence", f"3 of {found.feeding()['Add'][1]}"]
    assert [names[maker] for maker, _, _ in nodes["Neg"]["in"]] == ["Abs"], "Sin stands in no model by itself"


def test_the_least_covered_is_marked_and_shown_first(coverage: Coverage) -> None:
    data = operator_graph(coverage)
    nodes = data["graphs"][0]["nodes"]
    shares = {op: (i.covered + p.covered) / (i.total + p.total) for op, (i, p) in coverage.by_operator().items()}
    worst = min(("Add", "Relu", "Softmax"), key=lambda op: (shares[op], op))
    assert [node["op"] for node in nodes if node["mark"][0] == "warning"] == [worst]
    assert nodes[data["focus"][1]]["op"] == worst
    assert {node["mark"][1] for node in nodes} == {f"{shares[op]:.0%}" for op in ("Add", "Relu", "Softmax")}
    assert operator_graph(Coverage(load(17)))["focus"] is None


def test_the_curves_run_over_models_or_over_time(coverage: Coverage) -> None:
    told = page(coverage, 0.1, 0.2, 0.2)
    assert 'aria-label="Share over 3 models. At the end input: 20%; parameter: 20%; sequence: 20%"' in told
    assert "In this order: m&lt;0&gt; to m&lt;2&gt;." in told
    assert re.findall(r">(\d[^<]* models)</text>", told) == ["0 models", "2 models", "3 models"]
    told = page(coverage, 0.1, 0.2, times=[30.0, 7200.0])
    assert 'aria-label="Share over 2 h. At the end' in told
    assert told.count('<path d="M') == len(CRITERIA)
    assert "At the end nothing yet" in page(coverage)


def test_the_tables_and_the_graph_stand_in_one_page(coverage: Coverage) -> None:
    told = page(coverage, 0.1)
    share = coverage.shares()["input"]
    assert f"<tr><td>input</td><td>{share.covered}</td><td>{share.total}</td><td>{share.ratio:.1%}</td></tr>" in told
    assert "<tr><td>Python lines of &lt;onnx&gt;</td><td>3</td><td>4</td><td>75.0%</td></tr>" in told
    assert "<tr><td>Python lines of b</td><td>0</td><td>0</td><td>0.0%</td></tr>" in told
    assert "<tr><td>near pattern</td>" in told
    rows = re.findall(r"<tr><td>(\w+)</td>(?:<td>\d+</td>){4}<td>([\d.]+)%</td></tr>", told)
    assert [float(part) for _, part in rows] == sorted(float(part) for _, part in rows)
    assert len(rows) == len(coverage.by_operator())
    assert LEGEND in told
    assert told.startswith("<!doctype html>")
    assert 'data-graph="operators-data"' in told
