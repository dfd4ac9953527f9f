"""Follows the releases of what a fleet tests: each gets environments, all findings are run on it, and the corpus is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection, func, select, update

from irfuzz.environment_check import installed_version
from irfuzz.errors import UsageError
from irfuzz.execute.target_table import BUILT_IN, component_of
from irfuzz.execute.versions import installation
from irfuzz.execute.versions.environments import version_key
from irfuzz.execute.versions.releases import ensure, installed_versions, releases_now
from irfuzz.fleet.fleet_schema import FOLLOWED_RELEASE, SHARED_FINDING, SHARED_PROGRAM, store_time
from irfuzz.fleet.lease_table import LeaseKind, offer
from irfuzz.fleet.store_connection import StoreConnection
from irfuzz.fleet.upkeep.agent_abilities import compares, follows, shows
from irfuzz.fleet.upkeep.finding_upkeep import recheck_item
from irfuzz.fleet.upkeep.work_request import WorkPlace, WorkResult
from irfuzz.store.database import Status

INSTALL = "install"
"""Kind of the work of a machine alone: an environment of a release that another machine has found."""

LOOK = 6 * 3600.0
"""Seconds between two looks at the package index, if nobody says otherwise."""

LOOK_EVERY = "look every"
"""Key of the setting with the same."""

AWAY = 600.0
"""Seconds after which an index that could not be reached is asked again."""

PART = 500
"""Programs in one part of the corpus that is replayed: some minutes."""


class ReleaseState(StrEnum):
    """How far a release is followed."""

    BASE = "base"
    """The release with which the following began: nothing is done about it."""
    FOUND = "found"
    """The index lists it; it has no environment yet."""
    READY = "ready"
    """It has one somewhere, and the work about it is offered."""
    FAILED = "failed"
    """It cannot be installed or used; each look tries again."""


@dataclass(frozen=True, slots=True)
class FollowedRelease:
    """A release of what the fleet follows.

    Attributes:
        distribution: as pip calls it.
        version: of it.
        previous: the release before it on the index; empty for the one with which following began.
        state: how far it is followed.
        told: why it cannot be installed.
    """

    distribution: str
    version: str
    previous: str
    state: ReleaseState
    told: str


def distribution_to_follow(name: str) -> str:
    """What pip calls a component, such as ``onnx`` for the reference evaluator.

    Args:
        name: a distribution or a component.

    Raises:
        UsageError: no target runs it, or it is a part of irfuzz.
    """
    adapter = installation.adapter_for(name) or next((a for a in BUILT_IN if a.component == name), None)
    if adapter is None or not adapter.distributions:
        known = ", ".join(dict.fromkeys(d for a in BUILT_IN for d in a.distributions[:1]))
        raise UsageError(f"--follow: expected a package that targets run, got {name!r}; there are: {known}")
    if name in adapter.distributions:
        return name
    return next((d for d in adapter.distributions if installed_version(d)), adapter.distributions[0])


def components_of(distribution: str) -> frozenset[str]:
    """Components whose targets run a distribution."""
    return frozenset(a.component for a in BUILT_IN if distribution in a.distributions)


def followed_releases(connection: Connection, distribution: str | None = None) -> list[FollowedRelease]:
    """Releases that the fleet follows, oldest first.

    Args:
        connection: of a transaction.
        distribution: of this alone; all if omitted.
    """
    rows = connection.execute(select(FOLLOWED_RELEASE)).all()
    found = [
        FollowedRelease(row.distribution, row.version, row.previous, ReleaseState(row.state), row.told) for row in rows
    ]
    wanted = [one for one in found if distribution in (None, one.distribution)]
    return sorted(wanted, key=lambda one: (one.distribution, version_key(one.version)))


def offer_looks(store: StoreConnection, connection: Connection, distributions: Sequence[str], every: float) -> None:
    """Let one agent at a time look for releases, as a part of a transaction.

    Args:
        store: of the fleet.
        connection: of the transaction.
        distributions: that this agent follows.
        every: seconds between two looks.
    """
    store.set(connection, {LOOK_EVERY: str(every)})
    for distribution in distributions:
        offer(store, connection, LeaseKind.FOLLOW, distribution, needs=follows(distribution))


def follow(place: WorkPlace) -> WorkResult:
    """Ask the index for releases, make environments of those that are new, oldest first, and offer the work on them.

    What an earlier look could not do, or was killed at, is tried again.

    Args:
        place: of the work; its item is the distribution.
    """
    distribution = place.request.item
    with place.store.transaction() as connection:
        every = float(place.store.settings(connection).get(LOOK_EVERY, LOOK))
    try:
        _note_new(place, distribution, releases_now(distribution))
        told, away = "", False
    except UsageError as error:
        told, away = str(error).partition(";")[0], True
    with place.store.transaction() as connection:
        waiting = followed_releases(connection, distribution)
    waiting = [one for one in waiting if one.state in (ReleaseState.FOUND, ReleaseState.FAILED)]
    words = [*([told] if told else []), *(_make_ready(place, release) for release in waiting)]
    return WorkResult("; ".join(words) or "nothing new", again_in=min(every, AWAY) if away else every)


def install(place: WorkPlace) -> WorkResult:
    """Make an environment of a release that another machine has found.

    Args:
        place: of the work; its item is ``DISTRIBUTION==VERSION``.

    Raises:
        UsageError: it cannot be installed here.
    """
    distribution, _, version = place.request.item.partition("==")
    return WorkResult(ensure(distribution, version, lambda text: None) or "it is irfuzz's own")


def _note_new(place: WorkPlace, distribution: str, listed: Sequence[str]) -> None:
    """Store releases that are newer than those that the fleet follows; the first look stores the newest that is run."""
    before = dict(zip(listed, ("", *listed), strict=False))
    with place.store.transaction() as connection:
        known = [release.version for release in followed_releases(connection, distribution)]
        if not known:
            known = [_base(place, distribution, listed)]
            _store(place.store, connection, FollowedRelease(distribution, known[0], "", ReleaseState.BASE, ""))
        for version in listed:
            if version_key(version) > version_key(known[-1]):
                release = FollowedRelease(distribution, version, before[version], ReleaseState.FOUND, "")
                _store(place.store, connection, release)


def _base(place: WorkPlace, distribution: str, listed: Sequence[str]) -> str:
    """The newest release that the agent's own targets run; the newest of the index if they run none."""
    labels = [name.partition(":")[0] for name in place.request.targets if _runs(name, distribution)]
    there = installed_versions(distribution)
    own = (installed_version(distribution) or "").partition("+")[0]
    versions = [label.partition("@")[2] or own for label in labels]
    usable = [version for version in versions if version in there]
    return max(usable or listed, key=version_key)


