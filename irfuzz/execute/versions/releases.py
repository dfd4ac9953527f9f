"""Asks the package index which releases of a distribution can be installed, and which of them are to be compared."""

from __future__ import annotations

import functools
import importlib.metadata
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from irfuzz.environment_check import installed_version
from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Target
from irfuzz.execute.target_table import ALIASES, BUILT_IN, versions_of
from irfuzz.execute.versions import environments, installation
from irfuzz.execute.versions.environments import version_key
from irfuzz.execute.versions.installation import PackageSource, Say, WantedEnvironment

FEW = 2
"""Variants of each other version: the first and the last of those that run, which are most unlike each other."""

MOST = 20
"""Releases that are compared at once, each with processes of its own."""

_RANGE = re.compile(r"([A-Za-z0-9][\w.-]*):(\d+)")
_LISTED = re.compile(r"^Available versions: (.+)$", re.MULTILINE)
_PINNED = frozenset({"torch", "torchvision", "tensorflow", "tensorflow-cpu", "keras"})
"""What converters are built on; other versions of it in their environments would be compared as well."""


@dataclass(frozen=True, slots=True)
class VersionRange:
    """The newest release of a component and some before it.

    Attributes:
        component: as targets call it.
        distribution: as pip calls it.
        older: how many before the newest.
    """

    component: str
    distribution: str
    older: int


def read_range(text: str) -> VersionRange:
    """``onnxruntime:3``: a component, or the distribution that brings one, and how many releases before the newest.

    Raises:
        UsageError: it is none.
    """
    found = _RANGE.fullmatch(text.strip())
    if found is None or not 1 <= int(found[2]) <= MOST:
        raise UsageError(
            f"{text!r}: expected a component and how many releases before its newest (1 to {MOST}), "
            "such as onnxruntime:3"
        )
    name = ALIASES.get(found[1], found[1])
    adapter = next((a for a in BUILT_IN if a.component == name), None) or installation.adapter_for(name)
    if adapter is None:
        known = ", ".join(dict.fromkeys(a.component for a in BUILT_IN if a.distributions))
        raise UsageError(f"{text!r}: no component {found[1]!r}; there are: {known}")
    if not adapter.distributions:
        raise UsageError(f"{text!r}: {adapter.component} is part of irfuzz and has no releases of its own")
    there = next((d for d in adapter.distributions if installed_version(d)), adapter.distributions[0])
    return VersionRange(adapter.component, there, int(found[2]))


@functools.cache
def releases(distribution: str) -> tuple[str, ...]:
    """Final releases that pip lists for this Python, oldest first; asked once a process.

    Raises:
        UsageError: pip cannot tell, for want of a network or of such a distribution.
    """
    return releases_now(distribution)


def releases_now(distribution: str) -> tuple[str, ...]:
    """The same, asked again.

    Raises:
        UsageError: pip cannot tell, for want of a network or of such a distribution.
    """
    pip = [sys.executable, "-I", "-m", "pip", "--disable-pip-version-check", "--no-input"]
    hasty = ["--retries", "1", "--timeout", "15"]
    asked = [*pip, *hasty, "index", "versions", "--", distribution]
    ended, said = installation.output_of(asked, "pip")
    listed = _LISTED.search(said)
    if ended != 0 or listed is None:
        raise UsageError(
            f"pip cannot list the releases of {distribution}: {installation.told_by_pip(said)}; without a network, "
            "environments that `irfuzz env add` has built are compared by --targets"
        )
    # "2.13.0+cpu" is another build of 2.13.0.
    return tuple(sorted({v.strip().partition("+")[0] for v in listed[1].split(",")}, key=version_key))


def candidates(wanted: VersionRange, say: Say) -> tuple[str, ...]:
    """All releases from which those that are compared can be taken, oldest first.

    Without an index these are the installed ones, if there are enough.

    Raises:
        UsageError: there are not so many.
    """
    count = wanted.older + 1
    try:
        found = releases(wanted.distribution)
    except UsageError as error:
        found = installed_versions(wanted.distribution)
        if len(found) < count:
            there = ", ".join(found) or "none"
            raise UsageError(f"{error} (needs {count} releases; installed: {there})") from None
        say(f"{str(error).partition(';')[0]}; taking the newest of what is installed")
    if len(found) < count:
        raise UsageError(
            f"{wanted.distribution} has {len(found)} releases that can be installed here "
            f"({', '.join(found) or 'none'}), and {count} are wanted"
        )
    return found


