"""One call drawn from nothing: every operator, version and type gets its share, scalars and no elements, too."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from irfuzz.choices import Choices
from irfuzz.generate.one_node_programs import RARE_FORMS, sprouts
from irfuzz.ir.program import Program
from irfuzz.ir.value import fact_of
from irfuzz.mutate.drawn_calls.call_quantisation import quantise, zero_point_types
from irfuzz.mutate.drawn_calls.identity_program_filling import bare, detour, start_anew
from irfuzz.mutate.drawn_calls.single_call_draw import RARE, draw_single, starts_of
from irfuzz.mutate.feature_counts import FeatureCounts, features
from irfuzz.mutate.mutation_engine import Engine, replay
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.patterns.pattern_draft import PatternDraft
from irfuzz.spec import Specs

LIMIT = 1 << 16
D = ir.DataType


def sprout(opset: int) -> Program:
    return next(p for p in sprouts().values() if p.opset == opset).clone()


def made(specs: Specs, draft: PatternDraft, opset: int) -> Program:
    """The program that computes a draft and nothing else."""
    program = sprout(opset)
    node = bare(program)
    assert node is not None
    start_anew(specs, program, node, draft, Choices.from_seed(0))
    return program


def drawn(specs: Specs, opset: int, count: int, seen: FeatureCounts | None = None) -> list[PatternDraft]:
    """Drafts, each of which is counted as seen before the next is drawn."""
    context = Context(specs, seen)
    found: list[PatternDraft] = []
    for number in range(count):
        draft = draw_single(context, opset, Choices.from_seed(f"single {number}"), LIMIT)
        if draft is None:
            continue
        found.append(draft)
        if seen is not None:
            seen.add_program(made(specs, draft, opset))
    return found


@pytest.mark.unit
def test_all_operators_of_an_opset_are_drawn_soon_and_in_many_types(specs: Specs) -> None:
    drafts = drawn(specs, 23, 900, FeatureCounts())
    ops = Counter(draft.steps[-1].op for draft in drafts)
    callable_ = {s.op for s in specs.overlaid(23) if "random" not in s.traits and starts_of(s, 23)}
    assert len(callable_ - ops.keys()) <= 4, callable_ - ops.keys()
    assert {"Attention", "RotaryEmbedding", "NonZero", "DeformConv"} <= ops.keys()
    # Resize has nine attributes and three optional inputs, Neg none.
    assert ops["Resize"] > ops["Neg"] > 0
    types = {d.facts[d.steps[-1].inputs[0] or ""].dtype for d in drafts if d.steps[-1].op == "Pad"}
    assert len(types) >= 4


@pytest.mark.unit
def test_each_is_a_valid_model_and_some_are_unusual(specs: Specs) -> None:
    empty = scalars = 0
    for opset in (9, 13, 18, 26):
        for draft in drawn(specs, opset, 60, FeatureCounts()):
            program = made(specs, draft, opset)
            # Of its function's body only floats are well-typed (onnx 1.23.2), of the operator all floating-point types.
            onnx.checker.check_model(program.to_proto(), full_check=draft.steps[-1].op != "MeanVarianceNormalization")
            empty += any(0 in (fact.shape or ()) for fact in draft.facts.values())
            scalars += draft.given["x"].shape == ()
    assert empty >= 8
    assert scalars >= 10


@pytest.mark.unit
def test_types_without_a_kernel_are_worth_little_unless_a_function_defines_the_operator(specs: Specs) -> None:
    function, kernel = specs.get("MeanVarianceNormalization", 13), specs.get("Conv", 22)
    assert function is not None
    assert kernel is not None
    assert {dtype: worth for position, dtype, worth in starts_of(function, 13) if not position}[D.DOUBLE] == 1.0
    worths = {dtype: worth for position, dtype, worth in starts_of(kernel, 22) if not position}
    assert worths[D.FLOAT] == 1.0
    assert worths[D.DOUBLE] == RARE
    assert D.BFLOAT16 in worths
    old = specs.get("Identity", 9)
    assert old is not None
    assert not {D.BFLOAT16, D.INT4} & {dtype for _, dtype, _ in starts_of(old, 9)}


@pytest.mark.unit
def test_what_no_component_takes_from_outside_is_reached_by_a_first_call(specs: Specs) -> None:
    firsts = {
        draft.steps[0].op: draft
        for draft in drawn(specs, 21, 700)
        if len(draft.steps) > 1 and draft.given["x"].dtype is D.FLOAT
    }
    assert {"Cast", "QuantizeLinear"} <= firsts.keys()
    assert firsts["QuantizeLinear"].facts["reached"].dtype in (D.UINT4, D.INT4)
    assert firsts["Cast"].facts["reached"].dtype is D.BFLOAT16


@pytest.mark.unit
def test_results_are_quantised_to_every_type_behind_every_operator(specs: Specs) -> None:
    seen = FeatureCounts()
    context, types = Context(specs, seen), Counter[D]()
    quantizer = specs.get("QuantizeLinear", 21)
    assert quantizer is not None
    before = 0
    for number in range(160):
        choices = Choices.from_seed(f"pool {number}")
        program = sprout(21)
        found = draw_single(context, 21, choices, LIMIT)
        quantised = None if found is None else quantise(context, 21, found, choices, LIMIT)
        if quantised is None:
            continue
        step = next(s for s in quantised.steps if s.outputs == ["quantised"])
        types[quantised.facts["quantised"].dtype] += 1
        before += quantised.steps[0].outputs in (["real"], ["given"])
        assert step.inputs[0] == next(s for s in quantised.steps if s.op == found.steps[-1].op).outputs[0]  # type: ignore[union-attr]
        program = made(specs, quantised, 21)
        onnx.checker.check_model(program.to_proto(), full_check=True)
        seen.add_program(program)
    assert set(types) == set(zero_point_types(quantizer)) == {
        D.UINT8, D.INT8, D.UINT16, D.INT16, D.UINT4, D.INT4
    }  # fmt: skip
    assert before >= 10


@pytest.mark.unit
def test_integers_are_not_quantised(specs: Specs) -> None:
    draft = next(d for d in drawn(specs, 21, 200) if d.facts[d.result].dtype is D.INT64)
    assert quantise(Context(specs), 21, draft, Choices.from_seed(1), LIMIT) is None


@pytest.mark.backend
def test_a_detour_computes_the_same(specs: Specs) -> None:
    import onnxruntime

    longer = 0
    for draft in drawn(specs, 18, 60):
        if not draft.constants or draft.given["x"].dtype is not D.FLOAT or len(draft.steps) > 1:
            continue
        other = detour(specs, 18, draft, Choices.from_seed(len(draft.constants)), LIMIT)
        longer += len(other.steps) > len(draft.steps)
        x = np.random.default_rng(0).standard_normal(draft.given["x"].static_shape or ()).astype(np.float32)
        results = []
        for one in (draft, other):
            data = made(specs, one, 18).to_bytes()
            session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
            results.append(session.run(["y"], {"x": x})[0])
        np.testing.assert_array_equal(*results)
    assert longer >= 5


@pytest.mark.unit
def test_novelty_counts_versions_and_types_of_small_programs(specs: Specs) -> None:
    draft = next(d for d in drawn(specs, 13, 300) if d.steps[-1].op == "Relu" and len(d.steps) == 1)
    program = made(specs, draft, 13)
    fact = fact_of(program.nodes()[0].inputs[0])  # type: ignore[arg-type]
    assert ("alone", "Relu", 13) in set(features(program))
    assert ("alone", "Relu", 13, fact.dtype.value) in set(features(program))  # type: ignore[union-attr]


@pytest.mark.unit
def test_equal_choices_give_equal_programs(specs: Specs) -> None:
    engine = Engine(specs, ["insert-neighbours"], max_opset=26)
    common = list(sprouts().values())[: -len(RARE_FORMS)]
    for number, parent in enumerate(common[::9]):
        mutant = engine.mutate(parent, Choices.from_seed(f"same {number}"))
        assert mutant is not None
        assert replay(parent, mutant.edits, specs).to_bytes() == mutant.to_bytes()
