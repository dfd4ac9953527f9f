"""JUnit, SARIF, annotations and summaries of a campaign: whole, escaped, and the same from night to night."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from irfuzz.findings.disposition import DecidedFinding, Disposition, FailOn
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.report.ci_reports.build_result import BuildResult
from irfuzz.report.ci_reports.github import step_summary, workflow_commands
from irfuzz.report.ci_reports.junit import as_junit
from irfuzz.report.ci_reports.sarif import RULES, as_sarif

pytestmark = pytest.mark.unit

CASE = FailingCase(b"", b"")
NASTY = "50% | <b>`x`</b> & \x1b[31m\x00 \ud800 *a*, b: ]]>"


def row(number: int, disposition: Disposition, reason: str = "", *, fails: bool = False, **more: Any) -> DecidedFinding:
    verdict = Verdict(
        "o", Symptom.DIFFERENCE, more.pop("target", "onnxruntime:all"), suspect=more.pop("suspect", False)
    )
    finding = Finding(
        verdict, CASE, CASE, **{"signature": f"difference|t|{number}", "title": f"title {number}", **more}
    )
    kind = "suspects" if verdict.suspect else "findings"
    return DecidedFinding(finding, Path("out", kind, f"000{number}-difference"), disposition, reason, fails)


NEW = row(1, Disposition.NEW, fails=True)
KNOWN = row(2, Disposition.KNOWN, "009-one")
LISTED = row(3, Disposition.BASELINE, "ours")
DOUBTED = row(4, Disposition.NEW, suspect=True, fails=True)
ALL = BuildResult(
    Path("out"), FailOn.UNDECIDED, (NEW, KNOWN, LISTED, DOUBTED), "90 s, 12 programs", 90.0, {"reference": "1.23"}, 0, 7
)
HARMLESS = replace(ALL, rows=(replace(NEW, fails=False),), fail_on=FailOn.NEVER)


# ---- JUnit --------------------------------------------------------------------------------------


def cases(result: BuildResult) -> dict[str, ET.Element]:
    whole = ET.fromstring(as_junit(result).encode())
    (suite,) = whole.findall("testsuite")
    found = {str(case.get("name")): case for case in suite.findall("testcase")}
    for element in (whole, suite):
        assert element.get("tests") == str(len(found))
        assert element.get("failures") == str(sum(c.find("failure") is not None for c in found.values()))
        assert element.get("skipped") == str(sum(c.find("skipped") is not None for c in found.values()))
        assert element.get("errors") == str(sum(c.find("error") is not None for c in found.values()))
        assert element.get("time") == "90.000"
    return found


def test_junit_has_a_test_for_the_campaign_and_for_each_finding() -> None:
    found = cases(ALL)
    assert list(found) == ["campaign", "difference|t|1", "difference|t|2", "difference|t|3", "difference|t|4"]
    assert found["campaign"].findtext("system-out") == (
        "3 findings, 1 new, 1 undecided suspects (--fail-on undecided)\n90 s, 12 programs"
    )
    failure = found["difference|t|1"].find("failure")
    assert failure is not None
    assert (failure.get("message"), failure.get("type")) == ("title 1", "difference")
    assert "folder: findings/0001-difference\nreplay: python out/findings/0001-difference/repro.py" in str(failure.text)
    skipped = found["difference|t|2"].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "known: 009-one\ntitle 2"
    assert found["difference|t|1"].get("classname") == "onnxruntime"


def test_junit_of_nothing_passes_and_a_fault_of_irfuzz_is_an_error() -> None:
    assert list(cases(replace(ALL, rows=()))["campaign"]) != []
    broken = cases(replace(ALL, rows=(), internal_errors=2))["campaign"].find("error")
    assert broken is not None
    assert broken.get("message") == "irfuzz itself failed 2 times"


def test_junit_holds_whatever_a_component_says() -> None:
    nasty = row(1, Disposition.NEW, fails=True, title=NASTY, signature=NASTY, target=f"{NASTY}:x")
    (name,) = [name for name in cases(replace(ALL, rows=(nasty,))) if name != "campaign"]
    assert name == NASTY.replace("\x1b", "?").replace("\x00", "?").replace("\ud800", "?")


def test_names_of_tests_are_without_versions_and_each_stands_once() -> None:
    signature = "difference|onnxruntime@1.30.0:all|Relu|"
    alone = cases(replace(ALL, rows=(row(1, Disposition.NEW, signature=signature),)))
    assert list(alone) == ["campaign", "difference|onnxruntime:all|Relu|"]
    other = row(2, Disposition.NEW, signature=signature.replace("1.30.0", "1.31.1"))
    both = cases(replace(ALL, rows=(row(1, Disposition.NEW, signature=signature), other)))
    assert len(both) == 3


# ---- SARIF --------------------------------------------------------------------------------------


def test_sarif_has_what_its_schema_requires() -> None:
    log = json.loads(as_sarif(ALL))
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "irfuzz"
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(set(ids)) == len(ids)
    assert set(RULES) == set(Symptom), "each symptom is a rule"
    assert run["invocations"] == [{"executionSuccessful": True}]
    assert run["originalUriBaseIds"]["CAMPAIGN"]["uri"] == Path("out").resolve().as_uri() + "/"
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["message"]["text"]
        assert result["level"] in {"none", "note", "warning", "error"}
        assert result["baselineState"] in {"new", "unchanged", "updated", "absent"}
        for place in (*result["locations"], *result["relatedLocations"]):
            assert place["physicalLocation"]["artifactLocation"]["uriBaseId"] in run["originalUriBaseIds"]


def test_sarif_says_what_is_decided_and_where_the_model_is() -> None:
    results = json.loads(as_sarif(ALL))["runs"][0]["results"]
    assert [r["level"] for r in results] == ["error", "note", "note", "error"]
    assert [r["baselineState"] for r in results] == ["new", "unchanged", "unchanged", "new"]
    assert [[s["justification"] for s in r["suppressions"]] for r in results] == [
        [], ["known: 009-one"], ["baseline: ours"], []
    ]  # fmt: skip
    assert results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == (
        "findings/0001-difference/model.onnx"
    )
    assert json.loads(as_sarif(HARMLESS))["runs"][0]["results"][0]["level"] == "warning"
    any_one = replace(ALL, rows=(replace(KNOWN, fails=True),), fail_on=FailOn.ANY)
    (known,) = json.loads(as_sarif(any_one))["runs"][0]["results"]
    assert (known["level"], known["suppressions"]) == ("error", [])


def test_fingerprints_are_those_of_another_version_and_number() -> None:
    def fingerprints(*rows: DecidedFinding) -> list[str]:
        results = json.loads(as_sarif(replace(ALL, rows=rows)))["runs"][0]["results"]
        return [r["partialFingerprints"]["irfuzzSignature/v1"] for r in results]

    one = row(1, Disposition.NEW, signature="difference|onnxruntime@1.30.0:all|Relu|")
    same = row(7, Disposition.NEW, signature="difference|onnxruntime:all|Relu|", title="other words")
    first, second, third = fingerprints(one, same, NEW)
    assert first == second != third


def test_sarif_holds_whatever_a_component_says() -> None:
    nasty = row(1, Disposition.BASELINE, NASTY, title=NASTY, signature=NASTY, target=f"{NASTY}:x")
    text = as_sarif(replace(ALL, rows=(nasty,)))
    (result,) = json.loads(text)["runs"][0]["results"]
    assert result["message"]["text"].startswith(NASTY.replace("\ud800", "?"))
    assert "\\ud800" not in text


def test_commands_can_be_typed_whatever_folders_are_called() -> None:
    odd = replace(ALL, out=Path("my out"), rows=(replace(NEW, folder=Path("my out/findings/0001 $x")),))
    assert "replay: python 'my out/findings/0001 $x/repro.py'" in as_junit(odd)
    assert "Replay: python 'findings/0001 $x/repro.py'" in as_sarif(odd)
    assert "`irfuzz findings baseline 'my out' -o FILE`" in step_summary(odd)


# ---- GitHub -------------------------------------------------------------------------------------


def test_annotations_are_errors_for_what_fails_and_warnings_for_what_is_new() -> None:
    assert workflow_commands(ALL) == [
        "::error title=irfuzz%3A difference of onnxruntime%3Aall::title 1 (findings/0001-difference)",
        "::error title=irfuzz%3A difference of onnxruntime%3Aall::title 4 (suspects/0004-difference)",
    ]
    assert workflow_commands(HARMLESS) == [
        "::warning title=irfuzz%3A difference of onnxruntime%3Aall::title 1 (findings/0001-difference)"
    ]


def test_an_annotation_is_one_line_that_ends_no_property() -> None:
    nasty = row(1, Disposition.NEW, fails=True, title=f"{NASTY}\n::error::x", target="a,b%::c")
    (line,) = workflow_commands(replace(ALL, rows=(nasty,)))
    assert line.startswith("::error title=irfuzz%3A difference of a%2Cb%25%3A%3Ac::50%25 | <b>`x`</b> & ")
    assert "\n" not in line
    assert line.isprintable()


@pytest.mark.parametrize(("count", "shown"), [(10, 10), (11, 9)])
def test_of_many_annotations_the_last_says_how_many_are_left_out(count: int, shown: int) -> None:
    lines = workflow_commands(replace(ALL, rows=(NEW,) * count))
    assert len(lines) == 10
    assert sum("title 1" in line for line in lines) == shown
    assert (lines[-1] == "::error title=irfuzz::and 2 more in out") is (count == 11)


def test_the_summary_begins_with_what_fails() -> None:
    lines = step_summary(replace(ALL, rows=(KNOWN, LISTED, NEW, DOUBTED))).splitlines()
    assert lines[0] == "### irfuzz: 3 findings, 1 new, 1 undecided suspects (--fail-on undecided)"
    table = [line for line in lines if line.startswith("| ") and "Finding" not in line]
    assert table == [
        "| fails | title 1 | `findings/0001-difference` | new |",
        "| fails | title 4 | `suspects/0004-difference` | new |",
        "|  | title 2 | `findings/0002-difference` | known: 009-one |",
        "|  | title 3 | `findings/0003-difference` | baseline: ours |",
    ]
    assert any("irfuzz findings baseline out -o FILE" in line for line in lines)
    assert "7 suspects are too thinly proven to be findings." in lines


def test_the_summary_of_nothing_has_no_table_and_text_of_components_is_escaped() -> None:
    text = step_summary(replace(ALL, rows=(), suspects=0))
    assert "|" not in text
    assert text.startswith("### irfuzz: nothing found (--fail-on undecided)\n")
    assert text.endswith("\n\n")
    nasty = step_summary(replace(ALL, rows=(row(1, Disposition.NEW, title=NASTY),)))
    assert "50% \\| &lt;b&gt;\\`x\\`&lt;/b&gt; &amp;  \\[31m" in nasty
    many = step_summary(replace(ALL, rows=(NEW,) * 53))
    assert many.count("title 1") == 50
    assert "and 3 more\n" in many
