"""What one version of a component shows is looked for in all, and told in lists, reports and scripts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

from irfuzz.campaign.stored_findings import release_bisection
from irfuzz.campaign.stored_findings.release_bisection import bisect_all, save
from irfuzz.errors import UsageError
from irfuzz.execute import target_table
from irfuzz.execute.float64_shadow_runs import ShadowRun
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target, Value
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import Availability
from irfuzz.execute.versions import environments
from irfuzz.findings.blame import affected_versions
from irfuzz.findings.blame.affected_versions import AffectedVersions, with_others
from irfuzz.findings.codec import finding_of, row_of
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding, VersionAnswer
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.oracle import judge, signature
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.report.affected_versions_text import where_text
from irfuzz.report.command_reports.finding_list import label
from irfuzz.report.finding_folder_writer import write_bundle
from irfuzz.store.database import Database
from tests.campaign.running import ENV, command
from tests.execute.other_python import make_python, put

PLANTED = """
import onnx
from onnx.reference.ops import op_neg

onnx.__version__ = "1.0.0"
op_neg.Neg._run = lambda self, x: (x,)
"""
NEG = '<ir_version: 8, opset_import: ["" : 17]> g (float[2,3] x) => (float[2,3] y) { y = Neg(x) }'
RELU = '<ir_version: 8, opset_import: ["" : 17]> g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }'


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of an environment whose reference evaluator has forgotten what Neg does."""
    python = make_python(tmp_path_factory.mktemp("python") / "env")
    packages = next((python.parents[1] / "lib").glob("python3*")) / "site-packages"
    (packages / "planted.py").write_text(PLANTED)
    (packages / "zz.pth").write_text("import planted\n")  # after the one that shows it our packages
    return python


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: Path) -> Path:
    """Two other versions of the reference evaluator: one of them faulty, one that is gone."""
    monkeypatch.setenv(environments.HOME, str(tmp_path / "home"))
    put("onnx-1.0.0", "onnx", "1.0.0", "reference", other)
    put("onnx-1.1.0", "onnx", "1.1.0", "reference", "/nowhere/python")
    return tmp_path / "home"


def told(*shown: tuple[str, bool | None]) -> str:
    case = FailingCase(b"", b"")
    verdict = Verdict("o", Symptom.CRASH, "ort@2:all", ())
    return where_text(Finding(verdict, case, case, shown=tuple(VersionAnswer(v, v, "", shows) for v, shows in shown)))


@pytest.mark.unit
def test_words_about_versions() -> None:
    assert told(("1.0", True)) == ""
    assert told(("1.0", False), ("1.1", True), ("1.2", None), ("1.3", True), ("1.10", False)) == (
        "ort: shows in 1.1, 1.3; not in 1.0, 1.10; cannot be told of 1.2 "
        "(introduced after 1.0, by 1.1; fixed after 1.3, by 1.10)"
    )
    assert told(("1.0", True), ("1.1", True)) == "ort: shows in 1.0, 1.1"


@pytest.mark.unit
def test_a_fault_is_named_after_the_newest_version_that_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = (
        VersionAnswer("a", "1", "e", True, "", "old"),
        VersionAnswer("b", "2", "", True, "", "new"),
        VersionAnswer("c", "3", "f", False),
    )
    monkeypatch.setattr(AffectedVersions, "shown_in", lambda *_: shown)
    case = FailingCase(b"", b"")
    finding = Finding(Verdict("o", Symptom.CRASH, "a", ()), case, case, signature="old")
    with Runner(target_table.resolve(["onnxruntime:disabled"])) as runner:
        named = AffectedVersions(runner, Limits())(finding)
        assert (named.signature, named.shown) == ("new", shown)
        assert AffectedVersions(runner, Limits(), lambda: True)(finding) is finding
        monkeypatch.setattr(AffectedVersions, "shown_in", lambda *_: shown[:1])
        assert AffectedVersions(runner, Limits())(finding) is finding


NO = "no\nmore"


class Versions:
    """A runner of targets that give what is said for their component; in a place of it one that ends otherwise."""

    def __init__(self, *targets: Target, ends: Mapping[str, Exit] | None = None) -> None:
        self.targets = targets
        self.ends = ends or {}
        self.absent: tuple[object, ...] = ()

    def run(self, program: Program, inputs: Mapping[str, Value], targets: Sequence[Target]) -> list[RunResult]:
        right = {"y": np.array([-1, -2], np.float32)}
        answers = {True: {"y": np.array([-1, 9], np.float32)}, "type": {"y": np.array([-1, -2], np.float64)}}
        return [
            RunResult(t, Stage.RUN, self.ends.get(t.name, Exit.OK), answers.get(t.options["wrong"], right), error=NO)
            for t in targets
        ]

    run_fresh = run

    def shadow(self, program: Program, inputs: Mapping[str, Value]) -> ShadowRun:
        return ShadowRun(refused="none here")

    quick_shadow = shadow


def planted(name: str, *, wrong: bool | str = False) -> Target:
    component, _, version = name.partition(":")[0].partition("@")
    environment = f"{component}-{version}" if version else ""
    return Target(name, component, version or "9", environment=environment, options={"wrong": wrong})


