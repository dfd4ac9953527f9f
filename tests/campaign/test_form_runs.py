"""What runs together when a target is tested against itself, on a runner without processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx.parser
import pytest

from irfuzz.campaign.self_testing import equivalent_form_testing
from irfuzz.campaign.self_testing.contradiction_record import Contradiction
from irfuzz.campaign.self_testing.equivalent_form_testing import MEASURED, Equivalence, ran
from irfuzz.errors import Unsupported
from irfuzz.execute.adapters.alternative_runs import OtherWay, Way
from irfuzz.execute.request_batching import Task
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.ir.program import Program
from irfuzz.oracle.equivalent_form_comparison import Answer
from irfuzz.rewrite.rewrite_rule import Exactness
from irfuzz.rewrite.rewrite_table import build_rewrites
from irfuzz.spec import load_specs

pytestmark = pytest.mark.unit

X = {"x": np.array([1, -2], np.float32)}
A, B = Target("a", "a"), Target("b", "b")


def program(body: str = "y = Neg (x)") -> Program:
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) {{ {body} }}'
    return Program.from_proto(onnx.parser.parse_model(text))


def way(name: str, target: Target = A, **fields: Any) -> OtherWay:
    made = Way(name, fields.pop("eagle", 2), f"run by {name}", **fields)
    return OtherWay(made, replace(target, name=f"{target.name}+{name}"))


def _nodes(one: Program | bytes) -> int:
    return len((one if isinstance(one, Program) else Program.from_bytes(one)).graph)


class Fake:
    """A runner that answers with -x, by the target's name with something else; notes the requests."""

    def __init__(self, *targets: Target, **answers: Any) -> None:
        self.targets = targets
        self.answers = answers
        self.large = 1.0
        """Programs of several nodes give so many times the right answer."""
        self.asked: list[list[tuple[int, list[str]]]] = []
        self.fresh: list[str] = []

    def _one(self, target: Target, one: Program | bytes, inputs: Mapping[str, Any]) -> RunResult:
        answer = self.answers.get(target.name.replace("+", "_").replace("-", "_"), 1.0)
        if isinstance(answer, Exit):
            return RunResult(target, Stage.RUN, answer, error="it does not")
        answer *= self.large if _nodes(one) > 1 else 1.0
        return RunResult(target, Stage.RUN, Exit.OK, {"y": -inputs["x"] * np.float32(answer)})

    def run_all(self, tasks: Sequence[Task]) -> list[list[RunResult]]:
        self.asked.append([(_nodes(task.program), [t.name for t in task.targets]) for task in tasks])
        return [[self._one(target, task.program, task.inputs) for target in task.targets] for task in tasks]

    def run(self, one: Program, inputs: Mapping[str, Any], targets: Sequence[Target]) -> list[RunResult]:
        return [self._one(target, one, inputs) for target in targets]

    def run_fresh(self, one: Program, inputs: Mapping[str, Any], targets: Sequence[Target]) -> list[RunResult]:
        self.fresh += [target.name for target in targets]
        return self.run(one, inputs, targets)


def engine(runner: Fake, rewrites: list[str] | None = None, **options: Any) -> Equivalence:
    table = build_rewrites(rewrites)
    return Equivalence(runner, load_specs(), table, **options)  # type: ignore[arg-type]


def fitting(one: Program) -> list[str]:
    return [rewrite.name for rewrite in engine(Fake(A))._turns.each(one)]


NAME = fitting(program())[0]


@pytest.mark.parametrize(
    ("ends", "forms", "requests"),
    [(Exit.OK, 0, 1), (Exit.OK, 2, 2), (Exit.REJECTED, 2, 1), (Exit.REJECTED, 0, 1), (Exit.OK, 9, 3)],
)
def test_forms_run_only_if_there_are_some_and_a_target_runs_the_program(ends: Exit, forms: int, requests: int) -> None:
    """Eight of them run together."""
    runner = Fake(A, **({} if ends is Exit.OK else {"a": ends}))
    one = engine(runner, [NAME])
    assert list(one.check("m", program(), forms)) == []
    assert len(runner.asked) == requests
    assert runner.asked[0] == [(1, ["a"])]
    assert all(names == ["a"] for request in runner.asked for _, names in request)
    assert dict(one.counts.unusable) == ({} if ends is Exit.OK else {("m", "a"): "it does not"})
    assert sum(one.counts.answers.values()) == (forms if ends is Exit.OK else 0)


