"""Every listed bug shows itself with a version that it is listed for, outside irfuzz; list and folders agree.

Those of older versions need an environment of ``irfuzz env add``; where it is not there their test is skipped and says
so. What is listed as fixed must not show with what is installed.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import onnx
import pytest

from benchmarks.bug_scripts import expectation as lines_of
from benchmarks.bug_scripts import sections
from irfuzz.execute.target_table import BUILT_IN
from irfuzz.execute.versions import environments, software_vulkan
from irfuzz.findings.known_issues import shipped

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "bugs.md"
FOLDERS = ROOT / "docs" / "bugs"
FILES = {"model.onnx", "inputs.npz", "repro.py"}
LARGEST = 10_000

ROW = re.compile(
    r"^\| (\d+) \| ([\w-]+) ([\d.]+(?:post\d+)?)([^|]*)\| ([^|]+) \| ([^|]+) "
    r"\| (?:high|medium|low)(?:, as (\d+)|, contestable)? "
    r"\| [^|]+ \| \[([^\]]+)\]\(bugs/([^)]+)/\) \|$"
)
STILL = re.compile(r"(?:, still in| and) ([\d.]+\d)")
"""Newer versions that show a bug as well: "onnxruntime 1.31.1, still in 1.32.0 and 1.33.0"."""

PACKAGES = {adapter.component: adapter.distributions for adapter in BUILT_IN}
"""What brings a component, any of them."""

SERVER = """
import os, runpy, sys, traceback
for name in ("numpy", "onnx", "onnx.reference", "onnxruntime", "torch", "openvino"):
    try:
        __import__(name)
    except ImportError:
        pass
for line in sys.stdin:
    script, told = line.split()
    child = os.fork()
    if not child:
        log = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.argv = [script]
        code = 3
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as ended:
            code = ended.code or 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Runs each script that it is told of in a process of its own, with the imports made beforehand."""

SENTENCE = re.compile(r'"[^"]{8,}"|`[^`]{8,}`', re.DOTALL)
"""Of a specification: a quotation, or a formula or signature."""

SEEN = re.compile(r"^Seen with ([^;\n]*?)(?:;.*)?\.$", re.MULTILINE)


@dataclass(frozen=True)
class Bug:
    number: int
    package: str
    version: str
    fixed: bool
    still: frozenset[str]
    operators: tuple[str, ...]
    folder: str


def listed() -> list[Bug]:
    lines = [line for line in PAGE.read_text().splitlines() if re.match(r"\| \d", line)]
    rows = [ROW.match(line) for line in lines]
    assert all(rows), f"rows of another form: {[line for line, row in zip(lines, rows, strict=True) if row is None]}"
    found = [row.groups() for row in rows if row is not None]
    assert all(text == link for *_, text, link in found)
    bugs = [
        Bug(int(n), p, v, ", fixed by " in more, frozenset(STILL.findall(more)), tuple(ops.strip().split(", ")), link)
        for n, p, v, more, ops, _, _, _, link in found
    ]
    return sorted(bugs, key=lambda bug: bug.number)


BUGS = listed()


def test_the_list_and_the_folders_agree() -> None:
    assert [b.number for b in BUGS] == list(range(1, len(BUGS) + 1))
    assert [b.folder for b in BUGS] == sorted(d.name for d in FOLDERS.iterdir() if d.is_dir())
    assert len(BUGS) >= 3
    page, appendix = PAGE.read_text().split("\n## Appendix: the reference evaluator\n")
    headings = [[int(n) for n in re.findall(r"^## (\d+)\. ", part, re.MULTILINE)] for part in (page, appendix)]
    assert [part == sorted(part) for part in headings] == [True, True]
    assert sorted([*headings[0], *headings[1]]) == [b.number for b in BUGS]
    assert all("-reference-" in BUGS[n - 1].folder for n in headings[1])
    assert not any("-reference-" in BUGS[n - 1].folder for n in headings[0])


def test_titles_and_versions_are_those_of_the_rules() -> None:
    """``known_issues.toml`` is the source of what the page and the rules both tell."""
    rules = {rule.id: rule for rule in shipped()}
    headings = dict(re.findall(r"^## (\d+)\. [^:]+: (.+)$", PAGE.read_text(), re.MULTILINE))
    for line in PAGE.read_text().splitlines():
        row = ROW.match(line)
        if row is None or (rule := rules.get(row[9])) is None:
            continue
        title = line.split(" | ")[5]
        assert (title, headings[row[1]]) == (rule.title, rule.title), row[9]
        if row[2] == rule.component:
            fixed = re.search(r"fixed by ([\d.]+\d)", row[4])
            assert (fixed[1] if fixed else "") == (rule.fixed or ""), row[9]
            assert (STILL.findall(row[4]) or [row[3]])[-1] == rule.seen, row[9]


@pytest.mark.unit
@pytest.mark.parametrize("bug", BUGS, ids=lambda b: b.folder)
def test_an_entry_says_all_that_a_maintainer_asks_for(bug: Bug) -> None:
    """Cause, expectation with the sentence, severity, versions, upstream search; and the script has the sentence."""
    section = section_of(bug)
    expected, cause = section.split("\n\n")[1:3]
    assert SENTENCE.search(expected), f"expected a quotation, a formula or a section, got {expected}"
    assert len(cause) > 20
    assert not cause.startswith(("```", "Severity", "Upstream"))
    severity = re.search(
        r"^Severity: (high|medium|low) \([^()]+(?:\([^()]*\)[^()]*)*\)\. Versions: (.+)\.$", section, re.MULTILINE
    )
    assert severity is not None
    row = next(line for line in PAGE.read_text().splitlines() if line.startswith(f"| {bug.number} | "))
    assert row.split(" | ")[4].startswith(severity[1])
    assert re.search(r"\d+\.\d", severity[2])
    upstream = re.search(r"^Upstream: (.*?) Reproducer: ", section, re.MULTILINE | re.DOTALL)
    assert upstream is not None
    assert "no report found" in upstream[1] or "](https://github.com/" in upstream[1]
    told, expectation = (FOLDERS / bug.folder / "repro.py").read_text().split('"""')[1], sections(PAGE.read_text())
    title, reason = expectation[bug.number]
    assert told.startswith(title.replace('"', "'"))
    assert "\n".join(lines_of(reason)) in told


