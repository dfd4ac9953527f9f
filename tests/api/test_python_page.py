"""docs/python.md: its examples run, and it names what is public."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import irfuzz
from irfuzz.shipped_folders import seeds_dir

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "python.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.unit
def test_the_page_lists_the_public_names() -> None:
    told = re.findall(r"`(\w+)`", PAGE.partition("<!-- public names -->")[2])
    assert told == irfuzz.__all__


@pytest.mark.unit
def test_the_page_shows_every_call() -> None:
    calls = {name for name in irfuzz.__all__ if name[0].islower()} - {"load_specs"}
    assert {name for name in calls if f"irfuzz.{name}(" in "".join(BLOCKS)} == calls


@pytest.mark.slow
@pytest.mark.backend
@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_an_example_runs(number: int, tmp_path: Path) -> None:
    shutil.copy(seeds_dir() / "lenet5.onnx", tmp_path / "model.onnx")
    (tmp_path / "example.py").write_text(BLOCKS[number])
    done = subprocess.run(
        [sys.executable, "-P", "example.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(irfuzz.__file__).parents[1])},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert bool(done.stdout) is ("print(" in BLOCKS[number])
