"""Which targets of a campaign are enough to see a verdict's fault again."""

from __future__ import annotations

from collections.abc import Sequence

from irfuzz.execute.run_types import Target, TargetRole
from irfuzz.oracle.converter_verdicts import concerned
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.oracle.witnesses_and_blame import REFERENCE, checkers_of, rank, witnesses_of


def jury(verdict: Verdict, targets: Sequence[Target]) -> tuple[Target, ...]:
    """The blamed target, what it is compared with, its newest version, and one witness of each component, the plainest.

    Only runtimes are witnesses (``oracle.converter_verdicts``): a converter or tool supports nobody, another variant
    of the blamed one least of all.

    The newest version is there if the fault is one of older ones: a smaller program is not to show another.

    The reference evaluator, which is slow, is left out if two independent witnesses are left. Whoever is not asked
    may have spoken for the blamed one: what a jury says of another program is to be heard by all in the end.

    Args:
        verdict: not a suspect.
        targets: in their order; slow ones count only if they are blamed.

    Returns:
        All of ``targets`` if they do not give two independent witnesses.
    """
    blamed = next(t for t in targets if t.name == verdict.target)
    chosen: dict[str, Target] = {}
    able = (t for t in targets if t.role is TargetRole.RUNTIME and t.name in verdict.witnesses and not t.slow)
    for target in sorted(able, key=_plain):
        chosen.setdefault(target.component, target)
    quick = {c: t for c, t in chosen.items() if c != REFERENCE}
    if len(_independent(verdict, list(quick.values()))) >= 2:
        chosen = quick
    if len(_independent(verdict, list(chosen.values()))) < 2:
        return tuple(targets)
    variant = blamed.name.partition(":")[2]
    newest = {
        t.name
        for t in targets
        if t.component == blamed.component and not t.environment and t.name.partition(":")[2] == variant
    }
    names = {blamed.name, blamed.before, *(t.name for t in chosen.values()), *(newest - {*verdict.blamed})}
    return tuple(t for t in targets if t.name in names)


def heard(verdict: Verdict, targets: Sequence[Target]) -> tuple[Target, ...]:
    """All targets on which the verdict depends, but slow ones; of these the blamed one and needed witnesses.

    What spoke against it is needed if it takes two to be believed. Other converters and tools bear no witness, and
    there are dozens of them, each of which takes a process of its own.

    Args:
        verdict: be it a suspect.
        targets: in their order.

    Returns:
        All of ``targets`` if fewer than two would be left.
    """
    blamed = next((t for t in targets if t.name == verdict.target), None)
    able = targets if blamed is None else concerned(blamed, targets)
    said = [t for t in targets if t.role is TargetRole.RUNTIME and t.name in verdict.witnesses]
    alone = len(_independent(verdict, [t for t in said if not t.slow])) < 2
    needed = {verdict.target, *(verdict.witnesses if alone else ())}
    quick = tuple(t for t in able if not t.slow or t.name in needed)
    return quick if len(quick) > 1 else tuple(targets)


def _independent(verdict: Verdict, targets: Sequence[Target]) -> set[str]:
    """The independent witnesses of what is wrong."""
    of_values = verdict.symptom not in (Symptom.REJECTION, Symptom.WRONG_SHAPE)
    return (witnesses_of if of_values else checkers_of)(targets)


def _plain(target: Target) -> tuple[bool, tuple[str, bool, int, str]]:
    """Key of an order: irfuzz's own version first, then the plainest variant."""
    return bool(target.environment), rank(target)
