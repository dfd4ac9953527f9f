"""Lets two agents that find one fault make one finding, with the sightings of both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from sqlalchemy import Connection, delete, func, select, update

from irfuzz.findings.blame.affected_versions import with_others
from irfuzz.findings.finding import VersionAnswer
from irfuzz.fleet.agent_registry import AgentAccount
from irfuzz.fleet.fleet_schema import FINDING_RELEASE, SHARED_FINDING, SIGHTING, store_time
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.store_connection import StoreConnection
from irfuzz.store.database import Database, FindingRow, Status
from irfuzz.store.fault_marks import SeenElsewhere
from irfuzz.store.model_blob_packing import blobs_named, is_packed, pack_model, unpacked, whole_model

FINDINGS = 50
"""That are given in one transaction."""

SIGHTINGS = 200
"""Sightings of other agents' findings that are given in one transaction."""

_LARGE = ("model", "inputs", "original_model", "original_inputs")
_TEXT = ("symptom", "target", "suspect", "status", "title", "verdict", "runs", "trace", "iteration")


@dataclass(frozen=True, slots=True)
class GivenFinding:
    """A finding whose bytes are in the blobs already.

    Attributes:
        row: of the agent's folder, without models and inputs.
        values: what the store gets of it, but for the agent and times.
    """

    row: FindingRow
    values: Mapping[str, object]


class FindingsGiven:
    """What an agent has to tell of its findings.

    Args:
        database: of the campaign, which may be running.
        first_job: number of the agent's first job among all of the fleet.
        blobs: of the fleet.
    """

    def __init__(self, database: Database, first_job: int, blobs: SharedBlobs) -> None:
        self._database, self._first_job, self._blobs = database, first_job, blobs
        self._told: dict[int, FindingRow] = {}
        self._told_of_others: dict[int, SeenElsewhere] = {}

    def news(self, most: int = FINDINGS) -> list[GivenFinding]:
        """Findings that are new or have changed since they were told, with their bytes in the blobs.

        Args:
            most: of them.

        Raises:
            StoreUnreachable: the blobs are away.
        """
        return [self._prepared(row) for row in self.changed()[:most]]

    def changed(self) -> list[FindingRow]:
        """Findings that the store does not know yet, or not as they are now; without models and inputs."""
        return [row for row in self._database.findings(bare=True) if self._told.get(row.number) != row]

    def seen_elsewhere(self) -> list[SeenElsewhere]:
        """Findings of other agents that were seen here, too, and the store does not know how often; some of them."""
        seen = self._database.marks.seen_elsewhere()
        return [one for one in seen if self._told_of_others.get(one.number) != one][:SIGHTINGS]

    def told(self, findings: Sequence[GivenFinding], others: Sequence[SeenElsewhere] = ()) -> None:
        """Remember what the store knows now."""
        self._told.update({f.row.number: f.row for f in findings})
        self._told_of_others.update({seen.number: seen for seen in others})

    def _prepared(self, bare: FindingRow) -> GivenFinding:
        if bare.status == Status.EXPLAINED:
            return GivenFinding(bare, {})
        row = self._database.finding(bare.number)
        return GivenFinding(bare, {**case_values(row, self._blobs), "job": self._first_job + row.job})


def case_values(row: FindingRow, blobs: SharedBlobs) -> dict[str, object]:
    """What the store gets of a finding, but for its job, the agent and times; bytes are in the blobs then.

    Args:
        row: whole.
        blobs: of the fleet.

    Raises:
        StoreUnreachable: the blobs are away.
    """
    models = {name: pack_model(getattr(row, name), blobs) for name in ("model", "original_model")}
    weights = sorted({d for data in models.values() if is_packed(data) for d in blobs_named(unpacked(data))})
    values: dict[str, object] = {name: getattr(row, name) for name in _TEXT}
    values |= {name: blobs.put(models.get(name) or getattr(row, name) or b"\0") for name in _LARGE}
    return {**values, "weights": json.dumps(weights)}


