"""Edits keep names, facts and validity; what an edit infers equals what a fresh inference finds."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import parser

from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.ir.verifier import verify
from irfuzz.mutate.mutation_engine import Engine
from irfuzz.shipped_folders import seeds_dir
from irfuzz.spec import load_specs

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
CHAIN = HEAD + "g (float[2,3] x) => (float[2,3] y) { [r] a = Relu(x)\n [t] b = Tanh(a)\n [s] y = Sigmoid(b) }"


@pytest.fixture
def chain() -> Program:
    return Program.from_proto(parser.parse_model(CHAIN))


def full_check(program: Program) -> None:
    onnx.checker.check_model(program.to_proto(), full_check=True)


def test_an_inserted_node_is_typed_and_wired(chain: Program) -> None:
    a = chain.value("a")
    assert a is not None
    node = chain.insert("Transpose", [a], {"perm": [1, 0]})
    back = chain.insert("Transpose", [node.outputs[0]], {"perm": [1, 0]})
    assert chain.tensor(node.outputs[0]) == TensorFact(chain.tensor(a).dtype, (3, 2), 0.0, None)  # type: ignore[union-attr]
    assert chain.replace_uses(a, back.outputs[0]) == 1
    assert [n.op_type for n in chain.nodes()] == ["Relu", "Transpose", "Transpose", "Tanh", "Sigmoid"]
    full_check(chain)


def test_users_that_the_new_value_needs_keep_the_old_one(chain: Program) -> None:
    a = chain.value("a")
    assert a is not None
    node = chain.insert("Neg", [a])
    chain.replace_uses(a, node.outputs[0])
    assert node.inputs[0] is a


def test_a_replaced_output_keeps_its_public_name(chain: Program) -> None:
    y = chain.value("y")
    assert y is not None
    node = chain.insert("Cast", [y], {"to": onnx.TensorProto.DOUBLE})
    chain.replace_uses(y, node.outputs[0], outputs=True)
    proto = chain.to_proto()
    assert [o.name for o in proto.graph.output] == ["y"]
    assert proto.graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.DOUBLE
    full_check(chain)


def test_an_ill_typed_insertion_changes_nothing(chain: Program) -> None:
    before = chain.to_bytes()
    x = chain.value("x")
    with pytest.raises(InvalidProgram, match="MatMul"):
        chain.insert("MatMul", [x, x])
    assert chain.to_bytes() == before


def test_an_edit_on_a_copy_leaves_the_original_alone(chain: Program) -> None:
    before = chain.to_bytes()
    copy = chain.clone()
    node = copy.node("b")
    assert node is not None
    copy.set_input(node, 0, copy.value("x"))
    copy.prune()
    assert [n.op_type for n in copy.nodes()] == ["Tanh", "Sigmoid"]
    assert chain.to_bytes() == before


def test_changed_facts_reach_the_outputs_and_their_declaration() -> None:
    p = Program.from_proto(
        parser.parse_model(
            HEAD + "g (float[1,4] x) => (float[1,2] y) <float[4,2] w = {1,2,3,4,5,6,7,8}> { y = MatMul(x, w) }"
        )
    )
    w = p.value("w")
    assert w is not None
    p.set_constant(w, np.ones((4, 9), np.float32))
    assert p.tensor(p.value("y")).shape == (1, 9)  # type: ignore[union-attr]
    full_check(p)


def test_removing_what_is_used_is_refused(chain: Program) -> None:
    node = chain.node("a")
    assert node is not None
    with pytest.raises(InvalidProgram, match="still in use"):
        chain.remove(node)


def test_an_unknown_attribute_is_refused_and_named(chain: Program) -> None:
    with pytest.raises(InvalidProgram, match="no attribute 'slope'"):
        chain.insert("Relu", [chain.value("x")], {"slope": 1.0})


def test_verification_names_what_the_schema_lets_through() -> None:
    p = Program.from_proto(
        parser.parse_model(HEAD + "g (float[1,7,5,5] x, float[2,8,3,3] w) => (float[1,2,3,3] y) { [c] y = Conv(x, w) }")
    )
    onnx.checker.check_model(p.to_proto(), full_check=True)
    problems = verify(p)
    assert problems
    assert "'c' (Conv)" in str(problems[0])


@pytest.mark.property
@pytest.mark.parametrize("name", ["lenet5", "lstm", "qcnn", "resnet", "transformer"])
def test_incremental_facts_equal_those_of_a_fresh_inference(name: str) -> None:
    """What an edit leaves known must not depend on how the program came to be, or replays would differ."""
    engine = Engine(load_specs())
    seed = Program.from_bytes((seeds_dir() / f"{name}.onnx").read_bytes())
    program, checked = seed, 0
    for number in range(25):
        mutant = engine.mutate(program, Choices.from_seed(number), edits=2)
        if mutant is None:
            continue
        program = mutant.program if number % 5 else seed
        fresh = Program.from_bytes(mutant.program.to_bytes())
        kept = {v.name: mutant.program.fact(v) for v in mutant.program.values() if v.name}
        found = {v.name: fresh.fact(v) for v in fresh.values() if v.name}
        assert kept.keys() == found.keys()
        different = {name: (kept[name], found[name]) for name in kept if kept[name] != found[name]}
        assert not different
        checked += 1
    assert checked >= 15
