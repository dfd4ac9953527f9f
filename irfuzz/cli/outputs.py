"""What several commands write: models with traces enter, files in a folder leave, and a bar that shows how many."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def write_model(data: bytes, trace: Mapping[str, Any], out: Path, index: int) -> tuple[Path, Path]:
    """Write a model and its trace, each whole, or neither.

    Returns:
        Both files.
    """
    from irfuzz.frontends.onnx_file import save_file
    from irfuzz.mutate.trace import write_trace

    model, beside = out / f"{index:06d}.onnx", out / f"{index:06d}.trace.json"
    try:
        save_file(data, model)
        write_trace(trace, beside)
    except BaseException:
        for path in (model, beside, beside.with_name(f"{beside.name}.part")):
            with contextlib.suppress(OSError):
                path.unlink()
        raise
    return model, beside


def with_bar(items: Iterable[T], total: int, doing: str) -> Iterator[T]:
    """The same, with a bar in a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(items, total=total, description=doing, transient=True, console=Console(file=sys.stderr))
