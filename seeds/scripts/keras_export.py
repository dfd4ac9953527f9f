"""From a Keras model to an ONNX model as tf2onnx writes it, at the seeds' opset, in an order that repeats."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.checker
import onnx.defs
import onnx.shape_inference
from onnx import numpy_helper

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import keras

from irfuzz.frontends.framework_conversion import Converters
from irfuzz.frontends.model_kind_detection import ModelSource

from .seed import OPSET

MAX_MODEL = 16 << 20
"""Bytes of a Keras file; what becomes of it is far smaller."""


def export(make: Callable[[], keras.Model], seed: int, names: tuple[str, str]) -> onnx.ModelProto:
    """Build a model, draw its weights and convert it by irfuzz's front end for Keras.

    Args:
        make: builds the model.
        seed: of the weights.
        names: what its only input and its only output shall be called.

    Returns:
        A checked model, the same in every process.
    """
    # The numbers in the names of layers start anew.
    keras.backend.clear_session()
    model = make()
    draw(model, seed)
    with tempfile.TemporaryDirectory() as folder, Converters() as converters:
        # In irfuzz's worker, whose hashes of text are fixed: what tf2onnx merges depends on the order of sets.
        path = Path(folder) / "model.keras"
        model.save(path)
        proto = onnx.ModelProto.FromString(converters.convert(ModelSource("keras", path), MAX_MODEL))
    _round(proto.graph)
    _collapse(proto)
    ends = [value.name for value in (*proto.graph.input, *proto.graph.output)]
    _Canonical(proto.graph, dict(zip(ends, names, strict=True))).apply()
    proto.graph.name = model.name
    onnx.checker.check_model(proto, full_check=True)
    return proto


def draw(model: keras.Model, seed: int) -> None:
    """Draw all weights with NumPy's generator, layer after layer.

    Kernels are normal with the deviation that keeps a signal's (``weights.calibrate`` does the rest), what is not a
    kernel is drawn wide enough that no two channels are alike.
    """
    rng = np.random.default_rng(seed)
    for variable in model.weights:
        shape = tuple(variable.shape)
        kind = variable.path.rpartition("/")[2]
        if kind in ("gamma", "moving_variance"):
            array = rng.uniform(0.5, 1.5, shape)
        elif kind == "embeddings":
            array = rng.standard_normal(shape)
        elif len(shape) >= 2 and kind != "bias":
            array = rng.standard_normal(shape) / np.sqrt(max(1, int(np.prod(shape[:-1]))))
        else:
            array = 0.3 * rng.standard_normal(shape)
        variable.assign(array.astype(np.float32))


def narrowed(config: Mapping[str, Any], divisor: int) -> dict[str, Any]:
    """The configuration of a functional model with ``filters`` and ``units`` divided, but for the last layer.

    Its input takes one sample a time.
    """
    # Without the shapes that layers were built for, Keras finds the new ones.
    layers = [{k: v for k, v in layer.items() if k != "build_config"} for layer in config["layers"]]
    for layer in layers[:-1]:
        changed: dict[str, Any] = {
            k: max(2, v // divisor) for k, v in layer["config"].items() if k in ("filters", "units")
        }
        if "batch_shape" in layer["config"]:
            changed["batch_shape"] = (1, *layer["config"]["batch_shape"][1:])
        layer["config"] = {**layer["config"], **changed}
    return {**config, "layers": layers}


def shortened(config: Mapping[str, Any], skips: Mapping[str, str]) -> dict[str, Any]:
    """The configuration without a run of equal blocks.

    Args:
        config: of a functional model.
        skips: whoever read the layer named first now reads the second, and what nobody reads is left out.
    """
    layers = {layer["name"]: dict(layer) for layer in config["layers"]}
    for layer in layers.values():
        layer["inbound_nodes"] = _reading(layer["inbound_nodes"], skips)
    needed: set[str] = set()
    pending = [name for name, *_ in _flat(config["output_layers"])]
    while pending:
        name = pending.pop()
        if name not in needed:
            needed.add(name)
            pending += _read_by(layers[name]["inbound_nodes"])
    return {**config, "layers": [layer for name, layer in layers.items() if name in needed]}


def _flat(entries: Any) -> list[Any]:
    return [entries] if entries and isinstance(entries[0], str) else list(entries)


def _reading(value: Any, skips: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        changed = {key: _reading(inner, skips) for key, inner in value.items()}
        history = changed.get("keras_history")
        if history:
            changed["keras_history"] = [skips.get(history[0], history[0]), *history[1:]]
        return changed
    if isinstance(value, list | tuple):
        return type(value)(_reading(inner, skips) for inner in value)
    return value


def _read_by(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        own = [value["keras_history"][0]] if "keras_history" in value else []
        return own + [name for inner in value.values() for name in _read_by(inner)]
    if isinstance(value, list | tuple):
        return [name for inner in value for name in _read_by(inner)]
    return []


def _round(graph: onnx.GraphProto) -> None:
    """Weights to twelve significant bits: whatever a processor's sums do to the last ones is gone."""
    for tensor in graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT and len(tensor.dims) > 0:
            mantissa, exponent = np.frexp(numpy_helper.to_array(tensor).astype(np.float64))
            array = np.ldexp(np.rint(mantissa * 4096) / 4096, exponent).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def _collapse(model: onnx.ModelProto) -> None:
    """Let each Reshape read what was there before it was reshaped, and drop those that change nothing.

    How many tf2onnx leaves between others differs from process to process.
    """
    graph = onnx.shape_inference.infer_shapes(model, strict_mode=True).graph
    shapes: dict[str, list[int]] = {}
    for value in (*graph.value_info, *graph.input, *graph.output):
        dims = value.type.tensor_type.shape.dim
        if all(d.HasField("dim_value") for d in dims):
            shapes[value.name] = [d.dim_value for d in dims]
    makers = {name: node for node in model.graph.node for name in node.output}
    ends = {value.name for value in model.graph.output}
    same: dict[str, str] = {}
    for node in model.graph.node:
        if node.op_type != "Reshape" or node.output[0] not in shapes or node.output[0] in ends:
            continue
        root = node.input[0]
        while root in makers and makers[root].op_type in ("Reshape", "Squeeze", "Unsqueeze"):
            root = makers[root].input[0]
        if shapes.get(root) == shapes[node.output[0]]:
            same[node.output[0]] = root
        elif root in shapes:
            node.input[0] = root
    for node in model.graph.node:
        for index, name in enumerate(node.input):
            while name in same:
                name = same[name]
            node.input[index] = name


