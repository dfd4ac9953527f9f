"""``irfuzz env``: what it prints, and words that are wrong. That it builds is shown in tests/execute."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from irfuzz.cli.main import main
from irfuzz.execute.versions import environments, releases
from tests.execute.other_python import put

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Exit code, output and errors of a command, with an empty folder of environments."""
    monkeypatch.setenv(environments.HOME, str(tmp_path / "home"))

    def call(*words: str) -> tuple[int, str, str]:
        code = main(words)
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


def test_list_add_again_and_remove(run: Run) -> None:
    assert run("env", "list", "--json") == (0, "[]\n", "")
    assert "irfuzz env add" in run("env", "list")[1]
    put("onnxruntime-1.20.1", "onnxruntime", "1.20.1", "onnxruntime", "/bin/python", opset=21, ir=10)
    assert re.match(r"onnxruntime-1\.20\.1 +Python 3\.11 +numpy 2\.0 +up to opset 21, IR 10$", run("env", "list")[1])
    (row,) = json.loads(run("env", "list", "--json")[1])
    assert (row["name"], row["distribution"], row["version"], row["ir"]) == (
        "onnxruntime-1.20.1", "onnxruntime", "1.20.1", 10,
    )  # fmt: skip
    code, out, err = run("env", "add", "onnxruntime==1.20.1")
    assert (code, err) == (0, "")
    assert "was there already" in out
    assert "--targets onnxruntime@1.20.1" in out
    assert json.loads(run("env", "add", "onnxruntime==1.20.1", "--json")[1]) == {**row, "built": False}
    assert run("env", "remove", "onnxruntime-1.20.1") == (0, "removed onnxruntime-1.20.1\n", "")
    assert run("env", "list", "--json")[1] == "[]\n"


def test_targets_of_environments_are_listed_with_what_is_wrong(run: Run) -> None:
    put("onnxruntime-1.20.1", "onnxruntime", "1.20.1", "onnxruntime", "/nowhere/python", opset=21, ir=10)
    rows = {row["name"]: row for row in json.loads(run("targets", "--json")[1])}
    row = rows["onnxruntime@1.20.1:basic"]
    assert {key: row[key] for key in ("component", "version", "environment", "options", "opset", "ir", "usable")} == {
        "component": "onnxruntime",
        "version": "1.20.1",
        "environment": "onnxruntime-1.20.1",
        "options": {"level": "basic"},
        "opset": 21,
        "ir": 10,
        "usable": False,
    }
    assert "/nowhere/python is gone" in row["why_not"]
    assert (rows["reference"]["usable"], rows["reference"]["environment"]) == (True, None)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["env"], "ACTION"),
        (["env", "build"], "invalid choice: 'build'"),
        (["env", "add"], "expected what to add, such as onnxruntime==1.29.0"),
        (["env", "remove"], "expected what to remove, such as onnxruntime-1.29.0"),
        (["env", "remove", "x"], "no environment 'x'; there are: none"),
        (["env", "list", "x"], "expected nothing more, got 'x'"),
        (["env", "list", "--with", "numpy"], "--with, --name and --wheels belong to env add"),
        (["env", "add", "onnxruntime"], "expected one exact version"),
        (["env", "add", "none.whl"], "expected the file of a wheel"),
        (["env", "add", "onnx==1.22.0", "--name", "a:b"], "an environment's name has letters"),
        (["env", "add", "onnx==1.22.0", "--python", "/nowhere/python"], "/nowhere/python is no program"),
    ],
)
def test_wrong_words_are_one_line_and_leave_nothing(run: Run, tmp_path: Path, words: list[str], told: str) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert told in err
    assert not any(p.is_dir() for p in (tmp_path / "home" / "environments").glob("*"))


def test_a_folder_that_cannot_be_written_says_what_to_set(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(environments.HOME, str(tmp_path / "file"))
    code, out, err = run("env", "add", "onnx==1.22.0")
    assert (code, out) == (2, "")
    assert "set IRFUZZ_HOME to a folder that can" in err
    assert run("env", "list")[0] == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--against-versions", "onnxruntime"], "--against-versions: 'onnxruntime': expected a component and how many"),
        (
            ["--against-versions", "ort:2", "--against-versions", "nothing:1"],
            "--against-versions: 'nothing:1': no compo",
        ),
        (["--against-versions", "ort:2", "--equiv"], "--against-versions: has no meaning with --equiv"),
        (["--against-versions", "ort:2", "--targets", "nothing"], "--targets: unknown target 'nothing'"),
    ],
)
def test_versions_that_mean_nothing_end_before_anything_is_installed(
    run: Run, tmp_path: Path, words: list[str], told: str
) -> None:
    code, out, err = run("fuzz", str(tmp_path / "model.onnx"), "--out", str(tmp_path / "out"), *words)
    assert (code, out) == (2, "")
    assert told in err
    assert not (tmp_path / "out").exists()


def test_without_an_index_the_user_is_told_and_nothing_is_left(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    releases.releases.cache_clear()
    code, out, err = run("fuzz", str(tmp_path / "model.onnx"), "--against-versions", "ort:2", "--json")
    releases.releases.cache_clear()
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "--against-versions: pip cannot list the releases of onnxruntime" in err
    assert "needs 3 releases; installed: " in err
