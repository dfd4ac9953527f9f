"""A campaign's archive keeps each fault once, under the name of its cause."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

from irfuzz.campaign.campaign import Campaign
from irfuzz.campaign.config import Config, Layout
from irfuzz.campaign.stored_findings import archive as module
from irfuzz.campaign.stored_findings.archive import TIME_UP, CampaignArchive, words_of
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.findings.causes.cause_grouping import Cause
from irfuzz.findings.codec import finding_of, row_of
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding, KnownIssue, VersionAnswer
from irfuzz.findings.pipeline import DroppedFinding
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.report.command_reports.finding_list import label
from irfuzz.report.repro_scripts.two_form_script import ORACLE
from irfuzz.store.database import Database, Status

pytestmark = pytest.mark.unit

TEXT = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
X = {"x": np.array([1, 2], np.float32)}
VERDICT = Verdict("o", Symptom.REJECTION, "reference", ("b",), stage="compile", message="no")


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    made = Layout(tmp_path / "out")
    for folder in (made.out, *made.folders()):
        folder.mkdir(parents=True, exist_ok=True)
    return made


@pytest.fixture
def database(layout: Layout) -> Database:
    return Database(layout.database)


def finding(verdict: Verdict = VERDICT, *, part: bool = False) -> Finding:
    whole = FailingCase(Program.from_proto(onnx.parser.parse_model(TEXT)), X)
    small = FailingCase(whole.program, X)
    result = RunResult(Target(verdict.target, "reference"), Stage.COMPILE, Exit.REJECTED, error="no")
    seen = Finding(verdict, small if part else whole, whole, [result])
    return replace(seen, case=small, before=seen).signed()


def test_what_is_stored_is_repeated(layout: Layout, database: Database) -> None:
    archive, found = CampaignArchive(layout, database, Config()), finding()
    settled = archive.settle(found)
    assert isinstance(settled, Finding)
    stored = archive.store(settled)
    assert isinstance(stored, Finding)
    assert stored.number == 1
    assert [f.name for f in layout.findings.iterdir()] == ["0001-rejection-reference"]
    for again in (archive.settle(found), archive.replay(found), archive.store(found)):
        assert again == DroppedFinding("repeated")
    assert database.finding(1).times == 4


def test_a_message_that_is_known_is_recognised_and_counted(layout: Layout, database: Database) -> None:
    archive, found = CampaignArchive(layout, database, Config()), finding()
    assert not archive.knows(found.verdict, found.case.program)
    settled = archive.settle(found)
    assert isinstance(settled, Finding)
    archive.store(settled)
    assert archive.knows(found.verdict, found.case.program)
    assert not archive.knows(replace(found.verdict, message="another"), found.case.program)
    assert not archive.knows(replace(found.verdict, symptom=Symptom.DIFFERENCE), found.case.program)
    assert database.finding(1).times == 2


def kept(finding: Finding) -> Finding:
    """A step that stands for the script of a finding, which shows it."""
    return replace(finding, status=Status.CONFIRMED)


@pytest.mark.parametrize("later", [False, True], ids=["beside it", "after a death"])
def test_what_one_job_has_looked_into_another_recognises(layout: Layout, database: Database, later: bool) -> None:
    other = CampaignArchive(layout, database, Config())
    one, found = CampaignArchive(layout, database, Config()), finding()
    assert found.before is not None
    seen, program = found.before.verdict, found.before.case.program
    assert one.take(found, (one.settle, kept, one.store)) == module.NEW
    if later:
        other = CampaignArchive(layout, database, Config())
    else:
        assert not other.recognises(seen, program)
        other.recognised.learn()
    assert other.knows(seen, program)
    assert database.finding(1).times == 2
    assert other.recognised.likely.knows(seen, program, words_of(seen, program))
    looked = [n for n in range(1, 20) if not other.recognised.likely.again(seen, program, words_of(seen, program))]
    assert looked == [8], "its first occurrences had their turns in the other job"


@pytest.mark.parametrize("step", ["dropped", "unreplayed"])
def test_what_was_not_confirmed_is_looked_into_by_other_jobs(layout: Layout, database: Database, step: str) -> None:
    one, found = CampaignArchive(layout, database, Config()), finding()
    assert found.before is not None
    way = (one.settle, lambda f: DroppedFinding("no")) if step == "dropped" else (one.settle, one.store)
    one.take(replace(found, status=Status.UNREPLAYED), way)
    other = CampaignArchive(layout, database, Config())
    assert not other.recognises(found.before.verdict, found.before.case.program)


def test_groups_of_suspects_are_known_to_all_jobs(layout: Layout, database: Database) -> None:
    one, other = (CampaignArchive(layout, database, Config()) for _ in range(2))
    one.recognised.looked_into("a group")
    other.recognised.learn()
    assert (other.recognised.tried.knows("a group"), other.recognised.tried.knows("another")) == (True, False)


def test_what_another_version_has_shown_explains_nothing(layout: Layout, database: Database) -> None:
    one, found = CampaignArchive(layout, database, Config(), identity=lambda target: f"{target} 1"), finding()
    assert found.before is not None
    seen, program = found.before.verdict, found.before.case.program
    one.take(found, (one.settle, kept, one.store))
    for version, known in ((" 1", True), (" 2", False), ("", True)):
        other = CampaignArchive(layout, database, Config(), identity=lambda target, v=version: v and f"{target}{v}")
        assert other.recognised.likely.knows(seen, program, words_of(seen, program)) == known


def test_how_often_something_was_taken_for_a_known_fault_is_stored(layout: Layout, database: Database) -> None:
    one, found = CampaignArchive(layout, database, Config()), finding()
    assert found.before is not None
    seen, program = found.before.verdict, found.before.case.program
    words = words_of(seen, program)
    one.take(found, (one.settle, kept, one.store))
    one.recognised.looked_into("g")
    for _ in range(5):
        one.recognised.likely.again(seen, program, words)
    one.recognised.tell()
    one.recognised.tell()
    other = CampaignArchive(layout, database, Config())
    assert [n for n in range(1, 9) if not other.recognised.likely.again(seen, program, words)] == [3]


def test_marks_lead_to_the_finding_that_was_settled_last(layout: Layout, database: Database) -> None:
    first, second = finding(), replace(finding(), signature="another", cause=None, before=None)
    archive = CampaignArchive(layout, database, Config())
    archive.take(first, (archive.settle, lambda f: second, archive.settle, kept, archive.store))
    assert {(mark.key, mark.signature) for mark in database.marks.after(0)} == {("another", "another")}
    assert not CampaignArchive(layout, database, Config()).recognises(VERDICT, first.case.program)


@pytest.mark.parametrize(("nodes", "known"), [(4, True), (5, False)])
@pytest.mark.parametrize(("message", "told"), [("SIGFPE in run", False), ("exit status 3 in run", True)])
def test_a_signal_alone_names_no_fault_of_a_large_program(layout, database, nodes, known, message, told) -> None:
    body = " ".join(f"y{i + 1} = Relu(y{i})" for i in range(nodes))
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[2] y0) => (float[2] y{nodes}) {{ {body} }}'
    program = Program.from_proto(onnx.parser.parse_model(text))
    verdict = Verdict("crash", Symptom.CRASH, "reference", (), stage="run", message=message)
    archive, case = CampaignArchive(layout, database, Config()), FailingCase(program, X)
    result = RunResult(Target("reference", "reference"), Stage.RUN, Exit.CRASH, error=message)
    seen = Finding(verdict, case, case, [result])
    settled = archive.settle(replace(seen, before=seen).signed())
    assert isinstance(settled, Finding)
    archive.store(settled)
    assert archive.knows(verdict, program) == (known or told)


def test_what_has_another_name_counts_for_the_finding_of_that_name(layout: Layout, database: Database) -> None:
    archive, found = CampaignArchive(layout, database, Config()), finding()
    other = replace(found, signature="another way|b", cause=None)
    settled = archive.settle(found)
    assert isinstance(settled, Finding)
    archive.store(settled)
    assert archive.settle(other) == other
    archive.call(other.signature, settled.signature)
    assert archive.settle(other) == DroppedFinding("repeated")
    assert database.finding(1).times == 2


@pytest.mark.parametrize("part", [False, True])
def test_a_part_of_its_original_is_said_to_be_one(layout: Layout, database: Database, part: bool) -> None:
    settled = CampaignArchive(layout, database, Config()).settle(finding(part=part))
    assert isinstance(settled, Finding)
    assert settled.verdict.cut_out == part


def test_a_fault_of_several_versions_has_the_newest_ones_name(layout: Layout, database: Database) -> None:
    shown = (VersionAnswer("a", "1", "e", True, "", "old"), VersionAnswer("b", "2", "", True, "", "new"))
    archive = CampaignArchive(layout, database, Config(), lambda f: replace(f, signature="new", shown=shown))
    settled = archive.settle(finding())
    assert isinstance(settled, Finding)
    assert (settled.signature, settled.shown) == ("new", shown)
    archive.store(settled)
    assert archive.settle(finding()) == DroppedFinding("repeated")
    assert archive.knows(VERDICT, settled.case.program)
    assert database.finding(1).times == 3


def test_known_issues_explain_what_others_contradict_alone(
    layout: Layout, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    labelled: list[str] = []
    monkeypatch.setattr(module, "labelled", lambda one: (labelled.append(one.verdict.oracle), one)[1])
    monkeypatch.setattr(module, "write_shown", lambda folder, one, **_: replace(one, status=Status.UNREPLAYED))
    archive = CampaignArchive(layout, database, Config())
    for oracle in ("o", ORACLE):
        assert archive.take(finding(replace(VERDICT, oracle=oracle)), [archive.replay]) == "unreplayed"
    assert labelled == ["o"]


def test_a_suspect_is_kept_once_for_each_operator(layout: Layout, database: Database) -> None:
    archive = CampaignArchive(layout, database, Config())
    doubted = replace(VERDICT, symptom=Symptom.DIFFERENCE, suspect=True, output="y", doubt="why", message="", stage="")
    for distance in (1.0, 2.0):
        archive.keep_suspect(finding(replace(doubted, distance=distance)))
    (row,) = database.findings()
    assert (row.signature, row.status, row.times) == ("suspect|difference|reference|Relu", "unreplayed", 1)
    assert finding_of(row).verdict.doubt == "why"
    archive.keep_suspect(finding(doubted), "unrepeatable")
    assert [f.name for f in sorted(layout.suspects.iterdir())] == [
        "0001-difference-reference",
        "0002-difference-reference",
    ]


def _by_pass(nodes: int, message: str = "Fail: no such edge", passes: tuple[str, ...] = ("Pass",)) -> Finding:
    """A rejection by an optimiser pass of a program of so many different operators."""
    names = ["Neg", "Abs", "Relu", "Exp"][:nodes]
    calls = " ".join(f"v{i} = {op}({'x' if not i else f'v{i - 1}'})" for i, op in enumerate(names))
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] v{nodes - 1}) {{ {calls} }}'
    case = FailingCase(Program.from_proto(onnx.parser.parse_model(text)), X)
    verdict = replace(VERDICT, target="onnxruntime:basic", message=message, passes=passes, place="optimiser")
    result = RunResult(Target(verdict.target, "onnxruntime"), Stage.COMPILE, Exit.REJECTED, error=message)
    return replace(Finding(verdict, case, case, [result]), before=Finding(verdict, case, case)).signed()


def _keep(archive: CampaignArchive, found: Finding, status: Status = Status.CONFIRMED) -> Finding | DroppedFinding:
    settled = archive.settle(found)
    return settled if isinstance(settled, DroppedFinding) else archive.store(replace(settled, status=status))


def test_another_program_of_one_cause_is_counted(layout: Layout, database: Database) -> None:
    archive = CampaignArchive(layout, database, Config())
    assert isinstance(_keep(archive, _by_pass(2)), Finding)
    assert _keep(archive, _by_pass(3)) == DroppedFinding("repeated")
    assert _keep(CampaignArchive(layout, database, Config()), _by_pass(4)) == DroppedFinding("repeated"), (
        "of another job, too"
    )
    (row,) = database.findings()
    assert row.times == 3
    assert len(finding_of(row).case.program.graph) == 2
    assert isinstance(_keep(archive, _by_pass(2, passes=("Other",))), DroppedFinding), "its signature is known"
    assert isinstance(_keep(archive, _by_pass(3, "Fail: another word")), Finding)
    assert isinstance(_keep(archive, _by_pass(3, passes=("Other",))), Finding)


def test_what_was_not_made_small_in_time_counts_for_the_cause_that_it_has_in_it(
    layout: Layout, database: Database
) -> None:
    archive = CampaignArchive(layout, database, Config())
    cause = Cause("t", Symptom.DIFFERENCE, operators=("Neg",), nodes=1)
    small, large = replace(_by_pass(2), cause=cause), replace(cause, operators=("Abs", "Neg"), nodes=9)
    cut = replace(small, signature="large", cause=replace(large, settled=False))
    _keep(archive, small)
    assert _keep(archive, cut) == DroppedFinding("repeated")
    assert isinstance(_keep(archive, replace(cut, signature="settled", cause=large)), Finding)


def test_what_was_not_made_small_in_time_gives_its_place_to_what_was(layout: Layout, database: Database) -> None:
    archive, small = CampaignArchive(layout, database, Config()), _by_pass(2)
    assert small.cause is not None
    large = replace(small.cause, operators=(*small.cause.operators, "Softmax"), nodes=9, settled=False)
    _keep(archive, replace(_by_pass(3), signature="large", cause=large))
    assert _keep(archive, small) == DroppedFinding("repeated")
    (row,) = database.findings()
    assert (row.number, row.signature, len(finding_of(row).case.program.graph)) == (1, "large", 2)


def test_the_smallest_program_of_a_cause_stands_for_it(layout: Layout, database: Database) -> None:
    archive = CampaignArchive(layout, database, Config())
    _keep(archive, _by_pass(3))
    (folder,) = layout.findings.iterdir()
    before = (folder / "model.onnx").read_bytes()
    assert _keep(archive, _by_pass(2), Status.UNREPLAYED) == DroppedFinding("repeated")
    assert (folder / "model.onnx").read_bytes() == before, "one that its script does not show stands for nothing"
    assert _keep(archive, _by_pass(2)) == DroppedFinding("repeated")
    (row,) = database.findings()
    assert (row.number, row.times, row.signature) == (1, 3, _by_pass(3).signature)
    assert len(finding_of(row).case.program.graph) == 2
    (folder,) = layout.findings.iterdir()
    assert (folder / "model.onnx").read_bytes() == row.model != before
    assert archive.knows(_by_pass(3).verdict, _by_pass(3).case.program), "the name stays"


@pytest.mark.parametrize("first", ["axes = [1]", ""])
def test_what_shows_with_fewer_attributes_stands_for_its_cause(layout, database, first: str) -> None:
    archive = CampaignArchive(layout, database, Config())
    verdict = replace(VERDICT, symptom=Symptom.DIFFERENCE, output="y", message="", stage="")
    for attributes in (first, "axes = [1]" if not first else ""):
        call = f"MeanVarianceNormalization <{attributes}> (x)" if attributes else "MeanVarianceNormalization (x)"
        text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[1,2,1,1] x) => (float[1,2,1,1] y) {{ y = {call} }}'
        case = FailingCase(Program.from_proto(onnx.parser.parse_model(text)), {"x": np.ones((1, 2, 1, 1), np.float32)})
        result = RunResult(Target("reference", "reference"), Stage.RUN, Exit.OK, {"y": case.inputs["x"]})
        _keep(archive, replace(Finding(verdict, case, case, [result]), before=Finding(verdict, case, case)).signed())
    (row,) = database.findings()
    assert row.times == 2
    cause = finding_of(row).cause
    assert cause is not None
    assert cause.attributes == ()


def test_a_folder_with_a_label_stays_as_it_is(layout: Layout, database: Database) -> None:
    archive = CampaignArchive(layout, database, Config())
    _keep(archive, _by_pass(3))
    (folder,) = layout.findings.iterdir()
    before = (folder / "model.onnx").read_bytes()
    label(folder, "reported")
    _keep(archive, _by_pass(2))
    assert (folder / "model.onnx").read_bytes() == before
    (row,) = database.findings()
    assert len(finding_of(row).case.program.graph) == 2


def test_a_finding_without_a_cause_is_known_by_its_signature_alone(layout: Layout, database: Database) -> None:
    archive = CampaignArchive(layout, database, Config())
    _keep(archive, replace(_by_pass(2), cause=None))
    assert isinstance(_keep(archive, _by_pass(3)), Finding)
    assert _keep(archive, replace(_by_pass(2), cause=None)) == DroppedFinding("repeated")


DOUBTED = replace(VERDICT, symptom=Symptom.DIFFERENCE, suspect=True, output="y", doubt="why", message="", stage="")


def _suspect(archive: CampaignArchive) -> Finding:
    """A stored suspect, on a program of two nodes."""
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { a = Neg(x) y = Relu(a) }'
    case = FailingCase(Program.from_proto(onnx.parser.parse_model(text)), X)
    result = RunResult(Target("reference", "reference"), Stage.RUN, Exit.OK, {"y": X["x"]})
    return archive.keep_suspect(Finding(DOUBTED, case, case, [result]))


def _proved(suspect: Finding) -> Finding:
    proof = replace(finding(), doubted=suspect.doubted, original=suspect.original, group="")
    return replace(proof, status=Status.CONFIRMED)


def _folders(layout: Layout) -> list[str]:
    return sorted(f"{f.parent.name}/{f.name}" for f in layout.out.glob("*/0*-*"))


def test_a_proved_suspect_is_a_finding_and_no_suspect(layout: Layout, database: Database) -> None:
    archive = CampaignArchive(layout, database, Config())
    suspect = _suspect(archive)
    assert _folders(layout) == ["suspects/0001-difference-reference"]
    label(layout.suspects / "0001-difference-reference", "looked at")
    stored = _keep(archive, _proved(suspect))
    assert isinstance(stored, Finding)
    assert stored.number == 1
    assert _folders(layout) == ["findings/0001-rejection-reference"]
    (row,) = database.findings()
    assert (row.number, row.suspect, row.status, finding_of(row).group) == (1, False, "confirmed", "")
    about = json.loads((layout.findings / "0001-rejection-reference" / "finding.json").read_text())
    assert (about["label"], about["suspect"]) == ("looked at", False)


def test_a_suspect_that_a_finding_explains_is_told_no_more(layout: Layout, database: Database) -> None:
    archive = CampaignArchive(layout, database, Config())
    assert isinstance(_keep(archive, finding()), Finding)
    suspect = _suspect(archive)
    assert suspect.doubted == 2
    assert archive.has(_proved(suspect))
    assert _folders(layout) == ["findings/0001-rejection-reference", "suspects/0002-difference-reference"]
    assert _keep(archive, _proved(suspect)) == DroppedFinding("repeated")
    assert _folders(layout) == ["findings/0001-rejection-reference"]
    assert [(row.number, row.status) for row in database.findings()] == [(1, "confirmed"), (2, "explained")]
    assert not archive.has(replace(_proved(suspect), signature="new", cause=None))
    assert not archive.explains(replace(_proved(suspect), signature="new", cause=None))


def test_a_labelled_suspect_that_a_finding_explains_keeps_its_folder(layout: Layout, database: Database) -> None:
    archive = CampaignArchive(layout, database, Config())
    _keep(archive, finding())
    suspect = _suspect(archive)
    label(layout.suspects / "0002-difference-reference", "odd")
    assert archive.explains(_proved(suspect))
    assert "suspects/0002-difference-reference" in _folders(layout)


@pytest.mark.parametrize("explained", [False, True])
def test_a_kill_between_row_and_folder_is_put_right(layout: Layout, database: Database, explained: bool) -> None:
    archive = CampaignArchive(layout, database, Config())
    suspect = _suspect(archive)
    if explained:
        database.add_finding(row_of(replace(finding(), number=0)))
    database.promote(row_of(replace(_proved(suspect), number=suspect.doubted)))
    database.close()
    with Campaign(layout.out, Config()) as campaign:
        assert (layout.suspects / "0001-difference-reference").exists()
        campaign._place_all()
        assert campaign.suspects() == []
        assert [f.number for f in campaign.findings()] == [2 if explained else 1]
    assert _folders(layout) == [f"findings/000{2 if explained else 1}-rejection-reference"]


def test_a_suspect_that_was_made_small_stays_one(layout: Layout, database: Database) -> None:
    archive = CampaignArchive(layout, database, Config())
    suspect = _suspect(archive)
    small = replace(suspect, case=finding().case, verdict=replace(DOUBTED, doubt="still"))
    archive.keep_smaller(small)
    (row,) = database.findings()
    assert (row.suspect, row.status, finding_of(row).verdict.doubt) == (True, "unreplayed", "still")
    assert row.signature == "suspect|difference|reference|Relu"
    assert finding_of(row).group == "reference|difference|Relu|"
    (folder,) = layout.suspects.iterdir()
    assert (folder / "model.onnx").read_bytes() == row.model == small.case.model
    assert (folder / "original" / "model.onnx").read_bytes() == suspect.case.model


def test_what_a_known_issue_explains_is_counted_apart(
    layout: Layout, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    issue = KnownIssue("id", "title", "", "")
    monkeypatch.setattr(module, "write_shown", lambda folder, one, **_: one)
    archive = CampaignArchive(layout, database, Config())
    came_to = []
    for known in ((), (issue,)):
        monkeypatch.setattr(module, "labelled", lambda one, known=known: replace(one, known=known))
        one = finding(replace(VERDICT, message=f"message {len(known)}"))
        came_to.append(archive.take(replace(one, status=Status.CONFIRMED), [archive.replay]))
    assert came_to == ["findings", "findings of known issues"]


@pytest.mark.parametrize(
    ("symptom", "message", "words"),
    [
        (Symptom.REJECTION, "no", "no"),
        (Symptom.CRASH, "no", ""),
        (Symptom.DIFFERENCE, "no", ""),
        (Symptom.HANG, "no", ""),
    ],
)
def test_only_rejections_say_something(symptom: Symptom, message: str, words: str) -> None:
    program = finding().case.program
    assert words_of(replace(VERDICT, symptom=symptom, message=message), program) == words


def test_names_and_numbers_are_taken_out_of_what_is_said() -> None:
    program = finding().case.program
    told = {words_of(replace(VERDICT, message=f"tensor 'y' has {n} elements"), program) for n in (3, 44)}
    assert len(told) == 1
    assert "'y'" not in told.pop()


@pytest.mark.parametrize("symptom", [Symptom.CRASH, Symptom.HANG, Symptom.MEMORY, Symptom.PROTOCOL, Symptom.NAN_INF])
def test_which_symptoms_are_known_by_their_message(layout: Layout, database: Database, symptom: Symptom) -> None:
    archive = CampaignArchive(layout, database, Config())
    found = finding(replace(VERDICT, symptom=symptom, output="y", stage="run"))
    assert archive.recognises(found.verdict, found.case.program) is False
    _keep(archive, found)
    assert archive.recognises(found.verdict, found.case.program) is (symptom is not Symptom.NAN_INF)
    assert database.finding(1).times == 1, "nothing is counted"


def test_a_suspect_whose_message_is_known_is_explained(layout: Layout, database: Database) -> None:
    archive = CampaignArchive(layout, database, Config())
    _keep(archive, finding())
    suspect = _suspect(archive)
    assert archive.knows(VERDICT, finding().case.program, doubted=suspect.doubted) is True
    assert [(row.times, row.status) for row in database.findings()] == [(2, "confirmed"), (1, "explained")]


def test_a_signature_is_counted_if_it_is_stored(layout: Layout, database: Database) -> None:
    archive = CampaignArchive(layout, database, Config())
    assert archive.count_again("new") is False
    stored = _keep(archive, finding())
    assert isinstance(stored, Finding)
    assert archive.count_again(stored.signature) is True
    assert database.finding(1).times == 2


@pytest.mark.parametrize(
    ("patience", "status", "came_to", "folders"),
    [
        (0.0, Status.UNREPLAYED, "unfinished", ["suspects/0001-rejection-reference"]),
        (0.0, Status.CONFIRMED, "findings", []),
        (1000.0, Status.UNREPLAYED, "unreplayed", []),
    ],
)
def test_what_its_script_has_not_shown_in_time_is_kept_apart(
    layout: Layout,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    patience: float,
    status: Status,
    came_to: str,
    folders: list[str],
) -> None:
    asked: dict[str, object] = {}

    def write_shown(folder: Path, one: Finding, **options: object) -> Finding:
        folder.mkdir()
        asked.update(options, folder=folder)
        return replace(one, status=status)

    monkeypatch.setattr(module, "write_shown", write_shown)
    archive = CampaignArchive(layout, database, Config(timeout=11.0, memory=5), patience=lambda: patience)
    suspect = finding(replace(VERDICT, suspect=True))
    target = replace(suspect.results[0].target, interpreter="/own/python")
    other = RunResult(Target("b", "b", interpreter="/other"), Stage.RUN, Exit.OK)
    suspect = replace(suspect, results=[other, replace(suspect.results[0], target=target)], job=4)
    assert archive.take(suspect, [archive.replay]) == came_to
    assert (asked["seconds"], asked["python"], asked["folder"]) == (132.0, "/own/python", layout.drafts / "job4")
    assert not (layout.drafts / "job4").exists(), "the draft is removed"
    assert _folders(layout) == folders
    assert [finding_of(row).printed for row in database.findings()] == [TIME_UP] * len(folders)


@pytest.mark.parametrize("numbered", [False, True])
def test_a_suspect_is_kept_under_its_number(layout: Layout, database: Database, numbered: bool) -> None:
    archive = CampaignArchive(layout, database, Config())
    suspect = _suspect(archive)
    assert suspect.doubted == 1
    again = CampaignArchive(layout, database, Config()).keep_suspect(
        suspect if numbered else replace(suspect, doubted=0)
    )
    assert again.doubted == (1 if numbered else 0), "its place is known, so it stays as it was"
    (row,) = database.findings()
    assert row.times == (1 if numbered else 2)
    assert finding_of(row).group == "reference|difference|Relu|"


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"symptom": Symptom.DIFFERENCE}, "difference|reference|Relu"),
        ({"symptom": Symptom.NAN_INF}, "nan-inf|reference|Relu"),
        ({"symptom": Symptom.DIFFERENCE, "output": "x"}, "difference|reference|"),
        ({"symptom": Symptom.DIFFERENCE, "output": "none"}, "difference|reference|"),
        ({}, "rejection|reference|compile|no|Relu"),
    ],
)
def test_the_place_of_a_suspect(change: dict[str, object], key: str) -> None:
    verdict = replace(VERDICT, output="y")
    assert module._suspect_key(finding(replace(verdict, **change)), "label") == f"label|{key}"  # type: ignore[arg-type]


@pytest.mark.parametrize("first", [False, True])
def test_what_is_of_one_cause_is_counted_for_the_finding_of_that_cause(
    layout: Layout, database: Database, first: bool
) -> None:
    archive = CampaignArchive(layout, database, Config())
    for one in (_by_pass(3), finding()) if first else (finding(), _by_pass(3)):
        _keep(archive, one)
    for nodes in (2, 4):
        assert archive.has(_by_pass(nodes)) is True
        assert archive.explains(_by_pass(nodes)) is True
    times = {row.target: row.times for row in database.findings()}
    assert times == {"onnxruntime:basic": 3, "reference": 1}


@pytest.mark.parametrize(
    ("later", "folders"),
    [
        (Status.CONFIRMED, ["findings/0001-rejection-reference"]),
        (Status.UNREPLAYED, ["unreplayed/0001-rejection-reference"]),
    ],
)
def test_what_was_not_shown_in_time_becomes_what_its_script_shows_later(
    layout: Layout, database: Database, monkeypatch: pytest.MonkeyPatch, later: Status, folders: list[str]
) -> None:
    status, patience = Status.UNREPLAYED, 0.0
    monkeypatch.setattr(
        module, "write_shown", lambda folder, one, **_: replace(one, status=status, printed="later" if patience else "")
    )
    first = CampaignArchive(layout, database, Config(), patience=lambda: patience)
    assert first.take(finding(), [first.settle, first.replay, first.store]) == "unfinished"
    assert (first.unfinished, database.finding(1).status) == (1, "unreplayed")
    (folder,) = layout.unreplayed.iterdir()
    assert TIME_UP in (folder / "report.md").read_text()
    waited = replace(finding(), doubted=first.unfinished)
    status, patience = later, 1000.0
    second = CampaignArchive(layout, database, Config(), patience=lambda: patience)
    assert second.doubts(waited) is True
    way = [second.settle, second.replay, second.store]
    assert second.take(waited, way) == ("findings" if later is Status.CONFIRMED else "unreplayed")
    assert [(row.number, row.status, row.signature) for row in database.findings()] == [(1, later, finding().signature)]
    found = [f"{f.parent.name}/{f.name}" for kind in ("findings", "unreplayed") for f in (layout.out / kind).glob("0*")]
    assert found == folders
    assert TIME_UP not in (layout.out / folders[0] / "report.md").read_text()
    assert second.take(waited, way) == "repeated", "as after a kill before the case was forgotten"
    assert database.finding(1).status == later
