"""How a mutant was made: writes a lineage as a JSON trace, and makes the same bytes again from one."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irfuzz import __version__
from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.frontends.regular_file_opening import read_plain
from irfuzz.ir.program import Program
from irfuzz.ir.serialization import serde
from irfuzz.mutate.mutation_engine import replay
from irfuzz.mutate.mutator_protocol import Edit, Relation

if TYPE_CHECKING:
    from irfuzz.spec import Specs

SCHEMA = 1
"""Version of the trace's own format."""

_RELATIONS = tuple(relation.value for relation in Relation)

MAX_BYTES = 16 << 20
"""Largest trace file that is read."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A program that a mutant was made from.

    Attributes:
        digest: canonical digest of the program.
        sha256: of the bytes that ``Program.to_bytes`` gives for it.
        name: file name, for people; empty if it did not come from a file.
    """

    digest: str
    sha256: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything needed to make a mutant again.

    Attributes:
        seed: the program that the first edit changed.
        donors: the programs that splices took parts from.
        edits: all of them, first one first.
        sha256: of the mutant's bytes.
        irfuzz: version that made it.
    """

    seed: Origin
    donors: tuple[Origin, ...]
    edits: tuple[Edit, ...]
    sha256: str
    irfuzz: str = __version__

    @classmethod
    def of_seed(cls, program: Program, name: str) -> Trace:
        """That of a seed: no edits, no donors, and the hash of the seed's own bytes.

        Args:
            program: the seed, as it is mutated.
            name: its file name, for people; empty if it has none.
        """
        made = program_sha256(program)
        return cls(Origin(program.digest, made, name), (), (), made)

    def extended(self, edits: Sequence[Edit], donors: Sequence[Trace], made: Program | bytes) -> Trace:
        """That of a mutant; this one, its parent's, stays as it is.

        Args:
            edits: those that were made of the parent, in order; they are put behind the parent's.
            donors: traces of the seeds that splices took parts from, in place of the parent's list.
            made: the mutant as a program, or in its bytes.
        """
        hashed = sha256(made) if isinstance(made, bytes) else program_sha256(made)
        return Trace(self.seed, tuple(donor.seed for donor in donors), (*self.edits, *edits), hashed)

    def to_text(self) -> str:
        """The trace as JSON text on one line, as databases store it; ``from_text`` reads it again."""
        return json.dumps(self.to_json(), allow_nan=False)

    @classmethod
    def from_text(cls, text: str) -> Trace:
        """The inverse of ``to_text``, but for the names of inserted patterns, which traces do not hold.

        Raises:
            InvalidProgram: it is not a trace.
            ValueError: it is not JSON.
        """
        return parse_trace(json.loads(text), "stored trace")

    def to_json(self) -> dict[str, Any]:
        """The trace as JSON-able data of lists, dictionaries, text and numbers. Relations are written by their values;
        names of inserted patterns are left out.
        """
        return {
            "schema": SCHEMA,
            "irfuzz": self.irfuzz,
            "seed": _origin(self.seed),
            "donors": [_origin(donor) for donor in self.donors],
            "edits": [
                {
                    "mutator": edit.mutator,
                    "version": edit.version,
                    "site": edit.site,
                    "choices": list(edit.choices),
                    "relation": edit.relation.value,
                    "detail": edit.detail,
                }
                for edit in self.edits
            ],
            "sha256": self.sha256,
        }


def _origin(origin: Origin) -> dict[str, str]:
    return {"digest": origin.digest, "sha256": origin.sha256, "name": origin.name}


def sha256(data: bytes) -> str:
    """The SHA-256 of some bytes, as 64 hexadecimal digits in lower case."""
    return hashlib.sha256(data).hexdigest()


def program_sha256(program: Program) -> str:
    """``sha256(program.to_bytes())``, without making these bytes: parts are hashed one after the other, which saves
    memory for models with large weights.
    """
    state = hashlib.sha256()
    for part in serde.encode_parts(program.model, program.residue):
        state.update(part)
    return state.hexdigest()


def write_trace(trace: Trace | Mapping[str, Any], path: Path) -> None:
    """Write a trace as JSON; the file appears whole or not at all, by way of a file ``NAME.part`` beside it.

    Args:
        trace: as an object, or as the data that ``to_json`` gives.
        path: in a folder that exists; a file of that name is replaced.

    Raises:
        UsageError: it cannot be written.
    """
    data = trace.to_json() if isinstance(trace, Trace) else dict(trace)
    partial = path.with_name(path.name + ".part")
    try:
        partial.write_text(json.dumps(data, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot write the trace: {error.strerror}") from None


def read_trace(path: Path) -> Trace:
    """Read and check a trace file.

    Raises:
        UsageError: the file cannot be read, or is larger than ``MAX_BYTES``.
        InvalidProgram: it is not a trace; the message names file, field, expected and got.
    """
    try:
        text = read_plain(path, MAX_BYTES)
    except InvalidProgram as error:
        raise UsageError(f"{path}: cannot read the trace: {error}") from None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidProgram(f"{path}: not JSON: {error}") from None
    return parse_trace(data, str(path))


def parse_trace(data: object, where: str = "trace") -> Trace:
    """Check what ``json.loads`` gives and make a trace of it; error messages name the source by the second argument,
    which is a path or a word.

    Raises:
        InvalidProgram: a field is missing, unknown or of the wrong kind, or ``schema`` is not that of this version.
    """
    top = _object(data, where, ("schema", "irfuzz", "seed", "donors", "edits", "sha256"))
    if type(top["schema"]) is not int or top["schema"] != SCHEMA:
        raise _wrong(where, "schema", str(SCHEMA), top["schema"])
    edits = []
    for index, item in enumerate(_list(top["edits"], where, "edits")):
        field = f"edits[{index}]"
        entry = _object(item, f"{where}: {field}", ("mutator", "version", "site", "choices", "relation", "detail"))
        version = entry["version"]
        if type(version) is not int:
            raise _wrong(where, f"{field}.version", "an integer", version)
        relation = _text(entry["relation"], where, f"{field}.relation")
        if relation not in _RELATIONS:
            raise _wrong(where, f"{field}.relation", " or ".join(_RELATIONS), relation)
        draws = _list(entry["choices"], where, f"{field}.choices")
        for number, draw in enumerate(draws):
            if type(draw) is not int and not (type(draw) is float and math.isfinite(draw)):
                raise _wrong(where, f"{field}.choices[{number}]", "a finite number", draw)
        edits.append(
            Edit(
                _text(entry["mutator"], where, f"{field}.mutator"),
                version,
                _text(entry["site"], where, f"{field}.site"),
                tuple(draws),
                Relation(relation),
                _text(entry["detail"], where, f"{field}.detail"),
            )
        )
    return Trace(
        seed=_parse_origin(top["seed"], where, "seed"),
        donors=tuple(
            _parse_origin(d, where, f"donors[{i}]") for i, d in enumerate(_list(top["donors"], where, "donors"))
        ),
        edits=tuple(edits),
        sha256=_hash(top["sha256"], where, "sha256"),
        irfuzz=_text(top["irfuzz"], where, "irfuzz"),
    )


def rebuild(
    trace: Trace | Mapping[str, Any], seeds: Callable[[str], Program | None], specs: Specs | None = None
) -> bytes:
    """Make a mutant again.

    Args:
        trace: as ``Mutant.trace`` gives it, or as ``read_trace`` does.
        seeds: gives the program with a digest, or ``None`` if there is none; asked for the seed and each donor.
        specs: operator specs (default: the shipped ones).

    Returns:
        The mutant's bytes, the same as when it was first made.

    Raises:
        InvalidProgram: a seed is missing or another one, an edit does not fit, or the result differs.
    """
    if not isinstance(trace, Trace):
        trace = parse_trace(trace)
    if specs is None:
        from irfuzz.spec import load_specs

        specs = load_specs()
    programs = {origin.digest: _fetch(origin, seeds) for origin in (trace.seed, *trace.donors)}
    program = replay(programs[trace.seed.digest], trace.edits, specs, FixedDonors(programs))
    data = program.to_bytes()
    if sha256(data) != trace.sha256:
        raise InvalidProgram(
            f"replay of {len(trace.edits)} edits on seed {trace.seed.name or trace.seed.digest}: expected a model with "
            f"sha256 {trace.sha256}, got {sha256(data)}; the trace was made by irfuzz {trace.irfuzz}, "
            f"this is {__version__}"
        )
    return data


class FixedDonors:
    """A fixed set of programs as ``Donors``."""

    __slots__ = ("_programs",)

    def __init__(self, programs: Mapping[str, Program]) -> None:
        self._programs = dict(programs)

    def digests(self) -> Sequence[str]:
        """Digests in the order in which the programs were given."""
        return tuple(self._programs)

    def get(self, digest: str) -> Program:
        """The program itself; a caller that changes it must clone it first.

        Args:
            digest: canonical digest, one of ``digests()``.

        Raises:
            InvalidProgram: there is none with this digest.
        """
        program = self._programs.get(digest)
        if program is None:
            raise InvalidProgram(f"donor {digest}: not among the {len(self._programs)} given programs")
        return program


def _fetch(origin: Origin, seeds: Callable[[str], Program | None]) -> Program:
    program = seeds(origin.digest)
    what = f"seed {origin.name} ({origin.digest})" if origin.name else f"seed {origin.digest}"
    if program is None:
        raise InvalidProgram(f"{what}: the trace needs it and it is not among the given models")
    got = sha256(program.to_bytes())
    if got != origin.sha256:
        raise InvalidProgram(f"{what}: expected a model with sha256 {origin.sha256}, got {got}")
    return program


def _object(data: object, where: str, fields: Sequence[str]) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise InvalidProgram(f"{where}: expected an object with {', '.join(fields)}, got {_shown(data)}")
    for name in fields:
        if name not in data:
            raise InvalidProgram(f"{where}: field {name!r} is missing; expected {', '.join(fields)}")
    for name in data:
        if name not in fields:
            raise InvalidProgram(f"{where}: unknown field {name!r}; expected {', '.join(fields)}")
    return data


def _parse_origin(data: object, where: str, field: str) -> Origin:
    entry = _object(data, f"{where}: {field}", ("digest", "sha256", "name"))
    return Origin(
        _text(entry["digest"], where, f"{field}.digest"),
        _hash(entry["sha256"], where, f"{field}.sha256"),
        _text(entry["name"], where, f"{field}.name"),
    )


def _text(value: object, where: str, field: str) -> str:
    if not isinstance(value, str):
        raise _wrong(where, field, "text", value)
    return value


def _hash(value: object, where: str, field: str) -> str:
    if not isinstance(value, str) or len(value) != 64 or not set(value) <= set("0123456789abcdef"):
        raise _wrong(where, field, "64 hexadecimal digits", value)
    return value


def _list(value: object, where: str, field: str) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(where, field, "a list", value)
    return value


def _wrong(where: str, field: str, expected: str, got: object) -> InvalidProgram:
    return InvalidProgram(f"{where}: field {field}: expected {expected}, got {_shown(got)}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
