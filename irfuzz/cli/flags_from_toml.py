"""Flags that a project writes down once: a table of ``irfuzz.toml`` or ``pyproject.toml`` in the working folder."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from irfuzz.errors import UsageError
from irfuzz.frontends.project_file import NAME
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
        command: the name of its table, ``[fuzz]`` or ``[tool.irfuzz.fuzz]``.
        actions: the flags by their long names, without the dashes.
        folder: the working folder.

    Raises:
        UsageError: both files have the table, a key is unknown, or a value is none of its flag; the message names file,
            table and key.
    """
    tables = {
        **_table(folder / NAME, (command,)),
        **_table(folder / PYPROJECT, ("tool", "irfuzz", command), ("tool", "irfuzz")),
    }
    if len(tables) > 1:
        raise UsageError(f"{' and '.join(tables)}: expected one of the two")
    for place, table in tables.items():
        values: dict[str, Any] = {}
        for key, value in table.items():
            if key not in actions:
                nearest = max(actions, key=lambda name: difflib.SequenceMatcher(None, key, name).ratio())
                raise UsageError(f"{place}: unknown key {key!r}: did you mean {nearest!r}?")
            values[actions[key].dest] = _value(f"{place}: {key}", actions[key], value)
        return ProjectFlags(place, values, tuple(table))
    return ProjectFlags()


def _table(path: Path, way: tuple[str, ...], own: tuple[str, ...] = ()) -> dict[str, Mapping[str, Any]]:
    """The table of a file, by file and table; none if there is none.

    Args:
        path: of the file.
        way: to the table.
        own: the way to a table that has only this one.
    """
    if not path.is_file():
        return {}
    found: Any = read_toml(path, path.name)
    for depth, name in enumerate(way):
        if way[:depth] == own and own and {*found} - {name}:
            raise UsageError(
                f"{path.name}: [{'.'.join(own)}]: unknown key {min({*found} - {name})!r}: did you mean {name!r}?"
            )
        if name not in found:
            return {}
        found = found[name]
        if not is_table(found):
            raise UsageError(f"{path.name}: {'.'.join(way[: depth + 1])}: expected a table, got {found!r:.80}")
    return {f"{path.name}: [{'.'.join(way)}]": found}


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
