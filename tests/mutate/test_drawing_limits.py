"""Limits of what is drawn: operators, element types, ranks, and what targets refuse."""

from __future__ import annotations

import onnx.parser
import onnx_ir as ir
import pytest

from irfuzz.choices import Choices
from irfuzz.generate.one_node_programs import sprouts
from irfuzz.ir.program import Program
from irfuzz.mutate.call_traits import OPERATOR, TYPE, WHOLE, traits
from irfuzz.mutate.drawing_limits import DrawingLimits, Steered, SteeredGaps
from irfuzz.mutate.drawn_calls.insert_neighbours import InsertNeighbours
from irfuzz.mutate.feature_counts import Feature, FeatureCounts
from irfuzz.mutate.mutation_engine import Engine, Mutant, replay
from irfuzz.search.coverage.coverable_call_space import load
from irfuzz.search.coverage.uncovered_operator_calls import Frontier
from irfuzz.spec import load_specs

FLOAT = int(ir.DataType.FLOAT)


def program(text: str) -> Program:
    return Program.from_proto(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}'))


TWO = "g (float[2,3] x, float[2,3] w) => (float[2,3] y) { a = Add(x, w) y = LeakyRelu<alpha = 0.5>(a) }"


@pytest.mark.unit
def test_traits_of_a_program() -> None:
    found = list(traits(program(TWO)))
    assert (OPERATOR, ("operator", "Add")) in found
    assert (TYPE, ("dtype", "Add", 0, FLOAT)) in found
    assert (WHOLE, ("opset", 17)) in found
    shown = {feature for _, feature in found}
    assert {("computed", "Add", 1), ("rank", "Add", 0, 2), ("attr", "LeakyRelu", "alpha", 0.5)} <= shown
    assert ("input", FLOAT) in shown
    assert not {("empty", "Add"), ("open", "Add"), ("constants",)} & shown
    constant = program("g (float[N] x) => (float[N] y) { c = Constant<value_float = 2.0>() y = Mul(x, c) }")
    shown = {feature for _, feature in traits(constant)}
    assert ("open", "Mul") in shown
    assert ("computed", "Mul", 1) not in shown
    assert ("constants",) in shown
    assert not any("Constant" in feature for feature in shown)


@pytest.mark.unit
def test_attributes_beside_their_defaults_and_axes_from_the_end() -> None:
    def shown(attributes: str) -> set[Feature]:
        text = f"g (float[2,3,4] x) => (float[2,3,4] y) {{ y = Softmax{attributes}(x) }}"
        return {feature for _, feature in traits(program(text))}

    assert ("set", "Softmax", "axis") not in shown("<axis = -1>") | shown("")
    assert ("set", "Softmax", "axis") in shown("<axis = 0>")
    assert ("attr", "Softmax", "axis from the end", -3) in shown("<axis = 0>") & shown("<axis = -3>")
    assert ("attr", "Softmax", "axis from the end", -2) not in shown("<axis = 2>")


@pytest.mark.unit
def test_nodes_of_bodies_have_traits() -> None:
    inside = program(
        "g (bool c, float[2] x) => (float[2] y) "
        "{ y = If(c) <then_branch = t () => (float[2] a) { a = Tanh(x) }, "
        "else_branch = e () => (float[2] b) { b = Neg(x) }> }"
    )
    shown = {feature for _, feature in traits(inside)}
    assert {("operator", "If"), ("operator", "Tanh"), ("operator", "Neg")} <= shown


@pytest.mark.unit
@pytest.mark.parametrize(
    ("limits", "beyond"),
    [
        (DrawingLimits(ops=frozenset({"Add", "LeakyRelu"})), ""),
        (DrawingLimits(ops=frozenset({"Add"})), "operator LeakyRelu"),
        (DrawingLimits(dtypes=frozenset({ir.DataType.FLOAT})), ""),
        (DrawingLimits(dtypes=frozenset({ir.DataType.INT64})), "dtype Add"),
        (DrawingLimits(max_rank=2), ""),
        (DrawingLimits(max_rank=1), "rank Add"),
        (DrawingLimits(refused=lambda feature: feature == ("attr", "LeakyRelu", "alpha", 0.5)), "attr LeakyRelu"),
        (DrawingLimits(refused=lambda feature: feature == ("opset", 17)), "opset 17"),
    ],
)
def test_what_is_beyond(limits: DrawingLimits, beyond: str) -> None:
    why = limits.why_not(program(TWO))
    assert beyond in why
    assert bool(why) == bool(beyond)


