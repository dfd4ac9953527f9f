"""What is asked of other versions of a component: by which witnesses, of how many, and what one that fails says."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import onnx.parser
import pytest

from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.execute.target_table import Availability
from irfuzz.findings.blame import affected_versions
from irfuzz.findings.blame.affected_versions import MANY, AffectedVersions
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding, VersionAnswer
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.oracle import signature
from irfuzz.oracle.verdict import Symptom, Verdict

pytestmark = pytest.mark.unit

TEXT = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Neg(x) }'
PROGRAM = Program.from_proto(onnx.parser.parse_model(TEXT))
CASE = FailingCase(PROGRAM, {"x": np.array([1, 2], np.float32)})


def target(name: str) -> Target:
    component, _, version = name.partition(":")[0].partition("@")
    return Target(name, component, version or "9", environment=f"{component}-{version}" if version else "")


def finding(*names: str, also: tuple[str, ...] = (), witnesses: tuple[str, ...] = ("one", "two")) -> Finding:
    """``ort:all`` is blamed; all targets ran."""
    results = [RunResult(target(name), Stage.RUN, Exit.OK) for name in names]
    return Finding(Verdict("o", Symptom.DIFFERENCE, "ort:all", witnesses, also=also), CASE, CASE, results)


@pytest.mark.parametrize(
    ("names", "also", "variants", "witnesses"),
    [
        (("ort:all", "one", "two"), (), ["ort:all"], ["one", "two"]),
        (("ort:disabled", "ort:all", "one", "two"), (), ["ort:disabled", "ort:all"], ["one", "two"]),
        (("ort:all", "ort@1:all", "one", "two"), (), ["ort:all"], ["ort@1:all", "one", "two"]),
        # Who is blamed too bears no witness.
        (("ort:all", "ort@1:all", "one", "two"), ("ort@1:all",), ["ort:all"], ["one", "two"]),
        (("ort:all", "ort:disabled", "ort@1:all", "one"), ("ort:disabled",), ["ort:all", "ort:disabled"],
         ["ort@1:all", "one"]),
        # Of many others those are asked that are enough.
        (("ort:all", "ort@1:all", "one", "two", "three"), (), ["ort:all"], ["one", "two"]),
        (("ort:all", "one", "two", "three", "four"), (), ["ort:all"], ["one", "two"]),
    ],
)  # fmt: skip
def test_who_is_asked_and_who_bears_witness(
    names: Sequence[str], also: tuple[str, ...], variants: list[str], witnesses: list[str]
) -> None:
    asked = affected_versions._Question.about(finding(*names, also=also))
    assert asked.blamed.name == "ort:all"
    assert [t.name for t in asked.variants] == variants
    assert [r.target.name for r in asked.witnesses] == witnesses


def test_the_version_in_which_it_was_found() -> None:
    found = finding("ort:all", "one", "two")
    own = affected_versions._Question.about(found).own()
    assert own == VersionAnswer("ort:all", "9", "", shows=True, signature=signature(found.verdict, PROGRAM))


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes versions of ``ort`` installed, all of which a runner has."""

    def install(*versions: str, broken: tuple[str, ...] = ()) -> None:
        def versions_of(of: Target) -> list[Availability]:
            variant = of.name.partition(":")[2]
            others = [Availability(target(f"ort@{v}:{variant}"), "gone" if v in broken else "") for v in versions]
            return [Availability(target("ort:all"), ""), *others]

        monkeypatch.setattr(affected_versions, "versions_of", versions_of)

    return install


class Asked(AffectedVersions):
    """Versions that show the fault, of which it is noted that they were asked."""

    def __init__(self, shows: Any, *, stop_after: int = 99) -> None:
        super().__init__(SimpleNamespace(targets=()), Limits(), lambda: len(self.asked) >= stop_after)  # type: ignore[arg-type]
        self.shows = shows
        self.asked: list[str] = []

    def _answer(self, about: Any, environment: str, group: Sequence[Target]) -> VersionAnswer:
        version = group[0].version
        self.asked.append(version)
        return VersionAnswer(group[0].name, version, environment, self.shows(float(version)))


def test_variants_of_each_version_that_can_be_used(installed: Any) -> None:
    installed("1", "2", "3", broken=("2",))
    groups = affected_versions._Question.about(finding("ort:all", "ort:disabled", "one", "two")).others()
    assert {e: [t.name for t in g] for e, g in groups.items()} == {
        "ort-1": ["ort@1:all", "ort@1:disabled"],
        "ort-3": ["ort@3:all", "ort@3:disabled"],
    }


