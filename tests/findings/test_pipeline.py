"""Each step of the pipeline gives a finding on, or drops it and says why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import onnx.parser
import pytest

from irfuzz.execute.float64_shadow_runs import ShadowRun
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target, Value
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.fault_predicate import FaultPredicate, among
from irfuzz.findings.finding import Finding
from irfuzz.findings.pipeline import (
    DroppedFinding,
    FindingReproducer,
    blame,
    confirm,
    find_cause,
    find_conditions,
    pass_through,
    reduce,
    sign,
    steps,
)
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom, Verdict

pytestmark = pytest.mark.unit

TEXT = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { a = Neg(x) y = Neg(a) }'
SMALL = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Neg(x) }'
X = {"x": np.array([1, 2], np.float32)}
TARGETS = (Target("bad", "bad"), Target("one", "one"), Target("two", "two"))
VERDICT = Verdict("rejection", Symptom.REJECTION, "bad", ("one", "two"), stage="compile", message="no")


def case(text: str) -> FailingCase:
    return FailingCase(Program.from_proto(onnx.parser.parse_model(text)), X)


class Refusing:
    """A runner whose first target refuses programs of so many nodes; ``heard`` is how often all three ran."""

    def __init__(self, *sizes: int) -> None:
        self.targets = TARGETS
        self.sizes = sizes
        self.heard: list[tuple[int, bool]] = []

    def run(
        self, program: Program, inputs: Mapping[str, Value], targets: Sequence[Target] | None = None
    ) -> list[RunResult]:
        return self._run(program, inputs, targets or TARGETS, fresh=False)

    def run_fresh(
        self, program: Program, inputs: Mapping[str, Value], targets: Sequence[Target] | None = None
    ) -> list[RunResult]:
        return self._run(program, inputs, targets or TARGETS, fresh=True)

    def _run(
        self, program: Program, inputs: Mapping[str, Value], targets: Sequence[Target], *, fresh: bool
    ) -> list[RunResult]:
        size = len(program.graph)
        self.heard.append((size, fresh))
        right = RunResult(TARGETS[1], Stage.RUN, Exit.OK, outputs={"y": inputs["x"]})
        wrong = RunResult(TARGETS[0], Stage.COMPILE, Exit.REJECTED, error="no")
        return [replace(wrong if t.name == "bad" and size in self.sizes else right, target=t) for t in targets]

    def shadow(self, program: Program, inputs: Mapping[str, Value]) -> ShadowRun:
        raise AssertionError("values do not differ")

    quick_shadow = shadow


class Shelf:
    """An archive that keeps what it is given."""

    def __init__(self, known: str = "") -> None:
        self.known = known
        self.kept: list[Finding] = []

    def settle(self, finding: Finding) -> Finding | DroppedFinding:
        return DroppedFinding("repeated") if finding.signature == self.known else finding

    def replay(self, finding: Finding) -> Finding:
        return replace(finding, printed="shown")

    def store(self, finding: Finding) -> Finding:
        self.kept.append(finding)
        return replace(finding, number=len(self.kept))


def bench(runner: Refusing, small: str = SMALL, *, stopping: bool = False) -> FindingReproducer:
    def shrink(finding: Finding, watch: FaultPredicate) -> FailingCase:
        assert watch.still(finding.case.program, finding.case.inputs)
        return case(small)

    return FindingReproducer(
        [runner],  # type: ignore[list-item]
        lambda _: TARGETS, lambda _: TARGETS, shrink, lambda *_: "unseen", lambda _: "unheard", lambda: stopping,
    )  # fmt: skip


def seen() -> Finding:
    whole = case(TEXT)
    return Finding(VERDICT, whole, whole)


def test_the_whole_way() -> None:
    shelf, runner = Shelf(), Refusing(1, 2)
    found = pass_through(seen(), steps(bench(runner), shelf))
    assert isinstance(found, Finding)
    assert found.signature == "rejection|bad|compile|no|Neg"
    assert (found.number, found.printed, len(found.case.program.graph)) == (1, "shown", 1)
    assert [(r.name, r.exit) for r in found.runs] == [("bad", "rejected"), ("one", "ok"), ("two", "ok")]
    assert len(found.original.program.graph) == 2
    assert found.before is not None
    assert found.before.verdict.message == "no"
    assert [size for size, fresh in runner.heard if fresh] == [2, 1], "each case is confirmed in fresh processes"


def test_what_fresh_processes_do_not_show_is_dropped() -> None:
    assert confirm(bench(Refusing()), seen()) == DroppedFinding("unseen")


def test_a_newer_version_that_shows_it_too_is_blamed_instead() -> None:
    """The campaign had not run it: only those who confirm a finding ask the newest version."""
    newest = Target("bad", "bad", version="2.0")
    old = Target("bad@1.0", "bad", version="1.0", environment="bad-1.0")
    runner = Refusing(2)

    class Asks(Refusing):
        def _run(
            self, program: Program, inputs: Mapping[str, Value], targets: Sequence[Target], *, fresh: bool
        ) -> list[RunResult]:
            one, two, right = runner._run(program, inputs, [newest, newest, TARGETS[1]], fresh=fresh)
            return [replace(one, target=old), two, right, replace(right, target=TARGETS[2])]

    start = replace(seen(), verdict=replace(VERDICT, target=old.name))
    found = confirm(bench(Asks(2)), start)
    assert isinstance(found, Finding)
    assert found.verdict.target == newest.name
    assert old.name in found.verdict.blamed


def test_what_is_known_by_its_signature_is_dropped() -> None:
    shelf = Shelf("rejection|bad|compile|no|Neg")
    assert pass_through(seen(), steps(bench(Refusing(1, 2)), shelf)) == DroppedFinding("repeated")
    assert shelf.kept == []


def test_a_small_case_that_nobody_hears_gives_way_to_the_whole() -> None:
    found = reduce(bench(Refusing(2)), seen())
    assert isinstance(found, Finding)
    assert len(found.case.program.graph) == 2
    assert found.results


def test_what_all_of_them_do_not_hear_is_dropped() -> None:
    runner = Refusing(2)
    whole = replace(seen(), results=Refusing().run(seen().case.program, X))
    assert reduce(bench(runner), whole) == DroppedFinding("unheard")


def test_nothing_is_blamed_once_a_campaign_ends() -> None:
    before = seen()
    assert blame(bench(Refusing(), stopping=True), before) is before


class Shapes(Refusing):
    """A runner whose first target gives the first value a wrong shape, and refuses to go on with it."""

    def __init__(self, *, steady: bool) -> None:
        super().__init__(2)
        self.steady = steady

    def _run(
        self, program: Program, inputs: Mapping[str, Value], targets: Sequence[Target], *, fresh: bool
    ) -> list[RunResult]:
        results = super()._run(program, inputs, targets, fresh=fresh)
        name, wrong = program.graph.outputs[0].name or "", self.steady or not fresh
        given = {name: np.array([1, 2], np.float32)}, {name: np.array([[1, 2]], np.float32)}
        return [
            replace(r, outputs=given[r.target.name == "bad" and wrong]) if r.exit is Exit.OK else r for r in results
        ]


def test_what_stumbles_over_a_wrong_shape_gives_way_to_it() -> None:
    before = seen()
    found = find_cause(bench(Shapes(steady=True)), replace(before, before=before))
    assert (found.verdict.symptom, found.verdict.target) == (Symptom.WRONG_SHAPE, "bad")
    assert len(found.case.program.graph) == 1
    assert found.before is before


def test_a_cause_that_fresh_processes_do_not_show_is_none() -> None:
    before = seen()
    assert find_cause(bench(Shapes(steady=False)), before) is before
    assert find_cause(bench(Refusing(2)), before) is before


@pytest.mark.parametrize(
    ("runner", "symptom", "stopping", "looked"),
    [
        (Refusing(1, 2), Symptom.REJECTION, False, True),
        (Refusing(1, 2), Symptom.REJECTION, True, False),
        (Refusing(1, 2), Symptom.CRASH, False, False),
    ],
)
def test_conditions_are_looked_for_unless_time_is_up_or_tries_are_dear(
    runner: Refusing, symptom: Symptom, stopping: bool, looked: bool
) -> None:
    before = replace(seen(), verdict=replace(VERDICT, symptom=symptom), case=case(SMALL))
    found = find_conditions(bench(runner, stopping=stopping), before)
    assert (found is not before) == looked
    assert looked or not runner.heard
    assert not any(fresh for _, fresh in runner.heard), "the quicker way"


def test_signing_tells_title_and_runs() -> None:
    results = Refusing(2).run(seen().case.program, X)
    found = sign(Shelf(), replace(seen(), results=results))
    assert isinstance(found, Finding)
    assert found.title == "bad rejects a program that others run in Neg: no"
    assert len(found.runs) == 3


def test_another_variant_that_shows_the_same_counts() -> None:
    other = replace(VERDICT, target="bad:plain", also=("bad",))
    assert among([replace(other, suspect=True), other], VERDICT) is other
    assert among([replace(VERDICT, symptom=Symptom.CRASH), replace(other, also=())], VERDICT) is None
