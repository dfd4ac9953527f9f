"""``irfuzz conform`` over the command line: its flags, what it writes and its exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irfuzz.cli.main import main
from irfuzz.conformance.target_results import CaseStatus, document
from tests.conformance.test_target_results import outcome, results


@pytest.fixture
def two(tmp_path: Path) -> list[str]:
    """Results of two versions, of which the second is worse."""
    places = [tmp_path / "old.json", tmp_path / "new.json"]
    for place, status in zip(places, (CaseStatus.RIGHT, CaseStatus.WRONG), strict=True):
        place.write_text(json.dumps(document([results(outcome("a", status))])))
    return [str(place) for place in places]


@pytest.mark.unit
def test_two_results_are_compared(two: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "--compare", *two]) == 0
    assert capsys.readouterr().out.splitlines()[0].startswith("t 1 -> t 1: of 1 cases 1 worse")
    assert main(["conform", "--compare", *two, "--fail-on", "worse", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)[0]["changed"][0]["change"] == "worse"
    assert main(["conform", "--compare", *reversed(two), "--fail-on", "worse"]) == 0


@pytest.mark.unit
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "TARGET: expected at least one"),
        (["reference", "--fail-on", "worse"], "--fail-on worse: nothing is compared"),
        (["reference", "--cases", "nodes"], "--cases: expected some of node, bug, seed, drawn, got nodes"),
        (["reference", "--cases", "bug", "--ops", "Nix"], "--ops: no case is about Nix"),
        (["reference", "--sample", "0"], "--sample: expected a whole number of at least 1"),
        (["nothing-such", "--cases", "bug", "--ops", "Shrink"], "unknown target 'nothing-such'"),
    ],
)
def test_a_mistake_is_one_line(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert told in said.err.splitlines()[-1]


@pytest.mark.unit
@pytest.mark.parametrize("words", [["reference"], ["--ops", "Neg"], ["--fail-on", "wrong"], ["--html", "x.html"]])
def test_with_compare_nothing_is_run(two: list[str], words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", *words, "--compare", *two]) == 2
    assert "with --compare nothing is run" in capsys.readouterr().err


@pytest.mark.backend
def test_a_fault_is_written_everywhere_and_may_fail_a_build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planted = Path(__file__).parents[1] / "planted_targets" / "conforming.py"
    places = {flag: tmp_path / name for flag, name in (("--junit", "j.xml"), ("--html", "p.html"), ("--out", "kept"))}
    words = [f"{planted}:Wrong", "--cases", "node", "--ops", "Neg", *(str(w) for pair in places.items() for w in pair)]
    assert main(["conform", *words, "--fail-on", "wrong", "--json", "-q"]) == 1
    (one,) = json.loads(capsys.readouterr().out)["targets"]
    assert one["counts"]["wrong"] == 2
    assert "<failure" in places["--junit"].read_text()
    assert "node/neg" in places["--html"].read_text()
    assert len(list(places["--out"].iterdir())) == 1
