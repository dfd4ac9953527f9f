"""Writes the pages of a fleet: agents, leases, the union of what programs show, and all findings of its store."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from sqlalchemy import Column, Integer, Table, cast, func, select

from irfuzz.campaign.stored_findings.folder_placement import folder_name
from irfuzz.errors import InternalError, UsageError
from irfuzz.findings.codec import finding_of
from irfuzz.fleet.agent_registry import SEEDS, AgentState
from irfuzz.fleet.finding_exchange import shared_findings, with_bytes
from irfuzz.fleet.fleet_schema import AGENT, FEATURE, SHARED_PROGRAM, store_time
from irfuzz.fleet.fleet_status import AgentStatus, FleetStatus, SharedFindingStatus, fleet_status
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.store_connection import StoreConnection
from irfuzz.report.command_reports.finding_list import ListedFinding, label, read
from irfuzz.report.finding_folder_writer import write_bundle
from irfuzz.report.pages.html_elements import Child, Markup, element
from irfuzz.report.pages.index_page import CampaignSummary, TargetTally
from irfuzz.report.pages.line_charts import POINTS, Curve
from irfuzz.report.pages.site_files import INDEX, WrittenSite, refuse_foreign, write_site
from irfuzz.store.database import FindingRow, Status
from irfuzz.store.finding_sightings import Sightings

FOLDERS = "folders"
"""Folder in that of the pages with the folders of findings, which are written again only if their case has changed."""

CASE = "case.json"
"""File in such a folder: which case it has."""


def write_fleet_site(
    store: StoreConnection, blobs: SharedBlobs, out: Path, tell: Callable[[int, int], None] = lambda done, total: None
) -> WrittenSite:
    """Write a page of a fleet and one of each of its findings into a folder, as files that need no server.

    Args:
        store: of the fleet.
        blobs: of the fleet.
        out: the folder of the pages, made if it is missing. Earlier pages there are replaced.
        tell: is called with how many pages of findings are written, and of how many.

    Returns:
        What was written; it is running as long as an agent is.

    Raises:
        UsageError: ``out`` holds other pages, or cannot be written.
        StoreUnreachable: the store or the blobs are away.
    """
    refuse_foreign(out / INDEX)
    status = fleet_status(store)
    labels = {found.signature: found.label for found in status.findings}
    found: list[ListedFinding] = []
    lost: list[str] = []
    for row in shared_findings(store):
        try:
            found.append(_listed(row, blobs, out / FOLDERS, labels.get(row.signature, "")))
        except InternalError as error:
            lost.append(f"{row.title}: {error}")
        except OSError as error:
            raise UsageError(f"-o {out}: cannot be written: {error.strerror}") from None
    _remove_others(out / FOLDERS, {entry.folder.name for entry in found})
    return write_site(out, _summary(store, status, found, lost), found, tell)


def _listed(row: FindingRow, blobs: SharedBlobs, out: Path, text: str) -> ListedFinding:
    """A finding with its folder, which is written if it is missing or has another case."""
    name = hashlib.sha256(row.signature.encode()).hexdigest()[:8]
    folder = out / f"{name}-{folder_name(finding_of(row)).partition('-')[2]}"
    case = [row.status, row.suspect, row.model.decode(), row.inputs.decode(), row.verdict, row.runs]
    digest = hashlib.sha256(json.dumps(case).encode()).hexdigest()
    mark = folder / CASE
    if not mark.is_file() or json.loads(mark.read_text()) != digest:
        write_bundle(folder, finding_of(with_bytes(row, blobs)))
        mark.write_text(json.dumps(digest))
    entry = read(folder)
    return replace(
        entry if entry.label == text else label(folder, text), seen=Sightings(row.times, row.first, row.last)
    )


def _remove_others(out: Path, names: set[str]) -> None:
    """Remove folders of findings that there are no more, such as suspects that were proven."""
    for mark in out.glob(f"*/{CASE}"):
        if mark.parent.name not in names:
            shutil.rmtree(mark.parent, ignore_errors=True)


def _summary(
    store: StoreConnection, status: FleetStatus, found: Sequence[ListedFinding], lost: Sequence[str]
) -> CampaignSummary:
    began, now, heard = _times(store)
    seconds = max(0.0, heard - began)
    curves = [
        ("Features, of all agents", [Curve("features", _counted(store, FEATURE, FEATURE.c.added, began, seconds))]),
        (
            "Programs given",
            [Curve("programs", _counted(store, SHARED_PROGRAM, SHARED_PROGRAM.c.added, began, seconds))],
        ),
    ]
    sections = [
        _agents(status), _leases(status), _sightings(status.findings),
        element("section", element("h2", "Not readable"), element("ul", *(element("li", one) for one in lost)))
        if lost else None,
    ]  # fmt: skip
    return CampaignSummary(
        store.url.database or store.name,
        running=any(agent.state in (AgentState.RUNNING, AgentState.PAUSED) for agent in status.agents),
        seconds=seconds, programs=status.programs, corpus=status.corpus, updated=now,
        findings_curves=_findings_curves(status, found, began, seconds), targets=_targets(status), kind="Fleet",
        curves=[(title, drawn) for title, drawn in curves if drawn[0].points],
        sections=[section for section in sections if section is not None],
    )  # fmt: skip


def _times(store: StoreConnection) -> tuple[float, float, float]:
    """When the first agent started, now, and when one was heard of last, all by the clock of the database."""
    query = select(store_time(), func.min(AGENT.c.started), func.max(AGENT.c.heartbeat)).where(AGENT.c.name != SEEDS)
    with store.transaction() as connection:
        now, began, heard = connection.execute(query).one()
    return float(began or now), float(now), float(heard or now)


def _counted(
    store: StoreConnection, table: Table, added: Column[float], began: float, seconds: float
) -> list[tuple[float, float]]:
    """How many rows there were by when; what was added before the first agent counts from the beginning."""
    step = max(seconds, 1.0) / POINTS
    place = cast((added - began) / step, Integer)
    query = select(place.label("place"), func.count().label("many")).select_from(table).group_by(place).order_by(place)
    points: list[tuple[float, float]] = []
    with store.transaction() as connection:
        total = 0
        for row in connection.execute(query):
            total += row.many
            points.append((min(max(0.0, row.place * step), seconds), float(total)))
    return [*points, (seconds, points[-1][1])] if points else []


def _findings_curves(status: FleetStatus, found: Sequence[ListedFinding], began: float, seconds: float) -> list[Curve]:
    curves: list[Curve] = []
    for name, suspect in (("findings", False), ("suspects", True)):
        entries = [e for e in found if bool(e.about.get("suspect")) is suspect]
        entries = [e for e in entries if suspect or e.about.get("status") == Status.CONFIRMED]
        times = sorted(max(0.0, entry.seen.first - began) for entry in entries if entry.seen)
        if times:
            points = [(0.0, 0.0), *((time, float(many)) for many, time in enumerate(times, 1))]
            curves.append(Curve(name, [*points, (max(seconds, times[-1]), float(len(times)))]))
    return curves


def _targets(status: FleetStatus) -> list[TargetTally]:
    """What each target did at each version, over all agents; those first that were wrong most often."""
    wrong: dict[str, int] = {}
    for finding in status.findings:
        wrong[finding.target] = wrong.get(finding.target, 0) + finding.times
    tallies: dict[tuple[str, str], TargetTally] = {}
    for tally in (tally for agent in status.agents for tally in agent.tallies):
        key = tally.name, tally.version
        before = tallies.get(key, TargetTally(tally.name, tally.version, disagreed=wrong.get(tally.name, 0)))
        ran = None if before.ran is None and tally.ran is None else (before.ran or 0) + (tally.ran or 0)
        tallies[key] = replace(
            before, ran=ran, refused=before.refused + tally.refused, failed=before.failed + tally.failed
        )
    return sorted(tallies.values(), key=lambda tally: (-tally.disagreed, tally.name, tally.version))


def _agents(status: FleetStatus) -> Markup:
    running = sum(agent.state == AgentState.RUNNING for agent in status.agents)
    told = (
        f"{running} of {len(status.agents)} run, {status.rate:.1f} programs a second now; told to {status.orders}. "
        f"{status.features:,} features as a union; {status.given:,} programs given, {status.taken:,} taken in."
    )
    heads = ("agent", "state", "programs a second", "programs", "corpus", "jobs", "heard of", "synchronisation")
    note = element("p", told, class_="note")
    return _table("Agents", heads, [_agent(agent) for agent in status.agents], note)


def _agent(agent: AgentStatus) -> Sequence[Child]:
    own = f", told to {agent.wanted}" if agent.wanted else ""
    each = f"{agent.sync_seconds / agent.syncs * 1000:.0f} ms" if agent.syncs else ""
    return (
        element("code", agent.name), f"{agent.state}{own}", f"{agent.rate:.1f}", f"{agent.programs:,}",
        f"{agent.corpus:,}", f"{agent.first_job} to {agent.first_job + agent.jobs - 1}",
        f"{agent.silent:.0f} s ago", each,
    )  # fmt: skip


def _leases(status: FleetStatus) -> Markup | None:
    rows = [(kind, *(f"{counts[s]:,}" for s in ("open", "held", "done"))) for kind, counts in status.leases.items()]
    return _table("Leases", ("work", "open", "held", "done"), rows) if rows else None


def _sightings(findings: Sequence[SharedFindingStatus]) -> Markup | None:
    """Who has seen which finding, and what its script did on another machine."""
    rows = [
        (found.title, f"{found.times:,}", ", ".join(found.agents), found.confirmed or "not run yet")
        for found in findings
        if not found.suspect and found.status == Status.CONFIRMED
    ]
    heads = ("finding", "seen", "by", "script on another machine")
    return _table("Who has seen what", heads, rows) if rows else None


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[Child]], note: Markup | None = None) -> Markup:
    head = element("thead", element("tr", *(element("th", text, scope="col") for text in heads)))
    body = element(
        "tbody",
        *(element("tr", element("th", first, scope="row"), *(element("td", c) for c in more)) for first, *more in rows),
    )
    table = element("table", head, body, class_="targets")
    return element(
        "section", element("h2", title), note,
        element("div", table, class_="scroll", role="region", tabindex="0", aria_label=f"Table of {title.lower()}"),
        class_="targets-section",
    )  # fmt: skip
