"""Flags, files and the index beside a model enter, the ranges that they say its inputs have leave."""

from __future__ import annotations

import argparse
import math
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.cli.parser import Parser, place
from irfuzz.errors import UsageError

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

Given = dict[str, tuple[float, float]]
"""Lowest and highest element by the name of an input or initializer."""


def range_arguments(parser: Parser) -> None:
    """``--range``, ``--ranges`` and ``--data``."""
    add = parser.add_argument
    add(
        "--range",
        metavar="NAME=LO,HI",
        action="append",
        default=[],
        dest="given",
        type=one_range,
        help="Of an input or initializer; repeat it.",
    )
    add("--ranges", metavar="FILE", type=place, help="TOML: NAME = [LO, HI] lines.")
    add(
        "--data",
        metavar="FILE",
        type=place,
        help="An npz of inputs: their smallest and largest elements are the ranges.",
    )


def ranges_of(args: argparse.Namespace, path: Path, program: Program) -> Given:
    """What the flags of ``range_arguments`` and the ``index.toml`` beside the model say; flags before files.

    Raises:
        UsageError: a file cannot be read or says nothing of the model's inputs.
    """
    return {**_of_index(path, program), **_of_file(args.ranges), **_of_data(args.data, program), **dict(args.given)}


def one_range(text: str) -> tuple[str, tuple[float, float]]:
    """The type of ``--range``."""
    name, _, ends = text.rpartition("=")
    try:
        low, high = (float(e) for e in ends.split(","))
    except ValueError:
        low = high = math.nan
    if not name or not low <= high:
        raise argparse.ArgumentTypeError(f"expected NAME=LO,HI with LO <= HI, got {text!r}")
    return name, (low, high)


def _of_file(path: Path | None) -> Given:
    if path is None:
        return {}
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--ranges {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"--ranges {path}: not TOML: {error}") from None
    found: Given = {}
    for name, ends in content.items():
        if (
            not isinstance(ends, list)
            or len(ends) != 2
            or not all(isinstance(e, int | float) and not isinstance(e, bool) for e in ends)
            or not ends[0] <= ends[1]
        ):
            raise UsageError(f"--ranges {path}: {name}: expected [LO, HI] with LO <= HI, got {ends!r}")
        found[name] = (float(ends[0]), float(ends[1]))
    return found


def _of_data(path: Path | None, program: Program) -> Given:
    if path is None:
        return {}
    import zipfile
    import zlib

    import numpy as np

    try:
        arrays = np.load(path, allow_pickle=False)
        if not isinstance(arrays, np.lib.npyio.NpzFile):
            raise UsageError(f"--data {path}: expected an npz of arrays by name, got one array")
        with arrays:
            data = {name: np.asarray(arrays[name]) for name in arrays.files}
    except OSError as error:
        raise UsageError(f"--data {path}: {error.strerror or error}") from None
    except (EOFError, ValueError, zipfile.BadZipFile, zlib.error):
        raise UsageError(
            f"--data {path}: expected an npz of arrays by name (numpy.savez), got something else"
        ) from None
    names = {v.name or "" for v in program.graph.inputs}
    found = {
        n: (float(a.min()), float(a.max())) for n, a in data.items() if n in names and a.size and a.dtype.kind in "biuf"
    }
    for name, (low, high) in found.items():
        if not low <= high:
            raise UsageError(f"--data {path}: {name}: holds NaN; expected numbers")
        if math.isinf(low) or math.isinf(high):
            raise UsageError(f"--data {path}: {name}: holds an infinity; expected finite numbers")
    if not found:
        raise UsageError(f"--data {path}: none of its arrays is an input of the model ({', '.join(sorted(names))})")
    return found


def _of_index(path: Path, program: Program) -> Given:
    """What an ``index.toml`` beside the model says of its inputs."""
    from irfuzz.campaign.seed_folder import INDEX, read_index

    if not (path.parent / INDEX).exists():
        return {}
    names = {v.name or "" for v in program.graph.inputs}
    entries = [e for e in read_index(path.parent) if e["file"] == path.name]
    return {
        str(i["name"]): (float(i["low"]), float(i["high"]))
        for e in entries
        for i in e.get("inputs", ())
        if "low" in i and i["name"] in names
    }
