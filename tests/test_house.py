"""The rules of the house that no linter checks."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import irfuzz
from benchmarks.readability import RIDDLE, beyond, measured
from tests.crossing_types import Package
from tests.operator_decisions import decisions, only_names

ROOT = Path(__file__).resolve().parents[1]
FRAMEWORKS = frozenset({"torch", "torchvision", "tensorflow", "keras", "onnxruntime", "jax", "openvino", "tf2onnx"})

# Files that other interpreters run and that may import a framework: workers, and the source that exporters emit.
FOREIGN = (
    *("irfuzz/execute/workers/", "irfuzz/frontends/workers/"),
    *(f"irfuzz/export/{name}/support/" for name in ("torch", "tensorflow", "keras", "jax")),
)

# Written in pieces, so that this file does not contain what it looks for.
FORBIDDEN = [
    re.compile(r"(?<![\w./])/" + rf"(?:{folder})/")
    for folder in ("work", "root", "opt", "mnt", "Users", r"home/[a-z]+")
] + [re.compile(r"(?:--|PIP_)(?:extra-)?index" + "[-_]url", re.IGNORECASE), re.compile(r"file:" + "//")]


@cache
def tracked() -> tuple[Path, ...]:
    """Files of the project: what git does not ignore; without a repository, all but what is built here."""
    if (ROOT / ".git").exists():
        listing = subprocess.run(
            ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        paths = [ROOT / name for name in listing.stdout.decode().split("\0") if name]
        return tuple(path for path in paths if path.is_file())
    built = {".venv", "build", "dist", "findings", "mutants", "__pycache__", "_data"}
    found: list[Path] = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in built and not name.endswith("_cache")]
        found += [Path(folder, name) for name in names if not name.endswith(".so")]
    return tuple(found)


def texts() -> Iterator[tuple[Path, str]]:
    for path in tracked():
        data = path.read_bytes()
        if b"\0" not in data:
            yield path, data.decode()


def modules(*folders: str) -> list[Path]:
    return [p for p in tracked() if p.suffix == ".py" and p.relative_to(ROOT).parts[0] in folders]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_there_is_something_to_check() -> None:
    assert ROOT / "irfuzz" / "errors.py" in tracked()
    assert ROOT / "tests" / "test_house.py" in modules("tests")


def test_every_module_says_what_it_does() -> None:
    without = [
        name(p) for p in modules("irfuzz", "benchmarks", "seeds") if not ast.get_docstring(ast.parse(p.read_text()))
    ]
    assert without == []


def test_a_module_docstring_is_one_sentence() -> None:
    wrong = []
    for path in modules("irfuzz"):
        text = ast.get_docstring(ast.parse(path.read_text())) or ""
        first = text.split("\n\n")[0].strip()
        if not first.endswith(".") or re.search(r"[a-z]{3}\. [A-Z]", first):
            wrong.append(f"{name(path)}: {first}")
    assert wrong == []


def test_no_module_is_longer_than_600_lines() -> None:
    long = {
        name(p): n
        for p in modules("irfuzz", "tests", "benchmarks", "seeds")
        if (n := len(p.read_text().splitlines())) > 600
    }
    assert long == {}


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {p.parent for p in modules("irfuzz") if not name(p).startswith(FOREIGN)}
    assert sorted(name(folder) for folder in folders if not (folder / "__init__.py").is_file()) == []


def test_nothing_names_the_machine_it_was_written_on() -> None:
    found = [
        f"{name(path)}:{number}: {line.strip()[:100]}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if any(pattern.search(line) for pattern in FORBIDDEN)
    ]
    assert found == []


@pytest.mark.parametrize(
    "line", ["cd /" + "work/x", "'/" + "root/.cache'", "file:" + "///x", "--extra-index" + "-url x"]
)
def test_such_lines_are_recognised(line: str) -> None:
    assert any(pattern.search(line) for pattern in FORBIDDEN)


def imported(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.lineno, node.module.split(".")[0]


def test_frameworks_are_imported_by_workers_only() -> None:
    found = [
        f"{name(path)}:{line}: {module}"
        for path in modules("irfuzz")
        if not name(path).startswith(FOREIGN)
        for line, module in imported(path)
        if module in FRAMEWORKS
    ]
    assert found == []


def test_workers_import_nothing_of_irfuzz() -> None:
    """They run in interpreters that do not have it."""
    workers = [p for p in modules("irfuzz") if name(p).startswith(FOREIGN[:2])]
    assert workers
    found = [f"{name(p)}:{line}" for p in workers for line, module in imported(p) if module == "irfuzz"]
    assert found == []


def test_what_is_imported_is_declared() -> None:
    """A package that some other package happens to bring along may be gone tomorrow."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {re.split(r"[^\w-]", entry)[0].lower().replace("-", "_") for entry in project["dependencies"]}
    assert {"onnx", "onnx_ir"} <= declared
    known = declared | set(sys.stdlib_module_names) | {"irfuzz"}
    # `google.protobuf` is how onnx's own messages are made, and onnx depends on it.
    known |= {"google"}
    # The module of a package may have another name.
    known |= {"markdown_it"} if "markdown_it_py" in declared else set()
    entries = [
        e for extra in ("embed", "completion", "fleet", "fleet-ray") for e in project["optional-dependencies"][extra]
    ]
    extras = [re.split(r"[^\w-]", e)[0].lower().replace("-", "_") for e in entries]
    optional = {"onnx_graphsurgeon", *extras}
    found = [
        f"{name(path)}:{line}: {module}"
        for path in modules("irfuzz")
        if not name(path).startswith(FOREIGN)
        for line, module in imported(path)
        if module not in known | optional
    ]
    assert found == []


