"""Which targets gave the right dtype and shape for one graph output."""

from __future__ import annotations

from collections.abc import Sequence

from irfuzz.execute.run_types import RunResult, Target
from irfuzz.facts import Fact
from irfuzz.oracle.value_structure import contradictions, describe
from irfuzz.oracle.witnesses_and_blame import Blame, Division, checkers_of, components, divide, rank

MISSING = "no output of this name"

OVERRULING = 3
"""So many components that agree make a fact that they contradict wrong, where one component alone fits it."""


def kind_of(result: RunResult, name: str) -> str:
    """Dtype, shape and structure of an output as text, as ``describe`` gives it.

    Args:
        result: of a target that ran.
        name: of the graph output; if the target did not give it the text is ``MISSING``.
    """
    return describe(result.outputs[name]) if name in result.outputs else MISSING


def fits(result: RunResult, name: str, fact: Fact) -> bool:
    """True if an output is there and contradicts nothing that is known before the run.

    Args:
        result: of a target that ran.
        name: of the graph output.
        fact: what inference says of it; sizes that it leaves open fit any.
    """
    return name in result.outputs and not any(contradictions(result.outputs[name], fact))


def divide_kinds(ran: Sequence[RunResult], name: str, fact: Fact) -> Division | None:
    """Who is right about dtype and shape: those who fit the fact; among them, or if nobody does, the majority.

    Whoever contradicts the fact is blamed firmly once an independent component fits it: that is two witnesses, ONNX's
    own inference and the component. Three components that agree overrule these two: the fact is wrong then.
    """
    right: dict[str, list[Target]] = {}
    wrong: dict[str, list[Target]] = {}
    for result in ran:
        groups = right if fits(result, name, fact) else wrong
        groups.setdefault(kind_of(result, name), []).append(result.target)
    fitting = [t for group in right.values() for t in group]
    against = max((len(components(group)) for group in wrong.values()), default=0)
    if not right or (against >= OVERRULING and len(components(fitting)) == 1):
        # The fact is wrong, and what differs is decided by majority alone.
        return divide([*right.values(), *wrong.values()], checkers_of)
    division = divide(list(right.values()), checkers_of)
    center = division.center if division else tuple(next(iter(right.values())))
    blamed = list(division.blamed) if division else []
    for group in wrong.values():
        own = components(group)
        # Two components that agree against one make it likelier that the fact is the mistake.
        firm = len(own) == 1 and bool(components(fitting) - own)
        blamed.append(Blame(tuple(group), firm))
    return Division(center, tuple(sorted(blamed, key=lambda b: rank(b.group[0])))) if blamed else None


def accepted(ran: Sequence[RunResult], name: str, fact: Fact) -> list[RunResult]:
    """The runs whose output has the right dtype, shape and structure, and so can be compared.

    Args:
        ran: of targets that went through.
        name: of the graph output; who did not give it is left out.
        fact: what inference says of it.

    Returns:
        All that gave it if they agree, else those whom ``divide_kinds`` takes to be right.
    """
    division = divide_kinds(ran, name, fact)
    present = [r for r in ran if name in r.outputs]
    if division is None:
        return present
    chosen = {t.name for t in division.center}
    return [r for r in present if r.target.name in chosen]
