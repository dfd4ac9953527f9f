"""Planted faults are found, named first by isolated replay and highlighted on CRADLE's map; healthy targets agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from irfuzz.errors import UsageError
from irfuzz.execute.request_batching import Task
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program
from irfuzz.localize.comparison.ground_truth_inconsistencies import labels_for
from irfuzz.localize.comparison.sample_disagreements import Tolerance
from irfuzz.localize.nodes.single_node_replay import ReplayOutcome
from irfuzz.localize.nodes.subprogram_extraction import Cutter
from irfuzz.localize.target_comparison import CheckResult, check
from irfuzz.oracle.cradle_distances import Metric

pytestmark = pytest.mark.backend

FAULTS = "tests/planted_targets/kernels.py"

NODES = """
    c1 = Conv<pads = [1, 1, 1, 1]>(x, w1)
    n1 = BatchNormalization(c1, scale, bias, mean, var)
    r1 = Relu(n1)
    p1 = AveragePool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>(r1)
    c2 = Conv<pads = [1, 1, 1, 1]>(p1, w2)
    r2 = Tanh(c2)
    s2 = Softmax<axis = 1>(r2)
    m2 = Mul(r2, s2)
    a2 = Add(m2, p1)
    g3 = GlobalAveragePool(a2)
    f3 = Flatten(g3)
    y = Gemm(f3, w3)
