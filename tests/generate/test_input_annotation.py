"""What is said of inputs is in the program, and everything that draws inputs for it or a mutant keeps to it."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from irfuzz.choices import Choices
from irfuzz.generate.graph_inputs.input_annotation import annotated, fixed, ranges_of_samples
from irfuzz.generate.input_spec import InputSpec
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.input_domain import input_domain, input_sizes
from irfuzz.ir.program import Program
from irfuzz.mutate.mutation_engine import Engine
from irfuzz.spec import load_specs

pytestmark = pytest.mark.unit

TEXT = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N,3,H,W] image, float[?,2] extra, float[?,2] more) => (float[N,3,H,W] y, float[?,2] z)
{ y = Relu(image) z = Add(extra, more) }"""

SPEC = InputSpec(
    shapes={"image": (1, 3, 48, 16), "extra": (7, 2), "more": (7, 2)},
    sizes={"N": 1, "H": 48, "W": 16},
    ranges={"image": (0.0, 255.0)},
)


@pytest.fixture
def program() -> Program:
    return Program.from_proto(onnx.parser.parse_model(TEXT))


def test_nothing_said_changes_nothing(program: Program) -> None:
    assert annotated(program, InputSpec()) is program
    assert fixed(program, InputSpec()) is program


def test_what_is_said_is_drawn_and_survives_the_file(program: Program) -> None:
    before = program.to_bytes()
    said = Program.from_bytes(annotated(program, SPEC).to_bytes())
    assert program.to_bytes() == before
    for seed in range(5):
        made = make_inputs(said, seed)
        assert {name: np.shape(value) for name, value in made.items()} == SPEC.shapes
        image = np.asarray(made["image"])
        assert 0 <= image.min() <= image.max() <= 255


def test_axes_without_a_name_get_one_each(program: Program) -> None:
    said = annotated(program, InputSpec(shapes={"extra": (7, 2)}))
    value, other = said.value("extra"), said.value("more")
    assert value is not None
    assert other is not None
    assert input_sizes(value) == {"size_0": (7,)}
    assert [str(d) for d in value.shape or ()] == ["size_0", "2"]
    assert [str(d) for d in other.shape or ()][:1] == ["None"]
    assert input_sizes(other) == {}


def test_mutants_keep_to_it(program: Program) -> None:
    said = annotated(program, SPEC)
    engine = Engine(load_specs())
    kept = 0
    for seed in range(30):
        mutant = engine.mutate(said, Choices.from_seed(seed), edits=2)
        if mutant is None or mutant.program.value("image") is None:
            continue
        value = Program.from_bytes(mutant.program.to_bytes()).value("image")
        made = make_inputs(mutant.program, seed).get("image")
        if value is not None and isinstance(made, np.ndarray) and made.shape == (1, 3, 48, 16):
            kept += input_domain(value) is not None
    assert kept >= 15


def test_samples_say_sizes_and_ranges_of_which_nothing_else_is_said(program: Program) -> None:
    rows = [
        {"image": np.full((1, 3, n, 4), float(n), np.float32), "extra": np.ones((5, 2), np.float32)} for n in (6, 8)
    ]
    said = annotated(program, InputSpec(samples=rows))
    image, extra = said.value("image"), said.value("extra")
    assert image is not None
    assert extra is not None
    assert input_sizes(image) == {"N": (1,), "H": (6, 8), "W": (4,)}
    assert input_sizes(extra) == {"size_0": (5,)}
    domain = input_domain(image)
    assert domain is not None
    assert (domain.low, domain.high) == (6, 8)
    narrower = annotated(program, InputSpec(sizes={"H": 7}, ranges={"image": (0.0, 1.0)}, samples=rows))
    image = narrower.value("image")
    assert image is not None
    assert input_sizes(image)["H"] == (7,)
    domain = input_domain(image)
    assert domain is not None
    assert (domain.low, domain.high) == (0, 1)


def test_sizes_become_numbers_where_a_model_is_to_be_small(program: Program) -> None:
    made = fixed(program, SPEC)
    assert {v.name: tuple(v.shape.numpy()) for v in made.graph.inputs if v.shape is not None} == SPEC.shapes
    assert not any(input_sizes(v) for v in made.graph.inputs)
    assert [tuple(v.shape.numpy()) for v in made.graph.outputs if v.shape is not None] == [(1, 3, 48, 16), (7, 2)]
    partly = fixed(program, InputSpec(sizes={"H": 5}))
    assert [str(d) for d in partly.graph.inputs[0].shape or ()] == ["N", "3", "5", "W"]


def test_ranges_are_of_finite_numbers_alone() -> None:
    def one(array: np.ndarray) -> dict[str, tuple[float, float]]:
        return ranges_of_samples([{"x": array}])

    assert one(np.array([-1, 3], np.int8)) == {"x": (-1, 3)}
    assert one(np.array([0.5], np.float16)) == {"x": (0.5, 0.5)}
    assert one(np.array([np.nan, 1], np.float32)) == {}
    assert one(np.array([np.inf, 1], np.float32)) == {}
    assert one(np.array([True])) == {}
    assert one(np.array(["a"], object)) == {}
    assert one(np.zeros((0,), np.float32)) == {}
    both = [{"x": np.array([1.0])}, {"x": np.array([-2.0]), "y": np.array([5])}]
    assert ranges_of_samples(both) == {"x": (-2, 1), "y": (5, 5)}