def test_few_versions_are_all_asked_and_of_many_those_that_tell(installed: Any) -> None:
    found = finding("ort:all", "one", "two")
    installed(*map(str, range(1, MANY + 1)))
    few = Asked(lambda version: version >= 4)
    assert [(s.version, s.shows) for s in few.shown_in(found)] == [
        ("1", False), ("2", False), ("3", False), ("4", True), ("5", True), ("9", True),
    ]  # fmt: skip
    assert len(few.asked) == MANY
    installed(*map(str, range(1, MANY + 2)))
    many = Asked(lambda version: version >= 4)
    told = {s.version: s.shows for s in many.shown_in(found)}
    assert len(many.asked) < MANY
    assert (told["3"], told["4"]) == (False, True)
    assert all(not s.previous for s in many.shown_in(found))


def test_releases_are_asked_between_those_that_tell(installed: Any) -> None:
    found = finding("ort:all", "one", "two")
    installed("1", "2", "4")
    tried: list[str] = []

    def install(version: str) -> bool:
        tried.append(version)
        if version == "3":
            installed("1", "2", "3", "4")
        return version == "3"

    asked = Asked(lambda version: version >= 3)
    shown = asked.narrowed(found, ["0", "1", "2", "3", "4", "9"], install)
    assert [(s.version, s.shows, s.previous) for s in shown if s.version in "239"] == [
        ("2", False, "1"), ("3", True, "2"), ("9", True, "4"),
    ]  # fmt: skip
    assert "3" in tried
    assert "0" in tried, "the oldest is not installed"
    assert "0" not in asked.asked
    assert Asked(lambda version: True, stop_after=0).narrowed(found, [], install)[0].version == "9"


def test_versions_are_not_asked_if_there_is_no_time(installed: Any) -> None:
    installed("1")
    found = finding("ort:all", "one", "two")
    assert Asked(lambda version: True, stop_after=0)(found) is found
    assert len(Asked(lambda version: True)(found).shown) == 2
    installed()
    assert Asked(lambda version: True)(found) is found


def answer_of(monkeypatch: pytest.MonkeyPatch, runner: Any) -> VersionAnswer:
    versions = AffectedVersions(SimpleNamespace(targets=()), Limits())  # type: ignore[arg-type]
    monkeypatch.setattr(AffectedVersions, "runner", runner)
    about = affected_versions._Question.about(finding("ort:all", "one", "two"))
    return versions._answer(about, "ort-1", [target("ort@1:all")])


def test_a_version_that_does_not_start_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(self: object, targets: object) -> Any:
        raise UsageError("x" * 300 + "\nmore")

    found = answer_of(monkeypatch, refuses)
    assert found == VersionAnswer("ort@1:all", "1", "ort-1", shows=None, told="x" * 200)
    gone = Availability(target("ort@1:all"), "no wheel\nmore")
    for absent, told in (([gone], "no wheel"), ([], "it does not start")):
        found = answer_of(monkeypatch, lambda *_, absent=absent: SimpleNamespace(targets=(), absent=absent))
        assert found == VersionAnswer("ort@1:all", "1", "ort-1", shows=None, told=told)


def test_runners_stay_open_and_are_closed_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[list[str]] = []
    closed: list[int] = []

    class Made:
        def __init__(self, targets: Sequence[Target], limits: Limits, *, required: bool) -> None:
            assert not required
            opened.append([t.name for t in targets])
            self.number = len(opened)

        def __enter__(self) -> Self:
            return self

        def close(self) -> None:
            closed.append(self.number)

    monkeypatch.setattr(affected_versions, "Runner", Made)
    versions = AffectedVersions(SimpleNamespace(targets=()), Limits())  # type: ignore[arg-type]
    one, two, three = (target(f"ort@{v}:all") for v in "123")
    both: Any = versions.runner([one, two])
    assert versions.runner([two]) is both
    assert versions.runner([two, one]) is both
    other: Any = versions.runner([two, three])
    assert other is not both
    assert opened == [["ort@1:all", "ort@2:all"], ["ort@2:all", "ort@3:all"]]
    versions.close()
    assert closed == [1, 2]
    versions.close()
    assert closed == [1, 2]
