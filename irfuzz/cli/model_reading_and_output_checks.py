"""Reads the models that several commands are given, and tries the folders for their results."""

from __future__ import annotations

import contextlib
import sys
import zipfile
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.cli.progress_display import ProgressLine, UpdateDisplay
from irfuzz.errors import InvalidProgram, Unsupported, UsageError
from irfuzz.report.terminal_text_cleaning import one_line

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

KEPT = ".onnx.seed"
"""Ending of the seeds that are kept beside traces: no search for models takes them for mutants."""

_made: list[Path] = []
"""Folders for results that were not there before this command, outer ones first."""


def seeds_of(
    paths: Sequence[Path], *, to_run: bool = False, architecture: bool = False, layers: bool = False
) -> dict[Path, Program]:
    """The programs of the models among files and folders; the others are named on standard error and left out.

    Args:
        paths: files and folders.
        to_run: what they give is compared, so those without outputs are left out too.
        architecture: see ``load_seed``.
        layers: see ``Converters.convert``.

    Raises:
        UsageError: none loads.
    """
    from irfuzz.frontends.framework_conversion import Converters
    from irfuzz.frontends.isolated_onnx_calls import OnnxChecker
    from irfuzz.frontends.onnx_file import find_models, load_seed

    files, problems = find_models(paths)
    programs: dict[Path, Program] = {}
    with reading(files) as progress, OnnxChecker() as checker, Converters() as converters:
        for path in progress.over(files):
            try:
                program = load_seed(
                    path, checker=checker, converters=converters, tell=_tell, architecture=architecture, layers=layers
                )
            except InvalidProgram as error:
                problems.append(str(error))
                continue
            if to_run and (why := _not_compared(program)):
                problems.append(f"{path}: {why}")
            else:
                programs[path] = program
    if not programs:
        more = f" (and {len(problems) - 1} more that cannot be used)" if len(problems) > 1 else ""
        raise UsageError(one_line(problems[0]) + more)
    for problem in problems:
        print(f"irfuzz: skipped: {one_line(problem)}", file=sys.stderr)
    return programs


def given_in_vain(paths: Sequence[Path], programs: Mapping[Path, Program]) -> list[Path]:
    """Those of some files and folders of which ``seeds_of`` gave no program: missing, damaged, or without a model."""
    return [path for path in paths if not any(path in (found, *found.parents) for found in programs)]


def reading(files: Sequence[Path]) -> ProgressLine:
    """The progress of reading models, to be used as a context manager; a single model is named in it.

    Args:
        files: all that will be read.
    """
    if len(files) == 1:
        return ProgressLine(f"reading {files[0].name}")
    return ProgressLine("reading models", len(files))


def _tell(line: str) -> None:
    print(f"irfuzz: {one_line(line)}", file=sys.stderr)


def _not_compared(program: Program) -> str:
    """Why the outputs of a program cannot be compared; empty if they can."""
    return "" if program.graph.outputs else "the graph has no outputs, so nothing of it can be compared"


def one_model(
    path: Path, *, to_run: bool = False, architecture: bool = False, layers: bool = False
) -> tuple[Path, Program]:
    """The file and the program of a model of which there has to be one; the rest as in ``seeds_of``.

    Raises:
        UsageError: it does not load, or is a folder of several.
    """
    loaded = seeds_of([path], to_run=to_run, architecture=architecture, layers=layers)
    if len(loaded) != 1:
        raise UsageError(f"{path}: expected one model, found {len(loaded)}")
    return next(iter(loaded.items()))


@contextlib.contextmanager
def about(path: Path) -> Generator[None]:
    """Have what cannot be done with a model start with its file.

    Args:
        path: of the model.

    Raises:
        UsageError: instead of ``Unsupported``, with the same words behind the path.
    """
    try:
        yield
    except Unsupported as error:
        raise UsageError(f"{path}: {error}") from None


def planned(programs: Mapping[Path, Program]) -> dict[Path, Program]:
    """The programs with a plan for inputs whose sizes or meanings they do not say; see
    ``irfuzz.api.unstated_input_planning``.

    Progress and remarks are shown on standard error.

    Args:
        programs: stay as they are; those that get a plan are copied.
    """
    from irfuzz.api.unstated_input_planning import planned as with_plans

    with UpdateDisplay() as follow:
        return with_plans(programs, observer=follow)