@pytest.mark.parametrize(
    ("ends", "forms", "made"), [(Exit.OK, 0, 0), (Exit.OK, 3, 3), (Exit.REJECTED, 3, 0), (Exit.REJECTED, 0, 0)]
)
def test_all_forms_run_together(ends: Exit, forms: int, made: int) -> None:
    runner = Fake(A, B, **({} if ends is Exit.OK else {"a": ends, "b": ends}))
    one = engine(runner, [NAME])
    runs = one.run("m", program(), X, forms, lambda place: True, None)
    assert len(runs.forms) == made
    assert len(runner.asked) == 1 + bool(made)
    assert [result.target.name for result in runs.before] == (["a", "b"] if ends is Exit.OK else [])
    assert not one._turns._tried or made


def test_only_targets_that_ran_the_program_run_its_forms() -> None:
    runner = Fake(A, B, b=Exit.UNSUPPORTED)
    one = engine(runner, [NAME])
    runs = one.run("m", program(), X, 2, lambda place: True, None)
    assert all(names == ["a"] for _, names in runner.asked[1])
    assert [[result.target.name for result in after] for _, _, after in runs.forms] == [["a"], ["a"]]


def test_the_first_forms_are_those_that_were_tried_least_or_begin_with_one() -> None:
    one = engine(Fake(A))
    whole = program()
    names = [rewrite.name for rewrite in one._turns.each(whole)]
    assert one.fitting(whole) == len(names) > 2
    assert [rewrite.name for rewrite in one._first(whole, 0)] == names
    assert [rewrite.name for rewrite in one._first(whole, 2)] == names[2:]
    assert len(one._first(whole, None)) == 1


@pytest.mark.parametrize("since", [0, 1])
def test_each_rewrite_that_fits_makes_a_form_alone(since: int) -> None:
    one = engine(Fake(A), seed=3)
    whole = program()
    names = [rewrite.name for rewrite in one._turns.each(whole)][since:]
    runs = one.run("m", whole, X, len(names), lambda place: True, since)
    made = [[step.rewrite for step, _ in chain] for chain, _, _ in runs.forms]
    assert all(len(chain) == 1 for chain in made)
    assert {chain[0] for chain in made} <= set(names)
    assert len(made) > 1
    assert one.counts.forms == {chain[0]: 1 for chain in made}


def test_forms_for_which_no_inputs_can_be_made_are_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise Unsupported("inputs", "Loop", "it takes none")

    runner = Fake(A)
    one = engine(runner, [NAME])
    monkeypatch.setattr(equivalent_form_testing, "make_inputs", none)
    runs = one.run("m", program(), X, 2, lambda place: True, None)
    assert (runs.forms, len(runner.asked)) == ([], 1)
    assert one.counts.answers == {("a", Answer.UNDECIDED): 2}
    (((target, rewrite, why), count),) = one.counts.undecided.items()
    assert (target, rewrite, "it takes none" in why, count) == ("a", NAME, True, 2)


@pytest.mark.parametrize(("chain", "lengths"), [(1, {1}), (2, {1, 2}), (3, {1, 2, 3})])
def test_chains_of_later_forms_are_of_any_length_up_to_the_longest(chain: int, lengths: set[int]) -> None:
    one = engine(Fake(A), chain=chain, seed=1)
    runs = one.run("m", program(), X, 24, lambda place: True, None)
    assert {len(steps) for steps, _, _ in runs.forms} == lengths
    assert len(runs.forms[0][0]) == 1


# ---- other ways -----------------------------------------------------------------------------


