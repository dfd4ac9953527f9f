"""Labels of a fleet's findings: a person says once what a finding is, and every agent's folder says so, too."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, select

from irfuzz.campaign.config import Layout
from irfuzz.errors import UsageError
from irfuzz.findings.codec import ABOUT, label_of
from irfuzz.fleet.fleet_schema import FINDING_LABEL, SHARED_FINDING, store_time
from irfuzz.fleet.store_connection import StoreConnection
from irfuzz.report.command_reports.finding_list import label, read
from irfuzz.store.database import Database


def label_finding(store: StoreConnection, named: str, text: str) -> str:
    """Say of a finding what it is, over what was said before; an empty text takes that back.

    Args:
        store: of the fleet.
        named: its signature, or the path of a folder of it, such as ``irfuzz fleet findings`` writes.
        text: what is said.

    Returns:
        Its signature.

    Raises:
        UsageError: the fleet has no such finding.
    """
    signature = _signature(named)
    with store.transaction() as connection:
        query = select(SHARED_FINDING.c.signature).where(SHARED_FINDING.c.signature == signature)
        if connection.execute(query).one_or_none() is None:
            raise UsageError(
                f"label: {store.name} has no finding {signature!r}; `irfuzz fleet status --json` has their signatures"
            )
        said = {"label": text, "changed": store_time()}
        statement = store.insert(FINDING_LABEL).values(signature=signature, **said)
        connection.execute(statement.on_conflict_do_update(index_elements=["signature"], set_=said))
    return signature


def _signature(named: str) -> str:
    """What is given, or the signature in the folder that is."""
    folder = Path(named)
    try:
        is_folder = (folder / ABOUT).is_file()
    except (OSError, ValueError):  # too long for a path, or with a byte that none has
        return named
    return str(read(folder).about.get("signature", "")) if is_folder else named


def finding_labels(connection: Connection) -> dict[str, str]:
    """Labels by signature, as a part of a transaction; empty for those that were taken back.

    Args:
        connection: of the transaction.
    """
    return {row.signature: row.label for row in connection.execute(select(FINDING_LABEL))}


def label_folders(database: Database, layout: Layout, labels: dict[str, str]) -> int:
    """Let the folders of an agent's own findings say what the fleet does; how many were changed.

    A folder that the campaign writes anew at this moment is left for the next time.

    Args:
        database: of the campaign, which may be running.
        layout: of its folder.
        labels: by signature.
    """
    changed = 0
    for row in database.findings(bare=True) if labels else ():
        text = labels.get(row.signature)
        for folder in () if text is None else _folders(layout, row.number):
            if label_of(folder) != text:
                try:
                    label(folder, text or "")
                except UsageError:
                    continue
                changed += 1
    return changed


def _folders(layout: Layout, number: int) -> list[Path]:
    kinds = (layout.findings, layout.suspects, layout.unreplayed)
    return [path.parent for kind in kinds for path in kind.glob(f"{number:04d}-*/{ABOUT}")]
