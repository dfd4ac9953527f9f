"""The flags that say what a model's inputs are, and ``irfuzz.toml``, which says it once.

Every command that draws inputs declares them with ``input_arguments`` and reads them with ``inputs_said``, so that they
mean the same everywhere. ``annotated`` (``irfuzz/generate/input_annotation.py``) then writes them into the program.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.cli.parser import Parser, one_line, place, whole
from irfuzz.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

    from irfuzz.execute.types import Value
    from irfuzz.frontends.project_file import InputTable
    from irfuzz.generate.input_claims import Claims
    from irfuzz.generate.input_spec import InputSpec
    from irfuzz.ir.program import Program

SHAPE = re.compile(r"(?P<name>.+):(?P<sizes>\[[-\d,\s]*\]|-?\d+(?:[xX,]-?\d+)*)")
SIZE = re.compile(r"(?P<name>.+)=(?P<size>-?\d+)")


@dataclass(frozen=True, slots=True)
class Said:
    """What flags and files say of one model's inputs.

    Attributes:
        spec: it, in agreement with the model.
        more: all arrays of the data, labels among them perhaps.
        data: the flag or file that brought the samples; empty if nothing did.
        weights: ranges of initializers.
    """

    spec: InputSpec
    more: Mapping[str, np.ndarray] = field(default_factory=dict[str, "np.ndarray"])
    data: str = ""
    weights: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, "tuple[float, float]"])


def input_arguments(parser: Parser, *, data: str, weights: bool = False, most: int | None = None) -> None:
    """``--input-shapes``, ``--size``, ``--range``, ``--ranges``, ``--data`` and ``--samples``.

    Args:
        parser: of the command.
        data: what the command does with samples, a sentence; empty if it has a flag of its own for them.
        weights: ranges may be those of initializers.
        most: how many samples are taken unless somebody says so; ``None`` for all.
    """
    add = parser.add_argument
    add(
        "--input-shapes", metavar="NAME:SHAPE", action="append", default=[], type=one_shape,
        help="Whole shape of an input: image:1x3x48x160 or image:[1,3,48,160]. Several, or repeat it.",
    )  # fmt: skip
    add(
        "--size", metavar="DIM=N", action="append", default=[], type=one_size,
        help="Size of a named dimension: H=48. Several, or repeat it.",
    )  # fmt: skip
    parser.several |= {"--input-shapes": SHAPE, "--size": SIZE}
    add(
        "--range", metavar="NAME=LO,HI", action="append", default=[], dest="given", type=one_range,
        help=f"Lowest and highest element of an input{' or initializer' if weights else ''}; repeat it.",
    )  # fmt: skip
    add("--ranges", metavar="FILE", type=place, help="The same as TOML: NAME = [LO, HI] lines.")
    if not data:
        return
    add(
        "--data", "--load-inputs", metavar="FILE", type=place,
        help=f"An npz: for each input an array whose rows are samples, or one sample. {data}",
    )  # fmt: skip
    usual = "all" if most is None else str(most)
    add("--samples", metavar="N", type=whole(1), help=f"Take the first N samples of the data. Default: {usual}.")
    parser.set_defaults(most_samples=most)


def one_shape(text: str) -> tuple[str, tuple[int, ...]]:
    """The type of ``--input-shapes``."""
    found = SHAPE.fullmatch(text)
    sizes = () if found is None else tuple(int(size) for size in re.findall(r"-?\d+", found["sizes"]))
    if found is None:
        raise argparse.ArgumentTypeError(f"expected NAME:1x3x48x160 or NAME:[1,3,48,160], got {text!r}")
    if any(size < 1 for size in sizes):
        raise argparse.ArgumentTypeError(f"{found['name']!r}: expected sizes of at least 1, got {found['sizes']}")
    return found["name"], sizes


def one_size(text: str) -> tuple[str, int]:
    """The type of ``--size``."""
    found = SIZE.fullmatch(text)
    if found is None or int(found["size"]) < 1:
        raise argparse.ArgumentTypeError(f"expected DIM=N with N of at least 1, got {text!r}")
    return found["name"], int(found["size"])


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


def inputs_said(
    args: argparse.Namespace, programs: Mapping[Path, Program], *, weights: bool = False
) -> dict[Path, Said]:
    """What flags and the ``irfuzz.toml`` of each model say of its inputs; flags before the file.

    Args:
        args: of a command that has ``input_arguments``.
        programs: of the models; a name that only some of them have says nothing of the others.
        weights: ranges may be those of initializers.

    Raises:
        UsageError: a file cannot be read, none of the models has a name, or something contradicts the model.
    """
    from irfuzz.generate.input_claims import refuse_unknown, resolve

    flags = _claims_of_flags(args)
    refuse_unknown(flags, list(programs.values()), weights=weights)
    tables = _tables(programs, weights=weights)
    layers = {path: [_claims_of_table(table) for table in tables[path]] for path in programs}
    specs = {path: resolve(program, [*layers[path], flags]) for path, program in programs.items()}
    found = {path: Said(spec, weights=_weights(programs[path], [*layers[path], flags])) for path, spec in specs.items()}
    for source in _sources(args, tables):
        for path, (samples, arrays) in _samples(source, programs, specs, layers, args).items():
            found[path] = replace(
                found[path], spec=replace(specs[path], samples=samples), more=arrays, data=source.words
            )
    script = getattr(args, "data_loader_script", None)
    if getattr(args, "samples", None) is not None and script is None and not any(said.data for said in found.values()):
        raise UsageError("--samples: it is about data; give --data too")
    return found


def said_by_flags(args: argparse.Namespace) -> bool:
    """Whether a flag of ``input_arguments`` is given."""
    return bool(args.input_shapes or args.size or args.given or args.ranges or getattr(args, "data", None))


def ranges_said(said: Said, path: Path, program: Program) -> dict[str, tuple[float, float]]:
    """Ranges of inputs and initializers: what is said, else of the samples, else of an ``index.toml`` beside the model.

    Raises:
        UsageError: samples hold NaN or an infinity; the index cannot be read.
    """
    import numpy as np

    from irfuzz.generate.input_annotation import ranges_of_samples

    for sample in said.spec.samples:
        for name, array in sample.items():
            if isinstance(array, np.ndarray) and array.dtype.kind == "f" and not np.isfinite(array).all():
                what = "NaN" if np.isnan(array).any() else "an infinity"
                raise UsageError(f"{said.data}: {name}: holds {what}; expected finite numbers")
    measured = ranges_of_samples(said.spec.samples)
    return {**_of_index(path, program), **measured, **said.spec.ranges, **said.weights}


def _of_index(path: Path, program: Program) -> dict[str, tuple[float, float]]:
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


def _weights(program: Program, layers: Sequence[Claims]) -> dict[str, tuple[float, float]]:
    """Ranges of initializers."""
    names = program.graph.initializers
    return {claim.name: claim.value for layer in layers for claim in layer.ranges if claim.name in names}


def _claims_of_flags(args: argparse.Namespace) -> Claims:
    from irfuzz.frontends.project_file import read_ranges
    from irfuzz.frontends.toml_file import read_toml
    from irfuzz.generate.input_claims import Claim, Claims

    path: Path | None = args.ranges
    ranges: dict[str, Claim[tuple[float, float]]] = {}
    if path is not None:
        entries = read_ranges(read_toml(path, f"--ranges {path}"), f"--ranges {path}")
        ranges = {name: Claim(name, ends, f"--ranges {path}: {name}") for name, ends in entries.items()}
    ranges |= {name: Claim(name, ends, f"--range {name}") for name, ends in args.given}
    return Claims(
        [Claim(n, shape, f"--input-shapes {n}:{'x'.join(map(str, shape)) or '[]'}") for n, shape in args.input_shapes],
        [Claim(name, size, f"--size {name}={size}") for name, size in args.size],
        list(ranges.values()),
    )


def _tables(programs: Mapping[Path, Program], *, weights: bool) -> dict[Path, list[InputTable]]:
    """The tables of the ``irfuzz.toml`` of each model.

    Raises:
        UsageError: one cannot be read, or none of the models to which a table applies has a name in it.
    """
    from irfuzz.frontends.project_file import find_project_file, read_project_file
    from irfuzz.generate.input_claims import refuse_unknown

    files = {path: find_project_file(path) for path in programs}
    read = {file: read_project_file(file) for file in dict.fromkeys(files.values()) if file is not None}
    found = {path: [] if file is None else read[file].tables_of(path) for path, file in files.items()}
    own = {id(table): table for tables in found.values() for table in tables}
    for key, table in own.items():
        meant = [program for path, program in programs.items() if key in map(id, found[path])]
        try:
            refuse_unknown(_claims_of_table(table), meant, weights=weights)
        except UsageError as error:
            more = "; what other models have goes into their own tables" if table.shared else ""
            raise UsageError(f"{error}{more}") from None
    return found


def _claims_of_table(table: InputTable) -> Claims:
    from irfuzz.generate.input_claims import Claim, Claims

    return Claims(
        [Claim(n, shape, f"{table.place}.shapes: {n} = {list(shape)}") for n, shape in table.shapes.items()],
        [Claim(name, size, f"{table.place}.sizes: {name} = {size}") for name, size in table.sizes.items()],
        [Claim(name, ends, f"{table.place}.ranges: {name}") for name, ends in table.ranges.items()],
    )


@dataclass(frozen=True, slots=True)
class _Source:
    """A file of samples, and the models that it may be about."""

    path: Path
    words: str
    models: tuple[Path, ...]
    flag: bool = False


def _sources(args: argparse.Namespace, tables: Mapping[Path, Sequence[InputTable]]) -> list[_Source]:
    """Where samples come from: ``--data``, else what the tables of each model name."""
    given: Path | None = getattr(args, "data", None)
    if given is not None:
        return [_Source(given, f"--data {given}", tuple(tables), flag=True)]
    if not hasattr(args, "data"):
        return []
    models: dict[tuple[Path, str], list[Path]] = {}
    for path, own in tables.items():
        named = [(table.data, f"{table.place}.data {table.data}") for table in own if table.data is not None]
        if named:
            models.setdefault(named[-1], []).append(path)
    return [_Source(path, words, tuple(own)) for (path, words), own in models.items()]


def _samples(
    source: _Source,
    programs: Mapping[Path, Program],
    specs: Mapping[Path, InputSpec],
    layers: Mapping[Path, Sequence[Claims]],
    args: argparse.Namespace,
) -> dict[Path, tuple[list[dict[str, Value]], dict[str, np.ndarray]]]:
    """The samples of each model that a file of them fits, and all of its arrays.

    Raises:
        UsageError: it fits none.
    """
    from irfuzz.cli.data_rows import arrays_in, check_sizes, listed_samples, read_values, samples_of
    from irfuzz.generate.input_claims import resolve

    values = read_values(source.path, source.words)
    arrays = arrays_in(values, source.words)
    found: dict[Path, tuple[list[dict[str, Value]], dict[str, np.ndarray]]] = {}
    problems: dict[Path, UsageError] = {}
    for path in source.models:
        program = programs[path]
        try:
            rows = listed_samples(program, values, source.words) or samples_of(program, arrays, source.words)
            check_sizes(program, rows, specs[path] if source.flag else resolve(program, layers[path]), source.words)
        except UsageError as error:
            problems[path] = error
            continue
        try:
            check_sizes(program, rows, specs[path], source.words)
        except UsageError as error:  # flags say otherwise, and they win over a file
            _tell(f"{one_line(error)}; the data is left out")
            continue
        found[path] = _first(rows, source.words, args), arrays
    if len(problems) == len(source.models):
        raise next(iter(problems.values()))
    for path, error in problems.items():
        _tell(f"{path}: its inputs are drawn: {one_line(error)}")
    return found


def _first(rows: list[dict[str, Value]], words: str, args: argparse.Namespace) -> list[dict[str, Value]]:
    """As many samples as are to be taken."""
    most = args.samples or args.most_samples or len(rows)
    if args.samples is None and most < len(rows):
        _tell(f"{words}: the first {most} of {len(rows)} samples are taken; --samples takes more")
    return rows[:most]


def _tell(text: str) -> None:
    print(f"irfuzz: {text}", file=sys.stderr)
