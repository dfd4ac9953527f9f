"""Graphs of onnx-graphsurgeon come in as models."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import irfuzz
from irfuzz.errors import UsageError
from irfuzz.frontends.graphsurgeon import from_graphsurgeon
from irfuzz.ir.program import Program


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


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx_graphsurgeon", None)
    with pytest.raises(UsageError, match="pip install onnx-graphsurgeon"):
        from_graphsurgeon(None)