@pytest.mark.unit
def test_constants_may_be_of_other_types_and_ranks_count_everywhere() -> None:
    floats = DrawingLimits(dtypes=frozenset({ir.DataType.FLOAT}))
    shape = "{ s = Constant<value_ints = [6]>() y = Reshape(x, s) }"
    assert not floats.why_not(program(f"g (float[2,3] x) => (float[6] y) {shape}"))
    assert floats.why_not(program("g (float[2,3] x) => (int64[2] y) { y = Shape(x) }"))
    assert floats.why_not(program("g (float[2,3] x, int64[1] i) => (float[1,3] y) { y = Gather(x, i) }"))
    assert DrawingLimits(max_rank=2).why_not(
        program("g (float[2,3] x) => (float[1,2,3] y) { a = Constant<value_ints = [0]>() y = Unsqueeze(x, a) }")
    )


@pytest.mark.unit
def test_no_limit_is_false_and_exploring_lifts_what_was_learnt_alone() -> None:
    assert not DrawingLimits()
    assert DrawingLimits(max_rank=0)
    limits = DrawingLimits(ops=frozenset({"Add"}), refused=lambda _: True, exploring=True)
    assert not limits.forbids(("operator", "Add"))
    assert limits.forbids(("operator", "Mul"))
    limits.exploring = False
    assert limits.forbids(("operator", "Add"))


@pytest.mark.unit
def test_draws_are_steered_and_not_forbidden() -> None:
    limits = DrawingLimits(ops=frozenset({"Add"}), dtypes=frozenset({ir.DataType.FLOAT}))
    steered = Steered(FeatureCounts(), limits)
    assert steered.weight(("operator", "Add")) == steered.weight(("edge", "Mul", "Add")) == 1.0
    for feature in (("operator", "Mul"), ("edge", "Add", "Mul"), ("alone", "Add", 14, int(ir.DataType.INT64))):
        assert 0 < steered.weight(feature) < 1e-6
    gaps, plain = SteeredGaps(Frontier(load()), limits), Frontier(load())
    assert gaps.call("Add") == plain.call("Add")
    assert gaps.call("Mul") < 1e-6 * plain.call("Mul")
    assert gaps.pairs("Relu", ["Mul", "Sub"]) is None
    assert gaps.pairs("Relu", ["Mul", "Add"]) == [0.0, plain.pair("Relu", "Add")]


def grown(limits: DrawingLimits, tries: int = 40) -> list[Mutant]:
    engine = Engine(load_specs(), seen=Steered(FeatureCounts(), limits), constraints=limits)
    limits.whole = True
    parent = next(p for p in sprouts().values() if p.opset == 17)
    made = [
        engine.mutate(parent, Choices.from_seed(f"limits/{n}"), plan=(InsertNeighbours.name,)) for n in range(tries)
    ]
    return [mutant for mutant in made if mutant is not None]


def test_mutants_stay_within_limits_and_replay_without_them() -> None:
    ops = frozenset({"Relu", "Add", "MatMul", "Softmax"})
    limits = DrawingLimits(ops, frozenset({ir.DataType.FLOAT}), 3)
    made = grown(limits)
    assert len(made) >= 10
    for mutant in made:
        assert {node.op_type for node in mutant.program.nodes()} <= ops | {"Constant"}
        assert not limits.why_not(mutant.program)
    parent = next(p for p in sprouts().values() if p.opset == 17)
    for mutant in made:
        assert replay(parent, mutant.edits, load_specs()).digest == mutant.program.digest


def test_what_targets_refuse_is_not_drawn() -> None:
    def refused(feature: Feature) -> bool:
        return (feature[0] == "rank" and feature[3] == 1) or feature[0] == "attr"

    made = grown(DrawingLimits(frozenset({"Transpose", "Relu", "Add"}), refused=refused))
    assert made
    for mutant in made:
        for node in mutant.program.nodes():
            assert not node.attributes or node.op_type == "Constant"
