"""``quantise-region``: schemes cover what they shall, and layers compute nearly the same on quantised numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx.reference import ReferenceEvaluator

from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.ir.verifier import verify
from irfuzz.mutate.layers.quantisation_scheme import of_constant, scheme
from irfuzz.mutate.layers.quantise_region import QuantiseRegion
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Skipped
from irfuzz.spec import Specs

Parse = Callable[..., Program]
D = ir.DataType


@pytest.mark.parametrize("dtype", [D.UINT8, D.INT8, D.UINT16, D.INT16, D.UINT4, D.INT4])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_a_scheme_covers_the_range_and_has_an_exact_zero(dtype: D, *, symmetric: bool, axis: int | None) -> None:
    array = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32) * np.float32(7)
    plan = of_constant(array, dtype, symmetric=symmetric, axis=axis)
    assert plan.scale.shape == plan.zero.shape == (() if axis is None else (array.shape[axis],))
    stored = plan.quantise(array)
    assert ir.DataType.from_numpy(stored.dtype) == dtype
    shape = [1, 1] if axis is None else [array.shape[i] if i == axis else 1 for i in range(2)]
    scale, zero = plan.scale.reshape(shape), plan.zero.astype(np.float64).reshape(shape)
    back = (stored.astype(np.float64) - zero) * scale
    # Rounding the zero point may cost up to one more step at an end of the range.
    assert (np.abs(back - array) <= 1.51 * scale).all()
    assert (plan.quantise(np.zeros_like(array)).astype(np.float64) == zero).all()
    if symmetric:
        middle = {D.UINT8: 128, D.UINT16: 1 << 15, D.UINT4: 8}.get(dtype, 0)
        assert set(plan.zero.astype(np.int64).ravel().tolist()) == {middle}


def test_nothing_to_cover_is_no_scale_of_zero() -> None:
    for low, high in ((0.0, 0.0), (0.0, 1e30), (-1e-30, 0.0)):
        plan = scheme(D.INT8, np.asarray(low), np.asarray(high), symmetric=False, axis=None)
        assert plan.scale == 1.0
    array = np.array([np.nan, np.inf, -np.inf, 1.0], np.float32)
    plan = of_constant(array, D.UINT8, symmetric=False, axis=None)
    assert np.isfinite(plan.scale)
    assert plan.quantise(array).dtype == np.uint8


LAYERS = {
    "MatMul": "g (float[2, 8] x) => (float[2, 4] y) <float[8, 4] w = {WEIGHTS}> { y = MatMul(x, w) }",
    "Conv": "g (float[1, 2, 6, 6] x) => (float[1, 4, 4, 4] y) "
    "<float[4, 2, 3, 3] w = {WEIGHTS}, float[4] b = {0.5, -0.5, 1.0, 0.25}> { y = Conv(x, w, b) }",
}


@pytest.mark.parametrize(
    ("op", "wanted"),
    [("MatMul", ("QLinearMatMul", "MatMulInteger", "")), ("Conv", ("QLinearConv", "ConvInteger", ""))],
)
def test_quantised_layers_compute_nearly_the_same(op: str, wanted: tuple[str, ...], parse: Parse, specs: Specs) -> None:
    rng = np.random.default_rng(1)
    count = 32 if op == "MatMul" else 72
    weights = ", ".join(f"{v:.4f}" for v in rng.normal(size=count) / 3)
    program = parse(LAYERS[op].replace("WEIGHTS", weights), opset=21, ir_version=10)  # the first that onnx evaluates
    given = program.graph.inputs[0]
    fact = program.tensor(given)
    assert fact is not None
    x = rng.uniform(-1, 1, fact.static_shape).astype(np.float32)
    before = ReferenceEvaluator(program.to_proto()).run(None, {"x": x})[0]
    mutator = QuantiseRegion(Context(specs))
    seen: set[str] = set()
    near = 0
    for seed in range(40):
        work = program.clone()
        answer = mutator.apply(work, "y", Choices.from_seed(seed))
        assert not isinstance(answer, Skipped), answer.reason
        assert verify(work) == []
        onnx.checker.check_model(work.to_proto(), full_check=True)
        again = program.clone()
        choices = Choices.from_seed(seed)
        mutator.apply(again, "y", choices)
        assert again.to_bytes() == work.to_bytes()
        kinds = [n.op_type for n in work.nodes()]
        seen |= {k for k in kinds if k in wanted} or {""}
        after = ReferenceEvaluator(work.to_proto()).run(None, {"x": x})[0]
        assert after.shape == before.shape
        # An assumed magnitude of 16 has steps of 1/8; one of 1 saturates.
        near += bool(np.abs(after - before).max() < 0.75)
    assert seen == set(wanted)
    assert near > 24


def test_dead_layers_go_and_inner_ones_stay(parse: Parse, specs: Specs) -> None:
    text = "g (float[2,8] x) => (float[2,8] y) <float[8,8] w = {W}> { h = MatMul(x, w) r = Relu(h) y = Add(r, h) }"
    program = parse(text.replace("W}", ", ".join(["0.25"] * 64) + "}"))
    mutator = QuantiseRegion(Context(specs))
    assert mutator.sites(program) == ["h", "r", "y"]
    for seed in range(20):
        work = program.clone()
        assert isinstance(mutator.apply(work, "h", Choices.from_seed(seed)), str)
        assert [n.op_type for n in work.nodes()].count("Add") >= 1
        for node in work.nodes():
            assert any(o.uses() or o.is_graph_output() for o in node.outputs)


def test_old_versions_and_other_types_are_no_sites(parse: Parse, specs: Specs) -> None:
    mutator = QuantiseRegion(Context(specs))
    assert mutator.sites(parse("g (float[2] x) => (float[2] y) { y = Relu(x) }", opset=9)) == []
    assert mutator.sites(parse("g (double[2] x) => (double[2] y) { y = Relu(x) }")) == []
    assert mutator.sites(parse("g (float[2] x) => (float[2] y) { y = Relu(x) }")) == ["y"]
