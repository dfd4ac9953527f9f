"""Suspects are ordered by how likely they are faults."""

from __future__ import annotations

import pytest

from irfuzz.findings.causes.cause_grouping import SMALL, Cause
from irfuzz.findings.suspect_finding_rank import TINY, rank
from irfuzz.oracle.verdict import Symptom, Verdict

pytestmark = pytest.mark.unit


def _suspect(bound: float | None = None, witnesses: tuple[str, ...] = ("reference",), distance: float = 1.0) -> Verdict:
    return Verdict("o", Symptom.DIFFERENCE, "t", witnesses, suspect=True, bound=bound, distance=distance)


def _of(nodes: int) -> Cause:
    return Cause("t", Symptom.DIFFERENCE, nodes=nodes)


@pytest.mark.parametrize(
    ("sooner", "later"),
    [
        (rank(_suspect(1.0), _of(TINY)), rank(_suspect(), _of(TINY + 1))),
        (rank(_suspect(1.0), _of(SMALL)), rank(_suspect(), None)),
        (rank(_suspect(), _of(2)), rank(_suspect(1.0, ("reference", "torch:eager")), _of(1))),
        (rank(_suspect(1.0, ("reference", "torch:eager")), _of(2)), rank(_suspect(1.0, ("a:x", "a@1:y")), _of(1))),
        (rank(_suspect(1.0, distance=9.0), _of(2)), rank(_suspect(1.0, distance=8.0), _of(1))),
        (rank(_suspect(1.0), _of(1)), rank(_suspect(1.0), _of(2))),
    ],
    ids=["tiny", "small", "exact", "alone against two components", "far beyond its bound", "fewer nodes"],
)
def test_what_comes_sooner(sooner: tuple[object, ...], later: tuple[object, ...]) -> None:
    assert sooner < later
