"""Everything that the documentation tells a reader to type is typed here, and every link leads somewhere."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import irfuzz
from irfuzz.shipped_folders import seeds_dir

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = ("irfuzz", "tests", "benchmarks", "cpp", "ops", "seeds", "docs")
"""Folders whose files pages name."""

SHELL = ("bash", "sh", "console")
SERVERS = ("yaml", "cron")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


MY_RUNTIME = """
import onnx
from onnx.reference import ReferenceEvaluator

class load:
    def __init__(self, data):
        self.session = ReferenceEvaluator(onnx.load_from_string(data))

    def run(self, inputs):
        return self.session.run(None, inputs)
"""

MY_CONVERTER = """
from onnx.reference import ReferenceEvaluator

def convert(model):
    session = ReferenceEvaluator(model)
    return lambda inputs: session.run(None, inputs)
"""


def text_of(page: Path) -> str:
    return COMMENT.sub("", page.read_text())


def blocks(page: Path, *languages: str) -> list[str]:
    return [code for language, code in FENCE.findall(text_of(page)) if language in languages]


def commands(page: Path) -> list[str]:
    """The lines that start irfuzz, in blocks of shell code and in the files of build servers."""
    lines = [line.removeprefix("$ ").strip() for code in blocks(page, *SHELL) for line in code.splitlines()]
    for line in (line for code in blocks(page, *SERVERS) for line in code.splitlines()):
        command = re.sub(r"^ *- (?:run: )?|^.* && ", "", line)
        command = re.sub(r"(?<=--budget )(\$\{\{.*?\}\}|\$[A-Z_]+)", "night", command)
        lines.append(re.sub(r"\$\{\{.*?\}\}|\$[A-Z_]+", "7", command))  # what else the server puts in is a number
    return [line for line in lines if line.startswith("irfuzz ")]


def inline_commands(page: Path) -> list[str]:
    prose = FENCE.sub("", text_of(page))
    return [code for code in re.findall(r"`(irfuzz [a-z][^`\n]*)`", prose) if "..." not in code]


MAIN = "import sys; from irfuzz.cli.main import main; sys.exit(main())"
QUIETLY: dict[str, Any] = {
    "capture_output": True,
    "text": True,
    "stdin": subprocess.DEVNULL,
    "env": {**os.environ, "PYTHONPATH": str(Path(irfuzz.__file__).parents[1])},
    "timeout": 240,
}


def start(words: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """The ``irfuzz`` script, with the irfuzz that is tested."""
    return subprocess.run([sys.executable, "-P", "-c", MAIN, *words], cwd=cwd, check=False, **QUIETLY)


def redirected(words: list[str], files: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The same with what a shell does about its files: ``< given > taken 2>&1``."""
    command = shlex.join([sys.executable, "-P", "-c", MAIN, *words])
    return subprocess.run(["sh", "-c", f"{command} {files}"], cwd=cwd, check=False, **QUIETLY)


def shortened(words: list[str]) -> list[str]:
    """The same command with a budget that a test can afford."""
    if words[0] == "fuzz":  # it ends with its first programs, however long the targets take to start
        words += [
            *([] if "--time" in words else ["--time", "4s"]),
            *([] if "--programs" in words else ["--programs", "3"]),
        ]
    budget = "50s" if words[0] == "fuzz" else "4s"
    for flag, value in (("--time", budget), ("-n", "4"), ("--jobs", "1"), ("--probe", "4s")):
        if flag in words:
            words[words.index(flag) + 1] = value
    return words


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the examples take for granted: the seeds, and models of the reader's own."""
    place = tmp_path_factory.mktemp("docs")
    shutil.copytree(seeds_dir(), place / "seeds")
    (place / "models").mkdir()
    for name in ("qcnn", "lstm"):
        shutil.copy(seeds_dir() / f"{name}.onnx", place / "models")
    shutil.copy(seeds_dir() / "lenet5.onnx", place / "model.onnx")
    # The class of docs/targets.md, and the runtime of the reader's own that it calls.
    (code,) = [c for c in blocks(ROOT / "docs" / "targets.md", "python") if "class Runtime" in c]
    (place / "mine.py").write_text(f"import my_runtime\n{code}")
    (place / "my_runtime.py").write_text(MY_RUNTIME)
    # The class of docs/embedding.md, around a converter of the reader's own.
    (code,) = [c for c in blocks(ROOT / "docs" / "embedding.md", "python") if "class MyConverter" in c]
    (place / "my_package").mkdir()
    (place / "my_package" / "my_module.py").write_text(code)
    (place / "my_converter.py").write_text(MY_CONVERTER)
    # The first command is typed in a checkout, whose sources must not hide the irfuzz that is installed.
    (place / "irfuzz").mkdir()
    (place / "irfuzz" / "__init__.py").write_text("raise ImportError('the irfuzz of the current folder was imported')")
    return place


