"""``insert-neighbours``: pairs come from the pattern book, what is neutral changes nothing, what is drawn runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.generate.input_values import make_inputs
from irfuzz.generate.one_node_programs import sprouts
from irfuzz.ir.program import Program
from irfuzz.mutate.drawn_calls.fused_operator_pairs import draw_pair, looked_for, pairs
from irfuzz.mutate.drawn_calls.identity_program_filling import bare
from irfuzz.mutate.drawn_calls.insert_neighbours import draw_shape
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import CASTABLE
from irfuzz.mutate.mutation_engine import Engine, replay
from irfuzz.mutate.patterns.neutral_nodes import WAYS, element_shape
from irfuzz.mutate.patterns.pattern_draft import PatternDraft
from irfuzz.mutate.patterns.pattern_draft_validation import insert, judge
from irfuzz.spec import Specs

Parse = Callable[..., Program]


@pytest.fixture(scope="module")
def ran() -> Callable[[bytes, dict[str, object]], list[np.ndarray]]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4

    def run(data: bytes, inputs: dict[str, object]) -> list[np.ndarray]:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        return session.run(None, inputs)

    return run


@pytest.mark.unit
def test_pairs_are_those_of_the_pattern_book() -> None:
    known, weights = pairs()
    assert len(known) == len(weights) >= 150
    assert min(weights) >= 1
    assert {op for pair in known for op in pair} <= set(looked_for())
    drawn = Counter(draw_pair(Choices.from_seed(seed)) for seed in range(4000))
    assert len(drawn) > len(known)  # siblings and strangers come besides
    assert sum(pair in drawn for pair in known) > 0.9 * len(known)


@pytest.mark.backend
@pytest.mark.parametrize("name", sorted(WAYS))
def test_each_neutral_way_computes_the_same_again(
    specs: Specs, parse: Parse, ran: Callable[..., list[np.ndarray]], name: str
) -> None:
    form = {"Not Not": "bool[2, 3]", "Pool": "float[1, 2, 3]"}.get(name, "float[2, 3]")
    made = 0
    for seed in range(6):
        program = parse(f"g ({form} x) => ({form} y) {{ y = Identity(x) }}", opset=18)
        fact = program.tensor(program.graph.inputs[0])
        assert fact is not None
        draft = PatternDraft({"x": TensorFact(fact.dtype, fact.shape)}, [], {})
        steps = WAYS[name](draft, "x", fact, Choices.from_seed(seed))
        assert steps is not None
        draft.steps += steps
        if judge(specs, 18, draft, 1 << 16) is not None:
            continue  # ReduceMax over no axes by an attribute that this opset has not
        made += 1
        inserter = Inserter(program, None)
        values = insert(draft, inserter, {"x": program.graph.inputs[0]})
        program.add_output(values[draft.result])
        inputs = dict(make_inputs(program, seed))
        first, second = ran(program.to_bytes(), inputs)
        assert first.dtype == second.dtype
        np.testing.assert_array_equal(first.reshape(second.shape), second)
    assert made >= 3


@pytest.mark.unit
def test_single_elements_get_more_dimensions_than_what_they_meet() -> None:
    ranks = Counter(len(element_shape(2, Choices.from_seed(seed))) for seed in range(300))
    assert set(ranks) == {0, 1, 2, 3, 4}
    shapes = [draw_shape(Choices.from_seed(seed)) for seed in range(400)]
    assert {len(s) for s in shapes} == {0, 1, 2, 3, 4, 5}
    assert sum(len(set(s)) == 1 and len(s) > 1 for s in shapes) > 80


@pytest.mark.backend
def test_what_is_drawn_is_valid_and_runs_unoptimised(specs: Specs, ran: Callable[..., list[np.ndarray]]) -> None:
    from onnxruntime.capi import onnxruntime_pybind11_state as errors

    engine = Engine(specs, ["insert-neighbours"])
    pool = list(sprouts().values())
    made = together = without = 0
    for seed in range(140):
        choices = Choices.from_seed(f"neighbours {seed}")
        parent = choices.pick(pool)
        mutant = engine.mutate(parent, choices)
        if mutant is None:
            continue
        made += 1
        program = mutant.program
        together += any(
            (producer := value.producer()) is not None and producer.op_type not in ("Identity", "Constant", "Cast")
            for node in program.nodes()
            for value in node.inputs
            if value is not None
        )
        # Of its function's body only floats are well-typed (onnx 1.23.2), of the operator all floating-point types.
        normalises = any(n.op_type == "MeanVarianceNormalization" for n in program.nodes())
        onnx.checker.check_model(program.to_proto(), full_check=not normalises)
        if any(f is None or f.dtype not in CASTABLE for f in map(program.tensor, program.graph.outputs)):
            continue  # ONNXRuntime has no arrays of four bits, of float8 and of bfloat16
        try:
            found = ran(mutant.to_bytes(), dict(make_inputs(program, seed)))
        except (errors.NotImplemented, errors.InvalidGraph):
            # Types for which there is no kernel are drawn now and then, those of functions as often as others.
            without += 1
            continue
        except errors.Fail as error:
            assert "hidden_size" in str(error)  # noqa: PT017 - it demands one above 0, of which ONNX says nothing
            without += 1
            continue
        for output, value in zip(program.graph.outputs, found, strict=True):
            fact = program.tensor(output)
            assert fact is not None
            assert value.dtype == fact.dtype.numpy() or fact.dtype is ir.DataType.STRING, mutant.edits
            if fact.is_static:
                assert value.shape == fact.shape, mutant.edits
        if seed % 10 == 0:
            assert replay(parent, mutant.edits, specs).to_bytes() == mutant.to_bytes()
    assert made >= 130
    assert together >= 35
    assert without <= 10


@pytest.mark.unit
def test_a_program_that_only_copies_becomes_calls_on_inputs_of_their_own(specs: Specs) -> None:
    engine = Engine(specs, ["insert-neighbours"])
    parent = next(iter(sprouts().values()))
    types, sizes, inputs = Counter[ir.DataType](), Counter[int](), Counter[int]()
    for seed in range(60):
        mutant = engine.mutate(parent, Choices.from_seed(f"anew {seed}"))
        assert mutant is not None
        if "in place of the copy" not in mutant.edits[0].detail:
            continue
        program = mutant.program
        nodes = program.nodes()
        x = program.tensor(program.graph.inputs[0])
        assert x is not None
        assert len(program.graph.inputs[0].uses()) == 1
        assert all(v.uses() for v in program.graph.inputs)
        assert program.graph.outputs[0].name == "y"
        types[x.dtype] += 1
        sizes[len(nodes)] += 1
        inputs[len(program.graph.inputs)] += 1
        assert replay(parent, mutant.edits, specs).to_bytes() == mutant.to_bytes()
    assert sizes[1] + sizes[2] + sizes[3] > 40
    assert len(types) > 3
    assert inputs[2] + inputs[3] > 5
    assert bare(parent) is not None
    assert bare(program) is None
