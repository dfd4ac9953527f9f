"""How many lines that are broken on purpose the fast tests notice.

Breaks one place of the package at a time, drawn by a seed: a comparison, a constant, ``and`` or ``or``, a ``not``, or
what a function returns; never a text. The tests that run the line, those that are not marked ``slow`` or ``backend``,
run against each broken module in a process of its own, the quickest first, until one fails. Which tests run a line is
recorded once, by coverage.py (``pip install coverage``), and kept in ``--map``.

What cannot be noticed, since the broken line computes the same, is judged by hand and stands in ``broken_lines.toml``.

Run ``python benchmarks/broken_lines.py [--count 300] [--seed 1] [--folders oracle campaign findings report] [--jobs 2]
[--map FILE] [--json FILE]``. Exit code 1 if fewer than ``--least`` of the rest are noticed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import importlib.machinery
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import irfuzz

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(irfuzz.__file__).resolve().parent
JUDGED = Path(__file__).with_suffix(".toml")
FOLDERS = ("oracle", "campaign", "findings", "report")
FAST = "not slow and not backend"
PYTEST = ("-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly", "--no-header", "--tb=no", "-m", FAST)

MOST_SECONDS = 45.0
"""Tests of one broken line take so long together at most, by the clock of the recording; the quickest come first."""

SWAPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


@dataclass(frozen=True, slots=True)
class Break:
    """One place that is broken.

    Attributes:
        path: file, relative to the package.
        line: its number, from 1.
        start, end: offsets in the file's text.
        old, new: source text there, and instead of it.
    """

    path: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.old!r} -> {self.new!r}"


def breaks_in(path: Path) -> list[Break]:
    """Every place of a file that can be broken, in order."""
    text = path.read_text()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: list[Break] = []
    for node, broken in _broken(ast.parse(text)):
        lines = text.splitlines(keepends=True)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = starts[node.lineno - 1] + _column(lines[node.lineno - 1], node.col_offset)
        end = starts[node.end_lineno - 1] + _column(lines[node.end_lineno - 1], node.end_col_offset)
        name = path.relative_to(PACKAGE).as_posix()
        found.append(Break(name, node.lineno, start, end, text[start:end], f"({ast.unparse(broken)})"))
    return sorted(found, key=lambda b: (b.start, b.end, b.new))


def _column(line: str, offset: int) -> int:
    """The column in characters; ``ast`` counts bytes."""
    return len(line.encode()[:offset].decode())


def _broken(tree: ast.Module) -> Iterator[tuple[ast.expr, ast.expr]]:
    skipped = _left_alone(tree)
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        match node:
            case ast.Compare(left, [op], right) if type(op) in SWAPPED:
                yield node, ast.Compare(left, [SWAPPED[type(op)]()], right)
            case ast.BoolOp(op, values):
                yield node, ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            case ast.UnaryOp(ast.Not(), operand):
                yield node, operand
            case ast.Constant(bool() as value):
                yield node, ast.Constant(not value)
            case ast.Constant(int() as value):
                yield node, ast.Constant(value + 1)
            case ast.Constant(float() as value) if value:
                yield node, ast.Constant(value * 2)
            case ast.Return(ast.expr() as value) if not _is_text_or_nothing(value):
                yield value, ast.Constant(None)
            case _:
                pass


def _is_text_or_nothing(value: ast.expr) -> bool:
    return isinstance(value, ast.JoinedStr) or (
        isinstance(value, ast.Constant) and (not value.value or isinstance(value.value, str))
    )


def _left_alone(tree: ast.Module) -> set[int]:
    """Nodes in annotations, texts, decorators of classes, in what is raised, and in blocks for type checkers."""
    found: set[int] = set()
    for node in ast.walk(tree):
        within: list[ast.AST | None] = []
        match node:
            case ast.FunctionDef(returns=returns):
                within.append(returns)
            case ast.arg(annotation=annotation) | ast.AnnAssign(annotation=annotation):
                within.append(annotation)
            case ast.ClassDef(decorator_list=decorators):
                within += decorators
            case ast.JoinedStr() | ast.Raise():
                within.append(node)
            case ast.If(test=ast.Name("TYPE_CHECKING")):
                within.append(node)
            case _:
                pass
        for part in within:
            found |= {id(n) for n in ast.walk(part)} if part is not None else set()
    return found


@dataclass(frozen=True, slots=True)
class Recorded:
    """Which fast tests run which lines.

    Attributes:
        tests: by file (relative to the package) and line, the tests that run it; line 0 has all that run the file.
        seconds: of each test.
    """

    tests: dict[str, dict[int, tuple[str, ...]]]
    seconds: dict[str, float]

    def of(self, place: Break) -> list[str]:
        """The tests of a broken line, the quickest first; of a line that only an import runs, those of its file."""
        lines = self.tests.get(place.path, {})
        tests = sorted(lines.get(place.line) or lines.get(0, ()), key=lambda t: self.seconds.get(t, 0.0))
        taken, total = [], 0.0
        for test in tests:
            total += self.seconds.get(test, 0.0)
            if taken and total > MOST_SECONDS:
                break
            taken.append(test)
        return taken


class Contexts:
    """A plug-in of pytest that has coverage.py keep lines by test, and writes how long each test took."""

    def __init__(self, times: Path) -> None:
        self.times = times
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        import coverage

        current = coverage.Coverage.current()
        if current is not None:
            current.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: object) -> None:
        nodeid, duration = str(report.nodeid), float(report.duration)  # type: ignore[attr-defined]
        self.seconds[nodeid] = self.seconds.get(nodeid, 0.0) + duration

    def pytest_sessionfinish(self) -> None:
        self.times.write_text(json.dumps(self.seconds))


def record(folders: list[str], file: Path) -> None:
    """Run the fast tests of some folders once and keep in ``file`` which lines each runs."""
    file.parent.mkdir(parents=True, exist_ok=True)
    code = (
        "import sys, pytest, coverage; from pathlib import Path; sys.path.insert(0, sys.argv[1]);"
        "from benchmarks.broken_lines import Contexts;"
        "c = coverage.Coverage(data_file=sys.argv[2], source=[sys.argv[3]]); c.start();"
        "status = pytest.main(sys.argv[5:], plugins=[Contexts(Path(sys.argv[4]))]);"
        "c.stop(); c.save(); sys.exit(status)"
    )
    words = [str(ROOT), str(file), str(PACKAGE), str(file.with_suffix(".json"))]
    options = [o for o in PYTEST if o != "-x"]
    tests = [str(ROOT / "tests" / f) for f in folders if (ROOT / "tests" / f).is_dir()]
    ended = subprocess.run([sys.executable, "-c", code, *words, *options, *tests], cwd=ROOT, check=False)
    if ended.returncode:
        sys.exit(f"the fast tests fail as they are: exit {ended.returncode}")


def recorded(file: Path) -> Recorded:
    """What ``record`` kept."""
    from coverage.numbits import numbits_to_nums

    tests: dict[str, dict[int, tuple[str, ...]]] = {}
    with contextlib.closing(sqlite3.connect(file)) as base:
        rows = base.execute(
            "select path, context, numbits from line_bits join file on file.id = file_id"
            " join context on context.id = context_id where context != ''"
        )
        for path, context, bits in rows:
            lines = tests.setdefault(Path(path).relative_to(PACKAGE).as_posix(), {})
            for line in (0, *numbits_to_nums(bits)):
                lines[line] = (*lines.get(line, ()), context)
    return Recorded(tests, json.loads(file.with_suffix(".json").read_text()))


def run_broken(place: Break, tests: list[str]) -> int:
    """Run tests against the package with one place broken; pytest's exit code. Call it in a process of its own."""
    path = PACKAGE / place.path
    text = path.read_text()
    code = compile(text[: place.start] + place.new + text[place.end :], str(path), "exec")
    loader = importlib.machinery.SourceFileLoader
    usual = loader.get_code

    def get_code(self: importlib.machinery.SourceFileLoader, fullname: str) -> object:
        return code if Path(self.path).resolve() == path else usual(self, fullname)

    loader.get_code = get_code  # type: ignore[method-assign,assignment]
    import pytest

    return int(pytest.main([*PYTEST, *tests]))