def test_quick_ways_travel_with_the_program_and_others_alone() -> None:
    plain, none = way("plain"), way("none", model=lambda data: None)
    spelt, dear = way("spelt", model=lambda data: data), way("dear", dear=frozenset("a"))
    others = [dear, spelt, none, plain]
    runner = Fake(A, B, *(other.target for other in others))
    one = engine(runner, others={"a": others})
    assert [target.name for target in one.targets] == ["a", "b"]
    runs = one.run_ways("m", program(), X, lambda place: True)
    assert runner.asked == [[(1, ["a", "b", "a+plain"]), (1, ["a+dear"]), (1, ["a+spelt"])]]
    assert [result.target.name for result in runs.before] == ["a", "b"]
    ways = {name: [(o.way.name, r.target.name) for o, r in row] for name, row in runs.ways.items()}
    assert ways == {"a": [("dear", "a+dear"), ("spelt", "a+spelt"), ("plain", "a+plain")]}
    assert list(one.judge_ways(runs)) == []
    assert one.counts.forms == {"dear": 1, "spelt": 1, "plain": 1}
    assert one.ways("a") == [spelt, none, plain, dear]
    assert one.ways("b") == []


def test_dear_ways_run_if_they_are_asked_for_by_their_place() -> None:
    others = [way("dear", dear=frozenset("a")), way("plain"), way("dearer", dear=frozenset("a"))]
    runner = Fake(A, *(other.target for other in others))
    one = engine(runner, others={"a": others})
    places: list[int] = []

    def second(place: int) -> bool:
        places.append(place)
        return place == 2

    runs = one.run_ways("m", program(), X, second)
    assert places == [1, 2]
    assert [other.way.name for other, _ in runs.ways["a"]] == ["plain", "dearer"]


def test_a_way_whose_target_did_not_start_is_left_out() -> None:
    there, absent = way("there"), way("absent")
    one = engine(Fake(A, there.target), others={"a": [there, absent]})
    assert one.ways("a") == [there]


def test_a_target_that_is_wrong_in_another_way_contradicts_itself() -> None:
    other = way("other")
    runner = Fake(A, other.target, a_other=2.0)
    one = engine(runner, others={"a": [other]})
    (found,) = one.check("m", program(), 0)
    assert (found.model, found.target, found.other) == ("m", "a", other)
    assert (found.step.rewrite, found.step.operator, found.chain) == ("other", "Neg", (found.step,))
    assert found.step.exactness is Exactness.BITWISE
    assert found.comparison.answer is Answer.DIFFERENT
    assert {"a", "a+other"} <= set(runner.fresh)
    assert one.counts.answers == {("a", Answer.DIFFERENT): 1}


def test_what_fresh_processes_do_not_show_is_none() -> None:
    other = way("other")
    runner = Fake(A, other.target, a_other=2.0)
    one = engine(runner, others={"a": [other]})
    runs = one.run_ways("m", program(), X, lambda place: True)
    runner.answers.clear()
    assert list(one.judge_ways(runs)) == []
    assert one.counts.answers == {("a", Answer.DIFFERENT): 1}
    runner.answers["a"] = Exit.CRASH
    assert one.again("m", program(), X, A, (), other) is None


@pytest.mark.parametrize("chain", [1, 3])
def test_a_form_that_computes_something_else_is_led_back_to_its_first_rewrite(chain: int) -> None:
    runner = Fake(A)
    runner.large = 3.0
    one = engine(runner, chain=chain, seed=1)
    found = list(one.check("m", program(), 6, inputs=X))
    wrong = one.counts.answers["a", Answer.DIFFERENT]
    assert len(found) == wrong > 0
    for item in found:
        assert (item.model, item.target, item.other) == ("m", "a", None)
        assert (len(item.chain), item.step) == (1, item.chain[-1])
        assert (item.comparison.answer, len(item.form.graph) > 1) == (Answer.DIFFERENT, True)
        assert item.results[0].outputs["y"].tolist() == [-1.0, 2.0]
    assert set(runner.fresh) == {"a"}


def test_a_step_for_which_no_inputs_can_be_made_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = Fake(A)
    runner.large = 3.0
    one = engine(runner, seed=1)
    found = next(iter(one.check("m", program(), 6, inputs=X)))

    def none(*_: object) -> None:
        raise Unsupported("inputs", "Loop", "it takes none")

    assert one.again("m", program(), X, A, found.chain) is not None
    monkeypatch.setattr(equivalent_form_testing, "make_inputs", none)
    assert one.again("m", program(), X, A, found.chain) is None


