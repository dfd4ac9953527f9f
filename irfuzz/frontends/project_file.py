"""``irfuzz.toml``: what a project says of the inputs of its models, once instead of at every command.

Its table ``[fuzz]`` belongs to the command line (``irfuzz/cli/flags_from_toml.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from irfuzz.errors import UsageError
from irfuzz.frontends.toml_file_reading import read_toml

NAME = "irfuzz.toml"

TABLES = ("inputs", "models", "fuzz")
"""That the file may have."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class InputTable:
    """A table ``[inputs]``.

    Attributes:
        place: the file and the table, for messages.
        shapes: whole shapes by input.
        sizes: sizes by the name of a dimension.
        ranges: lowest and highest element by input.
        data: an npz of samples; the path as the file means it, relative to its own folder.
        shared: it is that of all models.
    """

    place: str
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, "tuple[int, ...]"])
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, "tuple[float, float]"])
    data: Path | None = None
    shared: bool = True


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """An ``irfuzz.toml`` that was read.

    Attributes:
        path: of the file.
        inputs: what it says of all models; ``None`` if it has no such table.
        models: what it says of one, by the model's file name or its path from the file's folder.
    """

    path: Path
    inputs: InputTable | None
    models: Mapping[str, InputTable]

    def tables_of(self, model: Path) -> list[InputTable]:
        """The tables that apply to a model; a later one wins over an earlier one.

        Args:
            model: as the caller was given it; its name, this path and its path from the file's folder are looked for.
        """
        wanted = {model.name, str(model)}
        folder = self.path.resolve().parent
        if model.resolve().is_relative_to(folder):
            wanted.add(model.resolve().relative_to(folder).as_posix())
        own = [table for name, table in self.models.items() if name in wanted]
        return [*([] if self.inputs is None else [self.inputs]), *own]


def find_project_file(model: Path, folder: Path | None = None) -> Path | None:
    """The file that applies to a model: the one beside it, else the nearest from the working folder upwards.

    Args:
        model: of any kind; it need not be a file.
        folder: to take for the working folder.
    """
    start = (Path.cwd() if folder is None else folder).absolute()
    candidates = [model.absolute().parent / NAME, *(parent / NAME for parent in (start, *start.parents))]
    return next((path for path in candidates if path.is_file()), None)


def read_project_file(path: Path) -> ProjectFile:
    """Read and check one.

    Raises:
        UsageError: it cannot be read, is no TOML, has a key that is not known, or a value of another kind. The message
            names the file, the key and what was expected.
    """
    content = read_toml(path, str(path))
    _known(path, "", content, TABLES)  # the last is read by the command line
    tables: dict[str, InputTable] = {}
    for name, table in _table(path, "models", content.get("models", {})).items():
        key = f"models.{_spelt(name)}"
        _known(path, key, _table(path, key, table), ("inputs",))
        if "inputs" in table:
            tables[name] = replace(_inputs(path, f"{key}.inputs", table["inputs"]), shared=False)
    inputs = _inputs(path, "inputs", content["inputs"]) if "inputs" in content else None
    return ProjectFile(path, inputs, tables)


def read_ranges(content: Mapping[str, Any], place: str) -> dict[str, tuple[float, float]]:
    """``NAME = [LO, HI]`` entries of a TOML table, as floats by name; infinite ends are allowed.

    Args:
        content: the table.
        place: what messages begin with.

    Raises:
        UsageError: one is something else, or NaN, or LO is above HI.
    """
    return {name: _range(f"{place}: {name}", ends) for name, ends in content.items()}


def _inputs(path: Path, key: str, value: Any) -> InputTable:
    table = _table(path, key, value)
    _known(path, key, table, ("shapes", "sizes", "ranges", "data"))
    data = table.get("data")
    if data is not None and (not isinstance(data, str) or not data):
        raise UsageError(f"{path}: {key}.data: expected the path of an npz, got {data!r}")

    def each(name: str, read: Callable[[str, Any], T]) -> dict[str, T]:
        entries = _table(path, f"{key}.{name}", table.get(name, {}))
        return {k: read(f"{path}: {key}.{name}: {k}", v) for k, v in entries.items()}

    return InputTable(
        f"{path}: {key}",
        each("shapes", _shape),
        each("sizes", _size),
        each("ranges", _range),
        None if data is None else path.parent / data,
    )


def _table(path: Path, key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{path}: {key}: expected a table, got {value!r:.80}")
    return value  # pyright: ignore[reportUnknownVariableType]


def _known(path: Path, key: str, table: Iterable[str], known: tuple[str, ...]) -> None:
    for name in table:
        if name not in known:
            where = f"table [{key}]" if key else "the file"
            raise UsageError(f"{path}: unknown key {_spelt(name)} in {where}; known are {', '.join(known)}")


def _spelt(name: str) -> str:
    """A key as TOML spells it."""
    return name if name.replace("-", "").replace("_", "").isalnum() else f'"{name}"'


def _shape(where: str, value: Any) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(type(size) is int and size >= 1 for size in value):  # pyright: ignore[reportUnknownVariableType]
        raise UsageError(f"{where}: expected sizes of at least 1, such as [1, 3, 48, 160], got {value!r:.80}")
    return tuple(value)  # pyright: ignore[reportUnknownArgumentType]


def _size(where: str, value: Any) -> int:
    if type(value) is not int or value < 1:
        raise UsageError(f"{where}: expected a size of at least 1, got {value!r:.80}")
    return value


def _range(where: str, value: Any) -> tuple[float, float]:
    number = isinstance(value, list) and len(value) == 2 and all(type(end) in (int, float) for end in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if not number or not -math.inf <= value[0] <= value[1] <= math.inf:
        raise UsageError(f"{where}: expected [LO, HI] with LO <= HI, got {value!r:.80}")
    return float(value[0]), float(value[1])
