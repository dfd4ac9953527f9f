"""What becomes of a fleet's finding after it was found: it is made smaller, and releases are asked about it."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Connection, select, update

from irfuzz.campaign.stored_findings.finding_reduction import reduce_finding
from irfuzz.campaign.stored_findings.release_bisection import answers_of_installed
from irfuzz.errors import UsageError
from irfuzz.execute.target_table import resolve
from irfuzz.execute.versions.releases import distribution_of, releases
from irfuzz.findings.codec import finding_of, row_of
from irfuzz.findings.finding import Finding, VersionAnswer
from irfuzz.fleet.finding_exchange import case_values, give_answers, shared_findings, with_bytes
from irfuzz.fleet.fleet_schema import FOLLOWED_RELEASE, SHARED_FINDING, store_time
from irfuzz.fleet.upkeep.work_request import WorkPlace, WorkResult
from irfuzz.report.finding_folder_writer import write_bundle
from irfuzz.store.database import Status

REDUCE_SECONDS = 300.0
"""What one agent spends on making a finding smaller; what is left then, another one does."""

NOBODY = -1
"""Number of a case that no agent's folder has: a finding that was made smaller for the fleet."""

GONE = WorkResult("no such finding any more")


def reduce_further(place: WorkPlace) -> WorkResult:
    """Continue a reduction that was cut short; the finding keeps its name and gets the smaller case.

    Args:
        place: of the work; its item is the finding's signature.

    Raises:
        UsageError: the finding does not show here.
    """
    found = _written(place, place.request.item)
    if found is None:
        return GONE
    finding, folder = found
    outcome = reduce_finding(
        finding, folder, place.scratch / "smaller", place.scratch / "state", seconds=REDUCE_SECONDS, jobs=1,
        original=False, seeds={}, progress=lambda tries, nodes: None, timeout=place.request.timeout,
    )  # fmt: skip
    if not outcome.shown:
        return WorkResult(f"the script of the case with {outcome.after} nodes does not show it, so it stays as it was")
    if not _keep_smaller(place, finding, outcome.finding):
        return GONE
    told = f"{outcome.before} nodes before, {outcome.after} after"
    if outcome.complete:
        return WorkResult(f"{told}, nothing makes it smaller")
    return WorkResult(f"{told}, cut short again", again_in=0.0 if outcome.after < outcome.before else None)


def ask_releases(place: WorkPlace) -> WorkResult:
    """Find the releases in which a finding came and went, of those that this machine has.

    Args:
        place: of the work; its item is the finding's signature.

    Raises:
        UsageError: the finding does not show here.
    """
    return _ask(place, place.request.item, None)


def ask_release(place: WorkPlace) -> WorkResult:
    """Run a finding on one release.

    Args:
        place: of the work; its item is the release and the finding's signature, as ``recheck_item`` joins them.

    Raises:
        UsageError: the finding does not show here.
    """
    _, version, signature = recheck_of(place.request.item)
    return _ask(place, signature, version)


def recheck_item(distribution: str, version: str, signature: str) -> str:
    """The item of a lease for a finding's re-check on a release."""
    return f"{distribution}=={version} {signature}"


def recheck_of(item: str) -> tuple[str, str, str]:
    """The inverse: distribution, version and signature."""
    release, _, signature = item.partition(" ")
    distribution, _, version = release.partition("==")
    return distribution, version, signature


def _ask(place: WorkPlace, signature: str, version: str | None) -> WorkResult:
    found = _written(place, signature)
    if found is None:
        return GONE
    finding, folder = found
    before = _releases_before(place, finding, asks_index=version is None)
    answers = answers_of_installed(folder, version, before=before, timeout=place.request.timeout)
    with place.store.transaction() as connection:
        if not _is_there(connection, signature):
            return GONE
        give_answers(place.store, connection, place.request.agent, signature, answers)
    return WorkResult("; ".join(f"{_word(answer)} in {answer.version}" for answer in answers))


def _word(answer: VersionAnswer) -> str:
    return {True: "shows", False: "does not show", None: "cannot be told"}[answer.shows]


def _releases_before(place: WorkPlace, finding: Finding, *, asks_index: bool) -> dict[str, str]:
    """The release before each of the blamed component: by what the fleet follows, and by the index."""
    distribution = distribution_of(resolve([finding.verdict.target])[0])
    query = select(FOLLOWED_RELEASE).where(
        FOLLOWED_RELEASE.c.distribution == distribution, FOLLOWED_RELEASE.c.previous != ""
    )
    with place.store.transaction() as connection:
        known = {row.version: row.previous for row in connection.execute(query)}
    if asks_index:
        with suppress(UsageError):  # without a network it is known of fewer releases
            every = releases(distribution)
            known |= dict(zip(every, ("", *every), strict=False))
    return known


def _written(place: WorkPlace, signature: str) -> tuple[Finding, Path] | None:
    """A finding of the store and a folder of it; ``None`` if nobody has it any more."""
    row = next(iter(shared_findings(place.store, signature=signature)), None)
    if row is None:
        return None
    finding, folder = finding_of(with_bytes(row, place.blobs)), place.scratch / "finding"
    write_bundle(folder, finding)
    return finding, folder


def _keep_smaller(place: WorkPlace, before: Finding, smaller: Finding) -> bool:
    """Let a smaller case stand for a finding; False if nobody has that any more.

    Args:
        place: of the work.
        before: as the store has it.
        smaller: with results, of which what each target did is kept.
    """
    row = row_of(smaller.signed())
    values = case_values(row, place.blobs)
    for stays in ("trace", "iteration", "original_model", "original_inputs"):
        values.pop(stays)
    values["weights"] = _all_weights(place, before.signature, str(values["weights"]))
    values |= {"status": Status.CONFIRMED.value, "suspect": False}
    with place.store.transaction() as connection:
        key = SHARED_FINDING.c.signature == before.signature
        own = {"agent": place.request.agent, "number": NOBODY, "last": store_time()}
        return connection.execute(update(SHARED_FINDING).where(key).values(**values, **own)).rowcount == 1


def _all_weights(place: WorkPlace, signature: str, new: str) -> str:
    """Blobs that the smaller case names and those that the original names, which stays."""
    with place.store.transaction() as connection:
        query = select(SHARED_FINDING.c.weights).where(SHARED_FINDING.c.signature == signature)
        old = connection.execute(query).scalar_one_or_none() or "[]"
    return json.dumps(sorted({*json.loads(old), *json.loads(new)}))


def _is_there(connection: Connection, signature: str) -> bool:
    query = select(SHARED_FINDING.c.signature).where(SHARED_FINDING.c.signature == signature)
    return connection.execute(query).scalar_one_or_none() is not None
