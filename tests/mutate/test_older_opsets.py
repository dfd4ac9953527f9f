"""Programs below opset 13: models become older where all operators mean the same there, and small ones begin there."""

from __future__ import annotations

from collections.abc import Callable

import onnx
import pytest

from irfuzz.choices import Choices
from irfuzz.generate.one_node_programs import FORMS, OLD, OPEN, sprouts
from irfuzz.ir.program import Program
from irfuzz.mutate.model_interface.convert_opset import ConvertOpset
from irfuzz.mutate.mutation_engine import Engine
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Skipped
from irfuzz.spec import Specs

pytestmark = pytest.mark.unit


def reached(specs: Specs, program: Program) -> set[int]:
    """The opsets to which a program is converted."""
    found: set[int] = set()
    for seed in range(60):
        copy = program.clone()
        if not isinstance(ConvertOpset(Context(specs)).apply(copy, "model", Choices.from_seed(seed)), Skipped):
            onnx.checker.check_model(copy.to_proto(), full_check=True)
            found.add(copy.opset)
    return found


def test_a_model_becomes_older_if_its_operators_mean_the_same(specs: Specs, parse: Callable[..., Program]) -> None:
    program = parse("g (float[2,3] x) => (float[2,3] y) { a = Relu (x) b = Add (a, x) y = Sigmoid (b) }", opset=14)
    assert {11, 12, 13} <= reached(specs, program)
    assert min(reached(specs, program)) == 11


@pytest.mark.parametrize(
    ("text", "oldest"),
    [
        # Coerced to a matrix before 13, when the default axis was another one.
        ("g (float[2,3] x) => (float[2,3] y) { y = Softmax <axis = 1> (x) }", 13),
        # Its axes were an attribute.
        ("g (float[2,1] x) => (float[2] y) <int64[1] a = {1}> { y = Squeeze (x, a) }", 13),
        # Has had one more attribute since 14.
        ("g (float[2,3] x) => (float[6] y) <int64[1] s = {6}> { y = Reshape (x, s) }", 14),
        # Relu of integers came with 14.
        ("g (int32[2,3] x) => (int32[2,3] y) { y = Relu (x) }", 14),
        ("g (float[2,3] x) => (float[2,3] y) { y = Relu (x) }", 11),
    ],
)
def test_and_not_if_they_do_not(specs: Specs, parse: Callable[..., Program], text: str, oldest: int) -> None:
    assert min(reached(specs, parse(text, opset=15))) == oldest


def test_each_type_and_shape_is_at_one_of_the_old_opsets_too() -> None:
    old = [p for p in sprouts().values() if p.opset < 13]
    assert {p.opset for p in old} == {9, 10, 11, 12} == {opset for opset, _ in OLD}
    assert len(old) == len(FORMS) + len(OPEN)


@pytest.mark.parametrize("opset", [9, 10, 11, 12])
def test_they_are_mutated_into_valid_programs(specs: Specs, opset: int) -> None:
    engine = Engine(specs)
    made = 0
    for index, program in enumerate(p for p in sprouts().values() if p.opset == opset):
        mutant = engine.mutate(program, Choices.from_seed(index), edits=2)
        if mutant is None or any(edit.relation == "invalid" for edit in mutant.edits):
            continue
        made += mutant.program.opset == opset
        onnx.checker.check_model(mutant.program.to_proto(), full_check=True)
    assert made >= 4


@pytest.mark.parametrize(("length", "newer"), [(4, True), (-(2**31), False)])
def test_what_an_edit_broke_is_not_given_to_the_converter(
    specs: Specs, parse: Callable[..., Program], length: int, newer: bool
) -> None:
    """Inference, which the converter calls in this process, dies of a Slice along an axis of a negative size."""
    shape = "float[4,2]" if newer else "float[k,2]"
    given = f"int32 n = {{{length}}}, int64[1] s = {{0}}, int64[1] e = {{1}}, int64[1] a = {{1}}"
    text = f"g (float[4,3,1] x) => ({shape} y) <{given}> "
    body = "{ d = DFT <axis = 0> (x, n) c = Slice (d, s, e, a) y = Squeeze (c, a) }"
    assert (max({0, *reached(specs, parse(text + body, opset=17))}) > 19) == newer
