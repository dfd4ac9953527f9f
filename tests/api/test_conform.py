"""``irfuzz.conform``: each kind of end is counted as what it is, results are kept, and what is missing is run."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import irfuzz
from irfuzz.api.conform import ConformReport
from irfuzz.conformance.result_folder import read_results

pytestmark = pytest.mark.backend

PLANTED = Path(__file__).parents[1] / "planted_targets" / "conforming.py"

BUGS = Path(__file__).parents[2] / "docs" / "bugs"


@pytest.fixture(scope="module")
def report() -> ConformReport:
    names = [f"{PLANTED}:{name}" for name in ("Right", "Wrong", "Dies", "DiesOnce", "Hangs", "Refuses")]
    return irfuzz.conform([*names, "onnxruntime:all"], cases=["node"], ops=["Neg", "Relu"], timeout=3)


def test_every_end_is_counted_as_what_it_is(report: ConformReport) -> None:
    found = {one.target.rpartition(":")[2]: one.by_operator() for one in report.targets}
    assert {name: [*map(str, counts["Neg"])] for name, counts in found.items()} == {
        "Right": ["right"], "Wrong": ["wrong"], "Dies": ["dies"], "DiesOnce": ["right"], "Hangs": ["hangs"],
        "Refuses": ["refuses"], "all": ["right"],
    }  # fmt: skip
    assert {str(status) for counts in found.values() for status in counts["Relu"]} == {"right"}
    assert report.faults == sum(
        counts["Neg"].total() for name, counts in found.items() if name in ("Wrong", "Dies", "Hangs")
    )
    assert not report.left_out
    assert any(name.startswith("reference ") for name in report.witnesses)


def test_the_tables_say_the_same(report: ConformReport) -> None:
    text = str(report)
    assert text.splitlines()[0].split() == [
        "target", "cases", "right", "wrong", "dies", "hangs", "refuses", "undecided"
    ]  # fmt: skip
    assert "wrong: node/neg: difference" in text
    suites = ET.fromstring(report.to_junit())
    assert (suites.get("failures"), suites.get("skipped")) == (str(report.faults), "2")
    assert len(suites.findall(".//failure")) == report.faults
    page = report.to_html()
    assert page.count("<h2>") == 1 + len(report.targets)
    assert "node/neg_example" in page
    assert json.loads(json.dumps(report.to_json()))["targets"][1]["counts"]["wrong"] == 2


def test_what_is_kept_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"cases": ["node"], "ops": ["Neg"], "out": tmp_path}
    first = irfuzz.conform(["onnxruntime:all"], sample=1, **said)
    assert [(len(one.outcomes), one.coverage_note()) for one in first.targets] == [(1, "sample, 1 cases")]
    ran: list[int] = []
    run_all = irfuzz.Runner.run_all
    monkeypatch.setattr(irfuzz.Runner, "run_all", lambda self, tasks: ran.append(len(tasks)) or run_all(self, tasks))
    whole = irfuzz.conform(["onnxruntime:all"], **said)
    assert sum(ran) == len(whole.targets[0].outcomes) - 1
    assert irfuzz.conform(["onnxruntime:all"], **said).targets == whole.targets
    assert sum(ran) == len(whole.targets[0].outcomes) - 1
    assert read_results(tmp_path) == list(whole.targets)


def test_no_case_is_begun_when_the_time_is_up() -> None:
    report = irfuzz.conform(["onnxruntime:all"], cases=["bug"], ops=["Shrink"], seconds=0)
    (one,) = report.targets
    assert one.outcomes == ()
    assert one.of == sum(b"Shrink" in path.read_bytes() for path in BUGS.glob("*/model.onnx"))


@pytest.mark.unit
@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"cases": ["nodes"]}, "cases: expected some of node, bug, seed, drawn, got nodes"),
        ({"sample": 0}, "sample: expected at least 1, got 0"),
        ({"ops": ["Nix"], "cases": ["bug"]}, "ops: no case is about Nix"),
    ],
)
def test_what_is_wrong_is_named(more: dict[str, object], told: str) -> None:
    with pytest.raises(irfuzz.UsageError) as error:
        irfuzz.conform(["reference"], **more)  # type: ignore[arg-type]
    assert str(error.value).startswith(told)
