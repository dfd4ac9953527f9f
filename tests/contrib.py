"""Small models with operators of the domain com.microsoft, as onnxruntime's optimisers and quantisers write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

DOMAIN = "com.microsoft"
_T = onnx.TensorProto


def _value(name: str, kind: int, shape: Sequence[int | str] | None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    constants: Mapping[str, np.ndarray],
    domains: Sequence[str] = (DOMAIN,),
    opset: int = 17,
) -> onnx.ModelProto:
    stored = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(list(nodes), "contrib", list(inputs), list(outputs), stored)
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def _floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def fused() -> onnx.ModelProto:
    """MatMul with a transposed operand, bias and GELU, a normalisation with what is skipped; standard ones between."""
    node = helper.make_node
    nodes = [
        node("Relu", ["x"], ["a"]),
        node("FusedMatMul", ["a", "w"], ["b"], domain=DOMAIN, transB=1, alpha=0.5),
        node("BiasGelu", ["b", "bias"], ["c"], domain=DOMAIN),
        node("Tanh", ["c"], ["d"]),
        node("SkipLayerNormalization", ["d", "b", "gamma", "beta"], ["e"], domain=DOMAIN, name="skip", epsilon=1e-5),
        node("Sigmoid", ["e"], ["y"]),
    ]
    constants = {"w": _floats(4, 4), "bias": _floats(4), "gamma": np.ones(4, np.float32), "beta": _floats(4)}
    return _model(nodes, [_value("x", _T.FLOAT, ["batch", 3, 4])], [_value("y", _T.FLOAT, ["batch", 3, 4])], constants)


def quantised() -> onnx.ModelProto:
    """A dynamically quantised product, a sum and a pooling of quantised data; standard ones between."""
    node = helper.make_node
    nodes = [
        node("DynamicQuantizeMatMul", ["x", "w", "w_scale", "w_zero"], ["a"], domain=DOMAIN),
        node("Relu", ["a"], ["b"]),
        node("QuantizeLinear", ["b", "scale", "zero"], ["q"]),
        node("QLinearAdd", ["q", "scale", "zero", "q", "scale", "zero", "scale", "zero"], ["s"], domain=DOMAIN),
        node("NhwcMaxPool", ["s"], ["p"], domain=DOMAIN, kernel_shape=[2, 2], strides=[1, 1]),
        node("DequantizeLinear", ["p", "scale", "zero"], ["y"]),
    ]
    constants = {
        "w": (np.arange(12).reshape(4, 3) * 20 % 256).astype(np.uint8),
        "w_scale": np.array(0.02, np.float32),
        "w_zero": np.array(128, np.uint8),
        "scale": np.array(0.05, np.float32),
        "zero": np.array(3, np.uint8),
    }
    outputs = [_value("y", _T.FLOAT, [1, 3, 3, 3])]
    return _model(nodes, [_value("x", _T.FLOAT, [1, 4, 4, 4])], outputs, constants)


def embedded() -> onnx.ModelProto:
    """Rows of tables by integers from the input, normalised, with a mask."""
    node = helper.make_node
    nodes = [
        node("Cast", ["ids"], ["short"], to=_T.INT32),
        node(
            "EmbedLayerNormalization", ["short", "", "words", "places", "", "gamma", "beta"], ["e", "mask"],
            domain=DOMAIN, name="embed", epsilon=1e-5,
        ),
        node("Tanh", ["e"], ["y"]),
    ]  # fmt: skip
    constants = {
        "words": _floats(5, 8),
        "places": _floats(9, 8),
        "gamma": np.ones(8, np.float32),
        "beta": np.zeros(8, np.float32),
    }
    ids = _value("ids", _T.INT64, ["batch", "length"])
    return _model(nodes, [ids], [_value("y", _T.FLOAT, ["batch", "length", 8])], constants)


def unknown(*, typed: bool = False) -> onnx.ModelProto:
    """An operator that nobody has; ``typed``: the model says what it gives."""
    node = helper.make_node
    nodes = [node("Relu", ["x"], ["a"]), node("Nod", ["a"], ["b"], domain="org.example", name="nod")]
    nodes.append(node("Tanh", ["b"], ["y"]))
    shape = [_value("x", _T.FLOAT, [2, 3])], [_value("y", _T.FLOAT, [2, 3])]
    model = _model(nodes, *shape, {}, ["org.example"])
    if typed:
        model.graph.value_info.append(_value("b", _T.FLOAT, [2, 3]))
    return model


MODELS = {"fused": fused, "quantised": quantised, "embedded": embedded}


def saved(model: onnx.ModelProto, path: Path) -> Path:
    """Write a model and return where."""
    path.write_bytes(model.SerializeToString())
    return path


def opaque_in(model: onnx.ModelProto) -> list[str]:
    """The operators of the domain in the main graph, sorted."""
    return sorted(node.op_type for node in model.graph.node if node.domain == DOMAIN)
