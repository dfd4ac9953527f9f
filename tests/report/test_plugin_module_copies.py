"""The module of a user's class travels with a finding, with what it imports of its own project."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from irfuzz.execute.runner import Runner
from irfuzz.findings.finding import TargetRun
from irfuzz.oracle import judge
from irfuzz.report import plugin_module_copies
from irfuzz.report.finding_folder_writer import write_bundle
from irfuzz.report.plugin_module_copies import copies_of
from tests.report.conftest import RELU, finding_of, parse

PROJECT = {
    "converter/__init__.py": "",
    "converter/target.py": (
        "import numpy\nfrom . import tables\nfrom .rules.relu import relu\nimport converter.names as names\n\n"
        "class Converter:\n    def run(self, model, inputs):\n"
        "        return {names.OUTPUT: relu(inputs['x']) + tables.OFF}\n"
    ),
    "converter/tables.py": "OFF = 1\n",
    "converter/names.py": "OUTPUT = 'y'\n",
    "converter/rules/__init__.py": "",
    "converter/rules/relu.py": "import numpy as np\n\ndef relu(x):\n    return np.maximum(x, 0)\n",
    "converter/unused.py": "1 +\n",
    "one_file.py": "from converter.target import Converter\n\nclass Named(Converter):\n    pass\n",
}
NEEDED = {f"plugin/{name}" for name in PROJECT if name not in ("converter/unused.py", "one_file.py")}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "project"
    for name, text in PROJECT.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    monkeypatch.chdir(place)
    return place


def run_of(source: str) -> TargetRun:
    return TargetRun(source, source, {"class": source})


@pytest.mark.unit
def test_a_module_comes_with_what_it_imports_of_its_project(project: Path) -> None:
    copies = copies_of([run_of("converter.target:Converter"), TargetRun("reference", "reference")])
    assert set(copies.files) == NEEDED
    assert [party.options for party in copies.parties] == [{"class": "converter.target:Converter"}, {}]


@pytest.mark.unit
def test_a_file_is_named_by_its_path_in_the_project_or_by_its_name(project: Path, tmp_path: Path) -> None:
    inside = copies_of([run_of(f"{project}/one_file.py:Named")])
    assert inside.parties[0].options == {"class": "one_file.py:Named"}
    assert set(inside.files) == {*NEEDED, "plugin/one_file.py"}
    (tmp_path / "elsewhere.py").write_text("class X: ...\n")
    outside = copies_of([run_of(f"{tmp_path}/elsewhere.py:X")])
    assert outside.parties[0].options == {"class": "elsewhere.py:X"}
    assert set(outside.files) == {"plugin/elsewhere.py"}


@pytest.mark.unit
def test_what_is_installed_stays_there_and_a_large_project_where_it_is(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert copies_of([run_of("numpy.linalg:LinAlgError")]).files == {}
    inside = project / "env" / "site-packages"
    inside.mkdir(parents=True)
    (inside / "bought.py").write_text("class X: ...\n")
    assert copies_of([run_of("env/site-packages/bought.py:X")]).parties[0].options == {"class": "bought.py:X"}
    monkeypatch.setattr(plugin_module_copies, "MOST", sum(map(len, PROJECT.values())))
    assert copies_of([run_of("converter.target:Converter")]).files
    monkeypatch.setattr(plugin_module_copies, "MOST", 100)
    assert copies_of([run_of("converter.target:Converter")]).files == {}


@pytest.mark.unit
@pytest.mark.parametrize("source", ["converter.target:Converter", "src/named.py:Named"])
def test_modules_below_src_are_copied_as_python_finds_them(
    project: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    """As in a project that is installed by ``pip install -e``: ``src`` is on the path and not in names of modules."""
    (project / "src").mkdir()
    shutil.move(project / "converter", project / "src")
    shutil.move(project / "one_file.py", project / "src" / "named.py")
    assert copies_of([run_of("converter.target:Converter")]).files == {}, "not installed"
    monkeypatch.syspath_prepend(project / "src")
    own = set() if source.startswith("converter") else {"plugin/src/named.py"}
    assert set(copies_of([run_of(source)]).files) == NEEDED | own
    assert copies_of([run_of(source)]).parties[0].options == {"class": source}


@pytest.mark.backend
@pytest.mark.parametrize("source", ["converter.target:Converter", "one_file.py:Named"])
def test_a_moved_folder_shows_the_fault_without_the_project_and_tells_when_it_is_mended(
    project: Path, tmp_path: Path, source: str
) -> None:
    program, inputs = parse(RELU), {"x": np.arange(-2, 4, dtype=np.float32).reshape(2, 3)}
    with Runner([source, "reference", "onnxruntime:disabled"]) as runner:
        results = runner.run(program, inputs)
    verdict = next(v for v in judge(program, inputs, results) if v.target == source)
    row = finding_of(program, inputs, results, verdict)
    write_bundle(project / "out" / "it", row)
    moved = tmp_path / "moved"
    shutil.move(project / "out" / "it", moved)
    script = (moved / "repro.py").read_text()
    assert f"{{'class': '{source}'}}" in script
    texts = [p.read_text() for p in moved.rglob("*") if p.suffix in (".py", ".md", ".json")]
    assert [text for text in texts if str(tmp_path) in text] == []

    def run(place: Path) -> tuple[int, str]:
        command = [sys.executable, "-P", str(moved / "repro.py")]
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    (project / "converter" / "tables.py").write_text("OFF = 0\n")
    assert run(project)[0] == 0, "the project's own files come first"
    shutil.rmtree(project)
    code, log = run(tmp_path)
    assert (code, "the fault shows" in log) == (1, True), log