def installed_versions(distribution: str) -> tuple[str, ...]:
    """Versions of a distribution in irfuzz's own environment and in those of ``irfuzz env add``, oldest first."""
    own = installed_version(distribution)
    others = [e.wanted for e in environments.installed() if e.distribution == distribution]
    return tuple(sorted({*([own.partition("+")[0]] if own else []), *others}, key=version_key))


def ensure(distribution: str, version: str, say: Say) -> str:
    """Have a version at hand; returns what stands behind the ``@`` of its targets, empty for irfuzz's own.

    Raises:
        UsageError: it cannot be installed or used.
    """
    if (installed_version(distribution) or "").partition("+")[0] == version:
        return ""
    wish = WantedEnvironment(distribution, version, f"{distribution}=={version}")
    there = environments.record(environments.usual_name(distribution, version)).is_file()
    if not there:
        say(f"installing {distribution} {version}")
    found, _ = installation.add(
        wish, others=() if there else _beside(distribution), source=PackageSource(built=True), say=say
    )
    return found.name


def _beside(distribution: str) -> list[str]:
    """The frameworks that a distribution needs, in the versions of irfuzz's own environment."""
    try:
        needed = importlib.metadata.requires(distribution) or []
    except importlib.metadata.PackageNotFoundError:
        return []
    names = dict.fromkeys(
        re.split(r"[^\w.-]", line, maxsplit=1)[0].lower() for line in needed if "extra ==" not in line
    )
    versions = {n: v.partition("+")[0] for n in names if n in _PINNED and (v := installed_version(n))}
    return [f"{name}=={version}" for name, version in versions.items()]


def distribution_of(target: Target) -> str:
    """The distribution that brings a target's component here.

    Raises:
        UsageError: none does, as for a class of the user's own.
    """
    for environment in environments.installed():
        if target.environment == environment.name:
            return environment.distribution
    adapter = next((a for a in BUILT_IN if a.component == target.component), None)
    if adapter is None or not adapter.distributions:
        raise UsageError(f"{target.name}: no package has releases of {target.component}")
    return next((d for d in adapter.distributions if installed_version(d)), adapter.distributions[0])


def few_variants(targets: Sequence[Target]) -> list[Target]:
    """The first and the last variant that is quick, or of all if none is.

    Args:
        targets: variants of one component in one version, at least one.

    Returns:
        One or two of them, in order.
    """
    quick = [t for t in targets if not t.slow] or list(targets)
    return quick if len(quick) <= FEW else [quick[0], quick[-1]]


def versions_beside(few: Sequence[Target], chosen: Sequence[Target], wanted: VersionRange, say: Say) -> list[Target]:
    """Install the releases of a range; one that cannot be used is told, and an older one taken in its place.

    Args:
        few: variants of irfuzz's own version that are to be run in each.
        chosen: targets of the campaign.
        wanted: the range.
        say: is told what goes on.

    Returns:
        The targets that ``chosen`` lacks, of the newest release first.

    Raises:
        UsageError: fewer than two releases can be used; those that were built stay.
    """
    found: list[Target] = []
    versions: list[str] = []
    for version in reversed(candidates(wanted, say)):
        try:
            found += variants_in(few, ensure(wanted.distribution, version, say))
        except UsageError as error:
            say(f"{wanted.distribution} {version} is left out: {error}")
            continue
        versions.append(version)
        if len(versions) > wanted.older:
            break
    if len(versions) < 2:
        raise UsageError(f"fewer than two releases of {wanted.distribution} can be installed and used here")
    say(f"comparing {wanted.component} {', '.join(versions)}")
    there = {t.name for t in chosen}
    return [target for target in found if target.name not in there]


def variants_in(few: Sequence[Target], environment: str) -> list[Target]:
    """Variants in an environment.

    Args:
        few: of any version.
        environment: name of it; empty for irfuzz's own, in which ``few`` are then.

    Raises:
        UsageError: its interpreter is gone.
    """
    if not environment:
        return list(few)
    found = [v for target in few for v in versions_of(target) if v.target.environment == environment]
    if broken := next((v.why_not for v in found if v.why_not), ""):
        raise UsageError(broken)
    return [v.target for v in found]
