"""The baseline of a project: what survives another version, what is one with an entry, and what a wrong file says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from irfuzz.errors import UsageError
from irfuzz.findings.baseline import BaselineEntry, FindingBaseline, read_baseline, stable_signature
from irfuzz.findings.causes.cause_grouping import Cause
from irfuzz.oracle.verdict import Symptom

pytestmark = pytest.mark.unit

PAD = Cause(
    "onnxruntime:all",
    Symptom.DIFFERENCE,
    "Pad_Fusion",
    passes=True,
    operators=("Conv", "Pad"),
    attributes=("Pad.mode",),
)


@pytest.mark.parametrize(
    ("signature", "stable"),
    [
        ("difference|onnxruntime@1.31.1:all|Relu|by=Pad_Fusion", "difference|onnxruntime:all|Relu|by=Pad_Fusion"),
        ("difference|onnxruntime@1.31.1:all@cuda|Relu|", "difference|onnxruntime:all@cuda|Relu|"),
        ("difference|openvino@2025.1|Relu|", "difference|openvino|Relu|"),
        (
            "equivalence|difference|onnxruntime@1.31.1:all|r1,r2|Relu",
            "equivalence|difference|onnxruntime:all|r1,r2|Relu",
        ),
        ("difference|/home-of-a/x/mine.py:Mine|Relu|", "difference|mine.py:Mine|Relu|"),
        ("suspect|difference|sub/mine.py:Mine|Relu", "suspect|difference|mine.py:Mine|Relu"),
        (
            "rejection|torch:jit|run|torch #.0 and v1.2.3 say no|Relu",
            "rejection|torch:jit|run|torch # and # say no|Relu",
        ),
        ("suspect|rejection|torch:jit|run|of 1.32.0.dev2+cpu|Relu", "suspect|rejection|torch:jit|run|of #|Relu"),
        ("crash|torch:jit|signal|a|b of 2.1|Relu", "crash|torch:jit|signal|a|b of #|Relu"),
        ("leniency|onnxruntime:all|Conv|x >= 1.5", "leniency|onnxruntime:all|Conv|x >= 1.5"),
    ],
)
def test_versions_and_folders_leave_a_signature(signature: str, stable: str) -> None:
    assert stable_signature(signature) == stable
    assert stable_signature(stable) == stable


def test_levels_devices_operators_and_passes_stay() -> None:
    first = stable_signature("difference|onnxruntime:all|Relu|by=A")
    for other in ("onnxruntime:basic|Relu|by=A", "onnxruntime:all@cuda|Relu|by=A", "onnxruntime:all|Tanh|by=A"):
        assert stable_signature(f"difference|{other}") != first


def test_the_same_signature_of_another_version_is_in_the_baseline() -> None:
    baseline = FindingBaseline((BaselineEntry("difference|onnxruntime:all|Relu|"),))
    assert baseline.entry_of("difference|onnxruntime@1.30.0:all|Relu|") is baseline.entries[0]
    assert baseline.entry_of("difference|onnxruntime:all|Tanh|") is None


def test_a_finding_of_the_same_cause_is_in_the_baseline_and_another_is_not() -> None:
    baseline = FindingBaseline((BaselineEntry("a", cause=PAD),))
    more = replace(PAD, attributes=("Conv.strides", "Pad.mode"))
    assert baseline.entry_of("b", more) is baseline.entries[0], "it has the attributes of the entry and one more"
    assert baseline.entry_of("b", replace(PAD, by="Other")) is None
    assert baseline.entry_of("b", None) is None
    assert baseline.entry_of("b", more, suspect=True) is None, "no cause is known of a suspect"
    kernel = replace(PAD, by="kernel", passes=False)
    older = FindingBaseline((BaselineEntry("a", cause=kernel),))
    assert older.entry_of("b", replace(kernel, target="onnxruntime@1.30.0:all")) is older.entries[0]


def test_what_is_simpler_than_several_entries_is_in_the_baseline() -> None:
    def cause(*attributes: str) -> Cause:
        return Cause("t:all", Symptom.DIFFERENCE, operators=("Gemm",), attributes=attributes, nodes=1)

    wider = [cause("Gemm.alpha", "Gemm.beta"), cause("Gemm.beta", "Gemm.transA")]
    assert not wider[0].explains(wider[1])
    baseline = FindingBaseline(tuple(BaselineEntry(f"s{n}", f"t{n}", one) for n, one in enumerate(wider)))
    entry = baseline.entry_of("difference|t:all|Gemm|Gemm.beta", cause("Gemm.beta"))
    assert entry is not None
    assert entry.title == "t0"
    assert baseline.entry_of("difference|t:all|Gemm|Gemm.transB", cause("Gemm.transB")) is None


def test_what_was_a_suspect_is_news_as_a_finding_and_not_the_other_way_around() -> None:
    doubted = FindingBaseline((BaselineEntry("a", suspect=True),))
    assert doubted.entry_of("a") is None
    assert doubted.entry_of("a", suspect=True) is doubted.entries[0]
    proven = FindingBaseline((BaselineEntry("a"),))
    assert proven.entry_of("a", suspect=True) is proven.entries[0]


def test_entries_are_sorted_and_keep_titles_and_notes() -> None:
    baseline = FindingBaseline().extended([BaselineEntry("b", "B"), BaselineEntry("a", "A", note="ours")])
    again = baseline.extended([BaselineEntry("b", "other words", note="wontfix"), BaselineEntry("a", "A", note="x")])
    assert [(e.signature, e.title, e.note) for e in again.entries] == [("a", "A", "ours"), ("b", "B", "wontfix")]
    assert len(again.extended([BaselineEntry("a", suspect=True)]).entries) == 3


def test_a_new_entry_changes_no_line_of_the_others(tmp_path: Path) -> None:
    one, three = BaselineEntry("a", "A", PAD), BaselineEntry("c", "C", note="why", suspect=True)
    before = FindingBaseline().extended([one, three])
    after = before.extended([BaselineEntry("b", "B")])
    lines = after.to_text().splitlines()
    for line in before.to_text().splitlines():
        lines.remove(line)
    assert sorted(lines) == sorted(["  {", '   "signature": "b",', '   "title": "B"', "  },"])
    (tmp_path / "b.json").write_text(after.to_text())
    assert read_baseline(tmp_path / "b.json") == after
    assert json.loads(after.to_text())["format"] == 1
    (tmp_path / "b.json").write_text(FindingBaseline().to_text())
    assert read_baseline(tmp_path / "b.json") == FindingBaseline()


def test_an_entry_of_a_finding_has_no_versions_and_its_label_as_note() -> None:
    cause = replace(PAD, target="onnxruntime@1.30.0:all").to_json()
    about = {"signature": "difference|onnxruntime@1.30.0:all|Pad|", "title": "t", "label": "wontfix", "cause": cause}
    assert BaselineEntry.of(about) == BaselineEntry("difference|onnxruntime:all|Pad|", "t", PAD, note="wontfix")


ENTRY: dict[str, Any] = {"signature": "a"}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ([], 'not a baseline: expected an object with "format" and a list "findings"'),
        ({"format": 1}, 'not a baseline: expected an object with "format" and a list "findings"'),
        ({"findings": []}, "not a baseline: "),
        ({"format": 2, "findings": []}, "format: expected 1, got 2; use the irfuzz that wrote it"),
        ({"format": 1, "findings": [ENTRY, 5]}, "findings[1]: expected an object, got 5"),
        ({"format": 1, "findings": [{}]}, "findings[0]: signature: expected text that is not empty, got None"),
        ({"format": 1, "findings": [{**ENTRY, "name": 1}]}, "findings[0]: unknown key 'name'; known are signature, "),
        ({"format": 1, "findings": [{**ENTRY, "note": 1}]}, "findings[0]: note: expected text, got 1"),
        (
            {"format": 1, "findings": [{**ENTRY, "suspect": "x"}]},
            "findings[0]: suspect: expected true or false, got 'x'",
        ),
        ({"format": 1, "findings": [{**ENTRY, "cause": {}}]}, "findings[0]: cause: cannot be read: KeyError: 'target'"),
    ],
)
def test_a_wrong_file_is_named_with_entry_and_field(tmp_path: Path, data: object, says: str) -> None:
    path = tmp_path / "b.json"
    path.write_text(json.dumps(data))
    with pytest.raises(UsageError) as caught:
        read_baseline(path)
    assert str(caught.value).startswith(f"{path}: {says}")


def test_a_file_that_is_missing_or_no_json_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--x: cannot be read: No such file.*; `irfuzz findings baseline"):
        read_baseline(tmp_path / "none.json", "--x")
    (tmp_path / "b.json").write_text("{")
    with pytest.raises(UsageError, match="not JSON: "):
        read_baseline(tmp_path / "b.json")


def test_what_is_no_file_or_too_deep_is_no_baseline(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    path.symlink_to("/dev/zero")
    with pytest.raises(UsageError, match=r"baseline.json: cannot be read: not a plain file$"):
        read_baseline(path)
    path.unlink()
    path.write_text("[" * 100_000)
    with pytest.raises(UsageError, match=r"baseline.json: not JSON: maximum recursion depth"):
        read_baseline(path)