def _runs(target: str, distribution: str) -> bool:
    return component_of(target) in components_of(distribution)


def _store(store: StoreConnection, connection: Connection, release: FollowedRelease) -> None:
    values = {
        "distribution": release.distribution, "version": release.version, "previous": release.previous,
        "state": release.state.value, "told": release.told, "found": store_time(),
    }  # fmt: skip
    connection.execute(store.insert(FOLLOWED_RELEASE).values(**values).on_conflict_do_nothing())


def _make_ready(place: WorkPlace, release: FollowedRelease) -> str:
    """Make an environment of a release and offer the work on it, or say why not."""
    store, name = place.store, f"{release.distribution} {release.version}"
    key = (FOLLOWED_RELEASE.c.distribution == release.distribution) & (FOLLOWED_RELEASE.c.version == release.version)
    try:
        ensure(release.distribution, release.version, lambda text: None)
    except UsageError as error:
        told = " ".join(str(error).split())[:300]
        with store.transaction() as connection:
            values = {"state": ReleaseState.FAILED.value, "told": told}
            connection.execute(update(FOLLOWED_RELEASE).where(key).values(**values))
        return f"{name} cannot be used: {told}"
    with store.transaction() as connection:
        connection.execute(update(FOLLOWED_RELEASE).where(key).values(state=ReleaseState.READY.value, told=""))
        findings = _offer_rechecks(store, connection, release)
        parts = _offer_replay(store, connection, release)
    return f"{name} is ready: {findings} findings and {parts} parts of the corpus to run on it"


def _offer_rechecks(store: StoreConnection, connection: Connection, release: FollowedRelease) -> int:
    """Offer to run each confirmed finding of the component on a release; how many there are."""
    columns = (SHARED_FINDING.c.signature, SHARED_FINDING.c.target)
    proven = (SHARED_FINDING.c.status == Status.CONFIRMED.value) & ~SHARED_FINDING.c.suspect
    rows = connection.execute(select(*columns).where(proven)).all()
    found = [row for row in rows if _runs(row.target, release.distribution)]
    for row in found:
        item = recheck_item(release.distribution, release.version, row.signature)
        needs = shows(row.target, release.distribution, release.version)
        offer(store, connection, LeaseKind.RECHECK, item, needs=needs)
    return len(found)


def _offer_replay(store: StoreConnection, connection: Connection, release: FollowedRelease) -> int:
    """Offer to run the corpus on a release and the last one before it that can be used; in how many parts."""
    others = followed_releases(connection, release.distribution)
    usable = [one.version for one in others if one.state in (ReleaseState.BASE, ReleaseState.READY)]
    older = [version for version in usable if version_key(version) < version_key(release.version)]
    if not older:
        return 0
    query = select(func.count()).select_from(SHARED_PROGRAM).where(SHARED_PROGRAM.c.dropped == 0)
    parts = 1 + connection.execute(query).scalar_one() // PART
    needs = compares(release.distribution, release.version, older[-1])
    for part in range(parts):
        item = replay_item(release.distribution, release.version, older[-1], part, parts)
        offer(store, connection, LeaseKind.REPLAY, item, needs=needs)
    return parts


def replay_item(distribution: str, new: str, old: str, part: int, parts: int) -> str:
    """The item of a lease for a part of the corpus."""
    return f"{distribution}=={new} {old} {part} {parts}"


def replay_of(item: str) -> tuple[str, str, str, int, int]:
    """The inverse: distribution, new and old release, part and parts."""
    release, old, part, parts = item.split(" ")
    distribution, _, new = release.partition("==")
    return distribution, new, old, int(part), int(parts)