@pytest.mark.slow
@pytest.mark.backend
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "page", [p for p in PAGES if commands(p) and p.parent.name != "tutorials"], ids=lambda p: p.name
)  # tutorials are followed from top to bottom in a folder of their own (test_tutorials)
def test_commands_run(page: Path, folder: Path, tmp_path: Path) -> None:
    if any(command.startswith("irfuzz init") for command in commands(page)):  # its irfuzz.toml is for this page alone
        folder = shutil.copytree(folder, tmp_path / "project")
    for command in commands(page):
        alone = command.partition(" || ")[0]  # what comes after a failure would hide its exit code
        typed, *files = re.split(r"(?= [<>] )", alone, maxsplit=1)
        words = shortened(shlex.split(typed, comments=True)[1:])
        result = redirected(words, files[0], folder) if files else start(words, folder)
        allowed = (0, 1) if words[0] == "fuzz" else (0,)
        assert result.returncode in allowed, f"{command}\nexit {result.returncode}\n{result.stdout}\n{result.stderr}"
        assert "Traceback" not in result.stderr, command
        says = (folder / files[0].partition(" > ")[2].split()[0]).read_bytes() if files else result.stdout
        assert says.strip(), f"{command} says nothing"


@pytest.mark.backend
@pytest.mark.parametrize("page", [p for p in PAGES if inline_commands(p)], ids=lambda p: p.name)
def test_commands_in_running_text_exist(page: Path, tmp_path: Path) -> None:
    checked: dict[str, str] = {}
    for command in inline_commands(page):
        words = shlex.split(command)[1:]
        if words[0] not in checked:
            result = start([words[0], "--help"], tmp_path)
            assert result.returncode == 0, f"{command}: {result.stderr}"
            checked[words[0]] = result.stdout
        for flag in (word for word in words if word.startswith("-")):
            assert flag in checked[words[0]], f"{command}: {words[0]} has no {flag}"


@pytest.mark.parametrize(
    "words", [["fuzz", "--nonsense"], ["fuzz"], ["nonsense"], ["mutate", "-n", "x", "seeds", "-o", "y"]]
)
def test_wrong_usage_is_one_line_and_exit_2(words: list[str], tmp_path: Path) -> None:
    """The table of exit codes in the README."""
    result = start(words, tmp_path)
    assert result.returncode == 2, result.stderr
    assert result.stderr.startswith("irfuzz: error: ")
    assert len(result.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_python_of_the_readme_runs(folder: Path) -> None:
    (code,) = blocks(ROOT / "README.md", "python")
    result = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(irfuzz.__file__).parents[1])},
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) == 10, "one trace a mutant"


def test_the_readme_has_exactly_two_commands() -> None:
    """.ci/run takes them from there."""
    section = re.search(r"^## Two commands\n(.*?)^## ", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert section is not None
    found = [code for language, code in FENCE.findall(section[1]) if language == "bash"]
    assert len(found) == 2
    assert all(len(code.strip().splitlines()) == 1 for code in found)
    assert "irfuzz fuzz seeds --time 1m" in found[0]
    assert "pytest" in found[1]
    assert "torch" not in found[0], "its wheel brings several GB of CUDA packages"
    assert "torch==" in found[1]


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in LINK.findall(FENCE.sub("", text_of(page))):
        if link.startswith(("https://", "http://")):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    pages = [p.relative_to(ROOT / "docs").as_posix() for p in PAGES if (ROOT / "docs") in p.parents]
    assert [page for page in pages if page != "index.md" and f"({page})" not in index] == []


@pytest.mark.unit
@pytest.mark.parametrize("page", [ROOT / "CONTRIBUTING.md", PAGES[0], *PAGES[2:]], ids=lambda p: p.name)
def test_files_that_a_page_names_exist(page: Path) -> None:  # the changelog tells of some that have moved since
    there = [f"/{path.relative_to(ROOT).as_posix()}" for top in SOURCES for path in (ROOT / top).rglob("*.*")]
    named = re.findall(r"`([\w.-]+(?:/[\w.-]+)+\.(?:py|toml|json))`", page.read_text())
    own = [name for name in named if not name.startswith("my_") and not re.search(r"\b(NAME|DOMAIN|OP)\b", name)]
    assert [name for name in own if not any(path.endswith(f"/{name}") for path in there)] == []
