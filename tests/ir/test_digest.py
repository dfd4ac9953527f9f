"""The digest keeps what renaming and reordering keep, and changes with everything that a program means."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from irfuzz.errors import InvalidProgram
from irfuzz.ir.digest import digest
from irfuzz.ir.serialization.serde import decode
from tests.ir.synthetic import synthetic_model

OPS = ("Relu", "Add", "Mul", "RandomNormal", "Split", "Constant", "If")


def of(model: onnx.ModelProto) -> str:
    return digest(*decode(model))


def model_of(graph: onnx.GraphProto, functions: list[onnx.FunctionProto] | None = None) -> onnx.ModelProto:
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    model.functions.extend(functions or [])
    return model


@st.composite
def graphs(draw: st.DrawFn) -> onnx.ModelProto:
    """DAGs of a few operators, with equal nodes, dead nodes, several outputs, and subgraphs that read outer values."""
    inputs = [f"in{i}" for i in range(draw(st.integers(1, 2)))]
    weights = [f"w{i}" for i in range(draw(st.integers(0, 3)))]
    values = inputs + weights
    nodes: list[onnx.NodeProto] = []
    for i in range(draw(st.integers(1, 10))):
        op = draw(st.sampled_from(OPS))
        pick = st.sampled_from(values)
        outputs = [f"v{i}"]
        attrs: dict[str, Any] = {}
        match op:
            case "Relu":
                reads = [draw(pick)]
            case "Add" | "Mul":
                reads = [draw(pick), draw(pick)]
            case "RandomNormal":
                reads, attrs = [], {"shape": [draw(st.integers(1, 2))]}
            case "Split":
                reads, outputs = [draw(pick)], [f"v{i}", f"v{i}b"]
            case "Constant":
                reads, attrs = [], {"value_int": draw(st.integers(0, 1))}
            case _:
                reads = [draw(pick)]
                for branch in ("then_branch", "else_branch"):
                    inner = helper.make_node("Add", [draw(pick), draw(pick)], [f"b{i}"], name=f"inner{i}")
                    out = helper.make_tensor_value_info(f"b{i}", TensorProto.FLOAT, None)
                    attrs[branch] = helper.make_graph([inner], "branch", [], [out])
        nodes.append(helper.make_node(op, reads, outputs, name=f"node{i}", **attrs))
        values = values + outputs
    made = [name for node in nodes for name in node.output]
    results = draw(st.lists(st.sampled_from(made), min_size=1, max_size=2, unique=True))
    tensors = [
        numpy_helper.from_array(np.array([draw(st.integers(0, 1)), 2], dtype=np.float32), name) for name in weights
    ]
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N"]) for name in inputs]
    outs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results]
    return model_of(helper.make_graph(nodes, "g", info, outs, tensors))


def subgraphs(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    return [a.g for a in node.attribute if a.HasField("g")]


def rename(model: onnx.ModelProto, mapping: dict[str, str]) -> None:
    """Rename values everywhere, and every node and graph."""

    def visit(graph: onnx.GraphProto) -> None:
        graph.name = "renamed"
        for node in graph.node:
            node.name = f"renamed {node.name}"
            node.input[:] = [mapping.get(n, n) for n in node.input]
            node.output[:] = [mapping.get(n, n) for n in node.output]
            for inner in subgraphs(node):
                visit(inner)
        for thing in (*graph.initializer, *graph.output, *graph.value_info):
            thing.name = mapping.get(thing.name, thing.name)

    visit(model.graph)


def reads(node: onnx.NodeProto) -> set[str]:
    found = set(node.input)
    for graph in subgraphs(node):
        made = {name for inner in graph.node for name in inner.output}
        for inner in graph.node:
            found |= reads(inner) - made
    return found


@given(model=graphs(), data=st.data())
def test_renaming_and_reordering_keep_it(model: onnx.ModelProto, data: st.DataObject) -> None:
    before = of(model)
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    graph = changed.graph
    # another topological order
    left = list(graph.node)
    ready = {v.name for v in graph.input} | {t.name for t in graph.initializer}
    order: list[onnx.NodeProto] = []
    while left:
        free = [n for n in left if reads(n) <= ready]
        node = free[data.draw(st.integers(0, len(free) - 1))]
        left.remove(node)
        order.append(node)
        ready |= set(node.output)
    tensors = data.draw(st.permutations(list(graph.initializer)))
    del graph.node[:], graph.initializer[:]
    graph.node.extend(order)
    graph.initializer.extend(tensors)
    for node in graph.node:
        attributes = data.draw(st.permutations(list(node.attribute)))
        del node.attribute[:]
        node.attribute.extend(attributes)
        node.doc_string = "documented"
    kept = {v.name for v in (*graph.input, *graph.output)}
    inner = {n for node in graph.node for n in node.output} | {t.name for t in graph.initializer}
    inner |= {n for node in graph.node for g in subgraphs(node) for b in g.node for n in b.output}
    rename(changed, {name: f"renamed {name}" for name in inner - kept})
    changed.doc_string = graph.doc_string = "documented"
    changed.producer_name = "someone"
    for tensor in graph.initializer:
        array = numpy_helper.to_array(tensor)
        tensor.CopyFrom(helper.make_tensor(tensor.name, tensor.data_type, array.shape, array))  # other storage
    assert of(changed) == before


def places(model: onnx.ModelProto) -> list[tuple[str, Callable[[onnx.ModelProto], object]]]:
    """Every change of meaning that can be made at a node, an edge, a tensor or an interface of ``model``."""
    found: list[tuple[str, Callable[[onnx.ModelProto], object]]] = [
        ("name of input", rename_input),
        ("shape of input", lambda m: m.graph.input[0].type.tensor_type.shape.dim.add(dim_value=3)),
        ("type of output", lambda m: setattr(m.graph.output[0].type.tensor_type, "elem_type", 11)),
        ("opset", lambda m: setattr(m.opset_import[0], "version", 18)),
        ("import", lambda m: m.opset_import.add(domain="acme", version=1)),
        ("ir version", lambda m: setattr(m, "ir_version", 9)),
        ("dead node", lambda m: m.graph.node.append(helper.make_node("Relu", ["in0"], ["dead"]))),
        ("training", lambda m: m.training_info.add().initialization_binding.add(key="a")),
    ]
    for i, node in enumerate(model.graph.node):
        found += [
            (f"op of {i}", lambda m, i=i: setattr(m.graph.node[i], "op_type", "Other")),
            (f"domain of {i}", lambda m, i=i: setattr(m.graph.node[i], "domain", "acme")),
            (f"overload of {i}", lambda m, i=i: setattr(m.graph.node[i], "overload", "o")),
            (f"attribute of {i}", lambda m, i=i: m.graph.node[i].attribute.add(name="new", type=2, i=1)),
            (f"outputs of {i}", lambda m, i=i: m.graph.node[i].output.append("unused")),
        ]
        found += [
            (f"attribute {k} of {i}", lambda m, i=i, k=k: other_value(m.graph.node[i].attribute[k]))
            for k in range(len(node.attribute))
        ]
        found += [
            (f"input {k} of {i}", lambda m, i=i, k=k: m.graph.node[i].input.__setitem__(k, "in0b"))
            for k in range(len(node.input))
        ]
    found += [
        (f"tensor {i}", lambda m, i=i: other_tensor(m.graph.initializer[i]))
        for i in range(len(model.graph.initializer))
    ]
    return found


def other_value(attribute: onnx.AttributeProto) -> None:
    if attribute.HasField("g"):
        attribute.g.node[0].op_type = "Sub"
    elif attribute.ints:
        attribute.ints[0] += 7
    else:
        attribute.i += 7


def other_tensor(tensor: TensorProto) -> None:
    data = bytearray(tensor.raw_data)
    data[-1] ^= 1
    tensor.raw_data = bytes(data)


def rename_input(model: onnx.ModelProto) -> None:
    name = model.graph.input[0].name
    model.graph.input[0].name = "other"
    rename(model, {name: "other"})


@given(model=graphs(), data=st.data())
def test_any_change_of_meaning_changes_it(model: onnx.ModelProto, data: st.DataObject) -> None:
    model.graph.input.append(helper.make_tensor_value_info("in0b", TensorProto.FLOAT, [7]))
    what, change = data.draw(st.sampled_from(places(model)), label="change")
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    change(changed)
    assert of(changed) != of(model), what


def twins(*pairs: tuple[int, int], order: tuple[int, ...] = (0, 1)) -> onnx.ModelProto:
    """Two draws of random numbers and, for each pair, Sub(draw a, draw b), none of which is used."""
    nodes = [helper.make_node("RandomNormal", [], [f"r{i}"], shape=[2]) for i in order]
    nodes += [helper.make_node("Sub", [f"r{a}", f"r{b}"], [f"s{i}"]) for i, (a, b) in enumerate(pairs)]
    out = helper.make_tensor_value_info("s0", TensorProto.FLOAT, [2])
    return model_of(helper.make_graph(nodes, "g", [], [out]))


def test_equal_nodes_are_told_apart_by_their_readers() -> None:
    different = [
        twins((0, 0)),
        twins((0, 1)),
        twins((0, 1), (0, 1)),
        twins((0, 1), (1, 0)),
        twins((0, 0), (1, 1)),
        twins((0, 0), (0, 0)),
        twins((0, 0), (0, 1)),
    ]
    assert len({of(m) for m in different}) == len(different)
    assert of(twins((0, 1), (1, 0))) == of(twins((1, 0), (0, 1))) == of(twins((0, 1), (1, 0), order=(1, 0)))


def crossed(*, cross: bool) -> onnx.ModelProto:
    """Sin and Cos of two equal draws, added: of one draw each, or crosswise. Neighbourhoods alone cannot tell."""
    nodes = [helper.make_node("RandomNormal", [], [f"r{i}"], shape=[2]) for i in (0, 1)]
    nodes += [helper.make_node(op, [f"r{i}"], [f"{op}{i}"]) for i in (0, 1) for op in ("Sin", "Cos")]
    nodes += [helper.make_node("Add", [f"Sin{i}", f"Cos{1 - i if cross else i}"], [f"a{i}"]) for i in (0, 1)]
    return model_of(helper.make_graph(nodes, "g", [], []))


def test_symmetric_graphs_are_told_apart() -> None:
    assert of(crossed(cross=True)) != of(crossed(cross=False))


def branch(*reads: str) -> onnx.ModelProto:
    """An If whose branch subtracts two of three values, two of them equal draws."""
    nodes = [helper.make_node("RandomNormal", [], [f"r{i}"], shape=[2]) for i in (0, 1)]
    nodes.append(helper.make_node("Sin", ["r0"], ["sin"]))
    out = helper.make_tensor_value_info("d", TensorProto.FLOAT, [2])
    inner = helper.make_graph([helper.make_node("Sub", list(reads), ["d"])], "b", [], [out])
    nodes.append(helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner))
    condition = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    return model_of(helper.make_graph(nodes, "g", [condition], []))


def test_what_a_subgraph_reads_counts() -> None:
    different = [branch("r0", "r0"), branch("r0", "r1"), branch("r1", "r0"), branch("r1", "r1"), branch("sin", "r0")]
    assert len({of(m) for m in different}) == len(different)


def test_functions_count() -> None:
    def model(op: str, name: str = "f", default: int = 1) -> onnx.ModelProto:
        body = [helper.make_node(op, ["a"], ["b"])]
        function = helper.make_function(
            "acme",
            name,
            ["a"],
            ["b"],
            body,
            [helper.make_opsetid("", 17)],
            ["p"],
            [helper.make_attribute("q", default)],
        )
        return model_of(helper.make_graph([], "g", [], []), [function])

    different = [model("Relu"), model("Sin"), model("Relu", "g"), model("Relu", default=2)]
    assert len({of(m) for m in different}) == len(different)
    renamed = model("Relu")
    renamed.functions[0].input[0] = renamed.functions[0].node[0].input[0] = "other"
    assert of(renamed) == of(model("Relu"))


def test_equal_initializers_count_as_one() -> None:
    def model(*names: str) -> onnx.ModelProto:
        tensors = [numpy_helper.from_array(np.ones(2, np.float32), n) for n in ("w0", "w1")]
        out = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
        return model_of(helper.make_graph([helper.make_node("Add", list(names), ["y"])], "g", [], [out], tensors))

    assert of(model("w0", "w1")) == of(model("w1", "w0"))


def test_it_is_the_same_in_every_process() -> None:
    code = (
        "from tests.ir.synthetic import synthetic_model\n"
        "from irfuzz.ir.serialization.serde import decode\n"
        "from irfuzz.ir.digest import digest\n"
        "print(*[digest(*decode(synthetic_model(s))) for s in range(20)])"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-P", "-c", code], env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": seed},
            check=True, capture_output=True, text=True,
        ).stdout.split()
        for seed in ("1", "2")
    ]  # fmt: skip
    assert outputs[0] == outputs[1] == [of(synthetic_model(s)) for s in range(20)]
    assert len(set(outputs[0])) == 20


def test_a_chain_of_ten_thousand_nodes() -> None:
    count = 10_000
    nodes = [helper.make_node("Relu", [f"v{i}"], [f"v{i + 1}"]) for i in range(count)]
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in ("v0", f"v{count}")]
    model = model_of(helper.make_graph(nodes, "g", ends[:1], ends[1:]))
    shorter = onnx.ModelProto()
    shorter.CopyFrom(model)
    del shorter.graph.node[-1]
    shorter.graph.node[-1].output[0] = f"v{count}"
    assert of(model) != of(shorter)


def test_thousands_of_equal_nodes_end() -> None:
    nodes = [helper.make_node("RandomNormal", [], [f"v{i}"], shape=[1]) for i in range(3_000)]
    one = model_of(helper.make_graph(nodes, "g", [], []))
    assert of(one) == of(model_of(helper.make_graph(nodes, "other", [], [])))
    assert of(one) != of(model_of(helper.make_graph(nodes[1:], "g", [], [])))


def test_deeply_nested_equal_nodes_end() -> None:
    graph = helper.make_graph([], "g", [], [])
    for _ in range(30):
        pair = [helper.make_node("Loop", [], [], body=graph) for _ in range(1)]
        pair += [helper.make_node("RandomNormal", [], [n], shape=[1]) for n in "ab"]
        graph = helper.make_graph(pair, "g", [], [])
    assert len(of(model_of(graph))) == 64


def test_an_order_that_is_not_topological_is_refused() -> None:
    model, residue = decode(twins((0, 1)))
    nodes = list(model.graph)
    model.graph.remove(nodes[0])
    model.graph.append(nodes[0])
    with pytest.raises(InvalidProgram, match="is read before it is defined"):
        digest(model, residue)
