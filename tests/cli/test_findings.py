"""``irfuzz findings`` from its words to its exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irfuzz.cli.main import main


@pytest.fixture
def out(tmp_path: Path) -> Path:
    for number, (kind, known) in enumerate([("findings", ["a"]), ("findings", []), ("suspects", [])], 1):
        folder = tmp_path / kind / f"000{number}"
        folder.mkdir(parents=True)
        about = {
            "schema": 1, "title": f"title {number}", "symptom": "crash", "target": "t", "signature": f"s{number}",
            "suspect": kind == "suspects", "status": "confirmed", "label": "",
            "known": [{"id": k, "title": "", "link": ""} for k in known],
        }  # fmt: skip
        (folder / "finding.json").write_text(json.dumps(about))
        (folder / "report.md").write_text(f"# <report> {number}\n")
    return tmp_path


def test_list_label_and_show(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    second = str(out / "findings" / "0002")
    assert main(["findings", "label", second, "wontfix"]) == 0
    capsys.readouterr()
    assert main(["findings", "list", str(out)]) == 0
    text = capsys.readouterr().out
    assert "2 findings, 0 of them neither known nor labelled\napart from them: 1 suspects" in text
    assert "  1 x a\n  1 x wontfix" in text
    assert main(["findings", "list", str(out), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(e["signature"], e["known"], e["label"], e["suspect"]) for e in listed] == [
        ("s1", ["a"], "", False),
        ("s2", [], "wontfix", False),
        ("s3", [], "", True),
    ]
    assert main(["findings", "show", second]) == 0
    assert capsys.readouterr().out == "# <report> 2\n\n"
    assert main(["findings", "show", second, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["label"] == "wontfix"
    assert main(["findings", "label", second, ""]) == 0
    assert json.loads((out / "findings" / "0002" / "finding.json").read_text())["label"] == ""


def test_a_damaged_one_is_named(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = out / "findings" / "0002" / "finding.json"
    place.write_text('{"symptom": "crash", "target": "t", "known": [5]}')
    assert main(["findings", "list", str(out)]) == 2
    assert f"{place}: known: expected a list" in capsys.readouterr().err


def test_open_writes_a_page(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["findings", "open", str(out / "findings" / "0001"), "--no-browser"]) == 0
    page = Path(capsys.readouterr().out.strip())
    assert page == out / "findings" / "0001" / "report.html"
    assert "<h1>" in page.read_text()
    assert main(["findings", "open", str(out / "findings" / "0001"), "--no-browser"]) == 0
    page.write_text("<p>mine")
    assert main(["findings", "open", str(out / "findings" / "0001"), "--no-browser"]) == 2
    assert page.read_text() == "<p>mine"


def test_pages_know_the_baseline_of_the_project(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, file = out / "findings" / "0002", tmp_path / "baseline.json"
    assert main(["findings", "baseline", str(folder), "-o", str(file)]) == 0
    monkeypatch.chdir(tmp_path)
    index = tmp_path / "site" / "index.html"
    words = ["report", str(out), "-o", str(index.parent)]
    for more, new in ([], 1), (["--baseline", str(file)], 0):
        assert main([*words, *more]) == 0
        assert f"<dd>{new} <small>of 2</small></dd>" in index.read_text()
        assert ("is-baseline" in index.read_text()) == (not new)
    (tmp_path / "irfuzz.toml").write_text('[fuzz]\nbaseline = "baseline.json"\n')
    for command in (words, ["findings", "open", str(folder), "--no-browser"]):
        capsys.readouterr()
        assert main(command) == 0
        assert "is-baseline" in Path(capsys.readouterr().out.strip()).read_text()
    (tmp_path / "baseline.json").write_text("<<<<<<< HEAD")
    for command in (words, ["findings", "open", str(out), "--no-browser"]):
        assert main(command) == 2
        assert "irfuzz.toml: [fuzz]: baseline: baseline.json: not JSON" in capsys.readouterr().err


def test_a_campaign_without_findings_has_nothing_to_bisect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "findings").mkdir()
    assert main(["findings", "bisect", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "no confirmed finding there, so nothing was asked\n"
    assert main(["findings", "bisect", str(tmp_path), "--json"]) == 0
    assert capsys.readouterr().out == "[]\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "{}"], "not the folder of a finding"),
        (["{}"], "in front of a folder: irfuzz findings list {}"),
        (["lits"], "invalid choice: 'lits' (choose from 'list', "),
        (["list", "{}/findings/0001/nothing"], "no finding there"),
        (["label", "{}/findings/0001"], "expected TEXT"),
        (["show", "{}/findings/0001", "more"], "expected PATH alone"),
        (["show", "{}/findings/0001", "--suspects"], "show: --suspects belongs to list and baseline"),
        (["show", "{}/findings/0001", "-o", "x"], "show: -o belongs to baseline, recover and export"),
        (["baseline", "{}"], "baseline: expected -o FILE"),
        (["baseline", "{}", "-o", "{}/findings/0001/finding.json"], "finding.json: not a baseline"),
        (["baseline", "{}", "-o", "{}"], "is a folder; expected a file"),
    ],
)
def test_what_is_no_finding(out: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["findings", *(w.format(out) for w in words)]) == 2
    captured = capsys.readouterr()
    assert said.format(out) in captured.err
    assert captured.out == ""


def _with_cause(folder: Path, words: str, **more: object) -> None:
    place = folder / "finding.json"
    cause = {
        "target": "t", "symptom": "rejection", "by": "Pass", "passes": True, "words": words, "kinds": "",
        "operators": [folder.name], "attributes": [], "floats": [], "empty": False, "nodes": 1, **more,
    }  # fmt: skip
    place.write_text(json.dumps({**json.loads(place.read_text()), "cause": cause}))


@pytest.mark.parametrize(("words", "same"), [("no such edge", True), ("no kernel", False)])
def test_findings_of_one_cause_stand_together(
    out: Path, capsys: pytest.CaptureFixture[str], words: str, same: bool
) -> None:
    first, second, suspect = (out / kind for kind in ("findings/0001", "findings/0002", "suspects/0003"))
    _with_cause(first, "no such edge")
    _with_cause(second, words)
    _with_cause(suspect, "no such edge")
    assert main(["findings", "list", str(out)]) == 0
    text = capsys.readouterr().out
    assert (f"{first}\n  title 1\n  known: a\n  of the same cause: {second}\n{suspect}" in text) is same
    assert ("2 findings of 1 cause, 1 of them neither known nor labelled" in text) is same
    assert ("title 2" in text) is not same
    assert main(["findings", "list", str(out), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [one["same_cause"] for one in listed] == ["", str(first) if same else "", ""]


def test_a_damaged_cause_is_bad_input(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _with_cause(out / "findings" / "0001", "no", symptom="sadness")
    assert main(["findings", "list", str(out)]) == 2
    assert "cause: cannot be read: 'sadness'" in capsys.readouterr().err


def test_suspects_are_listed_by_rank_with_their_doubt(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, (bound, doubt) in enumerate([(1.0, "no two witnesses"), (None, "undefined behaviour")], 3):
        folder = out / "suspects" / f"000{number}"
        folder.mkdir(exist_ok=True)
        verdict = {
            "oracle": "o", "witnesses": ["a"], "suspect": True, "output": "y", "distance": 2.0, "bound": bound,
            "evidence": {"suspect": doubt},
        }  # fmt: skip
        about = {"symptom": "difference", "target": "t", "title": f"title {number}", "suspect": True}
        (folder / "finding.json").write_text(json.dumps({**about, "verdict": verdict}))
    assert main(["findings", "list", str(out), "--suspects"]) == 0
    text = capsys.readouterr().out
    assert text == (
        f"{out}/suspects/0004\n  title 4\n  severity: high\n  in doubt: undefined behaviour\n"
        f"{out}/suspects/0003\n  title 3\n  severity: high\n  in doubt: no two witnesses\n2 suspects\n"
    )
    for place in (out / "suspects").glob("*/finding.json"):
        place.write_text(json.dumps({**json.loads(place.read_text()), "group": "t|difference|Relu|"}))
    assert main(["findings", "list", str(out), "--suspects"]) == 0
    assert capsys.readouterr().out == (
        f"{out}/suspects/0004\n  title 4\n  severity: high\n  in doubt: undefined behaviour\n  and 1 more like it\n"
        "2 suspects in 1 group\n"
    )
    assert main(["findings", "list", str(out)]) == 0
    text = capsys.readouterr().out
    assert "  and 1 more like it\n2 findings, 1 of them neither known nor labelled\n" in text
    assert "apart from them: 2 suspects in 1 group\n" in text
    assert main(["findings", "list", str(out), "--suspects", "--json"]) == 0
    listed = capsys.readouterr().out
    assert [one["like"] for one in json.loads(listed)] == ["", f"{out}/suspects/0004"]
    assert [one["title"] for one in json.loads(listed)] == ["title 4", "title 3"]
    assert main(["findings", "show", str(out / "findings" / "0001"), "--suspects"]) == 2
    assert "--suspects belongs to list" in capsys.readouterr().err


def _baseline(*words: object, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert main(["findings", "baseline", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_baseline_is_written_and_extended(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = out / "made" / "baseline.json"
    told = _baseline(out, "-o", file, capsys=capsys)
    assert told == {"file": str(file), "added": ["title 2"], "covered": 0, "known": 1, "total": 1}
    first = file.read_text()
    assert main(["findings", "baseline", str(out), "-o", str(file)]) == 0
    assert capsys.readouterr().out == f"{file}: 0 added, 1 covered already, 1 known left out, 1 in all\n"
    assert file.read_text() == first
    assert _baseline(out, "-o", file, "--suspects", capsys=capsys)["added"] == ["title 3"]
    rows = json.loads(file.read_text())["findings"]
    assert rows == [
        {"signature": "s2", "title": "title 2"},
        {"signature": "s3", "title": "title 3", "suspect": True},
    ]
    assert [path.name for path in file.parent.iterdir()] == ["baseline.json"], "no draft is left"


def test_a_label_becomes_the_note_and_brings_a_known_one_in(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = out / "baseline.json"
    _baseline(out, "-o", file, capsys=capsys)
    for number in (1, 2):
        assert main(["findings", "label", str(out / "findings" / f"000{number}"), f"ours {number}"]) == 0
    capsys.readouterr()
    assert _baseline(out, "-o", file, capsys=capsys)["added"] == ["title 1"]
    assert [row["note"] for row in json.loads(file.read_text())["findings"]] == ["ours 1", "ours 2"]


def test_what_an_entry_explains_or_was_not_shown_again_is_left_out(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = out / "findings" / "0001", out / "findings" / "0002"
    for folder, signature in ((first, "s1"), (second, "s2")):
        about = json.loads((folder / "finding.json").read_text())
        (folder / "finding.json").write_text(json.dumps({**about, "known": [], "signature": signature}))
        _with_cause(folder, "no such edge")
    told = _baseline(out, "-o", out / "b.json", capsys=capsys)
    assert (told["added"], told["covered"]) == (["title 1"], 1)
    about = json.loads((first / "finding.json").read_text())
    (first / "finding.json").write_text(json.dumps({**about, "status": "unreplayed"}))
    assert _baseline(out, "-o", out / "c.json", capsys=capsys)["added"] == ["title 2"]


def test_a_finding_without_a_signature_comes_into_no_baseline(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = out / "findings" / "0002" / "finding.json"
    place.write_text('{"symptom": "crash", "target": "t"}')
    assert main(["findings", "baseline", str(out), "-o", str(out / "b.json")]) == 2
    assert f"{place}: signature: expected text that is not empty" in capsys.readouterr().err
    assert not (out / "b.json").exists()
