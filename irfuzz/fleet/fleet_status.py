"""What a fleet does and has found, as its store knows it: agents, rates, leases, coverage as a union, findings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, distinct, func, select

from irfuzz.campaign.stored_findings.folder_placement import folder_name
from irfuzz.errors import UsageError
from irfuzz.findings.codec import ABOUT, finding_of, label_of
from irfuzz.fleet.agent_registry import ORDERS, SEED, SEEDS, SILENT_SECONDS, AgentState
from irfuzz.fleet.finding_exchange import shared_findings, with_bytes
from irfuzz.fleet.fleet_schema import AGENT, FEATURE, INTAKE, LEASE, SHARED_PROGRAM, SIGHTING, store_time
from irfuzz.fleet.lease_table import LeaseKind
from irfuzz.fleet.reporting.finding_labels import finding_labels
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.store_connection import StoreConnection
from irfuzz.fleet.upkeep.work_status import WorkStatus, work_status
from irfuzz.report.affected_versions_text import where_text
from irfuzz.report.command_reports.finding_list import label, read
from irfuzz.report.finding_folder_writer import write_bundle
from irfuzz.report.pages.index_page import TargetTally
from irfuzz.store.database import FindingRow, Status


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """One agent.

    Attributes:
        name: of it.
        machine: it runs on.
        state: what it does; ``lost`` if it has not been heard of.
        wanted: what it alone is told; empty if nothing.
        silent: seconds since it was heard of.
        first_job: number of its first job among all of the fleet.
        jobs: how many it has.
        targets: names of what it runs.
        programs: judged.
        rate: programs a second of late; 0 if it does not run.
        corpus: programs in its folder.
        syncs: how often it synchronised.
        sync_seconds: what that took.
        sync_cpu: seconds of processor time of that.
        counts: everything else.
        tallies: what each target did there.
    """

    name: str
    machine: str
    state: str
    wanted: str
    silent: float
    first_job: int
    jobs: int
    targets: list[str]
    programs: int
    rate: float
    corpus: int
    syncs: int
    sync_seconds: float
    sync_cpu: float
    counts: dict[str, int]
    tallies: list[TargetTally]


@dataclass(frozen=True, slots=True)
class SharedFindingStatus:
    """One finding.

    Attributes:
        signature: of it.
        title: one line.
        target: at fault.
        symptom: what is wrong.
        suspect: it is too thinly proven to be a finding.
        status: whether its own script shows it.
        agents: that have seen it.
        times: how often they have, together.
        confirmed: what its script did on another machine; empty if that is not known yet.
        releases: in which it shows, and in which it came and went; empty if fewer than two were asked.
        label: what a person has said of it; empty if nobody has said anything.
    """

    signature: str
    title: str
    target: str
    symptom: str
    suspect: bool
    status: str
    agents: list[str]
    times: int
    confirmed: str
    releases: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class FleetStatus:
    """A fleet.

    Attributes:
        store: its URL, without a password.
        seed: of the campaign.
        orders: what all agents are told.
        agents: all that there ever were.
        rate: programs a second of all that run.
        programs: judged by all.
        corpus: different programs that were given to the store.
        given: programs that were, those of them counted that another agent had given.
        taken: programs that agents took in from others.
        features: that the programs brought, as a union.
        leases: how many there are by kind and state: ``open``, ``held``, ``done``.
        findings: all, suspects behind the others.
        work: releases that are followed, and what was done last of what is there once for all.
    """

    store: str
    seed: int
    orders: str
    agents: list[AgentStatus]
    rate: float
    programs: int
    corpus: int
    given: int
    taken: int
    features: int
    leases: dict[str, dict[str, int]]
    findings: list[SharedFindingStatus]
    work: WorkStatus

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON-able data."""
        return asdict(self)

    def __str__(self) -> str:
        """Lines for people."""
        running = sum(agent.state == AgentState.RUNNING for agent in self.agents)
        lines = [
            f"{self.store}: seed {self.seed}, told to {self.orders}",
            f"{running} of {len(self.agents)} agents run, {self.rate:.1f} programs a second, {self.programs} judged",
            f"{self.features} features of {self.corpus} programs ({self.given} given, {self.taken} taken in)",
        ]
        for agent in self.agents:
            own = f", told to {agent.wanted}" if agent.wanted else ""
            lines.append(
                f"  {agent.name}: {agent.state}{own}, {agent.rate:.1f}/s, {agent.programs} programs, heard of "
                f"{agent.silent:.0f} s ago, jobs {agent.first_job}-{agent.first_job + agent.jobs - 1}"
            )
        for kind, counts in self.leases.items():
            lines.append(f"{kind}: " + ", ".join(f"{count} {state}" for state, count in counts.items()))
        lines += self.work.lines()
        confirmed = [f for f in self.findings if not f.suspect and f.status == Status.CONFIRMED]
        others = len(self.findings) - len(confirmed)
        lines.append(f"{len(confirmed)} findings, {others} suspects and others without a proof")
        for found in confirmed:
            more = f"; another machine: {found.confirmed}" if found.confirmed else ""
            more += f"; label: {found.label}" if found.label else ""
            lines.append(f"  {found.title} (seen {found.times} times by {', '.join(found.agents)}{more})")
            lines += [f"    {found.releases}"] if found.releases else []
        return "\n".join(lines)


