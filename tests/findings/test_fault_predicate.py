"""Whether another program shows the same fault: asked of no more targets than that takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

from irfuzz.errors import InvalidProgram
from irfuzz.execute.float64_shadow_runs import ShadowRun
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target, Value
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.findings.fault_predicate import FaultPredicate, among, same_fault, told_by
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.reduce.session import OutOfBudget
from irfuzz.store.npz_tensors import unpack

REFUSED = Path(__file__).resolve().parents[2] / "docs" / "bugs" / "003-onnxruntime-pad-conv-weights"
BLAMED = "onnxruntime:basic"
NAMES = ("onnxruntime:disabled", BLAMED, "reference", "torch:eager")
OTHER = '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Exp (x) }'


def test_the_others_are_asked_only_where_the_blamed_one_refuses() -> None:
    program = Program.from_bytes((REFUSED / "model.onnx").read_bytes())
    inputs = unpack((REFUSED / "inputs.npz").read_bytes())
    well, x = Program.from_proto(onnx.parser.parse_model(OTHER)), {"x": np.ones(2, np.float32)}
    with Runner(resolve(NAMES)) as runner:
        first = FaultPredicate([runner], Verdict("", Symptom.REJECTION, BLAMED), program)
        verdicts, results = first.judged(program, inputs)
        assert [r.target.name for r in results] == list(NAMES)
        (verdict,) = (v for v in verdicts if v.target == BLAMED)
        watch = FaultPredicate([runner], verdict, program)
        assert watch.still(program, inputs)
        assert not watch.still(well, x)
        assert [r.target.name for r in watch.judged(well, x)[1]] == [BLAMED]
        numeric = FaultPredicate([runner], Verdict("", Symptom.DIFFERENCE, BLAMED), program)
        assert len(numeric.judged(well, x)[1]) == len(NAMES)


REFUSAL = Verdict("", Symptom.REJECTION, "a:all", ("b", "d"), exit="rejected", message="no 'y'")
LENIENT = Verdict("", Symptom.LENIENCY, "a:all", operator="Pad", rule="size")


def well() -> Program:
    return Program.from_proto(onnx.parser.parse_model(OTHER))


@pytest.mark.unit
def test_only_who_refuses_or_dies_says_something() -> None:
    program = well()
    told = told_by(REFUSAL, program)
    assert told.startswith("rejected no")
    assert "y" not in told.removeprefix("rejected no")
    assert told_by(replace(REFUSAL, symptom=Symptom.CRASH, exit="crash", message=""), program) == "crash"
    for symptom in (Symptom.HANG, Symptom.MEMORY, Symptom.DIFFERENCE, Symptom.LENIENCY):
        assert told_by(replace(REFUSAL, symptom=symptom), program) == ""


@pytest.mark.unit
@pytest.mark.parametrize(
    ("one", "wanted", "same", "beside"),
    [
        (REFUSAL, REFUSAL, True, True),
        (replace(REFUSAL, message="other"), REFUSAL, True, True),
        (replace(REFUSAL, suspect=True), REFUSAL, False, False),
        (replace(REFUSAL, symptom=Symptom.CRASH), REFUSAL, False, False),
        (replace(REFUSAL, target="a", also=("a:all",)), REFUSAL, False, True),
        (replace(REFUSAL, target="a"), REFUSAL, False, False),
        (replace(REFUSAL, rule="size"), REFUSAL, True, True),
        (LENIENT, LENIENT, True, True),
        (replace(LENIENT, rule="rank"), LENIENT, False, False),
        (replace(LENIENT, operator="Conv"), LENIENT, False, False),
    ],
)
def test_which_verdicts_are_on_the_same_fault(one: Verdict, wanted: Verdict, same: bool, beside: bool) -> None:
    first = replace(one, target="z", also=())
    assert same_fault([first, one], wanted) == (one if same else None)
    assert among([first, one], wanted) == (one if beside else None)
    assert same_fault([], wanted) is None
    assert among([], wanted) is None


Y: dict[str, Value] = {"y": np.ones(2, np.float32)}


class Told:
    """A runner whose targets agree, and give their name's length as ``t``; some end in another way."""

    def __init__(self, targets: Sequence[Target], **exits: Exit) -> None:
        self.targets = tuple(targets)
        self.exits = exits
        self.asked: list[list[str]] = []

    def run(
        self, program: Program, inputs: Mapping[str, Value], targets: Sequence[Target] | None = None
    ) -> list[RunResult]:
        chosen = self.targets if targets is None else targets
        self.asked.append([t.name for t in chosen])
        return [
            RunResult(t, Stage.RUN, self.exits.get(t.component, Exit.OK), {**Y, "t": np.array(len(t.name))}, error="no")
            for t in chosen
        ]

    def shadow(self, program: Program, inputs: Mapping[str, Value]) -> ShadowRun:
        raise AssertionError("values do not differ")

    quick_shadow = shadow