class _Canonical:
    """Sorts a graph and gives everything in it a name by its place.

    tf2onnx numbers what it makes, and sorts by sets: both differ from process to process.
    """

    def __init__(
        self,
        graph: onnx.GraphProto,
        names: Mapping[str, str],
        taken: tuple[set[str], set[str]] | None = None,
    ) -> None:
        self.graph = graph
        self.names = dict(names)
        self.values, self.nodes = taken if taken is not None else (set(names.values()), set())

    def apply(self) -> None:
        """Change the graph in place."""
        graph = self.graph
        for value in graph.input:
            self._name(value.name, value.name)
        self._order_twins()
        nodes = self.sorted()
        for node in nodes:
            self._rename(node)
        del graph.node[:]
        graph.node.extend(nodes)
        for value in (*graph.input, *graph.output):
            value.name = self.names[value.name]
        used = [t for t in graph.initializer if t.name in self.names]
        for tensor in used:
            tensor.name = self.names[tensor.name]
        del graph.initializer[:]
        graph.initializer.extend(sorted(used, key=lambda tensor: tensor.name))
        del graph.value_info[:]

    def _order_twins(self) -> None:
        """Of one value that is two outputs, the first is the value itself and the second an Identity of it."""
        places = {value.name: index for index, value in enumerate(self.graph.output)}
        for node in self.graph.node:
            if node.op_type == "Identity":
                copy, value = places.get(node.output[0]), places.get(node.input[0])
                if copy is not None and value is not None and copy < value:
                    self.graph.output[copy].name = node.input[0]
                    self.graph.output[value].name = node.output[0]

    def sorted(self) -> list[onnx.NodeProto]:
        """Depth first from the outputs, inputs before what reads them."""
        makers = {name: node for node in self.graph.node for name in node.output if name}
        done: set[int] = set()
        ordered: list[onnx.NodeProto] = []
        pending: list[tuple[onnx.NodeProto, bool]] = [
            (makers[v.name], False) for v in reversed(self.graph.output) if v.name in makers
        ]
        while pending:
            node, ready = pending.pop()
            if id(node) in done:
                continue
            if ready:
                done.add(id(node))
                ordered.append(node)
                continue
            pending.append((node, True))
            pending += [(makers[n], False) for n in reversed(_reads(node)) if n in makers and id(makers[n]) not in done]
        return ordered

    def _rename(self, node: onnx.NodeProto) -> None:
        """Nodes with weights after their layer, values after their node, weights after the first that reads them.

        Nodes without weights have the name of any of the layers that share them, so it is not used.
        """
        arrays = {t.name for t in self.graph.initializer if t.data_type == onnx.TensorProto.FLOAT and len(t.dims) > 1}
        layer = "/".join(_plain(part) for part in node.name.split("/")[1:-1]) if arrays & set(node.input) else ""
        node.name = _unique(f"{layer}/{node.op_type}" if layer else node.op_type, self.nodes)
        schema = onnx.defs.get_schema(node.op_type, OPSET)
        weights = {t.name for t in self.graph.initializer}
        for index, name in enumerate(node.input):
            if name in weights and name not in self.names:
                formal = schema.inputs[min(index, len(schema.inputs) - 1)].name
                self._name(name, f"{node.name}.{formal}")
        for attribute in node.attribute:
            if attribute.HasField("g"):
                inner = _Canonical(attribute.g, {}, (self.values, self.nodes))
                self._captured(attribute.g, node.name)
                inner.names.update(self.names)
                inner.apply()
                attribute.g.name = f"{node.name}.{attribute.name}"
        node.input[:] = [self.names[name] if name else "" for name in node.input]
        for index, name in enumerate(node.output):
            if name and name not in self.names:
                self._name(name, f"{node.name}_output" + (f"_{index}" if index else ""))
        node.output[:] = [self.names[name] if name else "" for name in node.output]
        node.ClearField("doc_string")
        if not node.domain:
            node.ClearField("domain")  # or it is there in one process and not in the next, empty
        attributes = sorted(node.attribute, key=lambda attribute: attribute.name)
        del node.attribute[:]
        node.attribute.extend(attributes)

    def _captured(self, graph: onnx.GraphProto, reader: str) -> None:
        """Weights of this graph that an inner one reads."""
        weights = {t.name for t in self.graph.initializer}
        for node in _Canonical(graph, {}).sorted():
            for name in _reads(node):
                if name in weights and name not in self.names:
                    self._name(name, f"{reader}.{node.op_type}")

    def _name(self, old: str, wanted: str) -> None:
        if old not in self.names:
            self.names[old] = _unique(_plain(wanted), self.values)


def _unique(wanted: str, taken: set[str]) -> str:
    name, count = wanted, 1
    while name in taken:
        count += 1
        name = f"{wanted}_{count}"
    taken.add(name)
    return name


def _plain(name: str) -> str:
    return re.sub(r"__\d+", "", name).removesuffix(":0") or name


def _reads(node: onnx.NodeProto) -> list[str]:
    """What a node reads, its inner graphs included."""
    found = [name for name in node.input if name]
    for attribute in node.attribute:
        if attribute.HasField("g"):
            own = {v.name for v in attribute.g.input} | {t.name for t in attribute.g.initializer}
            own |= {name for inner in attribute.g.node for name in inner.output}
            for inner in attribute.g.node:
                found += [name for name in _reads(inner) if name not in own]
            found += [v.name for v in attribute.g.output if v.name not in own]
    return found
