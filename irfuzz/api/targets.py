"""Which targets a call runs: the names that the caller gives, or those that are installed."""

from __future__ import annotations

from collections.abc import Sequence

from irfuzz.errors import UsageError
from irfuzz.execute.table import resolve
from irfuzz.execute.types import Target


def named(targets: Sequence[str | Target] | None, *, slow: bool = False) -> tuple[Target, ...]:
    """The targets that a caller means.

    Args:
        targets: targets, and names and patterns as for ``execute.table.resolve``; ``None`` means all quick runtimes.
        slow: ``None`` means the slow ones as well.

    Raises:
        UsageError: a name is unknown, or what it names is not installed.
    """
    if targets is None:
        return resolve(None, slow=slow)
    if isinstance(targets, str):
        raise UsageError(f"targets: expected a list of names, got the text {targets!r}")
    found: dict[str, Target] = {}
    for target in targets:
        for one in (target,) if isinstance(target, Target) else resolve([target]):
            found[one.name] = one
    if not found:
        raise UsageError("no targets given")
    return tuple(found.values())


def first_installed(names: Sequence[str]) -> tuple[Target, ...]:
    """The first of some targets that is installed; all quick runtimes if there are no names.

    Raises:
        UsageError: none is installed.
    """
    if not names:
        return resolve(None)
    for name in names:
        try:
            return resolve([name])
        except UsageError:
            continue
    raise UsageError("no runtime to search with is installed; name one with --targets")
