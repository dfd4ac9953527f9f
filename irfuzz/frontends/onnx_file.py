"""Reads an ONNX file as a program, with errors that name the file and what is wrong with it, and writes one."""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
from google.protobuf.message import DecodeError

from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.frontends.external_data_inlining import inline_external
from irfuzz.frontends.framework_conversion import Converters
from irfuzz.frontends.isolated_onnx_calls import OnnxChecker
from irfuzz.frontends.model_kind_detection import is_factory, is_saved_model, source_of
from irfuzz.frontends.opaque_output_type_inference import complete_types, untyped
from irfuzz.frontends.opset_upgrade import OLDEST, opset_of, upgraded, with_default_domain
from irfuzz.frontends.regular_file_opening import open_plain
from irfuzz.frontends.serialized_weight_separation import for_checker, joined, split
from irfuzz.frontends.unknown_operator_refusal import check_operators
from irfuzz.ir.inference.misdeclared_shapes import infer_as_computed
from irfuzz.ir.serialization.checked_tensors import MAX_BYTES
from irfuzz.ir.serialization.mapped_file import MappedFile
from irfuzz.ir.serialization.serde import decode

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

TEXT_FORMATS = {
    ".onnxtxt": "onnxtxt",
    ".json": "json",
    ".onnxjson": "json",
    ".textproto": "textproto",
    ".pbtxt": "textproto",
}
"""onnx's name of the text format of a file with this suffix."""

MOST_CONVERTED = 1 << 30
"""Bytes of weights of a model that is converted to a newer opset: it is copied several times."""

_SAFE_BYTES = 8 << 20
"""Files up to this size are parsed at once: a hostile one can take a hundred times its size in memory."""


MAPPED = 16 << 20
"""Files from this size on are mapped instead of read: of a large weight no copy is made."""

MAX_WEIGHTS = 1 << 40
"""Largest model that is looked at with its external data, which are not read but mapped."""


def find_models(paths: Iterable[Path]) -> tuple[list[Path], list[str]]:
    """The models that ``paths`` name: a file, SavedModel or factory, and every ``*.onnx`` below a folder, sorted.

    Returns:
        Their paths, each once, and one line for each path that gives none.
    """
    found: dict[Path, None] = {}
    problems: list[str] = []
    for path in paths:
        if is_factory(path):
            found[path] = None
            continue
        try:
            mode = path.stat().st_mode
        except OSError as e:
            problems.append(f"{path}: {e.strerror}")
            continue
        except ValueError as e:
            problems.append(f"{path!s}: {e}")
            continue
        if not stat.S_ISDIR(mode) or is_saved_model(path):
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


def load_file(
    path: Path,
    *,
    max_bytes: int = MAX_BYTES,
    checker: OnnxChecker | None = None,
    converters: Converters | None = None,
) -> onnx.ModelProto:
    """Read a model with its external data, which are then inside of it.

    Args:
        path: a serialised ``ModelProto``, one of onnx's text formats by its suffix (``TEXT_FORMATS``), or a model of
            another framework (``source_of``), which is converted.
        max_bytes: largest model that is read, external data included.
        checker: used for files that are not safe to read in this process; ``None``: one for this call.
        converters: convert what is not ONNX; ``None``: one for this call.

    Raises:
        InvalidProgram: the file is not such a model; the message starts with ``path``.
    """
    return joined(*_load(path, max_bytes, checker, converters))


