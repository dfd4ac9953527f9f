"""What several commands take: paths of seeds, durations, names separated by commas."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from irfuzz.errors import UsageError
from irfuzz.frontends.onnx_file import load_seeds
from irfuzz.ir.program import Program

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def duration(text: str, flag: str = "--time") -> float:
    """Seconds of ``90``, ``90s``, ``10m``, ``1h30m``.

    Raises:
        UsageError: it is none of these, or not above zero.
    """
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd]?)", text.strip())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        raise UsageError(f"{flag}: expected a time such as 90s, 10m or 1h30m, got {text!r}")
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if seconds <= 0:
        raise UsageError(f"{flag}: expected more than no time, got {text!r}")
    return seconds


def names(text: str | None) -> tuple[str, ...] | None:
    """The names in ``a,b,c``; ``None`` where nothing was given."""
    if text is None:
        return None
    return tuple(name.strip() for name in text.split(",") if name.strip())


def seeds_of(paths: Sequence[Path]) -> dict[Path, Program]:
    """The programs of the models among files and folders; the others are named on standard error and left out.

    Raises:
        UsageError: none loads.
    """
    programs, problems = load_seeds(paths)
    if not programs:
        raise UsageError("; ".join(problems) if problems else f"no ONNX model in {', '.join(map(str, paths))}")
    for problem in problems:
        print(f"irfuzz: skipped: {problem}", file=sys.stderr)
    return programs


def writable_folder(path: Path, flag: str) -> Path:
    """A folder that exists and takes files.

    Raises:
        UsageError: it cannot be made or written.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe = path / ".irfuzz-probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UsageError(f"{flag} {path}: cannot be written: {error.strerror}") from None
    return path