def fleet_status(store: StoreConnection) -> FleetStatus:
    """What the store of a fleet knows now.

    Args:
        store: of the fleet.

    Raises:
        StoreUnreachable: it is away.
    """
    findings = _findings(store)
    with store.transaction() as connection:
        settings = store.settings(connection)
        agents = _agents(connection)
        count = func.count()
        given, corpus = connection.execute(select(count, func.count(distinct(SHARED_PROGRAM.c.digest)))).one()
        features = connection.execute(select(count).select_from(FEATURE)).scalar_one()
        taken = connection.execute(select(count).select_from(INTAKE)).scalar_one()
        leases, work = _leases(connection), work_status(connection)
    return FleetStatus(
        store.name, int(settings.get(SEED, "0")), settings.get(ORDERS, "run"), agents, sum(a.rate for a in agents),
        sum(a.programs for a in agents), corpus, given, taken, features, leases, findings, work,
    )  # fmt: skip


def _agents(connection: Connection) -> list[AgentStatus]:
    now = connection.execute(select(store_time())).scalar_one()
    rows = connection.execute(select(AGENT).where(AGENT.c.name != SEEDS).order_by(AGENT.c.first_job)).all()
    found: list[AgentStatus] = []
    for row in rows:
        silent = max(0.0, float(now) - row.heartbeat)
        runs = row.state in (AgentState.RUNNING, AgentState.PAUSED)
        state = AgentState.LOST.value if runs and silent > SILENT_SECONDS else row.state
        found.append(
            AgentStatus(
                row.name, row.machine, state, row.wanted, round(silent, 1), row.first_job, row.jobs,
                json.loads(row.targets), row.programs, row.rate if state == AgentState.RUNNING else 0.0, row.corpus,
                row.syncs, round(row.sync_seconds, 3), round(row.sync_cpu, 3), json.loads(row.counts),
                [TargetTally(**tally) for tally in json.loads(row.tallies)],
            )
        )  # fmt: skip
    return found


def _leases(connection: Connection) -> dict[str, dict[str, int]]:
    now = connection.execute(select(store_time())).scalar_one()
    found: dict[str, dict[str, int]] = {}
    for row in connection.execute(select(LEASE.c.kind, LEASE.c.done, LEASE.c.until, LEASE.c.agent)):
        state = "done" if row.done else "held" if row.agent and row.until > now else "open"
        counts = found.setdefault(row.kind, {"open": 0, "held": 0, "done": 0})
        counts[state] += 1
    return found


def _findings(store: StoreConnection) -> list[SharedFindingStatus]:
    rows = shared_findings(store)
    with store.transaction() as connection:
        seen: dict[str, list[str]] = {}
        for row in connection.execute(select(SIGHTING.c.signature, SIGHTING.c.agent).order_by(SIGHTING.c.first)):
            seen.setdefault(row.signature, []).append(row.agent)
        query = select(LEASE.c.item, LEASE.c.result).where(LEASE.c.kind == LeaseKind.CONFIRM.value)
        results = {row.item: row.result for row in connection.execute(query)}
        labels = finding_labels(connection)
    return [
        SharedFindingStatus(
            row.signature, row.title, row.target, row.symptom, row.suspect, row.status,
            list(dict.fromkeys(seen.get(row.signature, ()))), row.times, results.get(row.signature, ""),
            where_text(finding_of(row)) if '"shown"' in row.verdict else "",
            labels.get(row.signature, ""),
        )
        for row in sorted(rows, key=lambda row: row.suspect)
    ]  # fmt: skip


def write_findings(store: StoreConnection, blobs: SharedBlobs, out: Path) -> Sequence[Path]:
    """Write the confirmed findings of a fleet as folders, as a campaign has them in ``findings``.

    Args:
        store: of the fleet.
        blobs: of the fleet.
        out: folder in which they are made; those that are there stay as they are, but for their labels.

    Raises:
        UsageError: it cannot be written.
        StoreUnreachable: the store or the blobs are away.
    """
    folders: list[Path] = []
    with store.transaction() as connection:
        labels = finding_labels(connection)
    for row in shared_findings(store, suspects=False):
        if row.status != Status.CONFIRMED:
            continue
        folder = _folder(out, row)
        if not folder.exists():
            try:
                out.mkdir(parents=True, exist_ok=True)
                write_bundle(folder, finding_of(with_bytes(row, blobs)))
            except OSError as error:
                raise UsageError(f"-o {out}: cannot be written: {error.strerror}") from None
        if labels.get(row.signature, label_of(folder)) != label_of(folder):
            label(folder, labels[row.signature])
        folders.append(folder)
    return folders


def _folder(out: Path, row: FindingRow) -> Path:
    """Where a finding's folder is: numbers change when a finding goes, so a name may be that of another one by now."""
    name = folder_name(finding_of(row))
    there = out / name
    if (there / ABOUT).is_file() and read(there).about.get("signature") != row.signature:
        return out / f"{name}-{hashlib.sha256(row.signature.encode()).hexdigest()[:8]}"
    return there
