"""What a process gets that does leased work for its agent, and what it answers."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.store_connection import StoreConnection

RESULT = "result.json"
"""File in the folder of the work that says what became of it; written last, in one step."""


@dataclass(frozen=True, slots=True)
class WorkRequest:
    """Work for a process of its own.

    Attributes:
        kind: of the work, as ``LeaseKind`` or ``INSTALL``.
        item: what it is about.
        store: URL of the fleet's store, with its password: it goes through a pipe, not the command line.
        blobs: place of models and weights.
        agent: name of the agent.
        out: the agent's folder.
        scratch: folder of this work, which is there and is removed afterwards.
        targets: names of what the agent runs.
        timeout: seconds that a target may take with one program.
    """

    kind: str
    item: str
    store: str
    blobs: str
    agent: str
    out: str
    scratch: str
    targets: tuple[str, ...]
    timeout: float = 10.0

    def to_text(self) -> str:
        """All of it as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> WorkRequest:
        """The inverse."""
        data: dict[str, Any] = json.loads(text)
        data["targets"] = tuple(data["targets"])
        return cls(**data)


@dataclass(frozen=True, slots=True)
class WorkResult:
    """What became of leased work.

    Attributes:
        told: one line.
        failed: it could not be done here, and may be tried again.
        again_in: seconds after which it is free to be done again; ``None``: never.
    """

    told: str
    failed: bool = False
    again_in: float | None = None

    def write(self, folder: Path) -> None:
        """Let the agent know, whole or not at all."""
        draft = folder / f".{RESULT}"
        draft.write_text(json.dumps(asdict(self)))
        draft.replace(folder / RESULT)

    @classmethod
    def read(cls, folder: Path) -> WorkResult | None:
        """What a process has left in its folder; ``None`` if it died before it could."""
        try:
            return cls(**json.loads((folder / RESULT).read_text()))
        except (OSError, ValueError, TypeError):
            return None


@dataclass(frozen=True, slots=True)
class WorkPlace:
    """What a process needs to do work.

    Attributes:
        request: of the agent.
        store: of the fleet, open.
        blobs: of the fleet.
    """

    request: WorkRequest
    store: StoreConnection
    blobs: SharedBlobs

    @property
    def scratch(self) -> Path:
        """Folder of this work alone."""
        return Path(self.request.scratch)
