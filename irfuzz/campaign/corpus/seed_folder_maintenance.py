"""Builds a folder of seed models with its ``index.toml`` again, or with one more model."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.export.module_file_writing import npz_of
from irfuzz.frontends.toml_file_reading import is_list, is_table, read_toml
from irfuzz.isolate.guard import guarded
from irfuzz.isolate.scratch_folder import ScratchFolder

INDEX = "index.toml"
SCHEMA = 1
"""Version of the layout of ``index.toml`` (docs/seeds.md)."""

MAX_BYTES = 300_000
"""Default for the largest model: small models mutate and run fast."""

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
"""What a seed may be called; its file is ``NAME.onnx``."""

_FIELDS: Mapping[str, type] = {
    **dict.fromkeys(("name", "file", "origin", "licence", "sha256"), str),
    **dict.fromkeys(("opset", "nodes"), int),
    "operators": list,
}
"""What every entry of an index has."""

_KINDS: Mapping[type, str] = {str: "text", int: "a whole number", list: "a list"}

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ListedSeed:
    """A seed as its index describes it.

    Attributes:
        name: of the seed.
        nodes: in its main graph.
        operators: names of all operators in it.
        opset: of the default domain.
        bytes: size of the file; 0 if there is none.
        origin: how it was made.
        licence: of the model.
        sha256: digest that the index records.
        verified: whether the file has it.
    """

    name: str
    nodes: int
    operators: tuple[str, ...]
    opset: int
    bytes: int
    origin: str
    licence: str
    sha256: str
    verified: bool

    def to_json(self) -> dict[str, Any]:
        """Keys are the attributes."""
        return asdict(self)


def read_index(folder: Path) -> list[dict[str, Any]]:
    """The entries of a folder's index.

    Raises:
        UsageError: there is none, it is no TOML, or of another schema; an entry lacks a field, or has one of another
            kind.
    """
    path = folder / INDEX
    content = read_toml(path, str(path), "; expected a folder of seeds with its index")
    if content.get("schema") != SCHEMA:
        raise UsageError(f"{path}: schema is {content.get('schema')!r}; expected {SCHEMA}")
    entries = content.get("seeds", [])
    if not is_list(entries) or not all(map(is_table, entries)):
        raise UsageError(f"{path}: expected a table [[seeds]] for each seed, got seeds = {entries!r:.80}")
    for entry in entries:
        missing = sorted(_FIELDS.keys() - entry.keys())
        if missing:
            raise UsageError(f"{path}: seed {entry.get('name')!r} has no {', '.join(missing)}")
        for field, kind in _FIELDS.items():
            if type(entry[field]) is not kind:
                raise UsageError(
                    f"{path}: seed {entry['name']!r}: {field} is {entry[field]!r:.80}; expected {_KINDS[kind]}"
                )
        if not all(isinstance(operator, str) for operator in entry["operators"]):
            raise UsageError(
                f"{path}: seed {entry['name']!r}: operators are {entry['operators']!r:.80}; expected names"
            )
        if Path(entry["file"]).name != entry["file"]:
            raise UsageError(f"{path}: seed {entry['name']!r}: file '{entry['file']}' is in another folder")
    return list(entries)


def list_seeds(folder: Path) -> list[ListedSeed]:
    """What the index of a folder lists, with the digests of the files looked at.

    Args:
        folder: with an ``index.toml``.

    Returns:
        In the order of the index. A file that is missing has 0 bytes, and neither it nor one with another SHA-256 is
        ``verified``.

    Raises:
        UsageError: as ``read_index``.
    """
    found: list[ListedSeed] = []
    for e in read_index(folder):
        data = _bytes_of(folder / e["file"])
        found.append(
            ListedSeed(
                name=e["name"],
                nodes=e["nodes"],
                operators=tuple(e["operators"]),
                opset=e["opset"],
                bytes=len(data or b""),
                origin=e["origin"],
                licence=e["licence"],
                sha256=e["sha256"],
                verified=data is not None and _sha256(data) == e["sha256"],
            )
        )
    return found


def _bytes_of(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (OSError, ValueError):  # there are names that no file can have
        return None


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def build_seeds(shipped: Path, out: Path | None, only: Sequence[str], say: Say) -> dict[str, bool]:
    """Run the scripts that made the shipped seeds and compare what they make with what is shipped.

    Args:
        shipped: the folder of shipped seeds in a checkout.
        out: the folder into which the files are written; ``None``: nothing that lasts is written.
        only: names of seeds; all if empty.
        say: is told each line that the scripts print.

    Returns:
        By name, whether both its files have the recorded digests.

    Raises:
        UsageError: there are no scripts, a name is unknown, or a script fails.
    """
    if not (shipped / "scripts" / "build.py").is_file():
        raise UsageError(f"seeds build: the scripts that build the seeds are in a checkout only, not in {shipped}")
    entries = {e["name"]: e for e in read_index(shipped)}
    for name in only:
        if name not in entries:
            raise UsageError(f"--only {name}: no such seed; `irfuzz seeds list` names them")
    names = list(only) or list(entries)
    with contextlib.ExitStack() as stack:
        folder = out or stack.enter_context(ScratchFolder("seeds")).path
        if folder.resolve() == shipped.resolve():
            raise UsageError(f"-o {folder}: these are the shipped seeds; expected another folder")
        command = [sys.executable, "-m", "seeds.scripts.build", *names, "-o", str(folder.absolute())]
        _run(command, shipped.parent, say)
        return {name: _as_recorded(entries[name], folder) for name in names}


def _run(command: Sequence[str], folder: Path, say: Say) -> None:
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            guarded(command), cwd=folder, env=env, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        assert process.stdout is not None
        try:
            for line in process.stdout:
                say(line.rstrip())
        finally:
            if process.poll() is None and sys.exc_info()[0] is not None:
                process.terminate()
            code = process.wait()
        if code:
            errors.seek(0)
            words = [line for line in errors.read().splitlines() if line.strip()]
            raise UsageError(f"seeds build: the scripts failed ({words[-1] if words else f'code {code}'})")


def _as_recorded(entry: Mapping[str, Any], folder: Path) -> bool:
    files = [(entry["file"], entry["sha256"])]
    if "data" in entry:
        files.append((entry["data"]["file"], entry["data"]["sha256"]))
    return all(_sha256(_bytes_of(folder / name) or b"") == digest for name, digest in files)


@dataclass(frozen=True, slots=True)
class Provenance:
    """What nobody can find out from a model.

    Attributes:
        origin: how it was made, one sentence.
        licence: of the model, as SPDX spells it.
        reference: the definition or paper it follows.
        title: one line for a reader.
    """

    origin: str
    licence: str
    reference: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class SeedCandidate:
    """A model that was looked at and can become a seed.

    Attributes:
        model: its serialised form.
        digest: equal for programs that differ only in inner names and order.
        nodes: in its main graph.
        operators: sorted, those of inner graphs too.
        opset: of the default domain.
        ir_version: of the model.
        inputs: name, dtype, shape and the range of each.
        outputs: name, dtype and shape of each.
        samples: arrays by input, samples on the first axis.
    """

    model: bytes
    digest: str
    nodes: int
    operators: tuple[str, ...]
    opset: int
    ir_version: int
    inputs: tuple[Mapping[str, Any], ...]
    outputs: tuple[Mapping[str, Any], ...]
    samples: Mapping[str, np.ndarray]


def add_seed(folder: Path, name: str, candidate: SeedCandidate, provenance: Provenance) -> Path:
    """Put a model into a folder of seeds, with samples of its inputs and an entry in the index.

    Other processes may do the same; whatever happens, the index lists only what is there.

    Args:
        folder: made if it does not exist.
        name: of the seed.
        candidate: as ``seed_probe.examine`` gives it.
        provenance: the source of the model.

    Returns:
        The model's file.

    Raises:
        UsageError: the name is taken or cannot be one, the folder cannot be written.
        InvalidProgram: the folder has the model already.
    """
    if not NAME.fullmatch(name):
        raise UsageError(f"--name {name}: expected lower-case letters, digits, - and _, at most 64")
    for flag, text in (("--origin", provenance.origin), ("--licence", provenance.licence)):
        if not text.strip():
            raise UsageError(f"{flag}: expected some words, got none")
    with _locked(folder):
        entries = read_index(folder) if (folder / INDEX).exists() else []
        model, data = folder / f"{name}.onnx", folder / f"{name}.inputs.npz"
        if any(e["name"] == name for e in entries) or model.exists() or data.exists():
            raise UsageError(f"--name {name}: {folder} has a seed of that name; give another name")
        _refuse_double(folder, entries, candidate)
        samples = npz_of(candidate.samples, compressed=True)
        entry = _entry(name, candidate, provenance, model, data, samples)
        index = _text_of(folder / INDEX) + _toml_entry(entry)
        tomllib.loads(index)
        try:
            _write(model, candidate.model)
            _write(data, samples)
            _write(folder / INDEX, index.encode())
        except BaseException as error:
            for path in (model, data):
                with contextlib.suppress(OSError):
                    path.unlink()
            if isinstance(error, OSError):
                raise UsageError(f"{folder}: cannot be written: {error.strerror}") from None
            raise
    return model


@contextlib.contextmanager
def _locked(folder: Path) -> Generator[None]:
    """One process at a time."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _refuse_double(folder: Path, entries: Sequence[Mapping[str, Any]], candidate: SeedCandidate) -> None:
    from irfuzz.ir.program import Program

    digest = _sha256(candidate.model)
    for e in entries:
        same = e["sha256"] == digest
        if not same and e["nodes"] == candidate.nodes and tuple(e["operators"]) == candidate.operators:
            data = _bytes_of(folder / e["file"])
            same = data is not None and Program.from_bytes(data).digest == candidate.digest
        if same:
            raise InvalidProgram(f"{folder} has this model already, as {e['name']}")


