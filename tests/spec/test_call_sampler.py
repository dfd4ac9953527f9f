from __future__ import annotations

import collections
import itertools
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.spec import OpSpec, SampledCall, Specs, check_call, sample_call
from tests.spec import measure_portable
from tests.spec.onenode import OrtWorker
from tests.spec.stress import random_fact, stress, takes_any, targets

F, I64 = ir.DataType.FLOAT, ir.DataType.INT64


@pytest.fixture(scope="module")
def worker() -> Iterator[OrtWorker]:
    with OrtWorker() as w:
        yield w


def spec_of(specs: Specs, op: str, opset: int = 17) -> OpSpec:
    spec = specs.get(op, opset)
    assert spec is not None
    return spec


def plain(call: SampledCall | None) -> Any:
    if call is None:
        return None
    inputs = [p and (p.fact, p.low, p.high, None if p.value is None else p.value.tolist()) for p in call.inputs]
    return call.attrs, inputs, call.outputs


def test_plain_calls_give_what_is_never_to_be_left_out(specs: Specs) -> None:
    """ONNX's full check cannot expand MeanVarianceNormalization's body without ``axes``."""
    spec = spec_of(specs, "MeanVarianceNormalization")
    for seed in range(20):
        call = sample_call(spec, {0: TensorFact(F, (1, 2, 3, 4))}, Choices.from_seed(seed), plain=True)
        assert call is not None
        assert "axes" in call.attrs


@pytest.mark.property
def test_sampled_calls_break_no_rule_and_replay(specs: Specs) -> None:
    made = 0
    for spec, _ in targets(specs, 17):
        for seed in range(4):
            choices = Choices.from_seed(f"{spec.op} {seed}")
            given = {0: random_fact(choices, spec)} if takes_any(spec) else {}
            start = choices.mark()
            call = sample_call(spec, given, choices)
            assert plain(sample_call(spec, given, Choices.from_record(choices.record[start:]))) == plain(call)
            if call is None:
                continue
            made += 1
            assert check_call(spec, [None if p is None else p.fact for p in call.inputs], call.attrs) == []
            for position, fact in given.items():
                plan = call.inputs[position]
                assert plan is not None
                assert plan.fact is fact
                assert plan.given
            assert all(p is None or p.fact.is_static for p in call.inputs)
            assert all(p is None or p.given or (p.fact.size() or 0) <= 2 * 4096 for p in call.inputs)
    assert made > 400


@pytest.mark.backend
def test_sampled_calls_run_on_onnxruntime(specs: Specs, worker: OrtWorker) -> None:
    failures: list[str] = []
    asked = made = 0
    silent: list[str] = []
    for spec, opset in targets(specs, 17):
        figures = stress(worker, spec, opset, 8, "fixed")
        failures += figures.failures
        asked += figures.asked
        made += figures.made
        if not figures.made:
            silent.append(spec.op)
    assert not failures, "\n".join(failures)
    assert made > 0.85 * asked
    # operators that want one rank may meet none in eight facts, but most do
    assert len(silent) <= 3, silent


@pytest.mark.backend
@pytest.mark.parametrize("op", ["Add", "Conv", "Relu", "MatMul", "Gather", "ReduceMax", "Cast", "QLinearConv", "TopK"])
def test_portable_types_are_those_that_onnxruntime_runs(specs: Specs, worker: OrtWorker, op: str) -> None:
    """A fixed sample of the measured tables, in both directions, for the onnxruntime that was measured."""
    import importlib.metadata

    if importlib.metadata.version("onnxruntime") != "1.31.1":
        pytest.skip("the tables were measured with onnxruntime 1.31.1")
    spec = spec_of(specs, op)
    variables, combinations = measure_portable.combinations(spec)
    for types in sorted(combinations, key=lambda c: zlib.crc32(repr(c).encode()))[:12]:
        named = dict(zip(variables, types, strict=True))
        portable = all(t in spec.portable[v] for v, t in named.items())
        portable = portable and not any(e.items() <= named.items() for e in spec.portable_except)
        runs = measure_portable.runs(worker, spec, variables, types, 17)
        assert runs is portable, named