"""


@pytest.fixture(autouse=True)
def _in_checkout(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)


@pytest.fixture(scope="module")
def program() -> Program:
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]> g (float[1, 2, 8, 8] x) => (float[1, 6] y) {{ {NODES} }}'
    )
    rng = np.random.default_rng(0)
    weights = {
        "w1": rng.normal(0, 0.2, (4, 2, 3, 3)), "scale": np.full(4, 0.01), "bias": np.zeros(4), "mean": np.zeros(4),
        "var": np.full(4, 1e-4), "w2": rng.normal(0, 0.3, (4, 4, 3, 3)), "w3": rng.normal(0, 1, (4, 6)),
    }  # fmt: skip
    model.graph.initializer.extend(
        onnx.numpy_helper.from_array(np.asarray(a, np.float32), name) for name, a in weights.items()
    )
    return Program.from_proto(model)


def samples(count: int) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(1)
    return [{"x": rng.normal(0, 1, (1, 2, 8, 8)).astype(np.float32)} for _ in range(count)]


def compare(program: Program, targets: list[str], count: int = 2, **options: object) -> CheckResult:
    with Runner(resolve(targets)) as runner:
        return check(runner, program, samples(count), **options)  # type: ignore[arg-type]


@pytest.mark.planted
@pytest.mark.parametrize(("fault", "node"), [("EpsilonOutside", "n1"), ("CountsPadding", "p1"), ("FirstAxis", "s2")])
def test_planted_kernel_is_named_first(program: Program, fault: str, node: str) -> None:
    report = compare(program, ["reference", f"{FAULTS}:{fault}"])
    assert not report.agree
    (found,) = report.located
    assert (found.base, found.target) == ("reference", f"{FAULTS}:{fault}")
    assert [r.name for r in found.replayed if r.faulty] == [node]
    assert found.replayed[0].outcome is ReplayOutcome.DIFFERS
    assert found.replayed[0].ratio > 1
    assert found.map is not None
    assert found.map.faithful
    assert node in [layer.name for layer in found.map.layers if layer.highlighted]
    assert found.map.ranked[0].name == node  # before it there is no difference at all, so its rate is the largest


@pytest.mark.planted
def test_the_healthy_majority_is_not_localised(program: Program) -> None:
    report = compare(program, ["reference", "ort:disabled", f"{FAULTS}:CountsPadding"])
    assert {d.target for d in report.disagreements} == {f"{FAULTS}:CountsPadding"}
    assert [found.replayed[0].name for found in report.located] == ["p1"]


@pytest.mark.planted
def test_refusal_is_a_disagreement_and_replay_names_who_refuses(program: Program) -> None:
    report = compare(program, ["reference", f"{FAULTS}:NoTanh"], 1)
    assert not report.agree
    assert "not to my taste" in report.disagreements[0].what
    (found,) = report.located
    assert found.map is None
    assert (found.replayed[0].name, found.replayed[0].outcome) == ("r2", ReplayOutcome.FAILS)


@pytest.mark.planted
def test_fault_of_several_nodes_together_is_narrowed_to_them(program: Program) -> None:
    # The measured sensitivity of a target that fuses must not swallow what the fusion does wrong.
    assert not compare(program, ["reference", "ort:disabled", f"{FAULTS}:Fuses"], 1).agree
    report = compare(program, ["reference", f"{FAULTS}:Fuses"], 1, tolerance=Tolerance())
    (found,) = report.located
    first = found.replayed[0]
    assert (first.op, first.first, first.end) == ("Tanh Softmax Mul", 5, 8)
    assert not any(r.faulty for r in found.replayed[1:])


def test_healthy_targets_agree_and_the_map_can_be_had(program: Program) -> None:
    report = compare(program, ["reference", "ort:all"], always_map=True)
    assert report.agree
    assert report.disagreements == ()
    (found,) = report.located
    assert found.map is not None
    assert found.map.faithful
    names = [layer.name for layer in found.map.layers]
    assert names[-1] == "y"
    assert 2 <= len(names) <= 12  # what fusions hide is left out
    assert not any(r.faulty for r in found.replayed)
    assert {r.outcome for r in found.replayed} == {ReplayOutcome.AGREES}


def test_given_bounds_decide_by_output(program: Program) -> None:
    bounds = [Tolerance(0, 100.0), Tolerance(0, 0, {}, {"y": 100.0}), Tolerance(0, 1e-4)]
    with Runner(resolve(["reference", f"{FAULTS}:FirstAxis"])) as runner:
        wide, named, strict = (
            check(runner, program, samples(3), tolerance=b, locate=False, fail_fast=True) for b in bounds
        )
    assert wide.agree
    assert named.agree
    assert not strict.agree
    assert (strict.samples, strict.disagreements[0].output) == (1, "y")


def test_a_difference_that_may_be_an_overflow_inside_is_undecided() -> None:
    """Nobody but two targets can tell who is right, and the numeric oracle names a reason why both may be."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
        g (float[1, 3] x) => (float[1, 3] y) {m = Mul(x, x) t = Tanh(m) y = Relu(t)}"""
    two = Program.from_proto(onnx.parser.parse_model(text))
    with Runner(resolve(["reference", "tests/planted_targets/faults.py:WrongNumbers"])) as runner:
        unclear, clear = (
            check(runner, two, [{"x": np.array([[first, 0.1, 0.2]], np.float32)}], locate=False)
            for first in (1e30, 0.5)
        )
    assert unclear.agree
    assert [(d.undecided, "may overflow" in d.what) for d in unclear.disagreements] == [(True, True)]
    assert not clear.agree


@pytest.mark.planted
def test_the_base_is_whom_it_is_held_against_where_it_is_a_witness(program: Program) -> None:
    """A fusing witness hides hidden states, and the node would be found as a part of a run of nodes only."""
    report = compare(program, ["reference", "ort:all", f"{FAULTS}:EpsilonOutside"], 1)
    (found,) = report.located
    assert found.base == "reference"
    assert [r.name for r in found.replayed if r.faulty] == ["n1"]


@pytest.mark.planted
def test_what_is_left_open_is_decided_by_the_node_alone() -> None:
    """Whether a cast inside is out of range is not known of the program, but of the node with the values it had."""
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[1, 3] x) => (float[1, 3] y)
        { e = Exp(x) i = Cast<to = 7>(e) f = Cast<to = 1>(i) y = Softmax<axis = 1>(f) }"""
    cast = Program.from_proto(onnx.parser.parse_model(text))
    inputs = [{"x": np.array([[0.1, 1.2, 2.3]], np.float32)}]
    with Runner(resolve(["reference", f"{FAULTS}:FirstAxis"])) as runner:
        unclear = check(runner, cast, inputs, locate=False)
        clear = check(runner, cast, inputs)
    assert [d.undecided for d in unclear.disagreements] == [True]
    assert [d.undecided for d in clear.disagreements] == [False]
    assert "alone, y (Softmax)" in clear.disagreements[0].what
    assert [r.name for r in clear.located[0].replayed if r.faulty] == ["y"]


