"""Makes a new campaign folder of a damaged one, with all that can still be read."""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from irfuzz.campaign.config import Layout
from irfuzz.campaign.output_folder_lock import unused
from irfuzz.errors import UsageError
from irfuzz.store.database_recovery import RecoveredRows, recover_database


@dataclass(frozen=True, slots=True)
class CampaignRecovery:
    """What was recovered.

    Attributes:
        out: the new folder.
        tables: how much of each table of the database.
        folders: those that were copied as they are.
    """

    out: Path
    tables: tuple[RecoveredRows, ...]
    folders: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON-able data."""
        return {"out": str(self.out), "tables": [asdict(t) for t in self.tables], "folders": list(self.folders)}

    def __str__(self) -> str:
        """A line for each table, and how to go on."""
        lines = [f"{t.table}: {t.kept} kept" + (f", {t.lost} lost ({t.why})" if t.lost else "") for t in self.tables]
        return "\n".join([*lines, f"copied: {', '.join(self.folders) or 'no folders'}", f"go on with --out {self.out}"])


def recover_campaign(damaged: Path, out: Path) -> CampaignRecovery:
    """Copy a campaign, row by row where its database is damaged; the damaged one is only read.

    What a job had counted and is lost begins at zero again; its programs and findings stay.

    Args:
        damaged: the folder that ``irfuzz fuzz --out`` wrote.
        out: the new one; it must be missing or empty.

    Raises:
        UsageError: ``damaged`` is no campaign, is in use or nothing of its database can be read, or ``out`` holds
            something or cannot be written.
    """
    old, new = Layout(damaged), Layout(out)
    if not old.database.is_file():
        raise UsageError(f"{damaged}: expected a campaign's folder, got none with {old.database.name}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"-o {out}: expected a new or empty folder, got one that holds something")
    with unused(damaged):
        try:
            out.mkdir(parents=True, exist_ok=True)
            tables = tuple(recover_database(old.database, new.database))
            there = [path for path in _copied(old) if path.is_dir()]
            for path in there:
                shutil.copytree(path, out / path.relative_to(damaged), symlinks=True)
        except OSError as error:
            raise UsageError(f"-o {out}: cannot be written: {error}") from None
    return CampaignRecovery(out, tables, tuple(path.name for path in there))


def _copied(layout: Layout) -> tuple[Path, ...]:
    """Folders that hold what no run makes again."""
    kept = (layout.findings, layout.suspects, layout.unreplayed)
    return (layout.blobs, *kept, layout.samples, layout.internal)
