"""Planted faults of all kinds show in their models, and a sample of them is named first by isolated replay."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from irfuzz.execute.intermediate_values import run_tapped
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program
from irfuzz.localize.comparison.ground_truth_inconsistencies import labels_for
from irfuzz.localize.nodes.localization_map import localise
from irfuzz.localize.nodes.single_node_replay import Replayed, ReplayOutcome, _narrow, replay
from irfuzz.localize.target_comparison import check

sys.path.insert(0, str(Path(__file__).parents[1] / "planted_targets"))
import wrong

pytestmark = [pytest.mark.backend, pytest.mark.planted]

FILE = "tests/planted_targets/wrong.py"


@pytest.fixture(autouse=True)
def _in_checkout(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)


def test_there_are_faults_of_all_kinds() -> None:
    assert len(wrong.BY_NAME) == len(wrong.FAULTS) >= 60
    assert sum(len(f.operators) > 1 for f in wrong.FAULTS) >= 10
    assert sum(bool(f.parameters) for f in wrong.FAULTS) >= 30
    assert len({f.operators[0] for f in wrong.FAULTS}) >= 50


@pytest.mark.parametrize("fault", wrong.FAULTS[::11], ids=lambda f: f.name)
def test_planted_fault_shows_in_its_model(fault: wrong.Fault) -> None:
    model, inputs = wrong.model_of(fault), wrong.inputs_of(fault)
    assert 10 <= len(model.graph.node) <= 150
    planted = wrong.planted_in(onnx.ModelProto.FromString(model.SerializeToString()), inputs, fault)
    assert planted
    right = wrong.ReferenceEvaluator(model).run(None, inputs)
    got = wrong.outputs_of(model, inputs, fault)
    assert not wrong.same(list(got.values()), right)


@pytest.mark.parametrize("name", ["no_valid_cell", "maximum_loses_nan", "scaled_before_shift"])
def test_it_is_named_first_and_the_map_has_it(name: str) -> None:
    fault = wrong.BY_NAME[name]
    program, inputs = Program.from_proto(wrong.model_of(fault)), wrong.inputs_of(fault)
    planted = {o for row in wrong.planted_in(wrong.model_of(fault), inputs, fault) for o in row}
    with Runner(resolve(["reference", f"{FILE}:{name}"])) as runner:
        base, other = runner.targets
        one, two = run_tapped(runner, program, inputs, apart=True)
        known = {**inputs, **one.outputs, **one.taps}
        found = replay(runner, program, known, base, other)
        assert replay(runner, program, known, base, other, stopping=lambda: True) == []
        made = localise(program, one, two)
    assert found[0].faulty
    assert found[0].name in planted
    assert made.faithful
    assert planted & {layer.name for layer in made.layers if layer.highlighted}


def test_a_run_is_narrowed_though_a_part_of_it_is_left_open() -> None:
    """Nodes 5 and 6 together are wrong; where node 2 is among them, ONNX leaves open what the whole gives."""

    def run(first: int, end: int) -> Replayed:
        wrong_here = first <= 5 and end >= 7
        outcome = (
            ReplayOutcome.AGREES if not wrong_here else ReplayOutcome.OPEN if first <= 2 else ReplayOutcome.DIFFERS
        )
        return Replayed(first, end, "", "", outcome)

    found = _narrow(run, 12)
    assert found is not None
    assert (found.first, found.end) == (5, 7)
    assert _narrow(lambda a, b: Replayed(a, b, "", "", ReplayOutcome.OPEN), 12) is None


def test_a_planted_normalisation_gives_the_pattern_and_the_map(root: Path) -> None:
    """CRADLE on real labelled digits: healthy scores against those of a normalisation without its mean."""
    with np.load(root / "seeds" / "resnet.inputs.npz") as arrays:
        images, truth = arrays["image"][:2], arrays["labels"][:2]
    program = Program.from_bytes((root / "seeds" / "resnet.onnx").read_bytes())
    labels = labels_for(truth, "scores", 10, None)
    with Runner(resolve(["reference", f"{FILE}:drops_mean"])) as runner:
        report = check(runner, program, [{"image": images[i : i + 1]} for i in range(2)], labels=labels)
    (pair,) = report.inconsistencies
    assert pair.inconsistent
    assert sum(pair.pattern) == 2
    assert sum(pair.pattern[:2]) >= 1
    (located,) = report.located
    assert located.map is not None
    assert located.map.ranked[0].op == "BatchNormalization"
    assert {r.op for r in located.replayed if r.faulty} == {"BatchNormalization"}


def test_an_empty_value_is_no_difference() -> None:
    program = Program.from_proto(
        onnx.parser.parse_model(
            """<ir_version: 8, opset_import: ["" : 17]>
            g (float[0, 3] x) => (float[0, 3] y) { a = Abs(x)  y = Neg(a) }"""
        )
    )
    inputs = {"x": np.zeros((0, 3), np.float32)}
    with Runner(resolve(["reference", "onnxruntime:disabled"])) as runner:
        found = replay(runner, program, {**inputs, "a": inputs["x"], "y": inputs["x"]}, *runner.targets)
    assert [r.outcome for r in found] == [ReplayOutcome.AGREES] * 2
