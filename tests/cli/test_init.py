"""``irfuzz init`` writes files that work at once, asks only a terminal, and replaces nothing unless it is told to."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import tomllib
from pathlib import Path

import pytest

from irfuzz.api.project.project_setup import BuildServer, _settings, likely_targets
from irfuzz.cli.commands.init import SERVERS
from irfuzz.cli.main import main
from tests.cli.conftest import Irfuzz

ROOT = Path(__file__).resolve().parents[2]
CONVERTER = ROOT / "benchmarks" / "nightly" / "converter.py"

CLASS = "class Mine:\n    def run(self, model, inputs):\n        return inputs\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(CONVERTER, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.unit
def test_the_flag_has_the_servers_that_there_are() -> None:
    assert {*SERVERS} == {*BuildServer}


@pytest.mark.backend
def test_what_is_written_runs_and_stays(project: Path, irfuzz: Irfuzz) -> None:
    made = irfuzz("init")
    assert made.code == 0, made.err
    assert "irfuzz: target: converter:Converter\n" in made.err, "the only class that looks like one"
    table = tomllib.loads((project / "irfuzz.toml").read_text())["fuzz"]
    assert table == {
        "seeds": ["irfuzz-seeds"], "target": ["converter:Converter"], "learn": True, "baseline": "irfuzz-baseline.json",
    }  # fmt: skip
    taken = {path.stem for path in (project / "irfuzz-seeds").iterdir()}
    assert {"one-Add", "one-Gemm", "one-Transpose"} <= taken
    assert "one-Conv" not in taken
    again = irfuzz("init")
    assert (again.code, again.out) == (2, "")
    assert again.err.endswith(
        "irfuzz: error: irfuzz.toml, .github/workflows/irfuzz.yml: is there already; --force has it replaced\n"
    )
    ran = irfuzz("fuzz", "--budget", "pull-request", "--programs", 12, "--jobs", 1, "--sprouts", 0, "--json")
    assert ran.code in (0, 1), ran.err
    assert "converter:Converter" in json.loads(ran.out)["targets"]


@pytest.mark.backend
def test_each_server_gets_its_files(project: Path, irfuzz: Irfuzz) -> None:
    words = ("init", "--targets", "reference,onnxruntime:disabled")
    (project / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (project / "requirements.txt").touch()
    made = irfuzz(*words, "--ci", "gitlab", "--json")
    assert made.code == 0, made.err
    assert json.loads(made.out)["written"][:2] == ["irfuzz.toml", ".gitlab-ci.yml"]
    assert "pip install -r requirements.txt . 'irfuzz[onnxruntime]'" in (project / ".gitlab-ci.yml").read_text()
    (project / "irfuzz.toml").unlink()
    own = (project / ".gitlab-ci.yml").read_text()
    made = irfuzz(*words)
    assert made.code == 0, made.err
    assert "add to .gitlab-ci.yml: include: irfuzz.gitlab-ci.yml\n" in made.out, "gitlab, as the file is there"
    assert "kept irfuzz-baseline.json, which was there\n" in made.out
    assert (project / ".gitlab-ci.yml").read_text() == own
    (project / "irfuzz-baseline.json").write_text("mine")
    made = irfuzz(*words, "--ci", "cron", "--force")
    assert made.code == 0, made.err
    line = (project / "irfuzz.cron").read_text()
    assert f"cd {project} && {sys.executable} -m irfuzz fuzz" in line
    assert line.endswith("> irfuzz.log 2>&1 || cat irfuzz.log\n"), "cron mails what a night that fails has said"
    assert (project / "irfuzz-baseline.json").read_text() == "mine", "not even with --force"
    shutil.rmtree(project / "irfuzz-seeds")
    made = irfuzz(*words, "--ci", "none", "--force")
    assert {path.name for path in project.iterdir()} >= {"irfuzz-seeds", "irfuzz.toml"}
    assert not (project / ".github").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--target", "nowhere:X"), "--target: target 'nowhere:X' cannot be used: no module named 'nowhere'"),
        (("--targets", "onnxruntme"), "--targets: unknown target 'onnxruntme'; "),
        (("--ci", "jenkins"), "--ci: invalid choice: 'jenkins'"),
        ((), "--target: expected what is tested, package.module:Class or file.py:Class; no class here has run("),
    ],
)
def test_wrong_flags_leave_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO("x\n"))
    assert main(["init", *words]) == 2
    told = capsys.readouterr()
    assert told.err.startswith(f"irfuzz: error: {says}")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.backend
def test_a_target_that_runs_nothing_leaves_nothing(tmp_path: Path, irfuzz: Irfuzz) -> None:
    (tmp_path / "mine.py").write_text(CLASS.replace("return inputs", "raise NotImplementedError('all')"))
    made = irfuzz("init", "--target", "mine:Mine")
    assert made.code == 2
    assert "--target: mine:Mine: runs none of " in made.err
    assert "unsupported: NotImplementedError: all" in made.err
    assert {path.name for path in tmp_path.iterdir()} <= {"mine.py", "__pycache__"}


@pytest.mark.unit
def test_classes_that_look_like_targets_are_found_where_python_finds_them(tmp_path: Path) -> None:
    places = ("a.py", "pkg/__init__.py", "pkg/sub/b.py", "src/own/c.py", "tests/d.py", ".venv/e.py", "build/f.py")
    for place in places:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(CLASS)
    (tmp_path / "broken.py").write_text("class Mine(:\n")
    (tmp_path / "other.py").write_text("class Mine:\n    def run(self):\n        ...\n")
    assert likely_targets(tmp_path) == ["a:Mine", "pkg:Mine", "pkg.sub.b:Mine", "own.c:Mine"]


@pytest.mark.unit
def test_names_are_written_as_they_are() -> None:
    text = _settings("ünï.core:Çonv", ['a "b"'])
    assert 'target = ["ünï.core:Çonv"]\n' in text
    assert tomllib.loads(text)["fuzz"]["targets"] == ['a "b"']


@pytest.mark.backend
def test_a_terminal_is_asked(project: Path) -> None:
    import pty
    import subprocess

    from tests.campaign.running import ENV, command

    outer, inner = pty.openpty()
    process = subprocess.Popen(
        command("init"), cwd=project, env=ENV, stdin=inner, stderr=inner, stdout=subprocess.PIPE, text=True
    )
    os.write(outer, b"\nnone\n")
    out, _ = process.communicate(timeout=200)
    told = os.read(outer, 1 << 16).decode()
    os.close(inner)
    os.close(outer)
    assert process.returncode == 0, told
    assert "Class or file.py:Class [converter:Converter]: " in told
    assert "Whose job is written: github, gitlab, cron, none [github]: " in told
    assert "wrote irfuzz.toml\n" in out
    assert not (project / ".github").exists()
