"""Flags that a project writes down once: a table of ``irfuzz.toml`` or ``pyproject.toml`` in the working folder."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from irfuzz.errors import UsageError
from irfuzz.frontends.project_file import NAME, TABLES
from irfuzz.frontends.toml_file_reading import is_list, is_table, read_toml

PYPROJECT = "pyproject.toml"


@dataclass(frozen=True, slots=True)
class ProjectFlags:
    """The flags of one table.

    Attributes:
        place: file and table, for messages; empty if there is none.
        values: as the command's type of the flag reads them, by the name that ``argparse`` keeps them under.
        keys: as the file spells them.
    """

    place: str = ""
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    keys: tuple[str, ...] = ()


def read_project_flags(command: str, actions: Mapping[str, argparse.Action], folder: Path) -> ProjectFlags:
    """The flags of a command that the files of a folder set.

    Args:
        command: the name of its table, ``[fuzz]`` or ``[tool.irfuzz.fuzz]``; ``[tool.irfuzz]`` is taken for the latter.
        actions: the flags by their long names, without the dashes.
        folder: the working folder.

    Raises:
        UsageError: both files have the table, a key is unknown, or a value is none of its flag; the message names file,
            table and key.
    """
    tables = {**_own_file(folder / NAME, command), **_pyproject(folder / PYPROJECT, command)}
    if len(tables) > 1:
        raise UsageError(f"{' and '.join(tables)}: expected one of the two")
    for place, table in tables.items():
        values: dict[str, Any] = {}
        for key, value in table.items():
            if key not in actions:
                raise UsageError(f"{place}: unknown key {key!r}: did you mean {_nearest(key, (*actions, command))!r}?")
            values[actions[key].dest] = _value(f"{place}: {key}", actions[key], value)
        return ProjectFlags(place, values, tuple(table))
    return ProjectFlags()


def _nearest(key: str, names: Iterable[str]) -> str:
    return max(names, key=lambda name: difflib.SequenceMatcher(None, key, name).ratio())


def _own_file(path: Path, command: str) -> dict[str, Mapping[str, Any]]:
    """The table of a command in ``irfuzz.toml``, by file and table; none if there is none."""
    if not path.is_file():
        return {}
    found = read_toml(path, NAME)
    if wrong := next((key for key in found if key not in TABLES), None):
        raise UsageError(f"{NAME}: unknown key {wrong!r}: did you mean {_nearest(wrong, TABLES)!r}?")
    return {f"{NAME}: [{command}]": _table(f"{NAME}: {command}", found[command])} if command in found else {}


def _pyproject(path: Path, command: str) -> dict[str, Mapping[str, Any]]:
    """``[tool.irfuzz.COMMAND]`` of ``pyproject.toml``, or ``[tool.irfuzz]`` with the same keys if that is not there."""
    if not path.is_file():
        return {}
    tools: Any = read_toml(path, PYPROJECT).get("tool", {})
    if not is_table(tools) or "irfuzz" not in tools:
        return {}
    whole, own = f"{PYPROJECT}: [tool.irfuzz]", f"{PYPROJECT}: [tool.irfuzz.{command}]"
    found = _table(f"{PYPROJECT}: tool.irfuzz", tools["irfuzz"])
    if command not in found:
        return {whole: found} if found else {}
    if wrong := next((key for key in found if key != command), None):
        raise UsageError(f"{whole}: unknown key {wrong!r}: flags stand in [tool.irfuzz.{command}], as there is one")
    return {own: _table(f"{PYPROJECT}: tool.irfuzz.{command}", found[command])}


def _table(where: str, found: Any) -> Mapping[str, Any]:
    if not is_table(found):
        raise UsageError(f"{where}: expected a table, got {found!r:.80}")
    return found


def _value(where: str, action: argparse.Action, value: Any) -> Any:
    """The value of a flag, as if it had been typed."""
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise UsageError(f"{where}: expected true or false, got {value!r:.80}")
        return value
    if isinstance(action.default, list) or action.nargs == "*":  # a flag that may be repeated, or arguments
        return [_one(where, action, one) for one in (value if is_list(value) else [value])]
    if is_list(value) and all(isinstance(one, str) for one in value) and value:
        joined = _one(where, action, ",".join(value))
        if isinstance(joined, tuple):  # names, which a command line separates by commas
            return joined
    return _one(where, action, value)


def _one(where: str, action: argparse.Action, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError(f"{where}: expected text or a number, got {value!r:.80}")
    text = str(value)
    read: Any = action.type if callable(action.type) else str
    try:
        found = read(text)
    except (argparse.ArgumentTypeError, ValueError) as error:
        raise UsageError(f"{where}: {error}") from None
    if action.choices is not None and found not in action.choices:
        raise UsageError(f"{where}: expected one of {', '.join(action.choices)}, got {text!r}")
    return found
