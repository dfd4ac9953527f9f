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
    search._means = means(has=lambda finding: has, recognised=SimpleNamespace(likely=likely or KnownFaultFilter()))
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


class Seen:
    """What is tried of a suspect, and which program proves it."""

    def __init__(self, proves: Program | None = None) -> None:
        self.proves, self.proof = proves, None
        self.tried_so_far: list[Program] = []
        self.open_: Verdict | None = None

    def tried(self, one: Program, inputs: object) -> Finding | None:
        self.tried_so_far.append(one)
        return replace(SUSPECT, case=FailingCase(one, {})) if one is self.proves else None

    def still_open(self, found: object, one: Program) -> Verdict | None:
        return self.open_

    def proved(self, found: object, one: Program, inputs: object, results: object) -> Finding | None:
        assert (found, results) == ([], ["r"])
        return self.tried(one, inputs)

    def still(self, one: Program, inputs: object) -> bool:
        raise AssertionError("nothing is made small here")


PART, REST = program("y = Tanh (x)"), program("y = Relu (x)")


def searching(
    monkeypatch: pytest.MonkeyPatch, seen: Seen, small: Program = PART, stops_at: int = 1 << 30
) -> tuple[_Search, list[Finding]]:
    """A search over two candidates, which asks so often before the job is to end; and the smaller cases it keeps."""
    kept: list[Finding] = []
    asked = iter(range(1 << 30))
    search = object.__new__(_Search)
    bench: Any = SimpleNamespace(
        run=lambda case, targets: ["r"], judge=lambda case, results, invalid: [] if not invalid else [SUSPECT.verdict]
    )
    search._means = replace(
        means(keep_smaller=kept.append), bench=bench, stopping=lambda: next(asked) >= stops_at
    )  # fmt: skip
    search._suspect = search._left = replace(SUSPECT, doubted=7)
    search._known, search._heard = [], ()
    search._seen = seen  # type: ignore[assignment]
    search._watch = SimpleNamespace(  # type: ignore[assignment]
        faulty_parts=lambda one, inputs: [(PART, {}), (REST, {})], values_of=None
    )

    def reduce_case(one: Program, inputs: object, still: object, **options: Any) -> Any:
        assert (one, still) == (WHOLE, seen.still)
        assert (options["seconds"], len(options["starts"])) == (1.0, 2)
        return SimpleNamespace(program=small, inputs={}, settled=True)

    monkeypatch.setattr(suspect_proof_search, "reduce_case", reduce_case)
    return search, kept


@pytest.mark.parametrize(("proves", "tries"), [(PART, 1), (REST, 2), (WHOLE, 3)])
def test_the_first_candidate_that_proves_it_is_the_proof(
    monkeypatch: pytest.MonkeyPatch, proves: Program, tries: int
) -> None:
    seen = Seen(proves)
    search, kept = searching(monkeypatch, seen)
    found = search.proof()
    assert found is not None
    assert found.case.program is proves
    assert len(seen.tried_so_far) == tries
    assert kept == []


@pytest.mark.parametrize(("stops_at", "tries"), [(0, 0), (1, 1)])
def test_once_the_job_is_to_end_nothing_more_is_tried(
    monkeypatch: pytest.MonkeyPatch, stops_at: int, tries: int
) -> None:
    seen = Seen(WHOLE)
    search, kept = searching(monkeypatch, seen, stops_at=stops_at)
    assert search.proof() is None
    assert (len(seen.tried_so_far), kept) == (tries, [])


def test_what_making_it_small_proves_is_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    small = program("y = Exp (x)")
    seen = Seen(small)
    search, _ = searching(monkeypatch, seen, small)
    found = search.proof()
    assert found is not None
    assert found.case.program is small
    assert seen.tried_so_far[-1] is small
    seen.proof = SUSPECT  # type: ignore[assignment]
    assert search._smaller([(PART, {}), (REST, {})]) is SUSPECT, "it ended the reduction"


def test_a_case_that_was_made_small_as_the_job_ends_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    search, kept = searching(monkeypatch, Seen(PART), stops_at=0)
    assert search._smaller([(PART, {}), (REST, {})]) is None
    assert kept == []


@pytest.mark.parametrize(
    ("left", "doubted", "small", "stored"),
    [
        (True, 7, PART, True),
        (True, 7, WHOLE, False),
        (True, 0, PART, False),
        (False, 7, PART, False),
    ],
)
def test_a_smaller_case_with_the_same_doubt_stands_for_a_stored_suspect(
    monkeypatch: pytest.MonkeyPatch, left: bool, doubted: int, small: Program, stored: bool
) -> None:
    seen = Seen()
    verdict = replace(SUSPECT.verdict, doubt="still")
    seen.open_ = verdict if left else None
    search, kept = searching(monkeypatch, seen, small)
    search._suspect = search._left = replace(SUSPECT, doubted=doubted)
    assert search.proof() is None
    assert [(one.verdict, one.case.program, one.doubted) for one in kept] == ([(verdict, small, 7)] if stored else [])
    assert (search._left.verdict == verdict, search._left.case.program is small) == (left, left or small is WHOLE)
    assert search._left.results == (["r"] if left else ())


def test_means_stay_as_they_are() -> None:
    made = means()
    with pytest.raises(FrozenInstanceError):
        made.seconds = 2.0  # type: ignore[misc]
    assert not hasattr(made, "__dict__")