def load_seed(
    path: Path,
    *,
    max_bytes: int = MAX_WEIGHTS,
    checker: OnnxChecker | None = None,
    converters: Converters | None = None,
    tell: Callable[[str], None] | None = None,
    architecture: bool = False,
    layers: bool = False,
) -> Program:
    """Read a model that is to be mutated or run, valid for ``onnx.checker``.

    Operators of domains that neither ONNX nor the model defines are opaque: what they give has the types that the model
    declares, or that ONNXRuntime tells. A model of an opset below ``upgrade.OLDEST`` is converted to that.

    Args:
        path: see ``load_file``.
        max_bytes: see ``load_file``.
        checker: runs onnx's checker; ``None``: one for this call (half a second).
        converters: see ``load_file``.
        tell: gets one line for each thing that is not as it stands in the file, which starts with ``path``.
        architecture: variables of another framework's model stay as they are written (``Converters.convert``).
        layers: see ``Converters.convert``.

    Raises:
        InvalidProgram: the file is not a valid model; the message starts with ``path``.
    """
    from irfuzz.ir.program import Program  # loading and saving alone needs no inference

    with contextlib.ExitStack() as stack:
        checker = checker or stack.enter_context(OnnxChecker())
        model, held = _load(path, max_bytes, checker, converters, architecture=architecture, layers=layers)
        say = (lambda line: None) if tell is None else (lambda line: tell(" ".join(f"{path}: {line}".split())))
        with _naming(path):
            with_default_domain(model)
            if 0 < opset_of(model) < OLDEST:
                model, held = _upgraded(model, held, checker, say)
            read = decode(model, held)  # our structural checks come first: their messages are the clearer ones
            check_operators(model)
            _check(model, held, checker)
            program = Program(*read)
            infer_as_computed(program, say)
            if lacking := untyped(program):
                converters = converters or stack.enter_context(Converters())
                if why := complete_types(program, lacking, converters):
                    say(why)
            return program


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
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            # A device or a pipe takes what is written; a file must not take its place.
            path.write_bytes(data)
            return
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        temporary.replace(path)
    except OSError as e:
        raise UsageError(f"{path}: cannot be written: {e.strerror}") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _load(
    path: Path,
    max_bytes: int,
    checker: OnnxChecker | None,
    converters: Converters | None,
    *,
    architecture: bool = False,
    layers: bool = False,
) -> tuple[onnx.ModelProto, dict[int, bytes | memoryview]]:
    """See ``load_file``; the large weights are not in the model, but beside it."""
    with _naming(path), contextlib.ExitStack() as stack:
        source = source_of(path)
        if source.kind == "onnx":
            text_format = TEXT_FORMATS.get(path.suffix)
            data = _read(path, min(max_bytes, MAX_BYTES), mapped=text_format is None)
        else:
            converters = converters or stack.enter_context(Converters())
            data = converters.convert(source, min(max_bytes, MAX_BYTES), architecture=architecture, layers=layers)
            text_format = None
        if text_format or len(data) > _SAFE_BYTES:
            checker = checker or stack.enter_context(OnnxChecker())
        if checker is not None and text_format:
            data = checker.translate(bytes(data), text_format)
        data, weights = split(data)
        if checker is not None and not text_format and len(data) > _SAFE_BYTES:
            checker.weigh(data)
        held: dict[int, bytes | memoryview] = {**weights}
        model = _parse(data)
        inline_external(model, path.parent, max_bytes, held)
        return model, held


def _upgraded(
    model: onnx.ModelProto, held: dict[int, bytes | memoryview], checker: OnnxChecker, say: Callable[[str], None]
) -> tuple[onnx.ModelProto, dict[int, bytes | memoryview]]:
    """A model that is not too old to be edited, with the large weights beside it; as it was if that cannot be."""
    size = sum(memoryview(data).nbytes for data in held.values())
    if size > MOST_CONVERTED:
        say(f"opset {opset_of(model)} stays as it is: {size} bytes of weights are too many for onnx's converter")
        return model, held
    decode(_whole(model, held))  # what breaks the structure is told first, and never reaches the converter
    data, told = upgraded(_whole(model, held), checker)
    if told:
        say(told)
    if data is None:
        return model, held
    small, weights = split(data)
    return _parse(small), {**weights}


def _whole(model: onnx.ModelProto, held: dict[int, bytes | memoryview]) -> onnx.ModelProto:
    """A copy of a model with its large weights in it."""
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    return joined(whole, held)


def _check(model: onnx.ModelProto, held: dict[int, bytes | memoryview], checker: OnnxChecker) -> None:
    """Ask onnx's checker; without the large weights first, which it copies several times."""
    told = for_checker(model, held)
    passed = False
    if told is not None:
        try:
            checker.check(told)
            passed = True
        except InvalidProgram:
            if not held:
                raise
    if not passed:
        size = sum(map(len, held.values()))
        if size > MAX_BYTES:
            raise InvalidProgram(
                f"its {size} bytes of weights are more than onnx.checker takes with a model ({MAX_BYTES}), and without "
                "them it refuses the model"
            )
        checker.check(_whole(model, held).SerializeToString())


@contextlib.contextmanager
def _naming(path: Path) -> Generator[None]:
    """Have every complaint about a model start with its file, on one line."""
    try:
        yield
    except InvalidProgram as e:
        raise InvalidProgram(" ".join(f"{path}: {e}".split())) from None


def _read(path: Path, max_bytes: int, *, mapped: bool) -> bytes | memoryview:
    with open_plain(path) as (file, size):
        if size == 0:
            raise InvalidProgram("the file is empty")
        if size > max_bytes:
            raise InvalidProgram(f"the file has {size} bytes; at most {max_bytes} are read")
        if mapped and size >= MAPPED:
            return memoryview(MappedFile.of(file, path))
        return file.read(size)  # a file that grows meanwhile is read as it was


def _parse(data: bytes | memoryview) -> onnx.ModelProto:
    try:
        return onnx.ModelProto.FromString(bytes(data))
    except DecodeError as e:
        raise InvalidProgram(f"not an ONNX model, or a truncated one ({e})") from None