@pytest.mark.unit
@pytest.mark.parametrize(
    ("op", "given"),
    [
        ("Conv", {0: TensorFact(F, (3, 4))}),
        ("Conv", {0: TensorFact(I64, (1, 3, 8, 8))}),
        ("Conv", {0: TensorFact(F, ("N", 3, 8, 8))}),
        ("Conv", {0: TensorFact(F, (1, 3, 8, 8)), 1: TensorFact(F, (4, 5, 3, 3))}),
        ("Conv", {0: TensorFact(F, (1, 3, 8, 8)), 1: TensorFact(ir.DataType.DOUBLE, (4, 3, 3, 3))}),
        ("Add", {0: TensorFact(F, (3,)), 1: TensorFact(F, (2,))}),
        ("Add", {5: TensorFact(F, (3,))}),
        ("Reshape", {0: TensorFact(F, (3,)), 1: TensorFact(I64, (1,))}),
        ("Gather", {0: TensorFact(F, (3, 4)), 1: TensorFact(I64, (2,))}),
        ("Gather", {0: TensorFact(F, (3, 4)), 1: TensorFact(I64, (2,), low=0, high=9)}),
        ("Gather", {0: TensorFact(F, ())}),
        ("Div", {0: TensorFact(I64, (3,)), 1: TensorFact(I64, (3,), low=-1, high=1)}),
        ("If", {0: TensorFact(ir.DataType.BOOL, ())}),
    ],
)
def test_impossible_givens_are_refused(specs: Specs, op: str, given: dict[int, TensorFact]) -> None:
    assert sample_call(spec_of(specs, op), given, Choices.from_seed(1)) is None


@pytest.mark.unit
@pytest.mark.parametrize(
    ("op", "given"),
    [
        ("Gather", {0: TensorFact(F, (3, 4)), 1: TensorFact(I64, (2,), low=0, high=2)}),
        ("Div", {0: TensorFact(I64, (3,)), 1: TensorFact(I64, (3,), low=1, high=5)}),
        ("Reshape", {0: TensorFact(F, (3, 4)), 1: TensorFact(I64, (2,), value=(2, 6))}),
        ("Conv", {0: TensorFact(F, (1, 6, 8, 8)), 1: TensorFact(F, (4, 3, 3, 3))}),
        ("MatMul", {1: TensorFact(F, (5, 4))}),
        ("Where", {1: TensorFact(F, (5, 4)), 2: TensorFact(F, (5, 1))}),
        ("Concat", {1: TensorFact(F, (5, 4)), 2: TensorFact(F, (5, 2))}),
        ("Gemm", {0: TensorFact(F, (5, 4)), 2: TensorFact(F, (3,))}),
    ],
)
def test_several_givens_are_kept(specs: Specs, op: str, given: dict[int, TensorFact]) -> None:
    calls = [sample_call(spec_of(specs, op), given, Choices.from_seed(s)) for s in range(6)]
    made = [c for c in calls if c is not None]
    assert len(made) >= 4
    for call in made:
        for position, fact in given.items():
            plan = call.inputs[position]
            assert plan is not None
            assert plan.fact is fact


class Counts:
    """What a campaign has seen."""

    def __init__(self) -> None:
        self.counts: collections.Counter[tuple[Any, ...]] = collections.Counter()

    def weight(self, feature: tuple[Any, ...]) -> float:
        return 1 / (1 + self.counts[feature])


@pytest.mark.property
def test_unseen_values_are_preferred(specs: Specs) -> None:
    spec = spec_of(specs, "ArgMax")
    seen = Counts()
    for axis in (-4, -3, -2, -1, 0, 1, 3):
        seen.counts["attr", "ArgMax", "axis", axis] = 1000
    drawn: collections.Counter[int] = collections.Counter()
    for seed in range(60):
        call = sample_call(spec, {0: TensorFact(F, (2, 3, 4, 5))}, Choices.from_seed(seed), seen=seen)
        assert call is not None
        drawn[call.attrs.get("axis", 0)] += 1
    assert drawn[2] > 30