def give_findings(
    store: StoreConnection, connection: Connection, account: AgentAccount, findings: Sequence[GivenFinding],
    seen: Sequence[SeenElsewhere] = (),
) -> list[str]:  # fmt: skip
    """Store findings and who has seen them, as a part of a transaction; again is as good as once.

    One that another agent has found stays one: a confirmed case takes the place of one that is not, and an agent's own
    case is brought up to date. What another finding explains is nobody's any more. A sighting of another agent's
    finding has a negative number: those of the agent's own are positive.

    Args:
        store: of the fleet.
        connection: of the transaction, in which ``beat`` has taken the agent's row.
        account: of the agent.
        findings: whose bytes are in the blobs.
        seen: findings of other agents that were seen here, too.

    Returns:
        Signatures of those of ``seen`` that the store does not have any more.
    """
    own = {finding.row.signature: finding for finding in findings}
    others = {one.signature: one for one in seen}
    lost: list[str] = []
    for signature in sorted({*own, *others}):  # in one order: two agents never wait for each other in a circle
        if signature in own:
            _give_finding(store, connection, account.name, own[signature])
        if signature in others and not _give_sighting(store, connection, account.name, others[signature]):
            lost.append(signature)
    return lost


def _give_finding(store: StoreConnection, connection: Connection, name: str, finding: GivenFinding) -> None:
    row = finding.row
    mine = (SIGHTING.c.agent == name) & (SIGHTING.c.number == row.number)
    before = connection.execute(select(SIGHTING.c.signature).where(mine)).scalar_one_or_none()
    if row.status == Status.EXPLAINED:
        connection.execute(delete(SIGHTING).where(mine))
    else:
        _store_case(store, connection, name, finding)
        _store_answers(store, connection, name, row)
        _store_sighting(store, connection, name, row.number, row.signature, row.status, row.times)
    if before is not None and (before != row.signature or row.status == Status.EXPLAINED):
        _remove_unseen(connection, before)


def _give_sighting(store: StoreConnection, connection: Connection, name: str, one: SeenElsewhere) -> bool:
    """Store that a finding of another agent was seen; False if the store has none of that signature."""
    key = SHARED_FINDING.c.signature == one.signature
    if not connection.execute(update(SHARED_FINDING).where(key).values(last=store_time())).rowcount:
        return False
    _store_sighting(store, connection, name, -one.number, one.signature, Status.CONFIRMED.value, one.times)
    return True


def _store_sighting(
    store: StoreConnection, connection: Connection, agent: str, number: int, signature: str, status: str, times: int
) -> None:
    seen = {"signature": signature, "status": status, "times": times, "last": store_time()}
    statement = store.insert(SIGHTING).values(agent=agent, number=number, first=store_time(), **seen)
    connection.execute(statement.on_conflict_do_update(index_elements=["agent", "number"], set_=seen))


def _store_case(store: StoreConnection, connection: Connection, name: str, finding: GivenFinding) -> None:
    row, now = finding.row, store_time()
    case = {**finding.values, "agent": name, "number": row.number}
    key = SHARED_FINDING.c.signature == row.signature
    statement = store.insert(SHARED_FINDING).values(signature=row.signature, first=now, last=now, **case)
    new = connection.execute(statement.on_conflict_do_nothing().returning(SHARED_FINDING.c.number)).scalar_one_or_none()
    if new is not None:
        return
    columns = (SHARED_FINDING.c.agent, SHARED_FINDING.c.number, SHARED_FINDING.c.status)
    stored = connection.execute(select(*columns).where(key).with_for_update()).one()
    own = (stored.agent, stored.number) == (name, row.number)
    better = row.status == Status.CONFIRMED and stored.status != Status.CONFIRMED
    values = case if own or better else {}
    connection.execute(update(SHARED_FINDING).where(key).values(last=now, **values))


def _remove_unseen(connection: Connection, signature: str) -> None:
    """Remove a finding that nobody has under this name any more, as a suspect that was proven."""
    left = select(func.count()).select_from(SIGHTING).where(SIGHTING.c.signature == signature)
    if not connection.execute(left).scalar_one():
        for table in (SHARED_FINDING, FINDING_RELEASE):
            connection.execute(delete(table).where(table.c.signature == signature))


def _store_answers(store: StoreConnection, connection: Connection, name: str, row: FindingRow) -> None:
    """Store what an agent's own campaign asked other releases; what the fleet has asked since stays."""
    for answer in json.loads(row.verdict).get("shown", ()):
        answers = [VersionAnswer(**answer)]
        give_answers(store, connection, name, row.signature, answers, only_new=True)


