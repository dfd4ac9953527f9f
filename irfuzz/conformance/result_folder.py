"""Keeps results in a folder, a file for each target and version, so that one run continues another."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from irfuzz.conformance.target_results import CaseOutcome, TargetResults, document, results_in
from irfuzz.errors import UsageError
from irfuzz.frontends.onnx_file import save_file

SUFFIX = ".conform.json"
"""End of the names of files with results."""


class ResultFolder:
    """Results of targets in a folder.

    Args:
        path: the folder; it exists. ``None`` keeps nothing.
        judged_by: irfuzz and the witnesses, with versions; what others judged does not count.
    """

    def __init__(self, path: Path | None, judged_by: str = "") -> None:
        self._path = path
        self._judged_by = judged_by

    def kept(self, target: str, version: str) -> Mapping[str, CaseOutcome]:
        """What is kept of a target in a version, by the case's name; nothing if it was never run.

        Raises:
            UsageError: the file is there and cannot be read.
        """
        stored = self._stored(target, version)
        return {} if stored is None else {outcome.case: outcome for outcome in stored.outcomes}

    def keep(self, results: TargetResults) -> None:
        """Write the results of a target; the file is whole at any time.

        How many cases there were to choose from is the most that any run into the file had.

        Raises:
            UsageError: it cannot be written, or what is there cannot be read.
        """
        if self._path is not None:
            stored = self._stored(results.target, results.version)
            whole = results if stored is None else replace(results, of=max(results.of, stored.of))
            text = json.dumps(document([whole], judged_by=self._judged_by), indent=0)
            save_file(text.encode(), self._place(results.target, results.version))

    def _stored(self, target: str, version: str) -> TargetResults | None:
        """What the file of a target says, if the same judges wrote it."""
        place = None if self._path is None else self._place(target, version)
        if place is None or not place.exists():
            return None
        data = _read(place)
        found = results_in(data, str(place)) if data.get("judged_by") == self._judged_by else []
        return found[0] if found else None

    def _place(self, target: str, version: str) -> Path:
        assert self._path is not None
        name = re.sub(r"[^\w.+-]+", "-", f"{target}--{version or 'unknown'}")
        return self._path / f"{name}{SUFFIX}"


def read_results(path: Path) -> list[TargetResults]:
    """The results in a file, or in all files of a folder that ``ResultFolder`` wrote.

    Args:
        path: a file of ``irfuzz conform --json`` or of ``--out``, or such a folder.

    Raises:
        UsageError: it cannot be read, or holds no results.
    """
    if path.is_dir():
        files = sorted(path.glob(f"*{SUFFIX}"))
        if not files:
            raise UsageError(
                f"{path}: no file *{SUFFIX} in this folder; `irfuzz conform TARGET --out {path}` writes them"
            )
        return [one for file in files for one in read_results(file)]
    return results_in(_read(path), str(path))


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: no results of `irfuzz conform`: {error}") from None
    if not isinstance(data, dict):
        raise UsageError(f"{path}: no results of `irfuzz conform`: expected an object, got {type(data).__name__}")
    return data
