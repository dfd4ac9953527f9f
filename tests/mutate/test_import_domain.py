"""Operators of other domains are inserted where a program uses them or somebody asks, and nowhere else."""

from __future__ import annotations

from collections import Counter

import onnx
import pytest
from onnx import TensorProto, helper

import irfuzz
from irfuzz.errors import UsageError
from irfuzz.ir.program import Program
from irfuzz.mutate.model_interface.import_domain import domains_drawn, version_beside
from irfuzz.mutate.mutation_trace import rebuild
from irfuzz.spec import load_specs

ML = "ai.onnx.ml"


def model(*nodes: onnx.NodeProto, **imports: int) -> Program:
    """``x`` of 3 rows and 4 columns, through nodes, to ``y``."""
    graph = helper.make_graph(
        list(nodes),
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 4])],
    )
    opsets = [helper.make_opsetid("", 17), *(helper.make_opsetid(d.replace("_", "."), v) for d, v in imports.items())]
    return Program.from_proto(helper.make_model(graph, opset_imports=opsets, ir_version=8))


RELU = helper.make_node("Relu", ["x"], ["y"], name="r")
BINARIZER = helper.make_node("Binarizer", ["x"], ["y"], name="b", domain=ML)


def domains_of(program: Program, **wish: object) -> Counter[str]:
    """How many mutants have nodes of each domain."""
    found: Counter[str] = Counter()
    for mutant in irfuzz.mutate(program, n=40, seed=1, mutators=["insert-layer"], **wish):  # type: ignore[arg-type]
        found.update({node.domain for node in mutant.program.graph if node.domain})
    return found


def test_an_import_alone_brings_no_operators() -> None:
    imported = model(RELU, ai_onnx_ml=3)
    assert domains_drawn(imported, load_specs()) == ()
    assert not domains_of(imported)
    # and the bytes of mutants differ in the import only
    plain = [m.model_proto for m in irfuzz.mutate(model(RELU), n=10, seed=2)]
    others = [m.model_proto for m in irfuzz.mutate(imported, n=10, seed=2)]
    assert [m.graph for m in plain] == [m.graph for m in others]


def test_a_domain_that_is_used_brings_its_operators() -> None:
    used = model(BINARIZER, ai_onnx_ml=3)
    assert domains_drawn(used, load_specs()) == ((ML, 3),)
    assert len([m for m in irfuzz.mutate(used, n=40, seed=1, mutators=["insert-layer"]) if grown(m.program)]) > 5


def grown(program: Program) -> bool:
    """Whether there is a node of the domain besides the seed's own."""
    return any(node.domain == ML and node.name != "b" for node in program.graph)


def test_domains_that_are_asked_for_are_imported_and_mutants_replay() -> None:
    seed = model(RELU)
    found = domains_of(seed, domains=[ML, "com.microsoft"])
    assert found[ML] > 3
    assert found["com.microsoft"] > 3
    for mutant in irfuzz.mutate(seed, n=10, seed=1, domains=[ML], mutators=["insert-layer"]):
        assert mutant.edits[0].mutator == "import-domain"
        assert mutant.program.model.opset_imports[ML] == 3
        assert rebuild(mutant.trace, lambda _: seed) == mutant.to_bytes()
    assert seed.model.opset_imports == {"": 17}


@pytest.mark.parametrize("name", ["ai.onnx.ml.Scaler", "ai.onnx.ml:Scaler"])
def test_a_named_operator_brings_its_domain(name: str) -> None:
    inserted = {
        (node.domain, node.op_type)
        for mutant in irfuzz.mutate(model(RELU), n=10, seed=1, ops=[name], mutators=["insert-layer"])
        for node in mutant.program.graph
        if node.domain
    }
    assert inserted == {(ML, "Scaler")}


def test_programs_are_generated_of_a_named_operator() -> None:
    programs = [made.program for made in irfuzz.generate(n=3, seed=1, nodes=4, ops=["com.microsoft.FusedMatMul"])]
    assert {(n.domain, n.op_type) for p in programs for n in p.graph} == {("com.microsoft", "FusedMatMul")}


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (
            {"domains": ["ai.onnx.mll"]},
            r"domains: 'ai\.onnx\.mll' has no known operators; expected some",
        ),
        ({"domains": ML}, "domains: expected a list of names, got the text"),
        ({"ops": ["Scaler"]}, r"ops: unknown operator 'Scaler'; did you mean ai\.onnx\.ml\.Scaler\?"),
    ],
)
def test_what_is_wrong_is_named(wish: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        list(irfuzz.mutate(model(RELU), n=1, **wish))


def test_versions_of_one_release_stand_together() -> None:
    specs = load_specs()
    assert [version_beside(specs, ML, opset) for opset in (13, 17, 21)] == [2, 3, 5]
    assert version_beside(specs, "com.microsoft", 17) == 1
