"""``--budget`` and ``--replay``: how long a build's campaign takes, and what is replayed first."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from irfuzz.cli.budget_modes import BUDGETS, USUAL, with_budget
from irfuzz.cli.commands import fuzz
from irfuzz.cli.main import main
from irfuzz.cli.parser import Parser, parse
from irfuzz.errors import UsageError
from irfuzz.store.finding_sightings import DATABASE

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def parsed(*words: str) -> argparse.Namespace:
    parser = Parser("fuzz", "")
    fuzz.arguments(parser)
    args = parse(parser, [*words])
    with_budget(args)
    return args


def test_a_budget_is_a_time_that_a_typed_time_replaces() -> None:
    assert parsed("seeds").time == USUAL == 600.0
    assert {name: parsed("seeds", "--budget", name).time for name in BUDGETS} == {"pull-request": 120, "night": 3600}
    assert parsed("seeds", "--budget", "night", "--time", "5m").time == 300.0
    with pytest.raises(UsageError, match=r"--budget: invalid choice: 'day'"):
        parsed("seeds", "--budget", "day")


def test_a_typed_budget_replaces_the_time_of_the_file_and_a_written_one_does_not() -> None:
    Path("irfuzz.toml").write_text('[fuzz]\ntime = "40m"\n')
    assert parsed("seeds").time == 2400.0
    assert parsed("seeds", "--budget", "pull-request").time == 120.0
    assert parsed("seeds", "--budget=pull-request").time == 120.0
    Path("irfuzz.toml").write_text('[fuzz]\ntime = "40m"\nbudget = "night"\n')
    assert parsed("seeds").time == 2400.0
    Path("irfuzz.toml").write_text('[fuzz]\nbudget = "night"\n')
    assert parsed("seeds").time == 3600.0


def test_what_the_campaign_stored_is_replayed_with_a_budget_alone() -> None:
    assert parsed("seeds", "--budget", "night").replay == [], "there is no campaign yet"
    Path("irfuzz-out").mkdir()
    Path("irfuzz-out", DATABASE).touch()
    assert parsed("seeds").replay == []
    assert parsed("seeds", "--budget", "night").replay == [Path("irfuzz-out")]
    assert parsed("seeds", "--budget", "night", "--replay", "a", "--replay", "b").replay == [
        *(Path("irfuzz-out"), Path("a"), Path("b"))
    ]
    assert parsed("seeds", "--budget", "night", "--replay", "irfuzz-out").replay == [Path("irfuzz-out")]


def test_seeds_may_stand_in_the_file_and_the_command_line_wins(capsys: pytest.CaptureFixture[str]) -> None:
    Path("irfuzz.toml").write_text('[fuzz]\nseeds = ["a", "b.onnx"]\n')
    assert parsed().seeds == [Path("a"), Path("b.onnx")]
    assert parsed("c").seeds == [Path("c")]
    assert parsed("--seed", "3", "c", "--time", "1m").seeds == [Path("c")]
    Path("irfuzz.toml").write_text("[fuzz]\nseeds = []\n")
    assert main(["fuzz"]) == 2
    assert capsys.readouterr().err == (
        "irfuzz: error: expected SEED, a model or a folder with models; see `irfuzz fuzz --help`\n"
    )
