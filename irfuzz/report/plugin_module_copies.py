"""Copies the module of a user's class, and what it imports of its own project, into the folder of a finding."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from irfuzz.execute.adapters.plugin import PluginAdapter
from irfuzz.findings.finding import TargetRun

FOLDER = "plugin"
"""Of a finding's folder."""

MOST = 2 << 20
"""Bytes of copies; a project that is larger stays where it is."""


@dataclass(frozen=True, slots=True)
class PluginCopies:
    """What goes into a finding's folder.

    Attributes:
        parties: targets; the class of a file is named by its path in the project, or by its name alone if it lies
            elsewhere.
        files: contents by path in the finding's folder; empty if there is nothing to copy.
    """

    parties: tuple[TargetRun, ...]
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])


def copies_of(parties: Sequence[TargetRun]) -> PluginCopies:
    """Collect the modules of users' classes.

    Copied are files below the working folder, in which modules are looked for first, and a file that is named by its
    path. What is installed is not, unless it lies in a folder of the project, such as ``src`` (``pip install -e``).
    Each copy has the path by which Python finds its module.

    Args:
        parties: targets of a script; those that are no class of the user's stay as they are.
    """
    moved: list[TargetRun] = []
    files: dict[str, bytes] = {}
    for party in parties:
        source = party.options.get("class")
        if not isinstance(source, str):
            moved.append(party)
            continue
        root = Path.cwd()
        path, inner = _file_of(PluginAdapter(party.name, source), root)
        if path is not None and inner is not None:
            files.update(_with_imports(path, inner, _search_roots(root)))
        place, _, name = source.rpartition(":")
        named = f"{inner.as_posix()}:{name}" if place.endswith(".py") and inner is not None else source
        moved.append(replace(party, options={**party.options, "class": named}))
    if sum(map(len, files.values())) > MOST:
        files = {}
    return PluginCopies(tuple(moved), {f"{FOLDER}/{name}": data for name, data in files.items()})


def _file_of(adapter: PluginAdapter, root: Path) -> tuple[Path | None, Path | None]:
    """The file with the class, and its path below the folder in which its module is found; of a file that was named by
    its path, that below the project, or its name if it lies elsewhere; of an installed module neither.
    """
    path = adapter.file
    if path is None or not path.is_file():
        return None, None
    place = adapter.source.rpartition(":")[0]
    named = place.endswith(".py")
    if _is_own(path, root):
        depth = len(place.split(".")) + (path.name == "__init__.py")
        return path, path.absolute().relative_to(root) if named else Path(*path.absolute().parts[-depth:])
    return (path, Path(path.name)) if named else (None, None)


def _search_roots(root: Path) -> list[Path]:
    """Folders of the project in which Python looks for modules: its own first, then those of ``sys.path`` below it."""
    below = [Path(place).absolute() for place in sys.path if place]
    return list(dict.fromkeys([root, *(place for place in below if place.is_dir() and _is_own(place, root))]))


def _is_own(path: Path, root: Path) -> bool:
    """Whether a file is of the project, and not of an environment inside of its folder."""
    absolute = path.absolute()
    if not absolute.is_relative_to(root) or "site-packages" in absolute.parts:
        return False
    prefix = Path(sys.prefix)
    return not (prefix.is_relative_to(root) and prefix != root and absolute.is_relative_to(prefix))


def _with_imports(path: Path, inner: Path, roots: Sequence[Path]) -> dict[str, bytes]:
    """A module, the packages around it, and what they import of the project, by path below the root of each."""
    found: dict[str, bytes] = {}
    waiting = [(path, inner)]
    while waiting and sum(map(len, found.values())) <= MOST:
        file, name = waiting.pop()
        if name.as_posix() in found:
            continue
        try:
            data = file.read_bytes()
            tree = ast.parse(data)
        except (OSError, SyntaxError, ValueError):
            continue  # the class is there all the same, and its worker says what is wrong with it
        found[name.as_posix()] = data
        own = file.absolute().parents[len(name.parts) - 1]
        packages = [(own / parent / "__init__.py", own) for parent in name.parents if parent.parts]
        imported = [(one, r) for m in _imported(tree, name) for r in roots for one in _files_of_module(m, r, roots[0])]
        waiting += [(one, one.relative_to(root)) for one, root in (*packages, *imported) if one.is_file()]
    return found


def _imported(tree: ast.AST, name: Path) -> Iterator[str]:
    """Modules that a file may import, by their whole names; some are only names in a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = name.parts[: len(name.parts) - node.level] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}".lstrip(".") for alias in node.names)


def _files_of_module(module: str, root: Path, project: Path) -> Iterator[Path]:
    """Files below a folder of the project that a module, and the packages around it, may be."""
    if not module:
        return
    parts = module.split(".")
    for depth in range(1, len(parts) + 1):
        place = root.joinpath(*parts[:depth])
        for file in (place.with_name(f"{place.name}.py"), place / "__init__.py"):
            if file.is_file() and _is_own(file, project):
                yield Path(os.path.normpath(file))
