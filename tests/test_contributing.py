"""The tasks of CONTRIBUTING.md: every file and name that they send a reader to is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
STEP = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \|", re.MULTILINE)
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
TASKS = {part.partition("\n")[0]: STEP.findall(part) for part in TEXT.partition("## Five tasks")[2].split("\n### ")[1:]}

pytestmark = pytest.mark.unit


def names_in(source: str) -> set[str]:
    """Functions, classes, and names that are given a value, at every depth."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def test_there_are_five_tasks_with_steps() -> None:
    assert len(TASKS) == 5
    assert all(len(steps) >= 3 for steps in TASKS.values())


@pytest.mark.parametrize("task", TASKS)
def test_every_step_is_where_it_says(task: str) -> None:
    for path, name in TASKS[task]:
        source = (ROOT / path).read_text()
        if path.endswith(".py"):
            assert name in names_in(source), (path, name)
        else:
            assert re.search(rf"^(#+ )?{re.escape(name)}", source, re.MULTILINE), (path, name)


def test_the_layout_names_every_folder_once() -> None:
    drawing = TEXT.partition("## The layout")[2].partition("```text")[2].partition("```")[0]
    folders = {p.name for p in (ROOT / "irfuzz").iterdir() if (p / "__init__.py").is_file()}
    drawn = [word for word in re.findall(r"[a-z]+", drawing) if word in folders]
    assert sorted(set(drawn)) == sorted(folders)
