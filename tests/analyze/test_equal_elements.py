"""A raw variance behind layers is negative by rounding where the elements of a row are nearly equal."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from benchmarks.raw_variance import RANGES, Net
from irfuzz.analyze.failing_inputs.fault_gradient import Gradients
from irfuzz.analyze.failing_inputs.reduced_elements import ELEMENTS, reduced_elements
from irfuzz.analyze.failing_inputs.warning_subprogram import probe_of
from irfuzz.analyze.failing_inputs.witness_search import Witness, WitnessSearch
from irfuzz.analyze.numeric_range_analysis import Alarm, analyze
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program

SEED = 7


def net(*sizes: int, layer: str = "Relu", axis: int = 1, rows: int = 1, bias: float = 0.1) -> Program:
    return Net(sizes, layer, axis, rows, bias).program(SEED)


def root(program: Program) -> Alarm:
    (warning,) = (w for w in analyze(program, RANGES).warnings if w.op == "Sqrt")
    return warning


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    pytest.importorskip("onnxruntime")
    with Runner(resolve(["onnxruntime:disabled"])) as opened:
        yield opened


def searched(runner: Runner, program: Program, seconds: float = 30.0) -> tuple[Witness | None, str]:
    warning = root(program)
    with Gradients([warning]) as gradients:
        search = WitnessSearch(runner, seconds=seconds, gradients=gradients)
        return search.find(program, warning, RANGES), search.undecided


@pytest.mark.backend
@pytest.mark.parametrize(
    ("sizes", "layer", "rows"),
    [((24, 16), "Relu", 1), ((96, 64), "Relu", 1), ((300, 256), "Relu", 2), ((64, 32), "Tanh", 1)],
)
def test_behind_a_dense_layer_nan_is_found(runner: Runner, sizes: tuple[int, int], layer: str, rows: int) -> None:
    pytest.importorskip("torch")
    witness, undecided = searched(runner, net(*sizes, layer=layer, rows=rows))
    assert witness is not None
    assert not undecided
    assert np.abs(witness.inputs["x"]).max() <= 1
    (again,) = runner.run_fresh(witness.probe.program, witness.inputs)
    assert np.isnan(np.asarray(again.outputs["y"])).any()
    assert np.isfinite(np.asarray(again.outputs["v"])).all()


@pytest.mark.backend
def test_behind_two_layers_steps_lead_there(runner: Runner) -> None:
    pytest.importorskip("torch")
    witness, _ = searched(runner, net(64, 128, 16))
    assert witness is not None
    assert witness.way == "equal"


@pytest.mark.backend
def test_without_a_bias_squares_that_are_no_normal_numbers_do(runner: Runner) -> None:
    """Sixty inputs cannot make 64 elements equal, but numbers as small lose the digits that tell them apart."""
    pytest.importorskip("torch")
    witness, _ = searched(runner, net(60, 64, bias=0.0))
    assert witness is not None
    assert 0 < np.abs(witness.inputs["x"]).max() < 1e-20


@pytest.mark.backend
def test_few_inputs_leave_it_undecided_with_the_reason(runner: Runner) -> None:
    pytest.importorskip("torch")
    witness, undecided = searched(runner, net(4, 32), seconds=2.0)
    assert witness is None
    assert "the 32 elements of z0 along axes [1] came no nearer" in undecided


@pytest.mark.unit
@pytest.mark.parametrize(("axis", "count"), [(1, 5), (0, 3)])
def test_the_elements_of_a_variance_are_those_before_the_activation(axis: int, count: int) -> None:
    program = net(4, 5, axis=axis, rows=3)
    probe = probe_of(program, root(program), RANGES)
    assert probe is not None
    reduced = reduced_elements(probe)
    assert reduced is not None
    assert (reduced.value, reduced.axes) == ("z0", (axis,))
    x = np.arange(12, dtype=np.float32).reshape(3, 4) / 12
    with Runner(resolve(["reference"])) as reference:
        (result,) = reference.run(reduced.program, {"x": x})
    w, b = (numpy_helper.to_array(t) for t in program.to_proto().graph.initializer)
    product = np.asarray(x @ w + b)
    elements = np.asarray(result.outputs[ELEMENTS])
    assert elements.shape == (count,)
    np.testing.assert_allclose(elements, product[0] if axis == 1 else product[:, 0], rtol=1e-5)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("body", "elements"),
    [
        ("m = ReduceMean<axes=[1]>(x) d = Sub(x, m) q = Mul(d, d) v = ReduceSum<axes=[1]>(q)", ("x", (1,))),
        ("q = Mul(x, x) a = ReduceMean<axes=[1]>(q) b = ReduceMean<axes=[0]>(x) v = Sub(a, b)", None),
        ("p = MatMul(x, x) r = ReduceMean<axes=[1]>(x) s = ReduceMean<axes=[1]>(p) v = Sub(r, s)", None),
        ("v = ReduceSum<axes=[1]>(x)", None),
        ("v = Mul(x, x)", None),
    ],
    ids=["two passes", "two axes", "two values", "one reduction", "no reduction"],
)
def test_two_reductions_of_one_value_along_one_axis_have_such_elements(
    body: str, elements: tuple[str, tuple[int, ...]] | None
) -> None:
    text = f"""<ir_version: 8, opset_import: ["" : 11]> g (float[3, 3] x) => (float[?, ?] y) {{ {body} y = Log(v) }}"""
    program = Program.from_proto(onnx.parser.parse_model(text))
    (warning,) = (w for w in analyze(program, RANGES).warnings if w.op == "Log")
    probe = probe_of(program, warning, RANGES)
    assert probe is not None
    found = reduced_elements(probe)
    assert (found and (found.value, found.axes)) == elements