def file_to_write(path: Path | None, flag: str, *, model: Path | None = None) -> Path | None:
    """The path of a file that can be written; checked before long work rather than after it.

    Its folder is made if it is missing; the file itself is not.

    Args:
        path: the file; ``None`` is returned as it is.
        flag: that named it, for messages.
        model: in whose place it is not put.

    Raises:
        UsageError: it is a folder or that model, or its folder cannot be made or written.
    """
    if path is None:
        return None
    if path.is_dir():
        raise UsageError(f"{flag} {path}: is a folder; expected a file")
    if model is not None and path.exists() and model.exists() and path.samefile(model):
        raise UsageError(f"{flag} {path}: is the model itself; give another file")
    writable_folder(path.parent, flag)
    return path


def page_to_write(path: Path | None, flag: str) -> Path | None:
    """A file for a page, in whose place nothing but an earlier page is: no model, its data or a campaign's database.

    Raises:
        UsageError: it cannot be written, or something else is there.
    """

    def is_page(file: Path) -> bool:
        with file.open("rb") as opened:
            start = opened.read(64)
        # A lock is empty, too.
        return start.lower().startswith(b"<!doctype html") if start else file.suffix in (".html", ".htm")

    return _replacing(path, flag, is_page, "an HTML page")


def arrays_to_write(path: Path | None, flag: str) -> Path | None:
    """A file for arrays by name (npz), in whose place nothing but an earlier one is.

    Raises:
        UsageError: it cannot be written, or something else is there.
    """

    def is_npz(file: Path) -> bool:
        if file.stat().st_size == 0:
            return file.suffix == ".npz"
        try:
            with zipfile.ZipFile(file) as members:
                return all(name.endswith(".npy") for name in members.namelist())
        except zipfile.BadZipFile:
            return False

    return _replacing(path, flag, is_npz, "an npz")


def text_to_write(path: Path | None, flag: str, mark: bytes, kind: str) -> Path | None:
    """A file for a text of one kind, in whose place nothing but an earlier one is.

    Args:
        path: the file; ``None`` is returned as it is.
        flag: that named it, for messages.
        mark: what stands in the first 256 bytes of every file of that kind.
        kind: what it is, for messages.

    Raises:
        UsageError: it cannot be written, or something else is there.
    """

    def is_such(file: Path) -> bool:
        with file.open("rb") as opened:
            start = opened.read(256)
        return mark in start if start else file.suffix not in (".onnx", ".lock")

    return _replacing(path, flag, is_such, kind)


def _replacing(path: Path | None, flag: str, like: Callable[[Path], bool], kind: str) -> Path | None:
    if path is not None and path.is_file():
        try:
            earlier = like(path)
        except OSError as error:
            raise UsageError(f"{flag} {path}: cannot be read: {error.strerror}") from None
        if not earlier:
            raise UsageError(f"{flag} {path}: is there already and is not {kind}; give another file")
    return file_to_write(path, flag)


def writable_folder(path: Path, flag: str) -> Path:
    """A folder that exists and takes files; it is made with its parents if it is missing, and a file is put into it and
    removed to see.

    Args:
        path: the folder.
        flag: that named it, for messages.

    Raises:
        UsageError: it cannot be made or written.
    """
    try:
        missing = [folder for folder in (*reversed(path.parents), path) if not folder.exists()]
        path.mkdir(parents=True, exist_ok=True)
        _made.extend(missing)
        probe = path / ".irfuzz-probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UsageError(f"{flag} {path}: cannot be written: {error.strerror}") from None
    return path


@contextlib.contextmanager
def nothing_left_behind() -> Generator[None]:
    """If what is done inside fails, remove the folders that ``writable_folder`` made and nothing came into."""
    _made.clear()
    try:
        yield
    except BaseException:
        while _made:
            with contextlib.suppress(OSError):
                _made.pop().rmdir()  # only where it is empty
        raise