def test_nothing_is_pickled() -> None:
    bad = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve"}
    found = [f"{name(p)}:{line}: {m}" for p in modules("irfuzz") for line, m in imported(p) if m in bad]
    assert found == []


def test_import_is_light() -> None:
    """``import irfuzz`` and every name that it offers load no framework, and the import alone not even onnx."""
    code = """
import json, sys
import irfuzz
bare = sorted(name.partition(".")[0] for name in sys.modules)
for name in irfuzz.__all__:
    getattr(irfuzz, name)
print(json.dumps([bare, sorted({name.partition(".")[0] for name in sys.modules})]))
"""
    source = str(Path(irfuzz.__file__).parents[1])
    result = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {source!r})\n{code}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    bare, full = json.loads(result.stdout)
    assert FRAMEWORKS.isdisjoint(full)
    assert {"onnx", "onnx_ir", "numpy", "sqlalchemy"}.isdisjoint(bare)


def test_a_module_says_what_it_does_in_a_sentence_and_not_as_a_riddle() -> None:
    kept = ROOT / "docs" / "bugs"  # scripts stay as irfuzz wrote them
    first = {
        p: (ast.get_docstring(ast.parse(p.read_text())) or "").partition("\n\n")[0]
        for p in tracked()
        if p.suffix == ".py" and kept not in p.parents
    }
    assert [name(p) for p, text in first.items() if RIDDLE.search(text)] == []


def test_the_package_reads_as_it_should() -> None:
    found = measured(ROOT / "irfuzz")
    assert beyond(found.numbers) == [], (found.classes, found.folders)
    assert found.numbers["where"] < found.numbers["if"]


def test_what_reads_badly_is_counted(tmp_path: Path) -> None:
    package = tmp_path / "p"
    (package / "workers").mkdir(parents=True)
    (package / "a.py").write_text(
        '"""A model enters, a graph leaves."""\n\nclass Case: ...\n\ndef f():\n    """Where."""'
    )
    for place in ("b.py", "workers/c.py"):
        (package / place).write_text('"""Holds a case if there is one."""\n\nclass Case: ...\n\nclass _Own: ...\n')
    for many in range(20):
        (package / f"m{many}.py").write_text("class _Own: ...\n")
    numbers = measured(package).numbers
    assert (numbers["riddles"], numbers["where"], numbers["if"], numbers["names of two classes"]) == (1, 1, 2, 1)
    assert numbers["folders above 22 modules"] == 0
    (package / "one_more.py").touch()
    assert len(beyond(measured(package).numbers)) == 4  # words, too


MOST_DECISIONS = 41
"""Python asks for an operator's traits; where its name decides, the line above says why."""


def test_python_decides_little_by_the_name_of_an_operator() -> None:
    found = decisions(ROOT / "irfuzz")
    assert len(found) <= MOST_DECISIONS, "\n".join(map(str, found))
    assert [str(decision) for decision in found if not decision.explained] == []


def test_no_module_only_spells_names_of_operators() -> None:
    assert only_names(ROOT / "irfuzz") == []


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ('if node.op_type == "Cast": ...', 1),
        ('if node.op_type in ("Cast", "Relu") and "Loop" not in ops: ...', 2),
        ('match op:\n    case "Cast":\n        ...\n    case "Relu" if x:\n        ...\n    case _:\n        ...', 2),
        ('TABLE = {"Cast": 1, "Relu": 2}', 1),
        ('TABLE = {("Cast", 1): 2}', 1),
        ("TABLE = dict(Cast=1, Relu=2)", 1),
        ('TABLE = frozenset("Cast Relu".split())', 1),
        ('NAMES = ("Cast", "Relu")\nx = op in NAMES', 1),
        ('NAMES = ("Cast", "Relu")\nx = pick(NAMES)', 0),
        ('def f(op):\n    names = ("Cast", "Relu")\n    return op in names', 1),
        ('x = shaped - {"If", "Loop"}', 1),
        ('x = RULES["Reshape"](attrs)', 1),
        ('x = node.op_type.startswith("Reduce")', 1),
        ('x = node.op_type in ("QGemm", "Anything")', 1),
        ('x = insert("Cast", pick(("Relu", "Tanh")))', 0),
        ('x = kind == "cast"', 0),
        ('"""Cast Relu."""', 0),
    ],
)
def test_a_decision_by_name_is_recognised(tmp_path: Path, code: str, count: int) -> None:
    (tmp_path / "rule.py").write_text(code)
    assert len(decisions(tmp_path)) == count


