"""What shared work an agent can do: the targets of its machine, in which releases, and what its user allows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Target
from irfuzz.execute.target_table import resolve, versions_of
from irfuzz.execute.versions import environments
from irfuzz.execute.versions.releases import distribution_of, installed_versions
from irfuzz.fleet.lease_table import LeaseKind

FUZZ = "fuzz"
"""The work that every agent does if nobody says otherwise, beside what is leased."""

ALWAYS = frozenset({LeaseKind.FOLLOW})
"""Kinds for which an agent is asked by flags of their own, and not by ``--work``."""

WORK = (FUZZ, *(kind.value for kind in LeaseKind if kind not in ALWAYS))
"""What ``--work`` may name."""


def read_work(names: Sequence[str] | None) -> tuple[str, ...]:
    """The kinds of work that an agent takes, in the order in which it looks for them.

    Args:
        names: what the user allows; ``None``: all.

    Raises:
        UsageError: one is unknown.
    """
    for name in names or ():
        if name not in WORK:
            raise UsageError(f"--work: expected some of {', '.join(WORK)}, got {name!r}")
    return WORK if names is None else tuple(name for name in WORK if name in names)


def shows(target: str, distribution: str, version: str) -> str:
    """The ability to say whether a finding of a target shows in a release."""
    return f"{target} and {distribution}=={version}"


def compares(distribution: str, new: str, old: str) -> str:
    """The ability to run programs on two releases."""
    return f"{distribution}=={new} and {old}"


def bisects(target: str) -> str:
    """The ability to ask other releases about a finding of a target."""
    return f"{target} in several releases"


def follows(distribution: str) -> str:
    """The ability to make environments of new releases, which an agent's user allows it."""
    return f"follow {distribution}"


def abilities(names: Sequence[str], followed: Sequence[str] = ()) -> list[str]:
    """What an agent can do: names of targets in all releases that its machine has, and what follows from them.

    Args:
        names: of the targets that it runs. One that is not there any more is left out.
        followed: distributions of whose new releases it makes environments.
    """
    found = dict.fromkeys([*names, *map(follows, followed)])
    for distribution, targets in _by_distribution(names).items():
        versions = installed_versions(distribution)
        found |= dict.fromkeys(target.name for target in targets)
        if len(versions) > 1:
            found |= dict.fromkeys(bisects(target.name) for target in targets)
        found |= dict.fromkeys(
            shows(target.name, distribution, version) for target, version in product(targets, versions)
        )
        found |= dict.fromkeys(compares(distribution, *pair) for pair in product(versions, versions))
    return list(found)


def _by_distribution(names: Sequence[str]) -> dict[str, list[Target]]:
    """The targets of an agent, and the same variants in other releases, by what pip calls their component."""
    found: dict[str, list[Target]] = {}
    for name in names:
        try:
            (target,) = resolve([name])
            distribution = distribution_of(target)
        except (UsageError, ValueError):
            continue  # it was removed, or is a class of the user's own, of which there are no releases
        there = [other.target for other in versions_of(target) if not other.why_not]
        found.setdefault(distribution, []).extend(there)
    return found


def has_release(distribution: str, version: str) -> bool:
    """Whether this machine has a release, in irfuzz's own environment or another."""
    return version in installed_versions(distribution)


def environments_stamp() -> tuple[str, ...]:
    """Equal as long as the environments of this machine are the same."""
    return tuple(e.name for e in environments.installed())
