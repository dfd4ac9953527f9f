"""The table of trackers: every component of irfuzz has a line, and no line leaves a fact out."""

from __future__ import annotations

import pytest

from irfuzz.execute.target_table import BUILT_IN
from irfuzz.report.upstream_issues.issue_trackers import FACTS, TRACKERS, UNKNOWN, IssueTracker, tracker_of

pytestmark = pytest.mark.unit

MORE = ("version", "python", "system", "platform", "architecture")


@pytest.mark.parametrize("tracker", [*TRACKERS, UNKNOWN], ids=lambda t: ",".join(t.components) or "unknown")
def test_a_form_states_every_fact_once(tracker: IssueTracker) -> None:
    body = tracker.body({name: f"<{name}>" for name in (*FACTS, *MORE)})
    assert [body.count(f"<{name}>") for name in FACTS] == [1] * len(FACTS)
    assert "<version>" in body
    assert "<python>" in body or "ONNX Runtime" in body  # whose form does not ask for it


@pytest.mark.parametrize("target", [t.name for adapter in BUILT_IN for t in adapter.targets])
def test_every_target_has_a_tracker(target: str) -> None:
    assert tracker_of(target) is not UNKNOWN


@pytest.mark.parametrize(
    ("target", "template"),
    [
        ("torch:compile", "pt2-bug-report.yml"),
        ("torch@2.9.0:compile", "pt2-bug-report.yml"),
        ("torch:eager", "bug-report.yml"),
        ("torch", "bug-report.yml"),
        ("onnxruntime@1.20.1:all", "08-general.yml"),
        ("onnx-inliner:schema", "bug.md"),
        ("mine.py:Class", ""),
    ],
)
def test_which_form(target: str, template: str) -> None:
    assert tracker_of(target).template == template


def test_addresses() -> None:
    tracker = tracker_of("onnx2torch")
    assert tracker.form == "https://github.com/ENOT-AutoDL/onnx2torch/issues/new"
    assert tracker.search("Clip min&max") == "https://github.com/ENOT-AutoDL/onnx2torch/issues?q=Clip+min%26max"
    assert (UNKNOWN.form, UNKNOWN.search("x")) == ("", "")
