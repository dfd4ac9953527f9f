"""The list of bugs for the bench of recall is well-formed, and installed releases show what is listed for them."""

from __future__ import annotations

import importlib.metadata
import re
from collections import Counter
from pathlib import Path

import onnx
import pytest

from benchmarks.recall.bugs import HALVES, Bug, bugs
from benchmarks.recall.campaigns import _miss
from benchmarks.recall.confirm import answers, confirmed
from benchmarks.recall.triggers import TRIGGERS, Drawn, triggered
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"https://github\.com/[\w-]+/[\w-]+/(?:issues|pull)/\d+")
INSTALLED = ("ort-div-mul-identity", "ort-simplified-layernorm-scale")
"""Of onnxruntime, with no version that mends them: what shows needs no environment."""


def by_name(name: str) -> Bug:
    [bug] = bugs(names=[name])
    return bug


FOUND_SINCE = {"https://github.com/openvinotoolkit/openvino/issues/35893"}
"""Bugs that campaigns found by themselves after the list was made."""


@pytest.mark.unit
def test_every_bug_is_listed_once_and_nowhere_else() -> None:
    listed = bugs()
    for what in ("name", "link"):
        assert [v for v, n in Counter(getattr(b, what) for b in listed).items() if n > 1] == []
    pages = [ROOT / "docs" / "bugs.md", *(ROOT / "docs" / "bugs").glob("*/repro.py")]
    told = {link for page in pages for link in LINK.findall(page.read_text())}
    assert {b.link for b in listed} & told == FOUND_SINCE


@pytest.mark.unit
@pytest.mark.parametrize("bug", bugs(), ids=lambda b: b.name)
def test_an_entry_is_well_formed(bug: Bug) -> None:
    assert LINK.fullmatch(bug.link)
    assert bug.shows
    assert bug.shows != bug.fixed
    assert bug.quote
    assert {*bug.symptoms} <= {s.value for s in Symptom}
    onnx.checker.check_model(bug.model())
    assert {*bug.inputs} == {v.name for v in bug.model().graph.input} == {*bug.arrays()}
    assert {*bug.right} == {v.name for v in bug.model().graph.output} == {*bug.answers()}
    assert any(op in {n.op_type for n in bug.model().graph.node} for op in bug.operators)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("blamed", "right"),
    [("DivMulFusion", True), ("EliminateIdentity + DivMulFusion", True), ("A / DivMulFusion", True), ("A + B", False)],
)
def test_each_of_several_passes_counts_as_blamed(blamed: str, *, right: bool) -> None:
    verdict = {"evidence": {"pass": blamed}}
    finding = {"title": "rejects a program in Div, Mul", "symptom": "rejection", "verdict": verdict}
    assert (_miss(by_name("ort-div-mul-identity"), finding) == "") == right


@pytest.mark.unit
@pytest.mark.parametrize("bug", bugs(), ids=lambda b: b.name)
def test_a_trigger_stands_in_its_own_program(bug: Bug) -> None:
    program = Program.from_proto(bug.model())
    drawn = Drawn(bug.opset, bug.arrays(), frozenset(bug.right))
    assert bug.name in {name for node in program.nodes() for name in triggered(node, drawn)}


@pytest.mark.unit
def test_triggers_are_of_listed_bugs_and_each_half_has_twenty() -> None:
    assert {*TRIGGERS} == {b.name for b in bugs()}
    assert min(Counter(b.half for b in bugs()).values()) >= 20
    assert {b.half for b in bugs()} == {*HALVES}


@pytest.mark.parametrize("name", INSTALLED)
def test_an_installed_version_shows_its_bug(name: str) -> None:
    bug = by_name(name)
    installed = importlib.metadata.version("onnxruntime")
    if installed != bug.shows:
        pytest.skip(f"onnxruntime {installed} is installed, and {bug.shows} is listed")
    assert confirmed(bug, answers(bug, [bug.shows])[bug.shows], []) == ""


def test_what_answers_right_is_not_confirmed() -> None:
    """onnxruntime without optimisation does what the list calls right."""
    bug = by_name(INSTALLED[0])
    found = answers(bug, [importlib.metadata.version("onnxruntime")])
    [(fine, text), *_] = next(iter(found.values()))
    assert fine, text
    assert "answers right" in confirmed(bug, [(fine, text)], [])
    assert "wrong, too" in confirmed(bug, [(False, bug.got)], [(False, "y: 0")])
    assert "something else" in confirmed(bug, [(False, "y: 0")], [])