def test_a_comment_above_a_decision_is_its_reason_and_spelling_modules_are_found(tmp_path: Path) -> None:
    (tmp_path / "rule.py").write_text('# because\nA = {"Cast": 1}\nB = {"Relu": 1}\n')
    assert [d.explained for d in decisions(tmp_path)] == [True, False]
    assert only_names(tmp_path) == ["rule.py"]
    (tmp_path / "rule.py").write_text('A = {"Cast": 1}\n\ndef f(op):\n    return A[op]\n')
    assert only_names(tmp_path) == []


# The way of a program from its file to the report, through all folders.
WAY = (
    *("frontends/onnx_file", "campaign/campaign", "store/database", "store/stored_program_encoding", "campaign/job"),
    *(
        "campaign/loop",
        "campaign/strategy",
        "campaign/differential_strategy",
        "campaign/corpus/testcase",
        "campaign/corpus/program_corpus",
    ),
    *(
        "campaign/corpus/mutation_steering",
        "search/strategies/strategy_protocol",
        "mutate/mutation_engine",
        "execute/runner",
        "execute/component_worker",
    ),
    *(
        "execute/request_batching",
        "execute/reply_parsing",
        "execute/adapters/adapter",
        "isolate/worker",
        "isolate/zygote_client",
        "oracle/judge",
    ),
    *(
        "oracle/runs_to_judge",
        "campaign/triage/disagreement_handling",
        "campaign/triage/case_queue",
        "campaign/stored_findings/archive",
        "reduce/",
        "findings/",
    ),
    *(
        "report/finding_folder_writer",
        "report/repro_scripts/full_script",
        "report/finding_markdown",
        "report/affected_versions_text",
    ),
)

# What is the same for all programs of a campaign, and so says nothing of one: settings, targets, mutators, rules.
SAME = frozenset({
    "Availability", "DrawingLimits", "FindingReproducer", "InputSpec", "InsertNeighbours", "KnownIssueRule",
    "Limits", "MeasuringJudge", "Space", "Target", "ToolAdapter", "WorkerSpec",
})  # fmt: skip


def test_few_types_cross_the_border_of_a_folder_on_the_way_of_a_program() -> None:
    """Each is one more thing that a reader has to know before the next folder says anything."""
    assert all((ROOT / "irfuzz" / one).is_dir() or (ROOT / "irfuzz" / f"{one}.py").is_file() for one in WAY)
    crossing = Package(ROOT / "irfuzz").crossing(WAY)
    assert crossing.keys() >= SAME, "some are no longer there"
    handed_on = {name: sorted(modules) for name, modules in crossing.items() if name not in SAME}
    assert {"Program", "RunResult", "Verdict"} <= handed_on.keys()
    assert len(handed_on) <= 15, json.dumps(handed_on, indent=1)


def test_types_that_cross_are_found(tmp_path: Path) -> None:
    files = {
        "p/a/__init__.py": "from p.a.made import Inner as Inner",
        "p/a/made.py": "from dataclasses import dataclass\n\n@dataclass(frozen=True)\nclass Made: ...\n"
        "@dataclass\nclass Inner: ...\nclass Plain: ...\nPair = tuple[int, str]\nRow = tuple[int, ...]\n"
        "def make() -> 'Made': ...\ndef other() -> Inner: ...",
        "p/a/service.py": "from p.a.made import Inner, Made, Pair\n\nclass Service:\n"
        "    def run(self, made: Made) -> list[Pair]: ...\n    def unused(self) -> Inner: ...",
        "p/a/near.py": "from p.a.made import Inner, Made",
        "p/b/direct.py": "from p.a.made import Made, Plain, Row",
        "p/b/again.py": "from p.a import Inner",
        "p/b/calls.py": "from p.a.made import make\nmake()",
        "p/b/uses.py": "from p.a.service import Service\nService().run(1)",
        "p/b/off.py": "from p.a.made import other",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = Package(tmp_path / "p").crossing(["a/", "b/direct", "b/again", "b/calls", "b/uses"])
    assert found == {"Made": {"b/direct", "b/calls", "b/uses"}, "Inner": {"b/again"}, "Pair": {"b/uses"}}
