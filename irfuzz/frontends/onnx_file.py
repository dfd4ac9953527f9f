"""A path enters, a program leaves, or one line that names the file and what is wrong with it; and back to a file."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
from google.protobuf.message import DecodeError

from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.frontends.external import inline_external
from irfuzz.frontends.operators import check_operators
from irfuzz.ir.tensors import MAX_BYTES

if TYPE_CHECKING:
    from irfuzz.ir.program import Program


def find_models(paths: Iterable[Path]) -> tuple[list[Path], list[str]]:
    """The model files that ``paths`` name: a file itself, and every ``*.onnx`` below a folder, sorted.

    Returns:
        The files, each once, and one line for each path that gives none.
    """
    found: dict[Path, None] = {}
    problems: list[str] = []
    for path in paths:
        try:
            mode = path.stat().st_mode
        except OSError as e:
            problems.append(f"{path}: {e.strerror}")
            continue
        except ValueError as e:
            problems.append(f"{path!s}: {e}")
            continue
        if not stat.S_ISDIR(mode):
            found[path] = None
            continue
        denied: list[OSError] = []
        below = sorted(
            Path(folder) / name
            for folder, _, names in os.walk(path, onerror=denied.append)
            for name in names
            if name.endswith(".onnx")
        )
        found.update(dict.fromkeys(below))
        problems += [f"{e.filename}: {e.strerror}" for e in denied]
        if not below and not denied:
            problems.append(f"{path}: no *.onnx file in this folder")
    return list(found), problems


def load_file(path: Path, *, max_bytes: int = MAX_BYTES) -> onnx.ModelProto:
    """Read a model with its external data, which are then inside of it.

    Args:
        path: a serialised ``ModelProto``; with the suffix ``.onnxtxt`` or ``.json`` its text form.
        max_bytes: largest model that is read, external data included.

    Raises:
        InvalidProgram: the file is not such a model; the message starts with ``path``.
    """
    try:
        model = _parse(path, _read(path, max_bytes))
        inline_external(model, path.parent, max_bytes)
    except InvalidProgram as e:
        raise InvalidProgram(f"{path}: {_one_line(e)}") from None
    return model


def load_seed(path: Path, *, max_bytes: int = MAX_BYTES) -> Program:
    """Read a model that is to be mutated or run: every operator in it must be known.

    Raises:
        InvalidProgram: the file is not a valid model; the message starts with ``path``.
    """
    from irfuzz.ir.program import Program  # keeps loading and saving usable without inference

    model = load_file(path, max_bytes=max_bytes)
    try:
        check_operators(model)
        return Program.from_proto(model)
    except InvalidProgram as e:
        raise InvalidProgram(f"{path}: {_one_line(e)}") from None


def save_file(program: Program | onnx.ModelProto | bytes, path: Path) -> None:
    """Write a model so that ``path`` is either what it was before or the whole new file.

    Raises:
        InvalidProgram: the model is over 2 GiB, or cannot be written for another reason.
        UsageError: ``path`` cannot be written.
    """
    if isinstance(program, bytes):
        data = program
    elif isinstance(program, onnx.ModelProto):
        if program.ByteSize() > MAX_BYTES:
            raise InvalidProgram(f"{path}: the model is over {MAX_BYTES} bytes, protobuf's limit for one file")
        data = program.SerializeToString()
    else:
        data = program.to_bytes()
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as e:
        raise UsageError(f"{path}: cannot be written: {e.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException as e:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(e, OSError):
            raise UsageError(f"{path}: cannot be written: {e.strerror}") from None
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _one_line(error: object) -> str:
    return " ".join(str(error).split())


def _read(path: Path, max_bytes: int) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as e:
        raise InvalidProgram(e.strerror if isinstance(e, OSError) else str(e)) from None
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise InvalidProgram("not a plain file")
        if status.st_size == 0:
            raise InvalidProgram("the file is empty")
        if status.st_size > max_bytes:
            raise InvalidProgram(f"the file has {status.st_size} bytes; at most {max_bytes} are read")
        return file.read(max_bytes + 1)


def _parse(path: Path, data: bytes) -> onnx.ModelProto:
    try:
        return onnx.ModelProto.FromString(data)
    except DecodeError as e:
        raise InvalidProgram(f"not an ONNX model, or a truncated one: {e}") from None
