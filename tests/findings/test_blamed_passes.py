"""Where a fault is put down to: an optimiser's passes, a kernel, the compilation, a tool, or nowhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx.parser
import pytest

from irfuzz.errors import InvalidProgram
from irfuzz.execute.float64_shadow_runs import ShadowRun
from irfuzz.execute.onnxruntime_passes import known_passes
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target, Value
from irfuzz.findings.blame import blamed_passes
from irfuzz.findings.blame.blamed_passes import MOST_NODES, with_pass
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom, Verdict

pytestmark = pytest.mark.unit

X: dict[str, Value] = {"x": np.array([1, 2], np.float32)}
RIGHT: dict[str, Value] = {"y": np.array([-1, -2], np.float32)}
WRONG: dict[str, Value] = {"y": np.array([-1, 7], np.float32)}
ONE, TWO = Target("one", "one"), Target("two", "two")
ALL = Target("onnxruntime:all", "onnxruntime", options={"level": "all"})
SLIM, SAVED = Target("onnxslim", "onnxslim"), Target("onnxruntime-saved", "onnxruntime-saved")
PASSES = ("First", "Culprit", "Last")

Options = Mapping[str, str]


def program(nodes: int = 1) -> Program:
    chain = " ".join(f"t{i + 1} = Neg(t{i})" for i in range(nodes - 1)).replace("Neg(t0)", "Neg(x)")
    last = f"t{nodes - 1}" if nodes > 1 else "x"
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) {{ {chain} y = Neg({last}) }}'
    return Program.from_proto(onnx.parser.parse_model(text))


class Optimiser:
    """A runner whose blamed target does wrong as ``shows`` says of its options."""

    def __init__(self, blamed: Target, shows: Callable[[Options], bool], passes: Sequence[str] = PASSES) -> None:
        self.targets = (blamed, ONE, TWO)
        self.shows = shows
        self.passes = tuple(passes)
        self.exit = Exit.OK
        self.asked: list[Options] = []

    def run(self, program: Program, inputs: Mapping[str, Value], targets: Sequence[Target]) -> list[RunResult]:
        return [RunResult(t, Stage.RUN, Exit.OK, WRONG if t is self.targets[0] else RIGHT) for t in targets]

    def run_as(self, program: Program, inputs: Mapping[str, Value], target: Target, options: Options) -> RunResult:
        if options.get("tell") == "registered":
            return RunResult(target, Stage.RUN, Exit.OK, RIGHT, passes=self.passes)
        self.asked.append(options)
        off = options.get("off", "").split(",")
        told = tuple(name for name in self.passes if name not in off) if "tell" in options else ()
        if self.shows(options):
            return RunResult(target, Stage.RUN, Exit.OK, WRONG, passes=told)
        return RunResult(target, Stage.RUN, self.exit, RIGHT, passes=told)

    def shadow(self, program: Program, inputs: Mapping[str, Value]) -> ShadowRun:
        return ShadowRun(refused="none here")


def looked(
    runner: Optimiser, symptom: Symptom = Symptom.DIFFERENCE, nodes: int = 1, own: RunResult | None = None
) -> Verdict:
    blamed = runner.targets[0]
    verdict = Verdict("", symptom, blamed.name, ("one", "two"), output="y")
    results = [own or RunResult(blamed, Stage.RUN, Exit.OK, WRONG), *runner.run(program(), X, (ONE, TWO))]
    return with_pass(runner, program(nodes), X, verdict, results)  # type: ignore[arg-type]


def on(name: str) -> Callable[[Options], bool]:
    """A fault that one pass makes."""
    return lambda options: name not in options.get("off", "").split(",") and options.get("level") != "disabled"


def always(_options: Options) -> bool:
    return True


def optimised(options: Options) -> bool:
    return options.get("level") != "disabled"


def test_a_pass_is_blamed() -> None:
    runner = Optimiser(ALL, on("Culprit"))
    found = looked(runner)
    assert (found.place, found.passes, found.together) == ("optimiser", ("Culprit",), True)
    assert all(options["tell"] == "modified" for options in runner.asked)
    assert looked(Optimiser(ALL, on("none"), ()), Symptom.DIFFERENCE).passes == ()


@pytest.mark.parametrize(
    ("shows", "exit", "place"),
    [(always, Exit.OK, "kernel"), (optimised, Exit.OK, "optimiser"), (optimised, Exit.UNSUPPORTED, "")],
)
def test_what_no_pass_makes(shows: Callable[[Options], bool], exit: Exit, place: str) -> None:  # noqa: A002
    runner = Optimiser(ALL, shows)
    runner.exit = exit
    found = looked(runner)
    assert (found.place, found.passes) == (place, ())


def test_a_refusal_while_compiling_is_no_kernels() -> None:
    runner = Optimiser(replace(ALL, options={"level": "disabled"}), always)
    refused = RunResult(runner.targets[0], Stage.COMPILE, Exit.REJECTED, error="no")
    assert looked(runner, Symptom.REJECTION, own=refused).place == "compilation"
    assert looked(runner).place == "kernel"
    assert runner.asked == [], "there is nothing to leave out"


@pytest.mark.parametrize(
    ("blamed", "passes", "shows", "place", "blames"),
    [
        (SLIM, PASSES, on("Culprit"), "optimiser", ("Culprit",)),
        (SLIM, PASSES, always, "tool", ()),
        (SLIM, (), always, "", ()),
        (SAVED, (), on(known_passes()[0]), "optimiser", known_passes()[:1]),
        (SAVED, (), always, "tool", ()),
    ],
)
def test_tools(
    blamed: Target, passes: Sequence[str], shows: Callable[[Options], bool], place: str, blames: tuple[str, ...]
) -> None:
    runner = Optimiser(blamed, shows, passes)
    found = looked(runner)
    assert (found.place, found.passes) == (place, blames)
    assert not any("tell" in options for options in runner.asked)
    assert not any("level" in options for options in runner.asked)


@pytest.mark.parametrize(
    ("blamed", "symptom", "nodes"),
    [
        (ALL, Symptom.HANG, 1),
        (ALL, Symptom.MEMORY, 1),
        (ALL, Symptom.LENIENCY, 1),
        (ALL, Symptom.DIFFERENCE, MOST_NODES + 1),
        (replace(ALL, options={"way": "script"}), Symptom.DIFFERENCE, 1),
        (replace(ALL, options={"class": "a:B"}), Symptom.DIFFERENCE, 1),
        (Target("torch:eager", "torch"), Symptom.DIFFERENCE, 1),
    ],
)
def test_what_is_not_looked_for(blamed: Target, symptom: Symptom, nodes: int) -> None:
    runner = Optimiser(blamed, always)
    found = looked(runner, symptom, nodes)
    assert (found.place, found.passes, runner.asked) == ("", (), [])


def test_programs_as_large_as_may_be_and_targets_that_are_gone() -> None:
    assert MOST_NODES == 64
    assert looked(Optimiser(ALL, always), nodes=MOST_NODES).place == "kernel"
    runner = Optimiser(ALL, always)
    verdict = Verdict("", Symptom.DIFFERENCE, ALL.name, ("one", "two"), output="y")
    assert with_pass(runner, program(), X, verdict, runner.run(program(), X, (ONE, TWO))) is verdict  # type: ignore[arg-type]

    def refuses(_options: Options) -> bool:
        raise InvalidProgram("no")

    assert looked(Optimiser(ALL, refuses)).place == ""


def test_what_is_wrong_in_another_way_without_passes_is_no_cure_and_stays_noted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[Verdict] = []
    monkeypatch.setattr(blamed_passes, "MeasuringJudge", lambda *_: SimpleNamespace(judge=lambda *_, **__: found))
    monkeypatch.setattr(blamed_passes, "same_fault", lambda verdicts, verdict: None)
    ended = RunResult(ALL, Stage.RUN, Exit.OK, RIGHT)
    asked: list[Options] = []

    def run_as(program: Program, inputs: Mapping[str, Value], target: Target, options: Options) -> RunResult:
        asked.append(options)
        return ended

    runner: Any = SimpleNamespace(run_as=run_as)
    verdict = Verdict("difference", Symptom.DIFFERENCE, ALL.name, output="y")
    look = blamed_passes._Look(runner, program(), X, verdict, ended, [ended], invalid=False)
    told: list[tuple[bool, bool]] = []
    nan = Verdict("nan", Symptom.NAN_INF, ALL.name, output="y")
    for wrong in ([], [replace(nan, target="two")], [replace(nan, suspect=True)], [nan], []):
        found[:] = wrong
        told.append((look.without(frozenset({"B", "A"})).shows, look.odd))
    assert told == [(False, False), (False, False), (False, False), (True, True), (False, True)]
    assert asked[0] == {"off": "A,B", "tell": "modified"}
