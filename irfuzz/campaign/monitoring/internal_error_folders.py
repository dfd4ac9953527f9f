"""Writes an exception of irfuzz's own as a folder that says how to see it again; a bounded number is kept."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import traceback
from collections.abc import Mapping
from pathlib import Path

from irfuzz import __version__
from irfuzz.campaign.monitoring.inferred_fact_audit import WrongFact
from irfuzz.store.blob_store import FolderBlobs
from irfuzz.store.model_blob_packing import write_model

INTERNAL = "internal errors"
"""How jobs count them."""

PER_KIND = 3
"""Folders for one kind of fault: where the same lines of irfuzz failed."""

IN_ALL = 60
"""Folders for all kinds together."""

FRAMES = 3
"""So many innermost frames make a kind."""


class InternalErrorStore:
    """The folder ``internal/`` of a campaign; several processes may write to it.

    Args:
        folder: made when the first fault comes.
        blobs: of the campaign, with the large weights of its programs.
    """

    def __init__(self, folder: Path, blobs: FolderBlobs) -> None:
        self._folder = folder
        self._blobs = blobs

    def keep(
        self, text: str, kind: str, *, about: Mapping[str, object], models: Mapping[str, bytes | None]
    ) -> Path | None:
        """Store one fault.

        Args:
            text: what a person should read, as a rule a traceback.
            kind: faults of one kind are kept ``PER_KIND`` times.
            about: JSON-able; tells which iteration of which campaign it was.
            models: by file name; those that are ``None`` were not made yet.

        Returns:
            Its folder, or ``None`` if enough of this kind are there.
        """
        label = hashlib.sha256(kind.encode()).hexdigest()[:8]
        there = [path.name for path in self._folder.iterdir()] if self._folder.is_dir() else []
        if len(there) >= IN_ALL or sum(name.startswith(label) for name in there) >= PER_KIND:
            return None
        place = self._folder / f"{label}-job{about['job']}-{about['iteration']}"
        self._folder.mkdir(exist_ok=True)  # a campaign's folder that was removed is not made again
        place.mkdir(exist_ok=True)
        (place / "traceback.txt").write_text(text, encoding="utf-8")
        facts = {"irfuzz": __version__, "python": platform.python_version(), "kind": kind, **about}
        (place / "about.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
        for name, data in models.items():
            if data is not None:
                write_model(data, place / name, self._blobs)
        return place

    def told(self) -> list[str]:
        """A line for each folder, oldest first: its name, what was raised and at which place."""
        lines: list[str] = []
        for path in sorted(self._folder.glob("*/about.json"), key=lambda path: path.stat().st_mtime):
            facts = json.loads(path.read_text(encoding="utf-8"))
            lines.append(f"{path.parent.name}: {_last(path.with_name('traceback.txt'))} ({facts['kind']})")
        return lines


def _last(text: Path) -> str:
    """The last line that is not empty, which is what was raised."""
    lines = text.read_text(encoding="utf-8").split("\n") if text.is_file() else []
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def text_of(error: BaseException) -> str:
    """The traceback as Python prints it, causes included."""
    return "".join(traceback.format_exception(error))


def kind_of(error: BaseException) -> str:
    """What tells one fault from another: the type of the exception and the innermost places it went through.

    Returns:
        One line: the type, for a wrong fact with the operator, and up to ``FRAMES`` places as ``file:function:line``,
        the innermost first.
    """
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    places = [f"{Path(frame.filename).name}:{frame.name}:{frame.lineno}" for frame in frames]
    name = f"WrongFact of {error.op}" if isinstance(error, WrongFact) else type(error).__name__
    return re.sub(r"\s+", " ", " < ".join([name, *reversed(places)]))
