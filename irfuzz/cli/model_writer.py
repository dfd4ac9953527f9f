"""Writes models with their traces into a folder, for the commands that make models."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irfuzz.errors import UsageError

if TYPE_CHECKING:
    from irfuzz.cli.parser import Parser


def force_flag(parser: Parser) -> None:
    """Declare ``--force``, of commands that write several files; its value goes to ``not_there_yet``."""
    parser.add_argument("--force", action="store_true", help="Take the place of files that are there already.")


def not_there_yet(files: Iterable[Path], *, force: bool) -> None:
    """Refuse, before any work is done, to write to files that exist.

    Args:
        files: that are to be written.
        force: replacing them is allowed, so nothing is refused.

    Raises:
        UsageError: a file exists, and ``force`` was not given.
    """
    found = [] if force else [path for path in files if path.exists()]
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise UsageError(f"--out: {found[0]}{more} is there already; give another folder, or --force to replace it")


def numbered(out: Path, count: int) -> list[Path]:
    """Which of the files that ``write_model`` would write for the first ``count`` models a folder holds.

    Args:
        out: the folder; if it does not exist, it holds none.
        count: of models.

    Returns:
        Their paths, sorted; other files are not among them.
    """
    if not out.is_dir():
        return []
    names = re.compile(r"(\d{6,})(\.onnx|\.trace\.json|\.inputs\.npz)")
    return sorted(p for p in out.iterdir() if (m := names.fullmatch(p.name)) and int(m[1]) < count)


def write_model(
    data: bytes, trace: Mapping[str, Any], out: Path, index: int, inputs: bytes | None = None
) -> dict[str, str | None]:
    """Write a model, its trace and perhaps its inputs, each whole, or none.

    Args:
        data: the model, serialised.
        trace: how it was made.
        out: folder for all of them.
        index: number of the model, by which its files are called, such as ``000012.onnx``.
        inputs: an npz, if there are any.

    Returns:
        The files, as ``model``, ``trace`` and ``inputs``; the last is ``None`` without inputs.
    """
    from irfuzz.frontends.onnx_file import save_file
    from irfuzz.mutate.mutation_trace import write_trace

    model, beside, given = (out / f"{index:06d}{end}" for end in (".onnx", ".trace.json", ".inputs.npz"))
    try:
        save_file(data, model)
        write_trace(trace, beside)
        if inputs is not None:
            save_file(inputs, given)
    except BaseException:
        for path in (model, beside, beside.with_name(f"{beside.name}.part"), given):
            with contextlib.suppress(OSError):
                path.unlink()
        raise
    return {"model": str(model), "trace": str(beside), "inputs": None if inputs is None else str(given)}
