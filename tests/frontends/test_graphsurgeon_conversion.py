"""Graphs of onnx-graphsurgeon are read as models."""

from __future__ import annotations

import sys

import numpy as np
import onnx
import pytest

import irfuzz
from irfuzz.errors import UsageError
from irfuzz.frontends.graphsurgeon_conversion import from_graphsurgeon
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.shipped_folders import seeds_dir


@pytest.mark.backend
def test_a_graph_comes_in() -> None:
    gs = pytest.importorskip("onnx_graphsurgeon")
    x = gs.Variable("x", dtype=np.float32, shape=(2, 3))
    y = gs.Variable("y", dtype=np.float32, shape=(2, 3))
    add = gs.Node("Add", inputs=[x, gs.Constant("w", np.ones(3, dtype=np.float32))], outputs=[y])
    model = from_graphsurgeon(gs.Graph(nodes=[add], inputs=[x], outputs=[y], opset=17))
    assert [n.op_type for n in model.graph.node] == ["Add"]
    assert Program.from_proto(model).to_proto().graph.initializer[0].raw_data == np.ones(3, dtype="<f4").tobytes()
    graph = gs.import_onnx(model)
    assert next(irfuzz.mutate(graph, seed=3)).trace == next(irfuzz.mutate(model, seed=3)).trace
    with pytest.raises(UsageError, match=r"expected an onnx_graphsurgeon\.Graph, got int"):
        from_graphsurgeon(3)


@pytest.mark.backend
@pytest.mark.parametrize("name", ["lenet5", "early_exit", "gpt"])
def test_graphs_go_in_and_come_out(name: str) -> None:
    """What comes out computes the same as what irfuzz made, and goes in again."""
    gs = pytest.importorskip("onnx_graphsurgeon")
    runtime = pytest.importorskip("onnxruntime")
    runtime.set_default_logger_severity(4)

    def values(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        options = runtime.SessionOptions()
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
        return runtime.InferenceSession(model.SerializeToString(), options).run(None, inputs)

    graph = gs.import_onnx(onnx.load(seeds_dir() / f"{name}.onnx"))
    nodes = len(graph.nodes)
    for mutant in irfuzz.mutate(graph, seed=5, n=8):
        made = mutant.to_graphsurgeon()
        assert isinstance(made, gs.Graph)
        assert [n.op for n in made.nodes] == [n.op_type for n in mutant.model_proto.graph.node]
        model = from_graphsurgeon(made)
        inputs = {k: v for k, v in make_inputs(mutant.program, 1).items() if isinstance(v, np.ndarray)}
        for one, other in zip(values(mutant.model_proto, inputs), values(model, inputs), strict=True):
            np.testing.assert_array_equal(one, other)
        assert next(irfuzz.mutate(made, seed=1)).program.opset == mutant.program.opset
    assert len(graph.nodes) == nodes  # it stays as it is
    small = irfuzz.synthesize(graph)
    assert isinstance(small.to_graphsurgeon(), gs.Graph)
    assert onnx.load_model_from_string(small.to_bytes()) == small.model_proto
    fresh = next(irfuzz.generate(n=1, seed=4))
    assert [n.op for n in fresh.to_graphsurgeon().nodes] == [n.op_type for n in fresh.model_proto.graph.node]


@pytest.mark.backend
def test_the_version_of_the_file_is_that_of_the_operators() -> None:
    """onnx-graphsurgeon writes the newest one, which runtimes of last year refuse."""
    gs = pytest.importorskip("onnx_graphsurgeon")
    x = gs.Variable("x", dtype=np.float32, shape=(2,))
    y = gs.Variable("y", dtype=np.float32, shape=(2,))
    for opset, version in ((17, 8), (21, 10)):
        graph = gs.Graph(nodes=[gs.Node("Neg", inputs=[x], outputs=[y])], inputs=[x], outputs=[y], opset=opset)
        assert from_graphsurgeon(graph).ir_version == version
        x, y = x.copy(), y.copy()


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx_graphsurgeon", None)
    with pytest.raises(UsageError, match="pip install onnx-graphsurgeon"):
        from_graphsurgeon(None)
    with pytest.raises(UsageError, match="pip install onnx-graphsurgeon"):
        next(irfuzz.generate(n=1)).to_graphsurgeon()
