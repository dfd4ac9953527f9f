"""Which targets a call runs: the names that the caller gives, or those that are installed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Target
from irfuzz.execute.target_table import component_of, resolve
from irfuzz.oracle.witnesses_and_blame import REFERENCE


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


def run_layers(targets: Sequence[str | Target] | None) -> bool:
    """Whether Keras targets are among those that a caller names, so that a Keras model stays a graph of its layers."""
    if targets is None or isinstance(targets, str):
        return False
    return any((t.component if isinstance(t, Target) else component_of(t)) == "keras" for t in targets)


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


@dataclass(frozen=True, slots=True)
class ComparedTargets:
    """Which targets a check asks.

    Attributes:
        targets: always.
        witnesses: only if the others differ or fewer than two run the model.
        left_out: installed ones that are not asked, because they are slow.
    """

    targets: tuple[Target, ...]
    witnesses: tuple[Target, ...] = ()
    left_out: tuple[str, ...] = ()


def compared(targets: Sequence[str | Target] | None, base: str = "", more: int = 0) -> ComparedTargets:
    """The targets that a check compares; if none are named the quick runtimes, the cheapest first.

    Args:
        targets: see ``named``.
        base: name of the target that others are compared with, if it is given.
        more: how many others there are, such as saved outputs.

    Raises:
        UsageError: a name is unknown, or there are fewer than two.
    """
    found = ComparedTargets(named(targets))
    if targets is None:
        slow = tuple(t.name for t in resolve(["runtimes"]) if t.slow)
        slowest = tuple(t for t in found.targets if t.component == REFERENCE)
        others = tuple(t for t in found.targets if t.component != REFERENCE)
        if base in {t.name for t in slowest} or not others:
            found = ComparedTargets((*others, *slowest), (), slow)
        else:
            found = ComparedTargets(others, slowest, slow)
    if len(found.targets) + len(found.witnesses) + more < 2:
        raise UsageError(f"targets: expected at least two to compare, got {', '.join(t.name for t in found.targets)}")
    return found
