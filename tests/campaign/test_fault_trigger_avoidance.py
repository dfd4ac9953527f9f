"""What a known fault hangs on is drawn less, never not at all, and a resumed campaign still does so."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import onnx.parser
import onnx_ir as ir
import pytest

from irfuzz.campaign import differential_strategy
from irfuzz.campaign.campaign import Campaign
from irfuzz.campaign.config import STOP_AT, Config, Layout
from irfuzz.campaign.corpus.fault_trigger_avoidance import LEAST, FaultTriggers
from irfuzz.campaign.differential_strategy import Differential
from irfuzz.campaign.job import Job
from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.mutate.feature_counts import FeatureCounts
from irfuzz.mutate.mutator_context import Context
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.spec import load_specs, sample_call

ONE = "g (float[2, 3] x) => (float[2, 3] y) { y = Softmax(x) }"
ATTRIBUTE = "g (float[2, 3] x) => (float y) { y = ReduceMin<keepdims = 0>(x) }"
HALF = "g (float16[2, 3] x) => (float16[2, 3] y) { y = Erf(x) }"
TWO = "g (float[2, 3] x) => (float[2, 3] y) { a = Relu(x) y = Clip(a) }"
MANY = "g (float[2, 3] x) => (float[2, 3] y) { a = Relu(x) b = Tanh(a) c = Erf(b) d = Sin(c) y = Softmax(d) }"


def parse(graph: str) -> Program:
    return Program.from_proto(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {graph}'))


def verdict(target: str = "onnxruntime:all", symptom: Symptom = Symptom.DIFFERENCE) -> Verdict:
    return Verdict("difference", symptom, target, output="y")


def triggers(program: Program, *verdicts: Verdict, times: int = 1, inserted: Sequence[str] = ()) -> FaultTriggers:
    found = FaultTriggers()
    for _ in range(times):
        found.add(verdicts or (verdict(),), program, inserted, {"slow:one"})
    found.settle()
    return found


@pytest.mark.unit
def test_an_operator_is_drawn_less_with_each_time_but_never_not_at_all() -> None:
    program = parse(ONE)
    assert triggers(program).favours()["operator", "Softmax"] == 0.5
    assert triggers(program, times=2).favours()["operator", "Softmax"] == pytest.approx(1 / 3)
    many = triggers(program, times=1000).favours()
    assert many["operator", "Softmax"] == many["edge", "Add", "Softmax"] == many["pattern", "bias-softmax"] == LEAST
    assert ("operator", "Relu") not in many


@pytest.mark.unit
def test_what_is_most_special_decides() -> None:
    favours = triggers(parse(ATTRIBUTE)).favours()
    assert favours == {("attr", "ReduceMin", "keepdims", 1): 2.0}, "its default is drawn more, all else as before"
    favours = triggers(parse(HALF)).favours()
    assert favours == {("dtype", "Erf", 0, ir.DataType.FLOAT16.value): 0.5}
    favours = triggers(parse(TWO)).favours()
    assert favours["edge", "Relu", "Clip"] == favours["pattern", "relu-clip"] == 0.5
    assert ("operator", "Relu") not in favours


@pytest.mark.unit
def test_of_large_programs_the_pattern_is_drawn_less() -> None:
    assert triggers(parse(MANY), inserted=["mish"]).favours() == {("pattern", "mish"): 0.5}
    found = triggers(parse(ONE))
    found.add([verdict()], parse(MANY), ["mish"], ())
    found.settle()
    assert ("pattern", "mish") not in found.favours(), "a known fault explains it"
    assert found.favours()["operator", "Softmax"] == pytest.approx(1 / 3)
    found.add([verdict("torch:eager")], parse(MANY), ["mish"], ())
    found.settle()
    assert found.favours()["pattern", "mish"] == 0.5, "of another component it does not"


@pytest.mark.unit
@pytest.mark.parametrize(
    "other",
    [
        replace(verdict(), suspect=True),
        replace(verdict(), invalid=True),
        verdict(symptom=Symptom.HANG),
        verdict(symptom=Symptom.MEMORY),
        verdict("slow:one"),
    ],
)
def test_what_is_in_doubt_or_hangs_on_the_clock_does_not_count(other: Verdict) -> None:
    found = triggers(parse(ONE), other)
    assert (len(found), found.favours()) == (0, {})


@pytest.mark.unit
def test_nothing_counts_before_it_is_settled_and_state_is_taken_up_again() -> None:
    found = triggers(parse(ONE))
    found.add([verdict()], parse(ONE), (), ())
    assert found.favours()["operator", "Softmax"] == 0.5
    again = FaultTriggers()
    again.recall(json.loads(json.dumps(found.state())))
    again.recall({"schema": 0})
    assert again.favours()["operator", "Softmax"] == pytest.approx(1 / 3)
    again.add([verdict()], parse(ONE), (), ())
    again.settle()
    assert again.favours()["operator", "Softmax"] == 0.25, "the same trigger, not a second one"


@pytest.mark.unit
def test_draws_follow() -> None:
    specs, seen = load_specs(), FeatureCounts()
    spec = specs.get("ReduceMin", 17)
    assert spec is not None

    def share() -> float:
        dropped = 0
        for n in range(300):
            given, choices = {0: TensorFact(ir.DataType.FLOAT, (2, 3))}, Choices.from_seed(n)
            call = sample_call(spec, given, choices, seen=Context(specs, seen).drawn)
            dropped += call is not None and call.attrs.get("keepdims", 1) == 0
        return dropped / 300

    before = share()
    seen.favour(triggers(parse(ATTRIBUTE), times=50).favours())
    assert 0.05 < share() < before / 2


@pytest.mark.backend
@pytest.mark.timeout(200)
def test_a_campaign_steers_around_what_it_found_and_a_resumed_one_still_does(
    tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(differential_strategy, "REFRESH", 25)
    monkeypatch.setattr(differential_strategy, "judge", wrong_about_relu)
    config = Config(seed=3, targets=("onnxruntime:disabled", "onnxruntime:all"), reduce=0.1, jobs=64)
    with Campaign(tmp_path / "a", config) as campaign:
        campaign.add_seed(tiny.name, Program.from_bytes(tiny.read_bytes()))
        campaign.database.set(STOP_AT, "60")
    job = Job(tmp_path / "a", 0)
    job.run()
    assert isinstance(job.strategy, Differential)
    steering = job.strategy.steering
    assert steering.triggers.favours()["operator", "Relu"] < 1
    again = Job(tmp_path / "a", 0)
    assert isinstance(again.strategy, Differential)
    assert again.strategy.steering.triggers.state() == steering.triggers.state()
    assert again.strategy.steering.aims.state()["tries"] == steering.aims.state()["tries"]
    assert Layout(tmp_path / "a").database.is_file()


def wrong_about_relu(program: Program, inputs: object, runs: object, **_: object) -> list[Verdict]:
    """Says that whatever computes a Relu is wrong, as an oracle would of a kernel."""
    relus = [node for node in program.nodes() if node.op_type == "Relu"]
    if not relus:
        return []
    return [Verdict("rejection", Symptom.REJECTION, "onnxruntime:all", operator="Relu", message="no Relu")]


@pytest.mark.unit
def test_what_the_first_schema_stored_is_read_and_no_other_one() -> None:
    rows = [["onnxruntime", "difference", ["Softmax"], [], [], 1]]
    told = []
    for schema in (0, 1, 2):
        found = FaultTriggers()
        found.recall({"schema": schema, "triggers": rows, "patterns": {}})
        told.append(found.favours().get(("operator", "Softmax"), 1.0))
    assert told == [1.0, 0.5, 1.0]
    assert FaultTriggers().state()["schema"] == 1
