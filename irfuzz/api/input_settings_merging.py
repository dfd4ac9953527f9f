"""Merges what callers, flags and ``irfuzz.toml`` say of models' inputs into one ``InputSettings`` for each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from irfuzz.api.npz_sample_reading import arrays_in, check_sizes, listed_samples, read_values, samples_of
from irfuzz.api.progress_update import Observer, Update, unobserved
from irfuzz.campaign.corpus.seed_folder_maintenance import INDEX, read_index
from irfuzz.errors import UsageError
from irfuzz.frontends.project_file import find_project_file, read_project_file
from irfuzz.generate.graph_inputs.input_annotation import ranges_of_samples
from irfuzz.generate.graph_inputs.user_input_claims import Claim, Claims, refuse_unknown, resolve
from irfuzz.generate.input_spec import InputSpec

if TYPE_CHECKING:
    from irfuzz.execute.run_types import Value
    from irfuzz.frontends.project_file import InputTable
    from irfuzz.ir.program import Program


@dataclass(frozen=True, slots=True)
class InputSettings:
    """What is said of one model's inputs.

    Attributes:
        spec: it, in agreement with the model.
        more: all arrays of the data, labels among them perhaps.
        data: the flag or file that brought the samples; empty if nothing did.
        weights: ranges of initializers.
    """

    spec: InputSpec = field(default_factory=InputSpec)
    more: Mapping[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    data: str = ""
    weights: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, "tuple[float, float]"])


@dataclass(frozen=True, slots=True)
class RequestedInputs:
    """What a caller says of the inputs of all models, before their ``irfuzz.toml`` is read.

    Attributes:
        claims: shapes, sizes and ranges; they win over those of a file.
        data: an npz of samples; it wins over those that a file names.
        takes_data: whether samples are of use; if not, those of files are not read either.
        samples: take so many of the data; ``None`` if nobody says how many.
        most: samples that are taken then; ``None`` for all.
        weights: whether ranges may be those of initializers.
    """

    claims: Claims = field(default_factory=Claims)
    data: Path | None = None
    takes_data: bool = True
    samples: int | None = None
    most: int | None = None
    weights: bool = False


def said_of(
    programs: Mapping[Path, Program], wanted: RequestedInputs, observer: Observer = unobserved
) -> dict[Path, InputSettings]:
    """What the caller and the ``irfuzz.toml`` of each model say of its inputs; the caller wins over the file.

    Args:
        programs: of the models; a name that only some of them have says nothing of the others.
        wanted: what the caller says.
        observer: gets a remark for each file of samples that a model does not fit.

    Raises:
        UsageError: a file cannot be read, none of the models has a name, or something contradicts the model.
    """
    refuse_unknown(wanted.claims, list(programs.values()), weights=wanted.weights)
    tables = _tables(programs, weights=wanted.weights)
    layers = {path: [*map(_claims_of_table, tables[path]), wanted.claims] for path in programs}
    specs = {path: resolve(program, layers[path]) for path, program in programs.items()}
    found = {path: InputSettings(spec, weights=_weights(programs[path], layers[path])) for path, spec in specs.items()}
    for source in _sources(wanted, tables):
        for path, (samples, arrays) in _samples(source, programs, specs, layers, wanted, observer).items():
            spec = replace(specs[path], samples=samples)
            found[path] = replace(found[path], spec=spec, more=arrays, data=source.words)
    return found


def ranges_said(said: InputSettings, path: Path | None, program: Program) -> dict[str, tuple[float, float]]:
    """Ranges of inputs and initializers: what is said, else of the samples, else of an ``index.toml`` beside the model.

    Raises:
        UsageError: samples hold NaN or an infinity; the index cannot be read.
    """
    for sample in said.spec.samples:
        for name, array in sample.items():
            if isinstance(array, np.ndarray) and array.dtype.kind == "f" and not np.isfinite(array).all():
                what = "NaN" if np.isnan(array).any() else "an infinity"
                raise UsageError(f"{said.data}: {name}: holds {what}; expected finite numbers")
    indexed = {} if path is None else _of_index(path, program)
    return {**indexed, **ranges_of_samples(said.spec.samples), **said.spec.ranges, **said.weights}


def _of_index(path: Path, program: Program) -> dict[str, tuple[float, float]]:
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


def _tables(programs: Mapping[Path, Program], *, weights: bool) -> dict[Path, list[InputTable]]:
    """The tables of the ``irfuzz.toml`` of each model.

    Raises:
        UsageError: one cannot be read, or none of the models to which a table applies has a name in it.
    """
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


def _sources(wanted: RequestedInputs, tables: Mapping[Path, Sequence[InputTable]]) -> list[_Source]:
    """Where samples come from: the caller's file, else what the tables of each model name."""
    if wanted.data is not None:
        return [_Source(wanted.data, f"--data {wanted.data}", tuple(tables), flag=True)]
    if not wanted.takes_data:
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
    wanted: RequestedInputs,
    observer: Observer,
) -> dict[Path, tuple[list[dict[str, Value]], dict[str, np.ndarray]]]:
    """The samples of each model that a file of them fits, and all of its arrays.

    Raises:
        UsageError: it fits none.
    """
    values = read_values(source.path, source.words)
    arrays = arrays_in(values, source.words)
    found: dict[Path, tuple[list[dict[str, Value]], dict[str, np.ndarray]]] = {}
    problems: dict[Path, UsageError] = {}
    for path in source.models:
        program = programs[path]
        try:
            rows = listed_samples(program, values, source.words) or samples_of(program, arrays, source.words)
            told = specs[path] if source.flag else resolve(program, layers[path][:-1])
            check_sizes(program, rows, told, source.words)
        except UsageError as error:
            problems[path] = error
            continue
        try:
            check_sizes(program, rows, specs[path], source.words)
        except UsageError as error:  # the caller says otherwise, and wins over a file
            observer(Update(remark=f"{error}; the data is left out"))
            continue
        found[path] = _first(rows, source.words, wanted, observer), arrays
    if len(problems) == len(source.models):
        raise next(iter(problems.values()))
    for path, error in problems.items():
        observer(Update(remark=f"{path}: its inputs are drawn: {error}"))
    return found


def _first(
    rows: list[dict[str, Value]], words: str, wanted: RequestedInputs, observer: Observer
) -> list[dict[str, Value]]:
    """As many samples as are to be taken."""
    most = wanted.samples or wanted.most or len(rows)
    if wanted.samples is None and most < len(rows):
        remark = f"{words}: the first {most} of {len(rows)} samples are taken; --samples takes more"
        observer(Update(remark=remark))
    return rows[:most]