INT = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Neg(x) }'


@pytest.mark.unit
@pytest.mark.parametrize(
    ("names", "ends", "answer"),
    [
        ({"ort@1:all": True}, {}, ("ort@1:all", "1", True, "")),
        ({"ort@1:all": False}, {}, ("ort@1:all", "1", False, "")),
        ({"ort@1:basic": True, "ort@1:all": False}, {}, ("ort@1:all", "1", True, "")),
        ({"ort@1:basic": True, "ort@1:layout": False}, {}, ("ort@1:basic", "1", True, "")),
        ({"ort@1:basic": False, "ort@1:layout": False}, {}, ("ort@1:basic", "1", False, "")),
        ({"ort@1:all": "type"}, {}, ("ort@1:all", "1", False, "wrong-dtype instead")),
        ({"ort@1:all": True}, {"ort@1:all": Exit.UNSUPPORTED}, ("ort@1:all", "1", None, "unsupported: no\nmore")),
        ({"ort@1:all": True}, {"ort@1:all": Exit.REJECTED}, ("ort@1:all", "1", False, "rejected: no\nmore")),
    ],
)
def test_what_one_version_says(
    monkeypatch: pytest.MonkeyPatch, names: dict[str, bool | str], ends: dict[str, Exit], answer: tuple[object, ...]
) -> None:
    program = Program.from_proto(onnx.parser.parse_model(INT))
    inputs = {"x": np.array([1, 2], np.float32)}
    blamed, witnesses = planted("ort:all", wrong=True), (planted("one"), planted("two"))
    group = [planted(name, wrong=wrong) for name, wrong in names.items()]
    runner = Versions(blamed, *witnesses, *group, ends=ends)
    results = runner.run(program, inputs, [blamed, *witnesses])
    verdict = Verdict("numeric", Symptom.DIFFERENCE, "ort:all", ("one", "two"), output="y")
    others = [Availability(t, "") for t in group]
    monkeypatch.setattr(affected_versions, "versions_of", lambda target: others)
    case = FailingCase(program, inputs)
    asked = AffectedVersions(runner, Limits())  # type: ignore[arg-type]
    own, *rest = reversed(asked.shown_in(Finding(verdict, case, case, results)))
    assert (own.target, own.version, own.environment, own.shows, own.told) == ("ort:all", "9", "", True, "")
    assert own.signature == signature(verdict, program)
    (found,) = rest
    assert (found.target, found.version, found.shows, found.told) == answer
    assert bool(found.signature) == (found.shows is True)


@pytest.mark.unit
def test_a_version_that_one_witness_contradicts_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program.from_proto(onnx.parser.parse_model(INT.replace("Neg", "Sin")))
    inputs = {"x": np.array([1, 2], np.float32)}
    blamed, old = planted("ort:all", wrong=True), planted("ort@1:all", wrong=True)
    runner = Versions(blamed, planted("one"), old)
    verdict = Verdict("numeric", Symptom.DIFFERENCE, "ort:all", ("one",), output="y")
    monkeypatch.setattr(affected_versions, "versions_of", lambda target: [Availability(old, "")])
    case = FailingCase(program, inputs)
    finding = Finding(verdict, case, case, runner.run(program, inputs, runner.targets[:2]))
    found, _ = AffectedVersions(runner, Limits()).shown_in(finding)  # type: ignore[arg-type]
    assert found.shows is None
    assert found.told.startswith("suspect: ")


@pytest.mark.unit
def test_new_answers_replace_those_of_the_same_release() -> None:
    def said(version: str, shows: bool | None, environment: str = "") -> VersionAnswer:
        return VersionAnswer(f"a@{version}", version, environment, shows)

    now = [said("1.10.0", True), said("1.9.0+cpu", False)]
    before = [said("1.9.0", True), said("1.2.0", False), said("1.10.0+cpu", None), said("1.11.0", None)]
    found = with_others(now, before)
    assert [(s.version, s.shows) for s in found] == [
        ("1.2.0", False),
        ("1.9.0+cpu", False),
        ("1.10.0", True),
        ("1.11.0", None),
    ]
    assert with_others([said("1.0", True, "b"), said("1.0", False, "a")], []) == (
        said("1.0", False, "a"),
        said("1.0", True, "b"),
    )


@pytest.mark.planted
@pytest.mark.backend
@pytest.mark.parametrize(("text", "faulty"), [(NEG, True), (RELU, False)])
def test_versions_are_judged_by_the_same_witnesses(text: str, faulty: bool) -> None:
    program = Program.from_proto(onnx.parser.parse_model(text))
    inputs = {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}
    chosen = target_table.resolve(["reference@1.0.0", "onnxruntime:disabled", "torch:eager"])
    limits = Limits()
    with Runner(chosen, limits) as runner:
        results = runner.run(program, inputs)
        found = judge(program, inputs, results, rerun=lambda other, moved=None: runner.run(moved or program, other))
        assert [(v.target, v.suspect) for v in found] == ([("reference@1.0.0", False)] if faulty else [])
        if not faulty:
            return
        with closing(AffectedVersions(runner, limits)) as versions:
            case = FailingCase(program, inputs)
            named = versions(Finding(found[0], case, case, results))
    assert [(s.target, s.environment, s.shows) for s in named.shown] == [
        ("reference@1.0.0", "onnx-1.0.0", True),
        ("reference", "", False),
    ]
    assert named.signature == signature(found[0], program)