@pytest.mark.unit
def test_no_paragraph_says_another_range_of_versions_than_the_entry() -> None:
    for bug in BUGS:
        section = section_of(bug)
        whole = re.search(r"Versions: shows in [\w-]+ ([\d.]+\d) to ([\d.]+\d)", section)
        told = re.findall(
            r"[Ss]hows in ([\d.]+\d)(?: to|,.* and| and) ([\d.]+\d)", section.partition("\nSeverity: ")[0]
        )
        assert whole is None or told in ([], [whole.groups()]), bug.folder


@pytest.mark.unit
def test_what_counts_as_one_cause_and_as_contestable_is_said_on_both_places() -> None:
    page = PAGE.read_text()
    marked = {
        int(n): int(other)
        for n, other in re.findall(r"^\| (\d+) \| .*\| (?:high|medium|low), as (\d+) \|", page, re.MULTILINE)
    }
    assert marked
    assert marked == {
        b.number: int(m[1]) for b in BUGS if (m := re.search(r"^One cause with (\d+)", section_of(b), re.MULTILINE))
    }
    assert not marked.keys() & set(marked.values())
    contested = {int(n) for n in re.findall(r"^\| (\d+) \| .*\| low, contestable \|", page, re.MULTILINE)}
    assert (
        contested == {b.number for b in BUGS if "\nContestable: " in section_of(b)} == {9, 69, 70, 71, 72, 87, 95, 104}
    )


@pytest.mark.unit
def test_counts_are_those_of_the_tables() -> None:
    page = PAGE.read_text()
    counts = re.findall(
        r"^\| \[[^\]]+\]\(#[^)]+\)[^|]*\| (\d+) \| (\d+) \| (\d+) high, (\d+) medium, (\d+) low \|$", page, re.MULTILINE
    )
    tables = re.findall(r"\n\| # \| .*?\n\n", page, re.DOTALL)
    assert len(counts) == len(tables) == 4
    for (entries, causes, *by_severity), table in zip(counts, tables, strict=True):
        rows = re.findall(r"^\| \d+ \| .*", table, re.MULTILINE)
        own = [row.split(" | ")[4].partition(",")[0] for row in rows if ", as " not in row.split(" | ")[4]]
        assert (int(entries), int(causes)) == (len(rows), len(own))
        assert [*map(int, by_severity)] == [own.count(name) for name in ("high", "medium", "low")]


LONGER: dict[str, str] = {}
"""Scripts of more than 39 lines, and why."""


@pytest.mark.unit
@pytest.mark.parametrize("bug", BUGS, ids=lambda b: b.folder)
def test_a_script_is_short_and_needs_no_file(bug: Bug) -> None:
    text = (FOLDERS / bug.folder / "repro.py").read_text()
    lines = text.splitlines()
    assert (len(lines) < 40) is (bug.folder not in LONGER), f"{len(lines)} lines, {LONGER.get(bug.folder)}"
    assert max(map(len, lines)) <= 400
    assert not re.search(r"__file__|inputs\.npz|irfuzz|onnx\.load\(", text)


