"""The tutorials: what a page says to write is written, what it says to run runs, in the order of the page."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import irfuzz
from irfuzz.shipped_folders import seeds_dir
from tests.test_docs import FENCE, shortened, start

ROOT = Path(__file__).resolve().parents[1]
TUTORIALS = ROOT / "docs" / "tutorials"
PAGES = sorted(TUTORIALS.glob("*.md"))
MAY_FIND = ("fuzz", "equiv", "analyze")
"""Commands that exit with 1 if they find something."""


def follow(page: Path, place: Path) -> dict[str, subprocess.CompletedProcess[str]]:
    """Do what a page says, in an empty folder with a model; what each command answered."""
    shutil.copy(seeds_dir() / "lenet5.onnx", place / "model.onnx")
    answers: dict[str, subprocess.CompletedProcess[str]] = {}
    text, end = page.read_text(), 0
    for fence in FENCE.finditer(text):
        prose, end = text[end : fence.start()], fence.end()
        if fence[1] == "python":
            name = next(iter(re.findall(r"`(\w+\.py)`", prose)[-1:]), "")
            (place / (name or "shown.py")).write_text(fence[2])
            if not name:  # code that a reader only looks at runs, too
                answers["shown.py"] = python("shown.py", place)
        elif fence[1] == "bash":
            for line in fence[2].splitlines():
                answers[line] = command(line, place)
    return answers


def python(script: str, place: Path) -> subprocess.CompletedProcess[str]:
    path = {**os.environ, "PYTHONPATH": str(Path(irfuzz.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-P", script], cwd=place, capture_output=True, text=True, env=path, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


def affordable(words: list[str]) -> list[str]:
    """The command with a budget for a test: of a campaign the first programs, the same each time."""
    if words[0] != "fuzz":
        return shortened(words)
    words[words.index("--time") + 1] = "100s"
    return [*words, "--programs", "16", "--jobs", "1"]


def command(line: str, place: Path) -> subprocess.CompletedProcess[str]:
    words = shlex.split(line)
    if words[0] == "python":
        return python(words[1], place)
    assert words[0] == "irfuzz", line
    done = start(affordable(words[1:]), place)
    allowed = (0, 1) if words[1] in MAY_FIND else (0,)
    assert done.returncode in allowed, f"{line}\nexit {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr, line
    return done


@pytest.mark.unit
def test_there_is_one_for_each_user() -> None:
    assert [page.stem for page in PAGES] == ["converter", "fuzzer", "model"]
    for page in PAGES:
        assert f"docs/tutorials/{page.name}" in (ROOT / "README.md").read_text()


@pytest.mark.slow
@pytest.mark.backend
@pytest.mark.timeout(600)
def test_a_maintainer_finds_the_fault_and_is_quiet_about_it(tmp_path: Path) -> None:
    answers = follow(TUTORIALS / "converter.md", tmp_path)
    first, second = (done for line, done in answers.items() if line.startswith("irfuzz fuzz"))
    assert "Softmax" in first.stdout
    assert (first.returncode, second.returncode) == (1, 0)
    assert (tmp_path / "irfuzz-baseline.json").is_file()


@pytest.mark.slow
@pytest.mark.backend
@pytest.mark.timeout(600)
def test_a_model_is_asked_about(tmp_path: Path) -> None:
    answers = follow(TUTORIALS / "model.md", tmp_path)
    assert {done.returncode for line, done in answers.items() if line.startswith("irfuzz check")} == {0}
    assert (tmp_path / "map.html").stat().st_size
    assert answers["shown.py"].stdout


@pytest.mark.slow
@pytest.mark.backend
@pytest.mark.timeout(600)
def test_another_fuzzer_gets_models(tmp_path: Path) -> None:
    answers = follow(TUTORIALS / "fuzzer.md", tmp_path)
    assert re.search(r"100 models, \d+ refused", answers["python loop.py"].stdout)
    assert "numpy:eager" in answers["python judge.py"].stdout