@pytest.mark.planted
@pytest.mark.backend
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_campaign_tells_versions_apart(tmp_path: Path, home: Path, other: Path) -> None:
    seed = tmp_path / "neg.onnx"
    onnx.save(onnx.parser.parse_model(NEG), seed)
    words = [seed, "--out", tmp_path / "out", "--time", "100s", "--programs", 1, "--jobs", 1, "--json"]
    words += ["--targets", "reference@1.0.0,onnxruntime:disabled,torch:eager"]
    env = {**ENV, environments.HOME: str(home)}
    result = subprocess.run(command("fuzz", *words), cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert result.returncode == 1, result.stderr
    assert result.stderr == ""
    (found,) = json.loads(result.stdout)["list"]
    assert [(s["target"], s["shows"]) for s in found["shown"]] == [("reference@1.0.0", True), ("reference", False)]
    folder = Path(found["folder"])
    about = json.loads((folder / "finding.json").read_text())
    assert about["shown"] == found["shown"]
    assert about["environments"] == {"reference@1.0.0": "onnx==1.0.0 numpy"}
    report = (folder / "report.md").read_text()
    assert "old/bin/pip install onnx==1.0.0 numpy" in report
    assert f"shows in 1.0.0; not in {onnx.__version__}" in report.replace("\\", "")
    script = (folder / "repro.py").read_text()
    assert "irfuzz env add onnx==1.0.0" in script
    assert str(home) not in script
    # Outside irfuzz, in the environment's interpreter, the witnesses recorded or at hand; ours has it right.
    for python, code in ((str(other), 1), (sys.executable, 0)):
        for gone in ((), ("onnxruntime", "torch")):
            hide = f"import sys, runpy; sys.modules.update(dict.fromkeys({gone!r})); sys.argv = [{str(folder)!r}]; "
            words = [
                "env",
                "-i",
                python,
                "-I",
                "-c",
                hide + f"runpy.run_path({str(folder / 'repro.py')!r}, None, '__main__')",
            ]
            done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert done.returncode == code, done.stdout + done.stderr
            assert done.stdout.count("when this was found") == len(gone)


@pytest.mark.planted
@pytest.mark.backend
def test_a_folder_is_bisected_over_releases_and_keeps_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program.from_proto(onnx.parser.parse_model(NEG))
    inputs = {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}
    case = FailingCase(program, inputs)
    with Runner(target_table.resolve(["reference@1.0.0", "onnxruntime:disabled", "torch:eager"]), Limits()) as runner:
        results = runner.run(program, inputs)
        (verdict,) = judge(program, inputs, results)
    finding = Finding(verdict, case, case, results).signed()
    out = tmp_path / "out"
    folder = out / "findings" / "0001-difference-reference-1-0-0"
    with closing(Database(_made(out) / "campaign.sqlite")) as database:
        assert database.add_finding(row_of(finding)) == 1
    write_bundle(folder, finding)
    label(folder, "mine")
    before = (folder / "report.md").read_text()
    monkeypatch.setattr(release_bisection, "releases", lambda name: ("0.9.0", "1.0.0", onnx.__version__))
    asked: list[str] = []

    def ensure(distribution: str, version: str, say: object) -> str:
        asked.append(f"{distribution} {version}")
        raise UsageError("no wheel")

    monkeypatch.setattr(release_bisection, "ensure", ensure)
    told: list[str] = []
    (found,) = bisect_all([folder], told.append)
    assert asked == ["onnx 0.9.0"], "the others are at hand"
    assert [(s.version, s.shows, s.previous) for s in found.shown] == [
        ("1.0.0", True, "0.9.0"),
        (onnx.__version__, False, "1.0.0"),
    ]
    assert told[-1] == f"fixed in {onnx.__version__}"
    about = json.loads((folder / "finding.json").read_text())
    assert (about["introduced"], about["fixed"], about["label"]) == ("", onnx.__version__, "mine")
    assert len(about["shown"]) == 2
    report = (folder / "report.md").read_text()
    assert f"fixed in {onnx.__version__}" in report.replace("\\", "")
    assert report.count("## In which versions") == 1
    assert len(report.split("\n")) == len(before.split("\n")) + 8  # a line, and a section with two rows
    save(folder, found)
    assert (folder / "report.md").read_text() == report, "again changes nothing"
    with closing(Database(out / "campaign.sqlite")) as database:
        (row,) = database.findings()
    assert finding_of(row).shown == found.shown
    # What does not show here, or has no releases, is told and left as it was.
    healthy = FailingCase(Program.from_proto(onnx.parser.parse_model(RELU)), inputs)
    write_bundle(folder, replace(finding, case=healthy))
    assert list(bisect_all([folder], told.append)) == []
    assert told[-1].endswith("does not show here, so no release is asked")


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