BAD = Target("a:all", "a")
OLD, REFERENCE, SLOW = (
    Target("b@1", "b", environment="old"),
    Target("reference", "reference"),
    Target("s", "s", slow=True),
)
GOOD, OTHERS = Target("d:plain", "d"), Target("e", "e")


@pytest.mark.unit
@pytest.mark.parametrize(
    ("witnesses", "broken", "asked"),
    [
        (("b@1", "reference", "d:plain", "s"), (), ["d:plain"]),
        (("b@1", "reference", "s"), (), ["b@1"]),
        (("b@1", "reference", "s"), ("b",), ["b@1", "reference"]),
        (("b@1", "d:plain"), ("b", "d"), ["d:plain", "b@1"]),
        ((), (), ["d:plain"]),
        ((), ("d",), ["d:plain", "e"]),
    ],
)
def test_inner_values_are_those_of_the_quickest_witness(
    witnesses: tuple[str, ...], broken: tuple[str, ...], asked: list[str]
) -> None:
    runner = Told([BAD, REFERENCE, OLD, SLOW, GOOD, OTHERS], **dict.fromkeys(broken, Exit.CRASH))
    watch = FaultPredicate([runner], replace(REFUSAL, witnesses=witnesses), well())  # type: ignore[list-item]
    values = watch.values_of(well(), {"x": np.ones(2, np.float32)})
    assert [names for (names,) in runner.asked] == asked
    last = next(t for t in runner.targets if t.name == asked[-1])
    assert values == ({} if last.component in broken else {**Y, "t": len(asked[-1])})
    assert watch.jobs == 1
    again = watch.values_of(well(), {"x": np.ones(2, np.float32)})
    assert again == values, "the runner is handed back"


@pytest.mark.unit
@pytest.mark.parametrize("symptom", [Symptom.REJECTION, Symptom.CRASH, Symptom.HANG, Symptom.MEMORY, Symptom.NAN_INF])
@pytest.mark.parametrize("ends", [True, False])
def test_who_is_asked_first(symptom: Symptom, ends: bool) -> None:
    runner = Told([GOOD, BAD, OTHERS], **({"a": Exit.REJECTED} if ends else {}))
    watch = FaultPredicate([runner], replace(REFUSAL, symptom=symptom), well())  # type: ignore[list-item]
    results = watch.judged(well(), {"x": np.ones(2, np.float32)})[1]
    every = ["d:plain", "a:all", "e"]
    if symptom is Symptom.NAN_INF:
        assert runner.asked[0] == every
    else:
        assert runner.asked[: 1 + ends] == [["a:all"], ["d:plain", "e"]][: 1 + ends]
    assert [r.target.name for r in results] == (every if ends or symptom is Symptom.NAN_INF else ["a:all"])


@pytest.mark.unit
def test_what_cannot_be_run_does_not_show_it_and_what_is_over_is_not_run() -> None:
    class Refuses(Told):
        def run(self, *_: object) -> list[RunResult]:
            raise InvalidProgram("no")

    inputs = {"x": np.ones(2, np.float32)}
    watch = FaultPredicate([Refuses([BAD])], REFUSAL, well())  # type: ignore[list-item]
    assert watch.still(well(), inputs) is False
    with pytest.raises(OutOfBudget):
        FaultPredicate([Told([BAD])], REFUSAL, well(), stopping=lambda: True).still(well(), inputs)  # type: ignore[list-item]


@pytest.mark.unit
def test_nodes_are_run_alone_unless_the_target_is_gone_or_slow_or_the_program_large() -> None:
    inputs = {"x": np.ones(2, np.float32)}
    for targets in ([GOOD, OTHERS], [GOOD, replace(BAD, slow=True)]):
        runner = Told(targets)
        assert FaultPredicate([runner], REFUSAL, well()).faulty_parts(well(), inputs) == []  # type: ignore[list-item]
        assert runner.asked == []
    chain = " ".join(f"t{i + 1} = Neg(t{i})" for i in range(400))
    text = f'<ir_version: 8, opset_import: ["": 17]> g (float[2] t0) => (float[2] t400) {{ {chain} y = Neg(t400) }}'
    large, runner = Program.from_proto(onnx.parser.parse_model(text)), Told([GOOD, BAD])
    assert len(large.graph) == 401
    assert FaultPredicate([runner], REFUSAL, large).faulty_parts(large, {"t0": inputs["x"]}) == []  # type: ignore[list-item]
    assert runner.asked == []
