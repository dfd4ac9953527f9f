"""What a suspect comes to, which witnesses are called for it, and when a proof is of a known fault."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from types import SimpleNamespace
from typing import Any

import onnx
import pytest

from irfuzz.campaign.triage import suspect_proof_search
from irfuzz.campaign.triage.known_fault_filter import KnownFaultFilter
from irfuzz.campaign.triage.suspect_proof_search import (
    EXPLAINED,
    FEW,
    HEAVY,
    HEAVY_FROM,
    OPEN,
    WITNESSES,
    SuspectMeans,
    Suspects,
    _Search,
)
from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Target
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom, Verdict

pytestmark = pytest.mark.unit


def program(body: str, kind: str = "float") -> Program:
    text = f'<ir_version: 8, opset_import: ["" : 17]> g ({kind}[2] x) => ({kind}[2] y) {{ {body} }}'
    return Program.from_proto(onnx.parser.parse_model(text))


WHOLE = program("a = Relu (x) y = Tanh (a)")
SUSPECT = Finding(
    Verdict("numeric", Symptom.DIFFERENCE, "a", ("b", "c"), output="y", suspect=True), *[FailingCase(WHOLE, {})] * 2
)


class Runner:
    """Notes the targets that are added to it."""

    def __init__(self, *names: str) -> None:
        self.targets = [Target(name, name) for name in names]

    def add(self, target: Target) -> None:
        self.targets.append(target)


def means(runner: Runner | None = None, longest: float = 0.0, **archive: Any) -> SuspectMeans:
    fields: dict[str, Any] = {"runner": runner or Runner(), "bench": None, "archive": SimpleNamespace(**archive)}
    return SuspectMeans(**fields, heard=lambda verdict: (), seconds=1.0, longest=longest, stopping=lambda: False)


def came_to(monkeypatch: pytest.MonkeyPatch, proof: object, known: object, explains: bool) -> str:
    search = SimpleNamespace(proof=lambda: proof, explaining=lambda: known)
    monkeypatch.setattr(suspect_proof_search, "_Search", lambda means, suspect: search)
    return Suspects(means(explains=lambda finding: explains), lambda finding: "proven").look_into(SUSPECT)


@pytest.mark.parametrize(
    ("proof", "known", "explains", "told"),
    [
        (SUSPECT, None, False, "proven"),
        (SUSPECT, SUSPECT, True, "proven"),
        (None, SUSPECT, True, EXPLAINED),
        (None, SUSPECT, False, OPEN),
        (None, None, True, OPEN),
    ],
)
def test_what_a_suspect_comes_to(
    monkeypatch: pytest.MonkeyPatch, proof: object, known: object, explains: bool, told: str
) -> None:
    assert came_to(monkeypatch, proof, known, explains) == told


@pytest.mark.parametrize(
    ("longest", "names"), [(HEAVY_FROM - 0.5, WITNESSES), (HEAVY_FROM, WITNESSES + HEAVY), (40.0, WITNESSES + HEAVY)]
)
def test_witnesses_that_are_missing_are_called_once(
    monkeypatch: pytest.MonkeyPatch, longest: float, names: tuple[str, ...]
) -> None:
    asked: list[str] = []

    def found(wanted: list[str]) -> list[Target]:
        asked.extend(wanted)
        if wanted == [WITNESSES[1]]:
            raise UsageError("it is not installed")
        return [Target(name, name) for name in wanted]

    monkeypatch.setattr(suspect_proof_search, "resolve", found)
    runner = Runner(WITNESSES[0])
    suspects = Suspects(means(runner, longest), lambda finding: "")
    for _ in range(2):
        suspects._call_witnesses()
    assert tuple(asked) == names[1:]
    assert [target.name for target in runner.targets] == [WITNESSES[0], *names[2:]]


@pytest.mark.parametrize("excuse", [*sorted(FEW), "", "rounding"])
def test_they_are_called_only_if_witnesses_are_missing(monkeypatch: pytest.MonkeyPatch, excuse: str) -> None:
    called: list[bool] = []
    monkeypatch.setattr(Suspects, "_call_witnesses", lambda self: called.append(True))
    search = SimpleNamespace(proof=lambda: None, explaining=lambda: None)
    monkeypatch.setattr(suspect_proof_search, "_Search", lambda means, suspect: search)
    verdict = replace(SUSPECT.verdict, excuse=excuse)
    assert Suspects(means(), lambda finding: "").look_into(replace(SUSPECT, verdict=verdict)) == OPEN
    assert bool(called) == (excuse in FEW)


def search_of(has: bool = False, likely: KnownFaultFilter | None = None) -> _Search:
    search = object.__new__(_Search)
    search._means = means(has=lambda finding: has, likely=likely or KnownFaultFilter())
    search._known, search._suspect, search._left = [], SUSPECT, SUSPECT
    return search


def test_a_proof_is_known_if_it_is_stored_or_its_operators_are_those_of_a_finding() -> None:
    assert not search_of()._is_known(SUSPECT)
    stored = search_of(has=True)
    assert stored._is_known(SUSPECT) is True
    assert [one.signature for one in stored._known] == [SUSPECT.signed().signature]
    likely = KnownFaultFilter()
    likely.add(SUSPECT.verdict, "", SUSPECT.verdict, program("y = Tanh (x)"))
    seen = search_of(likely=likely)
    assert seen._is_known(SUSPECT) is True
    assert seen._known == []


@pytest.mark.parametrize(
    ("body", "explains"),
    [("y = Tanh (x)", True), ("a = Relu (x) y = Tanh (a)", True), ("y = Exp (x)", False)],
)
def test_what_is_known_explains_a_suspect_with_all_of_its_operators(body: str, explains: bool) -> None:
    search = search_of()
    assert search.explaining() is None
    known = replace(SUSPECT, case=FailingCase(program(body), {}))
    search._known.append(known)
    assert search.explaining() is (known if explains else None)


@pytest.mark.parametrize(
    ("excuse", "kind", "count"), [("", "float", 4), ("no-witnesses", "float", 5), ("no-witnesses", "int64", 1)]
)
def test_what_is_tried_before_it_is_made_small(excuse: str, kind: str, count: int) -> None:
    search = search_of()
    whole = program("y = Neg (x)", kind)
    verdict = replace(SUSPECT.verdict, excuse=excuse)
    search._suspect = replace(SUSPECT, verdict=verdict, case=FailingCase(whole, {}))
    tried = list(search._candidates([(WHOLE, {})]))
    assert tried[0] == (WHOLE, {})
    assert len(tried) == 1 + count
    assert all(one is search._suspect.case.program for one, _ in tried[1:])


def test_means_stay_as_they_are() -> None:
    made = means()
    with pytest.raises(FrozenInstanceError):
        made.seconds = 2.0  # type: ignore[misc]
    assert not hasattr(made, "__dict__")
