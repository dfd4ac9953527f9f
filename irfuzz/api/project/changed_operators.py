"""Reads out of a project's changes which operators they are about."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from irfuzz.errors import UsageError
from irfuzz.spec import load_specs

_FILE = re.compile(r"^\+\+\+ b/(.*)$")
_LINE = re.compile(r"^(?:@@[^@]*@@(?P<around>.*)|[-+](?P<text>.*))$")
_DEFINED = re.compile(r"\b(?:def|fn|void|auto|class|struct)\s+(\w+)")
_COMMENT = re.compile(r"(?:^|(?<=\s))(?:#|//).*")
_NAME = re.compile(r"(?<=[\"'])\w+(?=[\"'])|(?<=\w\.|::)\w+|\b\w+\b(?! [a-z])")
"""A word in quotes or behind a dot, or one that no sentence goes on from (``Add it``)."""

_PARTS = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z][a-z0-9]*|[a-z0-9]+")

_PROSE = ("*.md", "*.rst", "*.txt", "*.json", "*.toml", "*.yml", "*.yaml", "*.lock")
"""Files that say nothing of the code, though words in them are names of operators; a baseline is one."""


def changed_operators(folder: Path, since: str) -> tuple[str, ...]:
    """Operators of ONNX's that the changes since a commit name, sorted.

    A name counts if it stands by itself (``"MaxPool"``; with a sentence behind it, as ``Add it``, only in quotes
    or behind a dot), and in names of files, functions and classes, in any spelling (``convert_max_pool``,
    ``MaxPoolConverter``), those that a change stands in included. Comments, text and tables of settings do not count.

    Args:
        folder: in a git repository; changes below it count, those that are not committed, too.
        since: a commit, as git names it.

    Raises:
        UsageError: git is missing, or does not know the commit, or the folder is in no repository.
    """
    command = ["git", "diff", "--unified=0", "--no-color", "--no-ext-diff", "--end-of-options", since, "--", "."]
    command += [f":(exclude){pattern}" for pattern in _PROSE]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    except OSError as error:
        raise UsageError(f"changed-since: git cannot be run: {error.strerror}") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["it says nothing"]
        raise UsageError(f"changed-since: {since}: git knows no changes since it: {said[0]}")
    return operators_in_diff(done.stdout.decode(errors="replace"))


def operators_in_diff(diff: str) -> tuple[str, ...]:
    """Operators that a diff names, sorted; see ``changed_operators``.

    Args:
        diff: as git prints it.
    """
    spec_names = {spec.op for spec in load_specs().overlaid(load_specs().newest(""))}
    spelt = {name.lower(): name for name in spec_names}
    found: set[str] = set()
    for line in diff.splitlines():
        file, changed = _FILE.match(line), _LINE.match(line)
        if file is not None:
            found |= _in_names([Path(file[1]).stem], spelt)
        elif changed is not None and not line.startswith(("--- ", "+++ ")):
            text = _COMMENT.sub("", changed["around"] or changed["text"] or "")
            found |= spec_names & {*_NAME.findall(text)}
            found |= _in_names(_DEFINED.findall(text), spelt)
    return tuple(sorted(found))


def _in_names(names: list[str], spelt: dict[str, str]) -> set[str]:
    """Operators in names of files and functions: as many parts of one as make an operator's name."""
    found: set[str] = set()
    for name in names:
        parts = [part.lower() for part in _PARTS.findall(name)]
        start = 0
        while start < len(parts):
            ends = [end for end in range(len(parts), start, -1) if "".join(parts[start:end]) in spelt]
            if ends:
                found.add(spelt["".join(parts[start : ends[0]])])
            start = ends[0] if ends else start + 1
    return found