def give_answers(
    store: StoreConnection, connection: Connection, agent: str, signature: str, answers: Sequence[VersionAnswer],
    *, only_new: bool = False,
) -> None:  # fmt: skip
    """Store what releases do with a finding, as a part of a transaction; a later answer takes the place of an earlier.

    One that knows which release came before it is not replaced by one that does not.

    Args:
        store: of the fleet.
        connection: of the transaction.
        agent: that asked.
        signature: of the finding.
        answers: one a release.
        only_new: leave answers that are there as they are.
    """
    for answer in answers:
        version = answer.version.partition("+")[0]
        key = (FINDING_RELEASE.c.signature == signature) & (FINDING_RELEASE.c.version == version)
        if answer.previous is None:
            known = connection.execute(select(FINDING_RELEASE.c.answer).where(key)).scalar_one_or_none()
            answer = replace(answer, previous=None if known is None else json.loads(known)["previous"])
        told = {"answer": json.dumps(asdict(answer)), "agent": agent, "asked": store_time()}
        statement = store.insert(FINDING_RELEASE).values(signature=signature, version=version, **told)
        index = ["signature", "version"]
        connection.execute(
            statement.on_conflict_do_nothing()
            if only_new
            else statement.on_conflict_do_update(index_elements=index, set_=told)
        )


def _answers(connection: Connection) -> dict[str, list[VersionAnswer]]:
    """What releases do with each finding."""
    found: dict[str, list[VersionAnswer]] = {}
    for row in connection.execute(select(FINDING_RELEASE.c.signature, FINDING_RELEASE.c.answer)):
        found.setdefault(row.signature, []).append(VersionAnswer(**json.loads(row.answer)))
    return found


def _with_answers(verdict: str, answers: Sequence[VersionAnswer]) -> str:
    """The text of a verdict with what releases do, those included of which it knows itself."""
    if not answers:
        return verdict
    about = json.loads(verdict)
    own = [VersionAnswer(**answer) for answer in about.get("shown", ())]
    return json.dumps({**about, "shown": [asdict(answer) for answer in with_others(answers, own)]})


def shared_findings(
    store: StoreConnection, *, suspects: bool | None = None, signature: str | None = None
) -> list[FindingRow]:
    """All findings of a fleet in the order in which they came, each with its number here and without bytes.

    Args:
        store: of the fleet.
        suspects: only those, or all others; ``None``: both.
        signature: of the only one that is wanted; ``None``: all.
    """
    times = (
        select(SIGHTING.c.signature, func.sum(SIGHTING.c.times).label("times"))
        .group_by(SIGHTING.c.signature)
        .subquery()
    )
    query = select(SHARED_FINDING, times.c.times).join(times, times.c.signature == SHARED_FINDING.c.signature)
    if suspects is not None:
        query = query.where(SHARED_FINDING.c.suspect == suspects)
    if signature is not None:
        query = query.where(SHARED_FINDING.c.signature == signature)
    with store.transaction() as connection:
        rows = connection.execute(query.order_by(SHARED_FINDING.c.first, SHARED_FINDING.c.signature)).all()
        answers = _answers(connection)
    return [
        FindingRow(
            row.signature, row.symptom, row.target, row.suspect, row.title,
            _with_answers(row.verdict, answers.get(row.signature, ())), row.runs, row.trace,
            row.model.encode(), row.inputs.encode(), row.original_model.encode(), row.original_inputs.encode(),
            row.status, row.job, row.iteration, times=int(row.times), number=number, first=row.first, last=row.last,
        )
        for number, row in enumerate(rows, 1)
    ]  # fmt: skip


def with_bytes(row: FindingRow, blobs: SharedBlobs) -> FindingRow:
    """A finding of ``shared_findings`` with its models and inputs.

    Args:
        row: of it.
        blobs: of the fleet.

    Raises:
        InternalError: a blob is gone.
        StoreUnreachable: the blobs are away.
    """
    models = {name: blobs.get(getattr(row, name).decode()) for name in _LARGE}
    return replace(row, **{name: whole_model(data, blobs) for name, data in models.items()})