@pytest.mark.property
def test_variety(specs: Specs) -> None:
    """Attributes take default, usual and unusual values."""
    spec = spec_of(specs, "Conv")
    attrs: dict[str, set[str]] = collections.defaultdict(set)
    for seed in range(150):
        call = sample_call(spec, {0: TensorFact(F, (2, 4, 9, 9))}, Choices.from_seed(seed))
        assert call is not None
        for name in spec.attrs:
            attrs[name].add(repr(call.attrs.get(name)))
    assert attrs["group"] == {"None", "1", "2", "4"}
    assert attrs["auto_pad"] == {"None", "'NOTSET'", "'VALID'", "'SAME_UPPER'", "'SAME_LOWER'"}
    assert len(attrs["dilations"]) >= 8
    assert len(attrs["pads"]) >= 20
    assert len(attrs["strides"]) == 10


@pytest.mark.property
def test_inputs_and_outputs_stay_small(specs: Specs) -> None:
    for op in ("Expand", "Tile", "Conv", "MatMul", "Add", "Resize", "Pad"):
        for seed in range(20):
            call = sample_call(
                spec_of(specs, op), {0: TensorFact(F, (1, 2, 3, 4))}, Choices.from_seed(seed), max_elements=64
            )
            if call is None:
                continue
            assert all(p is None or (p.fact.size() or 0) <= 64 for p in call.inputs), op
            repeats = call.inputs[1]
            if op == "Tile" and repeats is not None and repeats.value is not None:
                assert np.prod(repeats.value) * 24 <= 64


@pytest.mark.parametrize("op", ["Concat", "Einsum"])
def test_a_known_operand_of_many_leaves_room_for_more(specs: Specs, op: str) -> None:
    given = {0: TensorFact(F, (12,)), 1: TensorFact(F, (1,), value=(3.5,))}
    calls = [sample_call(spec_of(specs, op), given, Choices.from_seed(seed)) for seed in range(200)]
    counts = {len(call.inputs) for call in calls if call is not None}
    assert 2 in counts
    assert max(counts) > 2


@pytest.mark.unit
def test_unusual_calls_have_no_elements_and_scalars_and_usual_ones_do_not(specs: Specs) -> None:
    usual, unusual = collections.Counter[str](), collections.Counter[str]()
    for counter, kinds in ((usual, ("",)), (unusual, ("scalar", "empty"))):
        for op, kind in itertools.product(("Tile", "NonZero", "Gather", "Softmax", "Add"), kinds):
            for seed in range(60):
                call = sample_call(spec_of(specs, op), {}, Choices.from_seed(f"{op} {seed}"), unusual=kind)
                shapes = [p.fact.shape or () for p in (call.inputs if call is not None else ()) if p is not None]
                counter[f"{op} empty"] += any(0 in shape for shape in shapes)
                counter[f"{op} scalar"] += bool(shapes) and shapes[0] == ()
    assert [name for name in usual if name.endswith("empty") and usual[name]] == []
    assert usual["Tile scalar"] == usual["NonZero scalar"] == 0
    for name in ("Tile scalar", "NonZero scalar", "Gather empty", "Softmax empty", "Add empty"):
        assert unusual[name] > 3, name


@pytest.mark.unit
def test_what_onnxruntime_takes_no_empty_tensors_of_gets_none(specs: Specs) -> None:
    for op, allowed in (("MatMul", ()), ("MaxPool", (0,)), ("Conv", (0,))):
        for seed in range(60):
            call = sample_call(spec_of(specs, op), {}, Choices.from_seed(f"{op} {seed}"), unusual="empty")
            shape = (call.inputs[0].fact.shape or ()) if call is not None and call.inputs[0] is not None else ()
            assert {axis for axis, size in enumerate(shape) if size == 0} <= set(allowed)


@pytest.mark.unit
def test_an_empty_input_gives_an_empty_output(specs: Specs) -> None:
    call = sample_call(spec_of(specs, "Relu"), {0: TensorFact(F, (0, 3))}, Choices.from_seed(0))
    assert call is not None
    assert sample_call(spec_of(specs, "Transpose"), {0: TensorFact(F, (2, 0))}, Choices.from_seed(0)) is not None


@pytest.mark.unit
def test_optional_inputs_that_are_needed_are_there(specs: Specs) -> None:
    for seed in range(40):
        call = sample_call(spec_of(specs, "Clip"), {}, Choices.from_seed(seed), needed=frozenset({2}))
        assert call is not None
        assert call.inputs[2] is not None