@pytest.mark.parametrize("bug", BUGS, ids=lambda b: b.folder)
def test_a_folder_is_small_and_of_the_operators_that_the_list_names(bug: Bug) -> None:
    folder = FOLDERS / bug.folder
    assert bug.folder.startswith(f"{bug.number:03d}-")
    names = {f.name for f in folder.iterdir() if f.name != "__pycache__"}
    assert names == FILES
    assert sum((folder / name).stat().st_size for name in FILES) < LARGEST
    model = onnx.load(folder / "model.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert {n.op_type for n in model.graph.node} - {"Constant"} == set(bug.operators)
    section = section_of(bug)
    text = re.findall(r"^```\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    shown = [onnx.printer.to_text(onnx.parser.parse_model(t).graph) for t in text]
    assert shown == [onnx.printer.to_text(model.graph)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", SERVER], cwd=tmp_path_factory.mktemp("bugs"),
        env=environment(), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    yield process
    process.communicate(timeout=30)


@pytest.mark.backend
@pytest.mark.parametrize("bug", BUGS, ids=lambda b: b.folder)
def test_a_bug_shows_itself_in_a_fresh_process(bug: Bug, tmp_path: Path, server: subprocess.Popen[str]) -> None:
    script = FOLDERS / bug.folder / "repro.py"
    seen = SEEN.search(script.read_text())
    assert seen is not None
    assert f"{'reference' if bug.package == 'onnx' else bug.package} {bug.version}" in seen[1]
    python = interpreter(bug)
    if python == sys.executable:
        for name, version in (part.split() for part in seen[1].split(", ")):
            packages = PACKAGES.get(name, (name,))
            if not any(map(installed_version, packages)):  # another version than then may bear witness, too
                pytest.skip(f"was found with {packages[0]} {version}, which is not installed")
        code, text = serve(server, script, tmp_path / "told")
    else:
        done = run(python, script, tmp_path)
        code, text = done.returncode, done.stdout + done.stderr
    if code == 2 and "this driver has no half precision" in text:
        pytest.skip("needs a Vulkan driver with half precision, which SwiftShader has not (docs/targets.md)")
    assert code == 1, text
    assert "the fault shows" in text


@pytest.mark.backend
@pytest.mark.parametrize("bug", [b for b in BUGS if b.fixed], ids=lambda b: b.folder)
def test_a_bug_that_is_fixed_does_not_show_itself_with_a_newer_version(
    bug: Bug, tmp_path: Path, server: subprocess.Popen[str]
) -> None:
    newer = installed_version(bug.package)
    if newer is None or environments.version_key(newer) <= environments.version_key(bug.version):
        pytest.skip(f"needs a newer {bug.package} than {bug.version}; {newer} is installed")
    code, text = serve(server, FOLDERS / bug.folder / "repro.py", tmp_path / "told")
    assert code == 0, text
    assert "the fault does not show" in text


def section_of(bug: Bug) -> str:
    return PAGE.read_text().split(f"\n## {bug.number}. ")[1].split("\n## ")[0]


def interpreter(bug: Bug) -> str:
    """Python of the environment that has the bug: ours, or one that ``irfuzz env add`` built."""
    if installed_version(bug.package) in {bug.version, *bug.still}:
        return sys.executable
    for environment in environments.installed():
        if (environment.distribution, environment.wanted) == (bug.package, bug.version):
            return environment.interpreter
    found, wanted = installed_version(bug.package), f"{bug.package}=={bug.version}"
    pytest.skip(f"was found with {wanted}; {found} is installed, and no environment of `irfuzz env add {wanted}`")


def installed_version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package).partition("+")[0]  # PyTorch's is "2.13.0+cpu"
    except importlib.metadata.PackageNotFoundError:
        return None


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def serve(server: subprocess.Popen[str], script: Path, told: Path) -> tuple[int, str]:
    """Exit code, and what was printed, of a script in a process of its own of the interpreter of the tests."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(f"{script} {told}\n")
    server.stdin.flush()
    return int(server.stdout.readline()), told.read_text(errors="replace")


def run(python: str, script: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    # Isolated: neither this folder nor PYTHONPATH, and so no irfuzz of a checkout.
    command = [python, "-I", str(script)]
    driver = Path(python).parents[1] / software_vulkan.FOLDER  # where `irfuzz env add webgpu` puts one
    named = {"VK_ICD_FILENAMES": str(driver / software_vulkan.DESCRIPTION), "LD_LIBRARY_PATH": str(driver)}
    return subprocess.run(
        command,
        cwd=cwd,
        env=environment() | (named if driver.is_dir() else {}),
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
        check=False,
    )
