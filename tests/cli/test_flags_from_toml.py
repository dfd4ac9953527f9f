"""Flags of ``fuzz`` in ``irfuzz.toml`` and ``pyproject.toml``: as if they were typed, unless they are typed."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from irfuzz.cli.commands import fuzz
from irfuzz.cli.main import main
from irfuzz.cli.parser import Parser, parse
from irfuzz.errors import UsageError

pytestmark = pytest.mark.unit

WHOLE = """
time = "40m"
out = "nightly"
targets = ["reference", "onnxruntime:*"]
target = ["a.py:A", "b.py:B"]
size = ["H=48", "W=1"]
mutators = "comet,lemon"
seed = 7
sprouts = 0.5
equiv = true
json = false
fail-on = "undecided"
baseline = "base.json"
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def parsed(*words: str) -> argparse.Namespace:
    parser = Parser("fuzz", "")
    fuzz.arguments(parser)
    return parse(parser, ["seeds", *words])


def flags(args: argparse.Namespace) -> dict[str, object]:
    return {name: value for name, value in vars(args).items() if name != "project_flags"}


TYPED = (
    *("--time", "40m", "--out", "nightly", "--targets", "reference,onnxruntime:*", "--target", "a.py:A"),
    *("--target", "b.py:B", "--size", "H=48", "--size", "W=1", "--mutators", "comet,lemon", "--seed", "7"),
    *("--sprouts", "0.5", "--equiv", "--fail-on", "undecided", "--baseline", "base.json"),
)


@pytest.mark.parametrize(
    ("name", "table"),
    [("irfuzz.toml", "fuzz"), ("pyproject.toml", "tool.irfuzz.fuzz"), ("pyproject.toml", "tool.irfuzz")],
)
def test_flags_of_a_file_are_as_if_they_were_typed(name: str, table: str) -> None:
    typed = flags(parsed(*TYPED))
    Path(name).write_text(f"[{table}]\n{WHOLE}")
    found = parsed()
    assert flags(found) == typed
    assert found.project_flags.place == f"{name}: [{table}]"
    assert found.project_flags.keys[:2] == ("time", "out")


def test_the_command_line_wins() -> None:
    Path("irfuzz.toml").write_text(f"[fuzz]\n{WHOLE}")
    found = parsed("--time", "5s", "-o", "other", "--target", "c.py:C", "--size", "H=1", "--seed", "0", "--json")
    assert (found.time, found.out, found.seed, found.json) == (5.0, Path("other"), 0, True)
    assert (found.target, found.size) == (["c.py:C"], [("H", 1)])
    assert found.sprouts == 0.5


def test_files_without_the_table_say_nothing() -> None:
    plain = flags(parsed())
    Path("irfuzz.toml").write_text("[inputs]\nsizes = { H = 48 }\n")
    Path("pyproject.toml").write_text('[project]\nname = "x"\n[tool.other]\nfuzz = 1\n')
    assert flags(parsed()) == plain
    assert parsed().project_flags.keys == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("fail_on = 1", "unknown key 'fail_on': did you mean 'fail-on'?"),
        ("tme = '1m'", "unknown key 'tme': did you mean 'time'?"),
        ("help = true", "unknown key 'help': did you mean "),
        ("time = 'soon'", "time: expected a time such as 90s, 10m or 1h30m, got 'soon'"),
        ("seed = -1", "seed: expected a whole number of at least 0, got '-1'"),
        ("seed = true", "seed: expected text or a number, got True"),
        ("seed = [1]", "seed: expected text or a number, got [1]"),
        ("equiv = 1", "equiv: expected true or false, got 1"),
        ("fail-on = 'all'", "fail-on: expected one of new, undecided, any, never, got 'all'"),
        ("size = ['H']", "size: expected DIM=N with N of at least 1, got 'H'"),
        ("targets = []", "targets: expected text or a number, got []"),
        ('baseline = "a\\u0000"', "baseline: 'a\\x00': "),
        ("search = ['a', 'b']", "search: expected text or a number, got ['a', 'b']"),
    ],
)
def test_what_is_wrong_is_told_with_file_table_and_key(text: str, says: str) -> None:
    for name, table in (("irfuzz.toml", "fuzz"), ("pyproject.toml", "tool.irfuzz.fuzz")):
        Path(name).write_text(f"[{table}]\n{text}\n")
        with pytest.raises(UsageError) as caught:
            parsed()
        assert str(caught.value).startswith(f"{name}: [{table}]: {says}")
        Path(name).unlink()


def test_wrong_tables_are_told() -> None:
    Path("pyproject.toml").write_text("[tool.irfuzz.fuz]\n")
    with pytest.raises(UsageError, match=r"pyproject.toml: \[tool.irfuzz\]: unknown key 'fuz': did you mean 'fuzz'\?"):
        parsed()
    Path("pyproject.toml").write_text("[tool.irfuzz]\nseed = 1\n[tool.irfuzz.fuzz]\n")
    with pytest.raises(UsageError, match=r"\[tool.irfuzz\]: unknown key 'seed': flags stand in \[tool.irfuzz.fuzz\]"):
        parsed()
    Path("pyproject.toml").write_text("[tool.irfuzz]\nfuzz = 1\n")
    with pytest.raises(UsageError, match=r"pyproject.toml: tool.irfuzz.fuzz: expected a table, got 1"):
        parsed()
    Path("pyproject.toml").write_text("tool = 1\n")
    Path("irfuzz.toml").write_text("[fuz]\nseed = 1\n")
    with pytest.raises(UsageError, match=r"^irfuzz.toml: unknown key 'fuz': did you mean 'fuzz'\?"):
        parsed()
    Path("pyproject.toml").write_text("[tool.irfuzz.fuzz]\n")
    Path("irfuzz.toml").write_text("[fuzz]\n")
    with pytest.raises(
        UsageError, match=r"irfuzz.toml: \[fuzz\] and pyproject.toml: \[tool.irfuzz.fuzz\]: expected one"
    ):
        parsed()


def test_help_is_there_beside_a_wrong_file_and_a_campaign_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    Path("irfuzz.toml").write_text("[fuzz]\nx = 1\n")
    assert main(["fuzz", "--help"]) == 0
    assert "[tool.irfuzz.fuzz]" in capsys.readouterr().out
    assert main(["fuzz", "seeds"]) == 2
    assert capsys.readouterr().err.startswith("irfuzz: error: irfuzz.toml: [fuzz]: unknown key 'x': did you mean ")
    assert main(["ops"]) == 0, "the table is that of one command"
