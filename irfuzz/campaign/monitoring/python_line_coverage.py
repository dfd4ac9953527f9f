"""Counts the lines of components written in Python that a run was the first to run."""

from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from types import CodeType

from irfuzz.execute.run_types import RunResult

LINES = "python lines of job "
"""Key of the setting in which a job says which lines ran, before its number."""

State = Mapping[str, Mapping[str, Sequence[int]]]
"""By name of the package, by path below its folder: lines."""


class LineCoverage:
    """Lines that ran for any program so far."""

    def __init__(self) -> None:
        self._ran: dict[str, dict[str, set[int]]] = {}
        self.count = 0

    def add(self, results: Sequence[RunResult]) -> int:
        """How many lines ran for the first time; processes that are new tell again what others did before.

        Args:
            results: of any targets; those that count no lines add nothing.
        """
        before = self.count
        for result in results:
            self.absorb(result.lines)
        return self.count - before

    def absorb(self, state: State) -> None:
        """Count what others have seen.

        Args:
            state: line numbers by package and file, as ``state`` gives them; a line counts once, whoever saw it.
        """
        for name, files in state.items():
            for file, lines in files.items():
                known = self._ran.setdefault(name, {}).setdefault(file, set())
                before = len(known)
                known.update(lines)
                self.count += len(known) - before

    def state(self) -> State:
        """All of them, as JSON-able data."""
        return {name: {file: sorted(ran) for file, ran in files.items()} for name, files in self._ran.items()}

    def packages(self) -> dict[str, int]:
        """How many by name of the package."""
        return {name: sum(map(len, files.values())) for name, files in sorted(self._ran.items())}

    def shares(self) -> dict[str, tuple[int, int]]:
        """How many lines in functions of each package ran, and of how many; of one that is gone, those that ran."""
        found: dict[str, tuple[int, int]] = {}
        for name, files in sorted(self._ran.items()):
            there = executable(name)
            ran = sum(len(lines & there[file]) for file, lines in files.items() if file in there)
            found[name] = ran, sum(map(len, there.values()))
            if not there:
                found[name] = self.packages()[name], self.packages()[name]
        return found


def executable(name: str) -> dict[str, set[int]]:
    """Lines in functions of a package's files, by path; its code is compiled, and nothing of it is run or imported.

    Args:
        name: of a package or module, or the absolute path of one.
    """
    root = _root_of(name)
    if root is None:
        return {}
    files = {root.name: root} if root.is_file() else {p.relative_to(root).as_posix(): p for p in root.rglob("*.py")}
    found: dict[str, set[int]] = {}
    for path, file in files.items():
        try:
            code = compile(file.read_bytes(), str(file), "exec", dont_inherit=True)
        except (SyntaxError, ValueError, OSError, RecursionError):
            continue  # templates for other tools, and what Python itself could not import
        found[path] = {line for each in _functions(code) for line in _lines_of(each)}
    return found


def _functions(code: CodeType) -> Iterator[CodeType]:
    """Code of functions; that of modules and classes runs when they are imported."""
    if code.co_flags & inspect.CO_OPTIMIZED:
        yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _functions(constant)


def _lines_of(code: CodeType) -> set[int]:
    """Lines that can be seen to run: not the one that begins the function, unless there is no other."""
    lines = {line for _, line in dis.findlinestarts(code) if line}
    return lines - {code.co_firstlineno} or lines


def _root_of(name: str) -> Path | None:
    if Path(name).is_absolute():
        return Path(name) if Path(name).exists() else None
    first, *below = name.split(".")
    spec = PathFinder.find_spec(first, sys.path)
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not folders:
        return Path(spec.origin) if spec is not None and spec.origin and not below else None
    place = Path(folders[0], *below)
    return place if place.is_dir() else next((p for p in [place.with_suffix(".py")] if p.is_file()), None)