def test_a_step_that_fits_no_more_shows_nothing() -> None:
    runner = Fake(A)
    runner.large = 3.0
    one = engine(runner, seed=1)
    found = next(iter(one.check("m", program(), 6, inputs=X)))
    step = replace(found.chain[0], site="no such value")
    assert one.again("m", program(), X, A, (step,)) is None


def test_ways_that_take_long_run_unless_somebody_says_which() -> None:
    dear = way("dear", dear=frozenset("a"))
    one = engine(Fake(A, dear.target), others={"a": [dear]})
    assert list(one.check("m", program(), 0)) == []
    assert one.counts.forms == {"dear": 1}


def contradiction(**fields: Any) -> Contradiction:
    other = way("other", exact=False)
    one = engine(Fake(A, other.target, a_other=2.0), others={"a": [other]})
    found = one.again("m", program(), X, A, (), other, fresh=False)
    assert found is not None
    assert found.step.exactness is Exactness.BOUNDED
    return replace(found, results=(found.results[0], replace(found.results[1], **fields)))


def result(exit_: Exit, error: str = "", y: float = 1.0) -> dict[str, Any]:
    return {"exit": exit_, "error": error, "outputs": {"y": X["x"] * np.float32(y)} if exit_ is Exit.OK else {}}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (result(Exit.OK), result(Exit.OK), True),
        (result(Exit.OK), result(Exit.OK, y=3.0), False),
        (result(Exit.REJECTED, "axis 3"), result(Exit.REJECTED, "axis 4"), True),
        (result(Exit.REJECTED, "axis"), result(Exit.REJECTED, "shape"), False),
        (result(Exit.REJECTED, "axis"), result(Exit.CRASH, "axis"), False),
        (result(Exit.OK), result(Exit.REJECTED, "axis"), False),
        (result(Exit.REJECTED, ""), result(Exit.OK), False),
    ],
)
def test_whether_two_ways_do_the_same(one: dict[str, Any], other: dict[str, Any], same: bool) -> None:
    assert engine(Fake(A)).agree(contradiction(**one), contradiction(**other)) is same


@pytest.mark.parametrize(
    ("exit_", "stage", "went"),
    [(Exit.OK, Stage.RUN, True), (Exit.OK, Stage.COMPILE, False), (Exit.REJECTED, Stage.RUN, False)],
)
def test_what_went_through(exit_: Exit, stage: Stage, went: bool) -> None:
    assert ran(RunResult(A, stage, exit_)) is went


def test_the_operator_of_a_way_is_known_if_there_is_but_one() -> None:
    other = way("other")
    assert equivalent_form_testing._step(other, program()).operator == "Neg"
    assert equivalent_form_testing._step(other, program("a = Neg (x) y = Neg (a)")).operator == "Neg"
    assert equivalent_form_testing._step(other, program("a = Neg (x) y = Abs (a)")).operator == "program"


def test_runs_on_moved_inputs_are_remembered_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = Fake(A)
    one = engine(runner)
    seen: list[Any] = []

    def compare(*_: object, rerun: Any, **options: Any) -> Any:
        seen.append((rerun, options))
        return None

    monkeypatch.setattr(equivalent_form_testing, "compare_forms", compare)
    (before,) = runner.run(program(), X, [A])
    one._seen(program(), X, before, before, [])
    rerun, options = seen[0]
    assert (options["bitwise"], options["optimised"]) == (True, False)
    first = rerun(X)
    assert rerun({**X, "not its own": X["x"]}) is first
    assert rerun({"x": X["x"] + 1}) is not first
    assert rerun(X, program("y = Abs (x)")) is not first
    assert len(one._measured) == 3
    for n in range(MEASURED - 3):
        one._measured[str(n).encode()] = []
    assert len(one._measured) == MEASURED
    assert rerun(X) is first
    rerun({"x": X["x"] + 2})
    assert len(one._measured) == 1, "they begin anew"
    for eagle, exact in ((1, True), (2, False)):
        one._seen(program(), X, before, before, [], way("w", eagle=eagle, exact=exact))
        assert (seen[-1][1]["optimised"], seen[-1][1]["bitwise"]) == (eagle == 1, exact)
