"""``open-declarations`` states less of what is computed, and what is computed stays the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest

from irfuzz.choices import Choices
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.mutate.model_interface.open_declarations import OpenDeclarations
from irfuzz.mutate.mutation_engine import Engine, replay
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Skipped
from irfuzz.spec import Specs

Parse = Callable[..., Program]

GRAPH = "g (float[2, 3] x) => (float[3, 2] y) { a = Relu(x) b = Transpose(a) y = Neg(b) }"


def sizes(model: onnx.ModelProto, name: str) -> list[object] | None:
    """What a model states of the sizes of a value."""
    for value in (*model.graph.output, *model.graph.value_info):
        if value.name == name:
            return [d.dim_value or d.dim_param or None for d in value.type.tensor_type.shape.dim]
    return None


@pytest.mark.backend
def test_less_is_stated_and_the_same_is_computed(specs: Specs, parse: Parse) -> None:
    import onnxruntime

    program = parse(GRAPH)
    stated: set[str] = set()
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for seed in range(24):
        mutant = Engine(specs, ["open-declarations"]).mutate(program, Choices.from_seed(seed))
        assert mutant is not None
        assert str(mutant.edits[0].relation) == "equivalent"
        model = mutant.model_proto
        onnx.checker.check_model(model, full_check=True)
        for name, whole in (("y", [3, 2]), ("a", [2, 3]), ("b", [3, 2])):
            found = sizes(model, name)
            assert found is None or all(
                size in (None, number) or isinstance(size, str) for size, number in zip(found, whole, strict=True)
            )
            if found is not None and found != whole:
                stated.add(name)
        again = Program.from_proto(model)
        assert [again.tensor(v) for v in again.graph.outputs] == [program.tensor(v) for v in program.graph.outputs]
        session = onnxruntime.InferenceSession(mutant.to_bytes(), providers=["CPUExecutionProvider"])
        np.testing.assert_array_equal(session.run(["y"], {"x": x})[0], -x.T.clip(0))
        assert replay(program, mutant.edits, specs).to_bytes() == mutant.to_bytes()
    assert stated == {"y", "a", "b"}


@pytest.mark.unit
def test_names_stand_for_nothing_else(specs: Specs, parse: Parse) -> None:
    names: list[str] = []
    for seed in range(40):
        mutant = Engine(specs, ["open-declarations"]).mutate(parse(GRAPH), Choices.from_seed(seed))
        assert mutant is not None
        found = [s for name in ("y", "a", "b") for s in sizes(mutant.model_proto, name) or () if isinstance(s, str)]
        assert len(found) == len(set(found))
        names += found
    assert names


@pytest.mark.unit
def test_scalars_have_no_size_to_open(specs: Specs, parse: Parse) -> None:
    mutator = OpenDeclarations(Context(specs))
    program = parse("g (float x) => (float y) { y = Relu(x) }")
    assert mutator.sites(program) == []
    assert isinstance(mutator.apply(program, "model", Choices.from_seed(0)), Skipped)


@pytest.mark.unit
def test_an_open_size_may_be_one_or_nothing_at_run_time(specs: Specs, parse: Parse) -> None:
    program = parse("g (float[3] x, float[2, 3] w) => (float[2, 3] y) { y = Add(x, w) }")
    shapes: set[tuple[int, ...]] = set()
    for seed in range(60):
        mutant = Engine(specs, ["dimension-to-symbol"]).mutate(program, Choices.from_seed(seed))
        assert mutant is not None
        for sample in range(4):
            inputs = make_inputs(mutant.program, sample)
            x, w = (np.shape(inputs[name]) for name in ("x", "w"))  # type: ignore[arg-type]
            np.broadcast_shapes(x, w)
            shapes.add(x)
    assert {(3,), (1,)} <= shapes
    assert any(shape[0] > 3 for shape in shapes)  # of both at once
    assert (0,) in shapes


@pytest.mark.unit
def test_no_size_is_nothing_where_an_operator_takes_no_empty_tensor(specs: Specs, parse: Parse) -> None:
    program = parse("g (float[3, 2] x) => (float[3, 3] y) { t = Transpose(x) y = MatMul(x, t) }")
    for seed in range(40):
        mutant = Engine(specs, ["dimension-to-symbol"]).mutate(program, Choices.from_seed(seed))
        assert mutant is not None
        for sample in range(4):
            assert np.size(make_inputs(mutant.program, sample)["x"])  # type: ignore[arg-type]
