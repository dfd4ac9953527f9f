"""Suspects are ordered by how likely they are faults."""

from __future__ import annotations

import pytest

from irfuzz.findings.causes.cause_grouping import SMALL, Cause
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding
from irfuzz.findings.suspect_finding_rank import TINY, rank, ranked
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


@pytest.mark.parametrize(
    ("verdict", "cause", "key"),
    [
        (_suspect(), None, (2, False, True, 0.0, 13)),
        (_suspect(), _of(1), (0, False, True, 0.0, 1)),
        (_suspect(), _of(2), (0, False, True, 0.0, 2)),
        (_suspect(), _of(3), (1, False, True, 0.0, 3)),
        (_suspect(), _of(12), (1, False, True, 0.0, 12)),
        (_suspect(), _of(13), (2, False, True, 0.0, 13)),
        (_suspect(0.0), _of(1), (0, False, True, 0.0, 1)),
        (_suspect(0.5, distance=2.0), _of(1), (0, True, True, -4.0, 1)),
        (_suspect(witnesses=()), _of(1), (0, False, True, 0.0, 1)),
        (_suspect(witnesses=("a:x", "a@2", "a:y")), _of(1), (0, False, True, 0.0, 1)),
        (_suspect(witnesses=("a:x", "b@2")), _of(1), (0, False, False, 0.0, 1)),
    ],
)
def test_the_key(verdict: Verdict, cause: Cause | None, key: tuple[object, ...]) -> None:
    assert rank(verdict, cause) == key


def test_a_list_begins_with_the_likeliest() -> None:
    case = FailingCase(b"", b"")
    found = [Finding(_suspect(), case, case, cause=cause) for cause in (None, _of(5), _of(1))]
    assert ranked(found) == [found[2], found[1], found[0]]
    assert ranked([]) == []
