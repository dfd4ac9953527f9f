"""Disagreements of single inputs are put together here: one ``Divergence`` for each cause, over targets and inputs."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from irfuzz.execute.run_types import Target
from irfuzz.localize.comparison.sample_disagreements import Disagreement
from irfuzz.oracle.verdict import Symptom
from irfuzz.oracle.witnesses_and_blame import REFERENCE


@dataclass(frozen=True, slots=True)
class ExplainingIssue:
    """A known issue of a released version that explains a divergence.

    Attributes:
        id: of its rule.
        title: one line.
        link: upstream report or change; empty if none is known.
        docs: where irfuzz's documentation tells more.
    """

    id: str
    title: str
    link: str = ""
    docs: str = ""


@dataclass(frozen=True, slots=True)
class Divergence:
    """Targets of one component that part from others for one cause.

    Attributes:
        targets: names, in the order in which the check has them.
        component: of them.
        base: the target that they were compared with on the worst input; empty if no other ran.
        symptom: what is wrong.
        output: graph output; empty if the whole run is meant.
        samples: numbers of the inputs that show it.
        distance: largest absolute difference, infinite if it is one of kind.
        bound: what was allowed on the worst input.
        what: one line about the worst input.
        said: what the component said there itself, or gave, if shape or type are wrong.
        undecided: ONNX leaves open what is right, or a limit of the check's own ended the run.
        limit: that limit and its flag; empty if the component itself ended.
        known: the known issues that explain it.
        witness: only a target that was asked as a witness is off, and two others agree without it.
    """

    targets: tuple[str, ...]
    component: str
    base: str
    symptom: Symptom
    output: str
    samples: tuple[int, ...]
    distance: float
    bound: float
    what: str
    said: str = ""
    undecided: bool = False
    limit: str = ""
    known: tuple[ExplainingIssue, ...] = ()
    witness: bool = False

    @property
    def excused(self) -> bool:
        """Whether it is a known fault of the reference evaluator, which nobody deploys."""
        return self.component == REFERENCE and len(self.targets) == 1 and bool(self.known)

    @property
    def counts(self) -> bool:
        """Whether it makes the check's answer "they disagree": it is decided, not excused, and not that of a witness
        alone.
        """
        return not (self.undecided or self.excused or self.witness)


def divergences_of(
    disagreements: Iterable[Disagreement], targets: Sequence[Target], witnesses: Collection[str] = ()
) -> tuple[Divergence, ...]:
    """One divergence for each component, symptom, output and message; what counts first, the worst first among it.

    Args:
        disagreements: of all inputs.
        targets: of the check, in its order.
        witnesses: names of those that nobody wants to know about.
    """
    component = {t.name: t.component for t in targets}
    place = {t.name: number for number, t in enumerate(targets)}
    groups: dict[tuple[object, ...], list[Disagreement]] = {}
    for d in _oriented(list(disagreements), component):
        asked = d.firm and not d.also and d.target in witnesses
        key = (component.get(d.target, d.target), d.symptom, d.output, d.message, d.undecided, d.limit, asked)
        groups.setdefault(key, []).append(d)
    found = [replace(_one(group, component, place), witness=bool(key[-1])) for key, group in groups.items()]
    return tuple(sorted(found, key=lambda d: (d.undecided, -d.distance, place.get(d.targets[0], 0), d.output)))


def _one(group: Sequence[Disagreement], component: Mapping[str, str], place: Mapping[str, int]) -> Divergence:
    worst = max(group, key=lambda d: (d.distance, -d.sample))
    names = {name for d in group for name in (d.target, *d.also)}
    return Divergence(
        tuple(sorted(names, key=lambda n: place.get(n, math.inf))),
        component.get(worst.target, worst.target),
        worst.base,
        worst.symptom,
        worst.output,
        tuple(sorted({d.sample for d in group})),
        worst.distance,
        worst.bound,
        worst.what,
        worst.said,
        worst.undecided,
        worst.limit,
    )


def _oriented(found: list[Disagreement], component: Mapping[str, str]) -> list[Disagreement]:
    """Those in which nobody could tell who is right, turned as another input decided it for the same output."""
    firm = {(d.output, component.get(d.target)) for d in found if d.firm and d.output}
    turned: list[Disagreement] = []
    for d in found:
        mine, other = (d.output, component.get(d.target)), (d.output, component.get(d.base))
        if d.firm or not d.output or mine in firm or other not in firm:
            turned.append(d)
        else:
            turned.append(replace(d, target=d.base, base=d.target, also=()))
    return turned