def judge(place: Break, known: Recorded, seconds: float) -> str:
    """``noticed``, ``unnoticed`` or ``untested``; what hangs is noticed."""
    tests = known.of(place)
    if not tests:
        return "untested"
    asked = json.dumps({"place": asdict(place), "tests": tests}).encode()  # longer than an argument may be
    process = subprocess.Popen(
        [sys.executable, __file__, "--one", "-"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        process.communicate(asked, seconds)
    except subprocess.TimeoutExpired:
        return "noticed"
    else:
        return "noticed" if process.returncode else "unnoticed"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def drawn(places: Iterable[Break], seed: int) -> list[Break]:
    """The places in an order that the seed gives; what is edited elsewhere leaves the others in theirs."""
    seen: Counter[tuple[str, str, str]] = Counter()
    ordered: list[tuple[bytes, Break]] = []
    for place in places:
        text = (place.path, place.old, place.new)
        seen[text] += 1
        ordered.append((hashlib.sha256(repr((seed, *text, seen[text])).encode()).digest(), place))
    return [place for _, place in sorted(ordered, key=lambda pair: pair[0])]


def equivalents() -> dict[tuple[str, str, str], str]:
    """What was judged by hand to compute the same, by file, old and new text, with the reason."""
    if not JUDGED.is_file():
        return {}
    return {(e["path"], e["old"], e["new"]): e["why"] for e in tomllib.loads(JUDGED.read_text()).get("same", [])}


def main() -> int:
    """Entry point."""
    given = _arguments()
    if given.one:
        asked = json.loads(sys.stdin.read() if given.one == "-" else given.one)
        return run_broken(Break(**asked["place"]), asked["tests"])
    if not given.map.is_file():
        record(given.folders, given.map)
    known = recorded(given.map)
    files = [p for f in given.folders for p in sorted((PACKAGE / f).rglob("*.py"))]
    places = [b for p in files for b in breaks_in(p)]
    chosen = drawn(places, given.seed)[: given.count]
    same = equivalents()
    began = time.monotonic()
    answers: dict[Break, str] = {}
    with ThreadPoolExecutor(given.jobs) as pool:
        for place, answer in zip(chosen, pool.map(lambda b: judge(b, known, 3 * MOST_SECONDS), chosen), strict=True):
            if answer != "noticed" and (place.path, place.old, place.new) in same:
                answer = "same"
            answers[place] = answer
            print(f"{answer:10} {place}", flush=True)
    counts = {a: list(answers.values()).count(a) for a in ("noticed", "unnoticed", "untested", "same")}
    share = counts["noticed"] / max(1, len(answers) - counts["same"])
    print(f"{len(answers)} of {len(places)} places, {time.monotonic() - began:.0f} s: {counts}; {share:.1%} noticed")
    if given.json:
        rows = [{**asdict(b), "answer": a} for b, a in answers.items()]
        given.json.write_text(json.dumps({"seed": given.seed, "noticed": share, "places": rows}, indent=1))
    return int(share < given.least)


def _arguments() -> argparse.Namespace:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--count", type=int, default=300, metavar="N", help="places to break")
    arguments.add_argument("--seed", type=int, default=1, help="which places")
    arguments.add_argument("--folders", nargs="+", default=list(FOLDERS), metavar="FOLDER", help="of the package")
    arguments.add_argument("--jobs", type=int, default=2, metavar="N", help="processes at once")
    arguments.add_argument("--map", type=Path, default=ROOT / "build" / "broken_lines.sqlite", help="what tests run")
    arguments.add_argument("--least", type=float, default=0.85, metavar="SHARE", help="of what can be noticed")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write every answer there")
    arguments.add_argument("--one", help=argparse.SUPPRESS)
    return arguments.parse_args()


if __name__ == "__main__":
    sys.exit(main())