def _entry(
    name: str, candidate: SeedCandidate, provenance: Provenance, model: Path, data: Path, samples: bytes
) -> dict[str, Any]:
    from irfuzz import __version__

    return {
        "name": name,
        "file": model.name,
        "title": provenance.title or name,
        "origin": provenance.origin,
        "reference": provenance.reference,
        "licence": provenance.licence,
        "sha256": _sha256(candidate.model),
        "opset": candidate.opset,
        "ir_version": candidate.ir_version,
        "nodes": candidate.nodes,
        "operators": list(candidate.operators),
        "built_with": {"irfuzz": __version__},
        "data": {
            "file": data.name,
            "sha256": _sha256(samples),
            "samples": len(next(iter(candidate.samples.values()))),
            "licence": provenance.licence,
            "origin": "drawn by irfuzz within the ranges of the inputs",
        },
        "inputs": [dict(each) for each in candidate.inputs],
        "outputs": [dict(each) for each in candidate.outputs],
    }


def _text_of(path: Path) -> str:
    """The index as it is; its other entries stay as somebody wrote them."""
    if not path.exists():
        return f"# Written by `irfuzz seeds add`; docs/seeds.md explains the fields.\nschema = {SCHEMA}\n"
    text = path.read_text(encoding="utf-8")
    return text if text.endswith("\n") else f"{text}\n"


def _toml_entry(entry: Mapping[str, Any]) -> str:
    lines = ["", "[[seeds]]"]
    for key, value in entry.items():
        if is_list(value) and value and is_table(value[0]):
            lines += [f"{key} = [", *(f"    {_toml(each)}," for each in value), "]"]
        else:
            lines.append(f"{key} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """A value as TOML: its basic strings and finite numbers are those of JSON."""
    if is_table(value):
        return f"{{ {', '.join(f'{json.dumps(str(k))} = {_toml(v)}' for k, v in value.items())} }}"
    if is_list(value):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _write(path: Path, data: bytes) -> None:
    """The whole file or none."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