def test_two_targets_are_needed(program: Program) -> None:
    with pytest.raises(UsageError, match="fewer than two targets run"):
        compare(program, ["reference", "tests/planted_targets/faults.py:Unwritten"])


def test_a_cut_computes_what_the_whole_computes(program: Program) -> None:
    inputs = samples(1)[0]
    with Runner(resolve(["reference"])) as runner:
        ((whole,), (part,)) = runner.run_all([Task(program, inputs), Task(*Cutter(program, inputs).cut(0, 4))])
        known = {**inputs, **part.outputs}
        (rest,) = runner.run(*Cutter(program, known).cut(4, 12))
    assert list(part.outputs) == ["p1"]
    assert rest.outputs["y"].tobytes() == whole.outputs["y"].tobytes()  # type: ignore[union-attr]


def test_labels_choose_the_metric() -> None:
    assert labels_for(np.array([1, 0]), "y", 3, None).metric is Metric.CLASS
    assert labels_for(np.array([[1.5], [0.5]]), "y", 1, None).metric is Metric.MAD
    with pytest.raises(UsageError, match="has 3 classes"):
        labels_for(np.array([3]), "y", 3, None)
    with pytest.raises(UsageError, match="needs one whole number"):
        labels_for(np.array([0.5]), "y", 3, Metric.CLASS)


def seed(root: Path, name: str, count: int) -> tuple[Program, list[dict[str, np.ndarray]], np.ndarray]:
    with np.load(root / "seeds" / f"{name}.inputs.npz") as arrays:
        data = {k: arrays[k] for k in arrays.files}
    labels = data.pop("labels")[:count]
    program = Program.from_bytes((root / "seeds" / f"{name}.onnx").read_bytes())
    return program, [{k: v[i : i + 1] for k, v in data.items()} for i in range(count)], labels


def test_trained_models_have_no_inconsistencies_on_healthy_targets(root: Path) -> None:
    with Runner(resolve(["reference", "ort", "torch:eager"])) as runner:
        for name, classes in (("lenet5", 10), ("diabetes", 1)):
            program, inputs, truth = seed(root, name, 12)
            labels = labels_for(truth, program.graph.outputs[0].name or "", classes, None)
            report = check(runner, program, inputs, labels=labels)
            assert report.agree
            assert report.samples == 12
            assert len(report.inconsistencies) == 7 * 6 // 2
            assert {i.pattern for i in report.inconsistencies} == {(*[0] * (5 if classes > 1 else 4), 12)}


@pytest.mark.planted
def test_planted_fault_is_inconsistent_with_the_labels(program: Program) -> None:
    """The reference is 0.1 off the truth everywhere, the faulty target much more."""
    inputs = samples(6)
    with Runner(resolve(["reference", "ort:disabled", f"{FAULTS}:FirstAxis"])) as runner:
        right = [runner.run(program, i)[0].outputs["y"] for i in inputs]  # type: ignore[arg-type]
        truth = np.concatenate(right) + np.float32(0.1)  # type: ignore[arg-type]
        report = check(runner, program, inputs, labels=labels_for(truth, "y", 6, None), locate=False)
    by_pair = {i.targets: i for i in report.inconsistencies}
    healthy = by_pair.pop(("reference", "onnxruntime:disabled"))
    assert healthy.metric is Metric.MAD
    assert not healthy.inconsistent
    assert healthy.pattern == (0, 0, 0, 0, 6)
    assert len(by_pair) == 2
    assert all(i.inconsistent for i in by_pair.values())
    assert len({i.pattern for i in by_pair.values()}) == 1
