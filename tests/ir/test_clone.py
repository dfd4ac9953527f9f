"""Clones: equal to onnx-ir's own, and independent of their original."""

from __future__ import annotations

import onnx
import onnx_ir as ir
import pytest
from onnx import parser

from irfuzz.ir.clone import clone_model
from irfuzz.ir.program import Program
from irfuzz.ir.value import fact_of
from irfuzz.resources import seeds_dir

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
    assert ir.to_proto(clone_model(model)).SerializeToString(deterministic=True) == wanted
    assert ir.to_proto(model).SerializeToString(deterministic=True) == wanted


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
