"""``insert-pattern``: each pattern is what its optimiser knows, near-misses differ in one thing, and all are valid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import irfuzz
from irfuzz.choices import Choices
from irfuzz.errors import SpecError
from irfuzz.facts import TensorFact
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.mutate.feature_counts import FeatureCounts
from irfuzz.mutate.mutation_engine import Engine, replay
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Applied, Skipped
from irfuzz.mutate.patterns.attribute_constant_near_misses import decisive
from irfuzz.mutate.patterns.insert_pattern import InsertPattern, feature_of
from irfuzz.mutate.patterns.near_misses import MISSES, body_read, tapped
from irfuzz.mutate.patterns.pattern_draft import (
    DraftNode,
    PatternDraft,
    bind,
    draw_rest,
    draw_sizes,
    make,
    retyped,
    sizes_of,
)
from irfuzz.mutate.patterns.pattern_draft_validation import judge, spell
from irfuzz.mutate.patterns.pattern_file_reader import SubgraphPattern, patterns, read
from irfuzz.mutate.patterns.pattern_placement import place
from irfuzz.spec import Specs

OPSETS = (17, 13, 21, 11, 18, 9)
FORMS = ("float[4, 4]", "float[1, 2, 4, 5]", "int64[2, 2]", "float[N, 3]", "double[3]", "bool[3, 3]")


def tiny(parse: Callable[..., Program], form: str, opset: int) -> Program:
    return parse(f"g ({form} x) => ({form} y) {{ y = Identity(x) }}", opset=opset, ir_version=8 if opset < 19 else 10)


def drafted(pattern: SubgraphPattern, seed: int, dtype: ir.DataType | None = None) -> PatternDraft | None:
    choices = Choices.from_seed(f"{pattern.name}{seed}")
    shape = choices.pick(pattern.shapes)
    env = draw_sizes(pattern, shape, choices)
    sizes = sizes_of(shape, env)
    draw_rest(pattern, env, choices)
    return (
        None if sizes is None else make(pattern, TensorFact(dtype or choices.pick(pattern.types), sizes), env, choices)
    )


def named(name: str) -> SubgraphPattern:
    return next(p for p in patterns() if p.name == name)


def judged(specs: Specs, name: str, seed: int = 0) -> PatternDraft:
    for more in range(20):
        draft = drafted(named(name), seed + more)
        if draft is not None and judge(specs, 17, draft, 1 << 16) is None:
            return draft
    raise AssertionError(f"{name} cannot be drawn")


@pytest.mark.unit
def test_there_are_at_least_sixty_and_each_says_who_fuses_it() -> None:
    assert len(patterns()) >= 60
    assert all(p.fused_by and all(p.fused_by) for p in patterns())


@pytest.mark.unit
@pytest.mark.parametrize("pattern", patterns(), ids=lambda p: p.name)
def test_each_is_valid_as_it_stands(specs: Specs, pattern: SubgraphPattern) -> None:
    reasons = Counter[str]()
    for seed in range(6):
        draft = drafted(pattern, seed)
        told = {"a size"} if draft is None else {judge(specs, opset, draft, 1 << 16) for opset in (17, 21)}
        reasons["" if None in told else str(told)] += 1
    assert reasons[""] >= 4, reasons


@pytest.mark.backend
def test_exact_and_near_misses_are_valid_and_run_unoptimised(specs: Specs, parse: Callable[..., Program]) -> None:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    engine = Engine(specs, ["insert-pattern"])
    made = exact = 0
    for index in range(160):
        program = tiny(parse, FORMS[index % len(FORMS)], OPSETS[index % len(OPSETS)])
        mutant = engine.mutate(program, Choices.from_seed(index))
        if mutant is None:
            continue
        made += 1
        exact += " with " not in mutant.edits[0].detail
        data = mutant.to_bytes()
        onnx.checker.check_model(onnx.load_from_string(data), full_check=True)
        if any(node.op_type == "Einsum" for node in mutant.program.graph):
            continue  # a letter may have two sizes, one of them 1, which is not said to be repeated: some refuse it
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        given = dict(make_inputs(mutant.program, index))
        for output, value in zip(mutant.program.graph.outputs, session.run(None, given), strict=True):
            fact = mutant.program.tensor(output)
            assert fact is not None
            assert value.dtype == fact.dtype.numpy(), mutant.edits
            if fact.is_static:
                assert value.shape == fact.shape, mutant.edits
    assert made >= 155
    assert 0.15 < exact / made < 0.5


@pytest.mark.unit
def test_an_edit_replays_to_the_same_bytes(specs: Specs, parse: Callable[..., Program]) -> None:
    engine = Engine(specs, ["insert-pattern"])
    program = tiny(parse, "float[2, 3]", 17)
    for seed in range(12):
        mutant = engine.mutate(program, Choices.from_seed(seed), edits=2)
        assert mutant is not None
        assert replay(program, mutant.edits, specs).to_bytes() == mutant.to_bytes()


@pytest.mark.unit
def test_favoured_patterns_are_drawn_more_and_the_edit_names_them(specs: Specs, parse: Callable[..., Program]) -> None:
    seen, program = FeatureCounts(), tiny(parse, "float[2, 3]", 17)
    names = Counter[str]()
    for times in (0, 1):
        mutator = InsertPattern(Context(specs, seen))
        for seed in range(40):
            answer = mutator.apply(program.clone(), "x", Choices.from_seed(seed))
            assert isinstance(answer, Applied)
            assert answer.detail.startswith(answer.pattern)
            names[answer.pattern] += times
        seen.favour({feature_of(pattern): 1e-6 for pattern in patterns() if pattern.name != "mish"})
    assert set(names) > {"mish"}
    assert names["mish"] > 30
    mutant = Engine(specs, ["insert-pattern"], seen=seen).mutate(program, Choices.from_seed(1))
    assert mutant is not None
    assert mutant.edits[-1].pattern == "mish"


@pytest.mark.unit
def test_what_cannot_be_adapted_is_left_alone(specs: Specs, parse: Callable[..., Program]) -> None:
    program = parse("g (string[3] x) => (string[3] y) { y = Identity(x) }")
    mutator = InsertPattern(Context(specs))
    assert mutator.sites(program) == []
    before = program.to_bytes()
    assert isinstance(mutator.apply(program, "x", Choices.from_seed(0)), Skipped)
    assert program.to_bytes() == before


@pytest.mark.unit
@pytest.mark.parametrize("name", sorted(MISSES))
def test_every_kind_of_miss_is_made_and_changes_something(specs: Specs, name: str) -> None:
    miss = MISSES[name][0]
    made = 0
    for index, pattern in enumerate(patterns()):
        draft = drafted(pattern, index)
        if draft is None or judge(specs, 17, draft, 1 << 16) is not None:
            continue
        other = draft.copy()
        other.facts = draft.facts
        text = miss(specs, 17, other, Choices.from_seed(index))
        if text is None or judge(specs, 17, other, 1 << 16) is not None:
            continue
        made += 1
        same = [(s.op, s.inputs, s.attrs, s.outputs) for s in draft.steps] == [
            (s.op, s.inputs, s.attrs, s.outputs) for s in other.steps
        ]
        elements = draft.constants.keys() == other.constants.keys() and all(
            np.array_equal(a, other.constants[n]) for n, a in draft.constants.items()
        )
        assert not (same and elements and draft.exposed == other.exposed and draft.captured == other.captured), text
    assert made >= 2


@pytest.mark.unit
def test_what_decides_is_missed_in_equal_shares(specs: Specs) -> None:
    """The exponent of a normalisation of nine nodes is about as likely as whether its means keep their axes."""
    draft = judged(specs, "layer-norm")
    told = Counter[str]()
    for seed in range(400):
        other = draft.copy()
        other.facts = draft.facts
        told[decisive(specs, 17, other, Choices.from_seed(seed)) or ""] += 1
    exponent = draft.steps[2].inputs[1]
    values = sum(count for text, count in told.items() if text.startswith(f"{exponent} "))
    shapes = sum(count for text, count in told.items() if text.startswith("Pow with a constant of shape"))
    keepdims = sum(count for text, count in told.items() if "ReduceMean" in text and "keepdims" in text)
    assert min(values, keepdims) >= 12, told
    assert shapes >= 12, told


@pytest.mark.unit
def test_inner_values_are_tapped_and_read_by_a_body(specs: Specs, parse: Callable[..., Program]) -> None:
    draft = judged(specs, "gelu-erf")
    taps = draft.copy()
    assert tapped(specs, 17, taps, Choices.from_seed(0))
    assert taps.exposed == draft.inner() == ["d", "e", "a", "m"]
    assert body_read(specs, 17, draft, Choices.from_seed(0))
    (read,) = draft.captured
    assert judge(specs, 17, draft, 1 << 16) is None
    program = tiny(parse, "float[2, 3]", 17)
    place(Context(specs), program, program.graph.inputs[0], draft, Choices.from_seed(1), whole=False)
    (owner,) = (node for node in program.graph if node.op_type == "If")
    for attr in owner.attributes.values():
        (inner,) = attr.as_graph()
        (value,) = inner.inputs
        assert value is not None
        maker = value.producer()
        assert maker is not None
        assert maker.graph is program.graph, read
    onnx.checker.check_model(program.to_proto(), full_check=True)


@pytest.mark.unit
def test_other_element_types_change_constants_and_casts(specs: Specs) -> None:
    draft = judged(specs, "relu-clip")
    other = retyped(draft, draft.given["x"].dtype, ir.DataType.INT32)
    assert other is not None
    assert {a.dtype for a in other.constants.values()} == {np.dtype(np.int32)}
    signed = judged(specs, "max-min")
    assert retyped(signed, signed.given["x"].dtype, ir.DataType.UINT8) is None, "-1 is no uint8"
    island = judged(specs, "thresholded-relu")
    moved = retyped(island, ir.DataType.FLOAT, ir.DataType.DOUBLE)
    assert moved is not None
    assert moved.steps[1].attrs["to"] == int(ir.DataType.DOUBLE.value)


@pytest.mark.unit
def test_a_division_of_integers_by_what_may_be_zero_is_refused(specs: Specs) -> None:
    draft = drafted(named("integer-quotient"), 1)
    assert draft is not None
    divisor = draft.steps[1].inputs[1]
    assert divisor is not None
    draft.constants[divisor] = np.zeros_like(draft.constants[divisor])
    assert "division" in (judge(specs, 17, draft, 1 << 16) or "")


@pytest.mark.unit
@pytest.mark.parametrize("inputs", [["x"], ["x", None], ["x", "e"]])
def test_a_power_of_integers_without_a_constant_exponent_is_refused(specs: Specs, inputs: list[str | None]) -> None:
    whole = TensorFact(ir.DataType.INT64, (2,))
    draft = PatternDraft({"x": whole, "e": whole}, [DraftNode("Pow", inputs, {}, ["y"])], {})
    assert judge(specs, 17, draft, 1 << 16) == "an integer to a power that may be negative"


@pytest.mark.unit
def test_old_opsets_get_attributes_where_new_ones_have_inputs(specs: Specs) -> None:
    draft = judged(specs, "reduce-squeeze")
    old = spell(draft.steps[0], draft, 11)
    assert old is not None
    assert old.attrs["axes"] == [1]
    assert len(old.inputs) == 1
    assert spell(draft.steps[0], draft, 13) is draft.steps[0]


@pytest.mark.unit
def test_sizes_are_bound_from_a_value() -> None:
    shape = named("glu").shapes[0]
    assert bind(shape, (2, 3, 7)) is None
    square = named("matmul-add").shapes[0]
    assert bind(square, (2, 3)) == {"M": 2, "K": 3}
    assert bind(square, (2, 3, 4)) is None
    star = named("gelu-erf").shapes[0]
    assert bind(star, ("N", 3, 4)) == {"B": ("N", 3), "K": 4}


@pytest.mark.unit
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[pattern]]\nname = "p"\nfused_by = ["a"]\nx = ["N"]\nnodes = ["y = relu(x)"]', "expected 'y = Op"),
        ('[[pattern]]\nname = "p"\nfused_by = ["a"]\nx = ["N"]\nnodes = ["y = Relu(z)"]', "reads 'z'"),
        ('[[pattern]]\nname = "p"\nfused_by = ["a"]\nx = ["N"]\n', "expected the keys"),
        ('[[pattern]]\nname = "p"\nfused_by = ["a"]\nx = ["N"]\nnodes = ["y = Add(x, 1:tiny)"]', "element type 'tiny'"),
    ],
)
def test_a_malformed_file_is_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=r"p\.toml: p") as error:
        read(text, "p.toml")
    assert message in str(error.value)


@pytest.mark.unit
def test_pattern_files_travel_with_the_package() -> None:
    assert list((Path(irfuzz.__file__).parent / "mutate" / "patterns").glob("*.toml"))
