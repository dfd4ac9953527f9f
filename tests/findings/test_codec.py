"""Findings are written and read in one place: rows and folders of older versions open, others say who wrote them."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

from irfuzz import __version__
from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.findings.causes.cause_grouping import Cause
from irfuzz.findings.codec import (
    about_text,
    about_with_versions,
    explained_by,
    finding_of,
    grouped,
    label_of,
    read_folder,
    row_of,
    suspect_rank,
    trace_text,
    with_cases,
)
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding, KnownIssue, VersionAnswer
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.report.finding_folder_writer import write_bundle
from irfuzz.store.database import FindingRow, Status

pytestmark = pytest.mark.unit

TEXT = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
X = {"x": np.array([1, 2], np.float32)}

OLD_VERDICT = (
    '{"oracle": "numeric", "symptom": "difference", "target": "a:x", "witnesses": ["b"], "suspect": false,'
    ' "output": "y", "distance": 1.0, "bound": 0.5, "evidence": {"element": "y[1]", "got": "3", "expected": "2",'
    ' "also": "a:y, a:z",'
    ' "pass": "A + B", "elements": 1}, "ratio": 2.0, "known": [], "script": "long"}'
)
OLD_RUNS = (
    '[{"target": "a:x", "component": "a", "version": "1", "options": {"level": "x"}, "stage": "run", "exit": "ok",'
    ' "error": ""}, {"repro.py": "it does not show"}]'
)


def program() -> Program:
    return Program.from_proto(onnx.parser.parse_model(TEXT))


def result(name: str, value: float) -> RunResult:
    target = Target(name, "reference", "1", environment="env", requirement="onnx==1 numpy")
    return RunResult(target, Stage.RUN, Exit.OK, outputs={"y": np.array([1, value], np.float32)})


def full() -> Finding:
    """A finding with something in every field."""
    verdict = Verdict("o", Symptom.DIFFERENCE, "a:x", ("b",), output="y", distance=1.0, bound=0.5, element="y[1]")
    case, original = FailingCase(program(), X), FailingCase(program(), X)
    return replace(
        Finding(verdict, case, original, [result("a:x", 3), result("b", 2)]).signed(), trace={"edits": []},
        hunt="hunted", status=Status.UNREPLAYED, shown=(VersionAnswer("a:x", "1", "env", None, "why"),),
        known=(KnownIssue("k", "t", "l"),),
        long_script=True, calls={"body": ["a"]}, printed="nothing", label="mine", group="a|Relu", job=1, iteration=2,
        times=3, number=4, first=5.0, last=6.0,
    )  # fmt: skip


def test_a_row_has_every_field() -> None:
    before = full()
    after = finding_of(row_of(before))
    # What belongs to one process, and what a person said of a folder, are not in the database.
    apart = {"results", "before", "hunt", "label", "case", "original", "doubted", "needs"}
    for name in {f.name for f in fields(Finding)} - apart:
        assert getattr(after, name) == getattr(before, name), name
        assert getattr(after, name) != getattr(Finding(replace(before.verdict, bound=0), *[before.case] * 2), name), (
            name
        )
    for one, other in ((before.case, after.case), (before.original, after.original)):
        assert (one.model, one.packed) == (other.model, other.packed)
        assert other.program.digest == one.program.digest
        assert other.inputs["x"].tolist() == [1, 2]  # type: ignore[union-attr]


CASE = FailingCase(b"", b"")
EMPTY = Finding(Verdict("", Symptom.CRASH, ""), CASE, CASE)


def old_row(**fields: str) -> FindingRow:
    """As a campaign of version 0.1 stored it."""
    texts = {"verdict": OLD_VERDICT, "runs": OLD_RUNS, "trace": "", **fields}
    return FindingRow(
        "s", "difference", "a:x", False, "t", **texts, model=b"m", inputs=b"i", original_model=b"m",
        original_inputs=b"i", status="confirmed", job=0, iteration=1, number=7,
    )  # fmt: skip


def test_rows_of_older_campaigns_open() -> None:
    found = finding_of(old_row())
    assert (found.verdict.also, found.verdict.passes, found.verdict.element) == (("a:y", "a:z"), ("A", "B"), "y[1]")
    assert found.verdict.evidence == {"elements": 1}
    assert (found.long_script, found.printed, found.trace) == (True, "it does not show", {})
    (run,) = found.runs
    assert (run.name, run.component, run.options, run.answer) == ("a:x", "a", {"level": "x"}, "")


def test_rows_of_newer_campaigns_say_who_wrote_them() -> None:
    newer = json.dumps({**json.loads(OLD_VERDICT), "schema": 2, "irfuzz": "9.1"})
    with pytest.raises(UsageError, match=r"finding 7: expected schema 1, got 2, written by irfuzz 9\.1; this is"):
        finding_of(old_row(verdict=newer))


@pytest.mark.parametrize(
    ("field", "text"), [("verdict", "{"), ("verdict", "{}"), ("runs", '[{"target": "a"}]'), ("trace", "no")]
)
def test_damaged_rows_are_named(field: str, text: str) -> None:
    with pytest.raises(UsageError, match="finding 7: cannot be read: "):
        finding_of(old_row(**{field: text}))


def test_a_folder_is_read_as_it_was_written(tmp_path: Path) -> None:
    before = replace(full(), calls=None)
    write_bundle(tmp_path / "it", before)
    after = read_folder(tmp_path / "it")
    same = ("verdict", "trace", "signature", "title", "status", "shown", "known", "label", "job", "iteration")
    assert all(getattr(after, name) == getattr(before, name) for name in same)
    assert [(r.name, r.version, r.requirement) for r in after.runs] == [
        ("a:x", "1", "onnx==1 numpy"),
        ("b", "1", "onnx==1 numpy"),
    ]
    assert after.original.program.digest == before.original.program.digest


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": 2}, rf"expected schema 1, got 2, written by irfuzz {re.escape(__version__)}; this is"),
        ({"schema": 2, "irfuzz": "9.1"}, r"got 2, written by irfuzz 9\.1"),
        ({"symptom": "odd"}, "'odd'"),
        ({"versions": None}, "not the folder of a finding that can be used"),
    ],
)
def test_folders_that_cannot_be_used_say_why(tmp_path: Path, change: dict[str, object], said: str) -> None:
    write_bundle(tmp_path / "it", replace(full(), calls=None))
    path = tmp_path / "it" / "finding.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(UsageError, match=said):
        read_folder(tmp_path / "it")


def test_each_form_of_a_case_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []
    real = Program.from_bytes
    monkeypatch.setattr(Program, "from_bytes", lambda data: (read.append(data), real(data))[1])
    case = FailingCase(program().to_bytes(), full().case.packed)
    assert case.program is case.program is case.stored
    assert case.proto is case.proto
    assert case.inputs is case.inputs
    assert len(read) == 1


def test_a_folder_says_a_field_a_line_without_odd_numbers() -> None:
    verdict = replace(full().verdict, evidence={"spread": float("inf"), "shares": [float("nan"), 1.5]})
    text = about_text(replace(full(), verdict=verdict))
    assert text.startswith('{\n "schema": 1,\n "irfuzz": ')
    about = json.loads(text)
    assert (about["verdict"]["evidence"]["spread"], about["verdict"]["evidence"]["shares"]) == ("inf", ["nan", 1.5])
    assert (about["suspect"], about["group"], about["cause"]["operators"]) == (False, "a|Relu", ["Relu"])
    assert json.loads(about_text(replace(full(), cause=None)))["cause"] is None
    assert about["versions"] == {"a:x": "1", "b": "1"}
    assert "group" not in json.loads(about_text(replace(full(), group="")))


def test_answers_of_versions_leave_the_rest_as_it_was() -> None:
    shown = (VersionAnswer("a", "1", "e", shows=False), VersionAnswer("a", "2", "f", shows=True, previous="1"))
    text = about_with_versions('{"label": "mine", "shown": []}', replace(full(), shown=shown))
    assert text.startswith('{\n "label": "mine",\n "shown": [\n  {\n')
    assert json.loads(text)["introduced"] == "2"


CAUSE = Cause("a:x", Symptom.DIFFERENCE, by="kernel", operators=("Relu",), nodes=2)


@pytest.mark.parametrize(
    ("nodes", "stored", "found"),
    [
        (1, CAUSE, (1, True)),
        (2, CAUSE, (1, False)),
        (3, CAUSE, (1, False)),
        (1, replace(CAUSE, operators=("Tanh",)), None),
        (1, None, None),
    ],
)
def test_the_stored_finding_of_a_cause(nodes: int, stored: Cause | None, found: object) -> None:
    texts = ["{}", json.dumps({} if stored is None else {"cause": stored.to_json()})]
    assert explained_by(replace(full(), cause=replace(CAUSE, nodes=nodes)), texts) == found
    assert explained_by(replace(full(), cause=None), texts) is None


def test_findings_of_one_cause_stand_together_and_suspects_alone() -> None:
    about = {"cause": CAUSE.to_json()}
    assert grouped([about, {}, about]) == [[0, 2], [1]]
    assert grouped([about, {**about, "suspect": True}]) == [[0], [1]]


def test_the_rank_of_a_stored_suspect() -> None:
    verdict = replace(full().verdict, suspect=True)
    about = json.loads(about_text(replace(full(), verdict=verdict, cause=CAUSE)))
    assert suspect_rank(about) == (0, True, True, -2.0, 2)
    with pytest.raises(KeyError):
        suspect_rank({"target": "a"})


@pytest.mark.parametrize(
    ("text", "label"),
    [('{"label": "mine"}', "mine"), ("{}", ""), ("[]", ""), ("no", ""), (None, "")],
)
def test_what_a_person_has_said_of_a_folder(tmp_path: Path, text: str | None, label: str) -> None:
    if text is not None:
        (tmp_path / "finding.json").write_text(text)
    assert label_of(tmp_path) == label


@pytest.mark.parametrize(("text", "trace"), [('{"a": 1}', {"a": 1}), ("[]", {}), ("no", {}), (None, {})])
def test_how_a_program_was_made(tmp_path: Path, text: str | None, trace: object) -> None:
    write_bundle(tmp_path / "it", replace(full(), calls=None))
    path = tmp_path / "it" / "trace.json"
    path.unlink()
    if text is not None:
        path.write_text(text)
    assert read_folder(tmp_path / "it").trace == trace
    assert trace_text(replace(full(), trace={})) == ""
    assert trace_text(full()) == '{"edits": []}'


@pytest.mark.parametrize("field", ["symptom", "target", "versions", "verdict"])
def test_a_folder_that_lacks_a_field_says_which(tmp_path: Path, field: str) -> None:
    write_bundle(tmp_path / "it", replace(full(), calls=None))
    path = tmp_path / "it" / "finding.json"
    about = json.loads(path.read_text())
    del about[field]
    path.write_text(json.dumps(about))
    with pytest.raises(UsageError, match=f"expected {field} too"):
        read_folder(tmp_path / "it")
    with pytest.raises(UsageError, match=r"not the folder of a finding: .*No such file"):
        read_folder(tmp_path)


def test_models_come_later() -> None:
    row = row_of(full())
    bare = replace(full(), case=CASE, original=CASE)
    whole = with_cases(bare, row)
    assert (whole.case.model, whole.original.packed) == (row.model, row.original_inputs)
    assert (whole.case.packed, whole.original.model) == (row.inputs, row.original_model)
