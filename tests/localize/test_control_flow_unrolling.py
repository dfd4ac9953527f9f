"""Bodies and functions are written out as one run computes them, and faults in them are named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

from irfuzz.execute.run_types import Value
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program
from irfuzz.localize.nodes.control_flow_unrolling import MOST_TURNS, has_bodies, place_of, unfold, unfold_faithfully
from irfuzz.localize.target_comparison import check
from irfuzz.report.command_reports.check_json import as_json, as_text

pytestmark = pytest.mark.backend

FAULTS = "tests/planted_targets/kernels.py"

IF = """<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x, bool c) => (float[2, 3] y) {
    a = Tanh(x)
    y = If(c) <
        then_branch = yes () => (float[2, 3] t) { s = Softmax<axis = 1>(a) t = Exp(s) },
        else_branch = no () => (float[2, 3] e) { e = Neg(a) }>
}"""

NESTED = """<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x, float[2] w) => (float[2, 3] y) {
    h = ReduceSum<keepdims = 0>(w)
    zero = Constant<value_float = 0.0>()
    c = Greater(h, zero)
    b = If(c) <
        then_branch = yes () => (float[2, 3] t) {
            d = Less(zero, h)
            t = If(d) <
                then_branch = deep () => (float[2, 3] u) { u = Softmax<axis = 1>(x) },
                else_branch = flat () => (float[2, 3] v) { v = Neg(x) }>
        },
        else_branch = no () => (float[2, 3] e) { e = Abs(x) }>
    y = Neg(b)
}"""

LOOP = """<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x, int64 n) => (float[2, 3] y, float[k, 2, 3] z) {
    yes = Constant<value = bool {1}>()
    y, z = Loop(n, yes, x) <
        body = turn (int64 i, bool go, float[2, 3] s) => (bool more, float[2, 3] next, float[2, 3] kept) {
            more = Identity(go)
            next = Softmax<axis = 1>(s)
            kept = Neg(next)
        }>
}"""

FIXED = """<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x, int64 n) => (float[2, 3] y) {
    yes = Constant<value = bool {1}>()
    y = Loop(n, yes, x) <
        body = turn (int64 i, bool go, float[2, 3] s) => (bool more, float[2, 3] next) {
            more = Identity(go)
            next = Softmax<axis = 1>(s)
        }>
}"""

UNTIL = """<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x, float limit) => (float[2, 3] y) {
    yes = Constant<value = bool {1}>()
    y = Loop(, yes, x) <
        body = turn (int64 i, bool go, float[2, 3] s) => (bool more, float[2, 3] next) {
            next = Add(s, s)
            sum = ReduceSum<keepdims = 0>(next)
            more = Less(sum, limit)
        }>
}"""

SCAN = """<ir_version: 8, opset_import: ["" : 17]> g (float[t, 3] x, float[3] h) => (float[3] last, float[t, 3] z) {
    last, z = Scan(h, x) <
        num_scan_inputs = 1,
        body = step (float[3] s, float[3] e) => (float[3] next, float[3] out) {
            sum = Add(s, e)
            next = Softmax<axis = 0>(sum)
            out = Neg(next)
        }>
}"""

FUNCTION = """<ir_version: 8, opset_import: ["" : 17, "own" : 1]> g (float[2, 3] x) => (float[2, 3] y) {
    a = own.twice(x)
    y = Neg(a)
}
<opset_import: ["" : 17], domain: "own">
twice (x) => (z) { s = Softmax<axis = 1>(x) z = Add(s, s) }"""

X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)

CASES: list[tuple[str, dict[str, Value], list[str]]] = [
    (IF, {"x": X, "c": np.array(True)}, [".then_branch/s", ".then_branch/t"]),
    (IF, {"x": X, "c": np.array(False)}, [".else_branch/e"]),
    (NESTED, {"x": X, "w": np.ones(2, np.float32)}, [".then_branch/t.then_branch/u"]),
    (LOOP, {"x": X, "n": np.array(2)}, [".body[0]/next", ".body[1]/next", ".body[1]/kept"]),
    (UNTIL, {"x": X + 1.5, "limit": np.array(100.0, np.float32)}, [".body[0]/next", ".body[3]/next"]),
    (SCAN, {"x": X, "h": np.zeros(3, np.float32)}, [".body[0]/next", ".body[1]/out"]),
    (FUNCTION, {"x": X}, ["/s", "/z"]),
]


@pytest.fixture(scope="module")
def runner(root: Path) -> Iterator[Runner]:
    with Runner(resolve(["ort:disabled", "ort:all"])) as opened:
        yield opened


def program_of(text: str) -> Program:
    return Program.from_proto(onnx.parser.parse_model(text))


@pytest.mark.parametrize(("text", "inputs", "places"), CASES)
def test_what_is_written_out_computes_the_same_and_names_its_places(
    runner: Runner, text: str, inputs: dict[str, Value], places: list[str]
) -> None:
    program = program_of(text)
    before = program.digest
    made = unfold(runner, program, inputs, runner.targets[0])
    assert made is not None
    assert not made.left
    assert not has_bodies(made.program)
    assert program.digest == before
    found = [place_of(node) for node in made.program.nodes()]
    for wanted in places:
        assert any(place.endswith(wanted) for place in found), (wanted, found)
    for one, other in zip(runner.run(program, inputs), runner.run(made.program, inputs), strict=True):
        assert one.outputs.keys() == other.outputs.keys()
        for name, value in one.outputs.items():
            np.testing.assert_array_equal(value, other.outputs[name])


def test_the_number_of_turns_is_the_runs_own(runner: Runner) -> None:
    inputs: dict[str, Value] = {"x": X + 1.5, "limit": np.array(100.0, np.float32)}
    made = unfold(runner, program_of(UNTIL), inputs, runner.targets[0])
    assert made is not None
    assert sum(node.op_type == "Add" for node in made.program.nodes()) == 4  # the sum is 9, 18, 36, 72 and 144


@pytest.mark.parametrize(("turns", "closed"), [(MOST_TURNS, False), (MOST_TURNS + 1, True)])
def test_loops_of_many_turns_stay_closed_and_say_why(runner: Runner, turns: int, closed: bool) -> None:
    made = unfold(runner, program_of(LOOP), {"x": X, "n": np.array(turns)}, runner.targets[0])
    assert (made is None) == closed


def test_a_loop_beside_an_if_is_told_as_closed(runner: Runner) -> None:
    text = LOOP.replace("int64 n)", "int64 n, bool c)").replace(
        "yes = Constant", "b = If(c) <then_branch = p () => (float[2, 3] t) { t = Exp(x) }, "
        "else_branch = q () => (float[2, 3] e) { e = Neg(x) }> yes = Constant"
    ).replace("Loop(n, yes, x)", "Loop(n, yes, b)")  # fmt: skip
    inputs: dict[str, Value] = {"x": X, "n": np.array(MOST_TURNS + 1), "c": np.array(True)}
    made = unfold(runner, program_of(text), inputs, runner.targets[0])
    assert made is not None
    assert list(made.left) == ["y"]
    assert f"{MOST_TURNS + 1} turns" in made.left["y"]
    assert any(place_of(node).endswith("then_branch/t") for node in made.program.nodes())


def test_a_program_without_bodies_stays_as_it_is(runner: Runner) -> None:
    program = program_of('<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Neg(x) }')
    assert unfold(runner, program, {"x": np.zeros(2, np.float32)}, runner.targets[0]) is None


@pytest.mark.planted
@pytest.mark.parametrize(
    ("text", "inputs", "place"),
    [
        (IF, {"x": X, "c": np.array(True)}, ".then_branch/s"),
        (NESTED, {"x": X, "w": np.ones(2, np.float32)}, ".then_branch/t.then_branch/u"),
        (FIXED, {"x": X, "n": np.array(2)}, ".body[0]/next"),
        (FUNCTION, {"x": X}, "/s"),
    ],
)
def test_planted_fault_in_a_body_is_named_by_replay_and_map(
    root: Path, monkeypatch: pytest.MonkeyPatch, text: str, inputs: dict[str, Value], place: str
) -> None:
    monkeypatch.chdir(root)
    with Runner(resolve(["ort:disabled", f"{FAULTS}:FirstAxisEverywhere"])) as runner:
        report = check(runner, program_of(text), [inputs])
    assert not report.agree
    (found,) = report.located
    faulty = [r for r in found.replayed if r.faulty]
    assert {r.op for r in faulty} == {"Softmax"}
    assert any(r.place.endswith(place) for r in faulty)
    assert found.map is not None
    assert any(layer.highlighted and layer.place.endswith(place) for layer in found.map.layers)
    assert place[-20:] in as_text(report, "model.onnx")
    told = as_json(report, "model.onnx")["located"][0]
    assert place[-20:] in "".join(row["place"] for row in told["replay"])
    assert told["closed"] == {}


@pytest.mark.planted
def test_what_shows_only_inside_a_body_is_looked_for_there(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of the If itself is gone once it is written out, so the program stays as it is."""
    monkeypatch.chdir(root)
    inputs: dict[str, Value] = {"x": X, "c": np.array(True)}
    with Runner(resolve(["ort:disabled", f"{FAULTS}:OtherBranch"])) as runner:
        base, other = runner.targets
        assert unfold_faithfully(runner, program_of(IF), inputs, base, other) is None
        report = check(runner, program_of(IF), [inputs])
    assert not report.agree
    (found,) = report.located
    assert [r.op for r in found.replayed if r.faulty] == ["If"]
