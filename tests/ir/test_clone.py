"""Clones: equal to onnx-ir's own, and independent of their original."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from enum import Enum

import onnx
import onnx_ir as ir
import pytest
from onnx import parser

from irfuzz._cloning import Cloner
from irfuzz.facts import TensorFact
from irfuzz.ir.clone import clone, native_cloner
from irfuzz.ir.program import Program
from irfuzz.ir.serialization.model_encoding import encode_bytes
from irfuzz.ir.value import fact_of
from irfuzz.shipped_folders import seeds_dir

FLAT = """
<ir_version: 8, opset_import: ["" : 17, "other" : 2], producer_name: "p", model_version: 3, doc_string: "d">
g (float[N] x) => (float[N] y, float[N] h) <float[1] w = {1.5}, float[1] twice = {2}>
{ h = Mul(x, w) y, unused = other.Op <alpha = 1.5> (h, twice, , h) }
"""
NESTED = """
<ir_version: 8, opset_import: ["" : 17]>
g (bool c, float[2] x) => (float[2] y)
{ y = If (c) <then_branch = t () => (float[2] a) { a = Relu(x) }, else_branch = e () => (float[2] b) { b = Neg(x) }> }
"""
FUNCTION = """
<ir_version: 8, opset_import: ["" : 17, "f" : 1]>
g (float[2] x) => (float[2] y) { y = f.twice(x) }
<domain: "f", opset_import: ["" : 17]>
twice (a) => (b) { b = Add(a, a) }
"""


def models() -> list[ir.Model]:
    text = [parser.parse_model(t) for t in (FLAT, NESTED, FUNCTION)]
    flat = text[0]
    flat.graph.node[0].metadata_props.add(key="k", value="v")
    flat.graph.node[0].doc_string = "why"
    flat.graph.input[0].metadata_props.add(key="k", value="v")
    flat.metadata_props.add(key="k", value="v")
    flat.graph.doc_string = "graph"
    flat.graph.metadata_props.add(key="k", value="v")
    return [ir.from_proto(p) for p in [*text, *(onnx.load(path) for path in sorted(seeds_dir().glob("*.onnx")))]]


@pytest.mark.parametrize("model", models())
def test_it_is_what_onnx_ir_gives(model: ir.Model) -> None:
    wanted = ir.to_proto(model.clone()).SerializeToString(deterministic=True)
    assert ir.to_proto(clone(model)).SerializeToString(deterministic=True) == wanted
    assert ir.to_proto(model).SerializeToString(deterministic=True) == wanted


def reached(root: object) -> Iterator[object]:
    """Everything that hangs on an object, but for classes, tensors, types, shapes, facts and plain attributes."""
    immutable = (type, Enum, ir.TensorProtocol, ir.TypeProtocol, ir.Shape, ir.SymbolicDim, TensorFact)
    seen = {id(root)}
    todo = [root]
    while todo:
        one = todo.pop()
        yield one
        for other in gc.get_referents(one):
            plain = isinstance(other, ir.Attr) and other.type not in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)
            if id(other) not in seen and not plain and not isinstance(other, immutable):
                seen.add(id(other))
                todo.append(other)


@pytest.mark.parametrize("model", models())
def test_a_clone_shares_nothing_that_can_change(model: ir.Model) -> None:
    copy = clone(clone(model))
    own = {id(o): o for o in reached(model)}
    shared = [own[id(o)] for o in reached(copy) if id(o) in own]
    assert [o for o in shared if isinstance(o, dict | list | set | ir.Node | ir.Value | ir.Graph | ir.Function)] == []
    assert [o for o in shared if type(o).__module__.startswith("onnx_ir")] == []
    assert sum(1 for _ in reached(copy)) > 80
    for graph, twin in zip(model.graphs(), copy.graphs(), strict=True):
        assert [n.name for n in graph] == [n.name for n in twin]
        for node in list(twin):
            assert node in twin
            for index, value in enumerate(node.inputs):
                assert value is None or (node, index) in value.uses()
            assert all(value.producer() is node for value in node.outputs)
    for node in copy.graph:  # they are found by what they are, not by what they were
        copy.graph.remove(node)
        break


def test_what_refers_to_a_model_is_cloned_with_it() -> None:
    model = ir.from_proto(parser.parse_model(NESTED))
    places = {node: index for index, node in enumerate(model.graph)}
    by_id = {id(node): node.name for node in model.graph}
    copy, twins, ids, name = native_cloner().clone((model, places, by_id, "name"))
    assert list(twins) == list(copy.graph) != list(places)
    assert list(ids) == [id(node) for node in copy.graph]
    assert name == "name"


def test_a_class_with_slots_and_other_attributes_is_refused() -> None:
    class Both:
        __slots__ = ("__dict__", "a")

    both = Both()
    with pytest.raises(TypeError, match=r"it is not known how instances of .*Both"):
        Cloner(lambda _: "neither", ir.Graph).clone(both)


def test_a_clone_shares_facts_and_nothing_that_changes() -> None:
    program = Program.from_proto(
        parser.parse_model(FLAT.replace("y, unused = other.Op <alpha = 1.5> (h, twice, , h)", "y = Add(h, twice)"))
    )
    before = program.to_bytes()
    copy = program.clone()
    for a, b in zip(program.values(), copy.values(), strict=True):
        assert a is not b
        assert fact_of(a) is fact_of(b)
    node = copy.node("y")
    assert node is not None
    copy.set_attr(copy.insert("Relu", [node.outputs[0]]), "nothing", None)
    copy.replace_uses(node.outputs[0], copy.nodes()[-1].outputs[0], outputs=True)
    copy.graph.doc_string = "other"
    node.metadata_props["k"] = "other"
    assert program.to_bytes() == before != copy.to_bytes()


def test_a_program_nobody_refers_to_is_freed_at_once() -> None:
    data = onnx.load(seeds_dir() / "resnet.onnx").SerializeToString()
    program = Program.from_bytes(data)
    program.clone()  # what is remembered of classes
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(10):
            program.clone()
        assert len(gc.get_objects()) - before < 100  # each has over a thousand
    finally:
        gc.enable()


@pytest.mark.parametrize("text", [FLAT, NESTED, FUNCTION])
@pytest.mark.parametrize("part", ["model", "graph", "value", "node", "body"])
def test_what_somebody_refers_to_outlives_its_program(text: str, part: str) -> None:
    program = Program.from_proto(
        parser.parse_model(text.replace("y, unused = other.Op <alpha = 1.5> (h, twice, , h)", "y = Add(h, twice)"))
    ).clone()
    before = program.to_bytes()
    node = program.nodes()[0]
    held: object = {
        "model": program.model,
        "graph": program.graph,
        "value": node.outputs[0],
        "node": node,
        "body": next(iter(program.graph.subgraphs()), program.graph),
    }[part]
    residue = program.residue
    del node, program
    gc.collect()
    models = [o for o in reached(held) if isinstance(o, ir.Model)]
    graphs = [o for o in reached(held) if isinstance(o, ir.Graph)]
    assert models or graphs
    for model in models:
        assert encode_bytes(model, residue) == before
    for graph in graphs:
        assert all(node.graph is graph for node in graph)
        assert all(value.producer() is node for node in graph for value in node.outputs)
