"""Raw variances are proved safe where no inputs make the units equal, and nowhere else."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from benchmarks.raw_variance import RANGES, Net
from irfuzz.analyze.initial_ranges import Ranges
from irfuzz.analyze.numeric_range_analysis import analyze
from irfuzz.analyze.raw_variances import is_never_negative
from irfuzz.ir.program import Program

pytestmark = pytest.mark.unit


def proved(program: Program, ranges: Ranges = RANGES) -> bool:
    found = analyze(program, ranges)
    (warning,) = (w for w in found.warnings if w.op == "Sqrt")
    return is_never_negative(program, warning, found.ranges)


def with_constants(program: Program, **constants: np.ndarray) -> Program:
    model = program.to_proto()
    for tensor in model.graph.initializer:
        if tensor.name in constants:
            tensor.CopyFrom(numpy_helper.from_array(constants[tensor.name].astype(np.float32), tensor.name))
    return Program.from_proto(model)


def least_difference(program: Program, rows: np.ndarray) -> float:
    """The least raw variance of single-precision rows, computed as the model says."""
    w, b = (numpy_helper.to_array(t) for t in program.to_proto().graph.initializer)
    h = np.maximum(rows.astype(np.float32) @ w + b, np.float32(0))
    mean = h.mean(axis=1, dtype=np.float32)
    return float(((h * h).mean(axis=1, dtype=np.float32) - mean * mean).min())


@pytest.mark.parametrize("sizes", [(4, 32), (8, 32), (16, 64), (64, 256), (32, 16, 64)])
def test_a_layer_with_many_more_units_than_inputs_is_safe(sizes: tuple[int, ...]) -> None:
    assert proved(Net(sizes).program(0))


@pytest.mark.parametrize(("units", "seed"), [(16, 0), (64, 0), (64, 1), (256, 0), (256, 1)])
def test_as_many_inputs_as_units_are_safe_if_only_data_out_of_range_make_them_equal(units: int, seed: int) -> None:
    assert proved(Net((units, units)).program(seed))


def test_as_many_inputs_as_units_are_proved_safe_only_if_they_are() -> None:
    rng = np.random.default_rng(0)
    safe, reached = 0, 0
    for seed in range(40):
        program = Net((4, 4), bias=0.5).program(seed)
        w, b = (numpy_helper.to_array(t).astype(np.float64) for t in program.to_proto().graph.initializer)
        equal = (rng.uniform(0, 2, (20000, 1)) - b) @ np.linalg.inv(w)
        low = least_difference(program, np.clip(equal + rng.standard_normal(equal.shape) * 1e-6, -1, 1))
        if proved(program):
            safe += 1
            assert low >= 0
        reached += low < 0
    assert safe >= 10
    assert reached >= 10
    assert safe + reached >= 35


@pytest.mark.parametrize("net", [Net((24, 16)), Net((16, 16), bias=0.0), Net((15, 16)), Net((4, 32), bias=0.0),
                                 Net((4, 32), layer="Tanh"), Net((4, 32), axis=0, rows=4)])  # fmt: skip
def test_nothing_else_is(net: Net) -> None:
    assert not proved(net.program(0))


def test_where_one_input_makes_all_units_equal_nothing_is_proved_until_the_bias_is_far_enough_off() -> None:
    rng = np.random.default_rng(5)
    base = Net((6, 24)).program(0)
    w, u = rng.standard_normal((6, 24)), rng.uniform(-0.5, 0.5, 6)
    noise = rng.standard_normal(24)
    answers: list[bool] = []
    for off in (0.0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1):
        program = with_constants(base, w0=w, b0=1.0 - u @ w + off * noise)
        near = u + rng.standard_normal((20000, 6)) * np.exp2(-rng.uniform(4, 24, (20000, 1)))
        answers.append(proved(program))
        if answers[-1]:
            assert least_difference(program, np.clip(near, -1, 1)) >= 0
    assert not any(answers[:4])
    assert answers[-1]
    assert answers == sorted(answers)
    reached = with_constants(base, w0=w, b0=1.0 - u @ w)
    assert least_difference(reached, u + rng.standard_normal((20000, 6)) * 1e-6) < 0


@pytest.mark.parametrize("seed", range(4))
def test_of_what_is_proved_no_input_is_negative(seed: int) -> None:
    program = Net((3, 16)).program(seed)
    assert proved(program)
    rng = np.random.default_rng(seed)
    rows = np.concatenate([
        rng.uniform(-1, 1, (50000, 3)), rng.choice([-1.0, 0.0, 1.0], (1000, 3)),
        rng.uniform(-1, 1, (50000, 3)) * np.exp2(-rng.uniform(0, 140, (50000, 1))),
    ])  # fmt: skip
    assert least_difference(program, rows) >= 0


def test_weights_that_may_still_be_trained_prove_nothing() -> None:
    program = Net((4, 32)).program(0)
    wider = Ranges({"x": (-1.0, 1.0), "w0": (-10.0, 10.0)})
    assert not proved(program, wider)


def test_inputs_of_which_nothing_is_said_prove_nothing() -> None:
    found = analyze(Net((4, 32)).program(0), Ranges({}))
    program = Net((4, 32)).program(0)
    assert not any(is_never_negative(program, w, found.ranges) for w in found.warnings)


def test_another_difference_is_not_taken_for_a_variance() -> None:
    model = Net((4, 32)).program(0).to_proto()
    (square,) = (n for n in model.graph.node if list(n.output) == ["b"])
    square.input[1] = "a"
    assert not proved(Program.from_proto(model))
    assert onnx.checker.check_model(model) is None
