"""Compares the native cloner and writer with onnx-ir's public ways, once a process, on a small model.

The native ones read private attributes of onnx-ir, of the minor version that pyproject.toml pins. If another version is
installed and they fail or give something else with it, the public ways are taken
(``irfuzz.ir.serialization.onnx_ir_fallback``).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache

import onnx
import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.ir.clone import native_cloner
from irfuzz.ir.serialization.model_decoding import decode
from irfuzz.ir.serialization.model_encoding import attribute_bytes, native_writer, seldom_fields
from irfuzz.ir.serialization.onnx_ir_fallback import PublicNodeWriter, graphs_of, public_clone, values_of
from irfuzz.ir.serialization.protobuf_field_encoding import block, block_tag, text
from irfuzz.ir.subgraphs import bodies_of
from irfuzz.ir.value import fact_of, is_constant, set_fact

KNOWN = "1.1"
"""The minor version of onnx-ir whose private attributes the native code knows."""

Write = Callable[[ir.Graph], bytes]

_NODES = 1  # field of a GraphProto
_TEXT = """
<ir_version: 11, opset_import: ["" : 17, "f" : 1]>
g (float[N, 2] x, bool c) => (float[N, 2] y) <float[2] w = {1.5, -2}, float[1] top = {2}>
{
  [first] a = Add (x, w)
  b, unused = f.twice:over <alpha = 0.5, ints = [1, 2], words = ["p", ""], t = float[1] {3}> (a, , x)
  [choice] d = If (c) <
    then_branch = t () => (float[N, 2] u) <float[2] v = {1, 2}> { s = Mul (b, v) u = Relu (s) },
    else_branch = e () => (float[N, 2] n) {
      n = If (c) <then_branch = q () => (o) { o = Neg (b) }, else_branch = r () => (p) { p = Abs (a) }>
    }>
  k = Constant <value = int64[1] {0}> ()
  y = Add (d, b)
}
<domain: "f", overload: "over", opset_import: ["" : 17]>
twice <alpha> (i, j, k) => (m, n) { l = LeakyRelu <alpha: float = @alpha> (i)  m = Add (l, k)  n = Neg (m) }
"""


class NativeMismatch(Exception):
    """What the native code gave is not what onnx-ir's public ways give."""


@cache
def native_fault() -> str | None:
    """Say why this process does not clone and write models natively, after a warning; ``None`` if it does.

    The check (``check_native``) is made once, at the first call.
    """
    try:
        check_native()
    except Exception as error:  # noqa: BLE001 - whatever another version of onnx-ir makes of it
        fault = f"{type(error).__name__}: {error}"
        warnings.warn(
            f"onnx-ir {ir.__version__} is not what irfuzz's native code knows, onnx-ir {KNOWN} ({fault}): models are "
            f"cloned and written in Python, which is slower; `pip install 'onnx-ir=={KNOWN}.*'` mends that",
            RuntimeWarning,
            stacklevel=2,
        )
        return fault
    return None


def check_native() -> None:
    """Clone, write and edit a small model natively and publicly.

    Raises:
        NativeMismatch: the results differ, or a clone shares with its original what it must not.
        Exception: of any kind, if the native code does not find what it looks for.
    """
    model = _model()
    wanted = _written(model, _public)
    _expect(_written(model, _native) == wanted, "other bytes are written")
    _expect(_written(model, _native) == wanted, "other bytes are written the second time")
    plain = [ir.serde.serialize_node(node) for node in model.graph if not list(bodies_of(node))]
    # The node of the model above that has bodies.
    written = [n for n in onnx.GraphProto.FromString(wanted[0]).node if n.op_type != "If"]
    _expect(written == plain, "onnx-ir writes other nodes")
    cloner = native_cloner()
    copy, reference = cloner.clone(model), public_clone(model)
    _expect(_written(copy, _native) == wanted, "a clone is written otherwise")
    _expect([*map(fact_of, values_of(copy))] == [*map(fact_of, values_of(model))], "a clone has other facts")
    _expect(_is_consistent(copy), "a clone refers to parts of its original")
    _expect(_edited(copy) == _edited(reference), "edits of a clone come to something else")
    _expect(cloner.free([cloner.clone(model)]), "a clone cannot be freed")
    _expect(_written(model, _public) == wanted and _is_consistent(model), "edits of a clone reach its original")


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise NativeMismatch(otherwise)


def _model() -> ir.Model:
    """A model whose nodes have whatever a node may have."""
    proto = onnx.parser.parse_model(_TEXT)
    proto.configuration.add(name="two", num_devices=2)
    placement = proto.graph.node[0].device_configurations.add(configuration_id="two")
    sharding = placement.sharding_spec.add(tensor_name="a", device=[0, 1])
    sharding.sharded_dim.add(axis=0).simple_sharding.add(dim_value=2, num_shards=2)
    model, _ = decode(proto)
    for value in values_of(model):
        set_fact(value, TensorFact(ir.DataType.FLOAT, (2,)))
    first = model.graph[0]
    first.doc_string = first.outputs[0].doc_string = "why"
    first.metadata_props["key"] = first.outputs[0].metadata_props["key"] = "value"
    return model


def _written(model: ir.Model, write: Write) -> list[bytes]:
    return [write(graph) for graph in graphs_of(model)]


def _native(graph: ir.Graph) -> bytes:
    return native_writer(lambda attr: _attribute(attr, _native)).write(_NODES, graph)[0]


def _public(graph: ir.Graph) -> bytes:
    return PublicNodeWriter(lambda attr: _attribute(attr, _public), seldom_fields).write(_NODES, graph)[0]


def _attribute(attr: ir.Attr, write: Write) -> bytes:
    if attr.type != ir.AttributeType.GRAPH:
        return attribute_bytes(attr)
    return text(block_tag(1), attr.name) + block(block_tag(6), write(attr.as_graph()))


def _is_consistent(model: ir.Model) -> bool:
    """Whether graphs, nodes and values refer to each other as they ought to, and to none of another model."""
    graphs = graphs_of(model)
    nodes = {node for graph in graphs for node in graph}
    values = set(values_of(model))
    uses = {(node, i, value) for node in nodes for i, value in enumerate(node.inputs) if value is not None}
    return (
        {(use.node, use.idx, value) for value in values for use in value.uses()} == uses
        and values >= {value for _, _, value in uses}.union(*(graph.outputs for graph in graphs))
        and all(node.graph is graph for graph in graphs for node in graph)
        and all(value.producer() is node and value.graph is node.graph for node in nodes for value in node.outputs)
        and all(value.graph is graph for graph in graphs for value in (*graph.inputs, *graph.initializers.values()))
        and all(value.is_graph_output() for graph in graphs for value in graph.outputs)
    )


def _edited(model: ir.Model) -> list[object]:
    """What becomes of a model that is edited in every way in which a program is."""
    graph = model.graph
    first, last = graph[0], graph[-1]
    made = ir.Node("", "Identity", [first.outputs[0]], name="made", outputs=[ir.Value(name="made")])
    graph.insert_after(first, made)
    graph.insert_before(last, ir.Node("", "Identity", [first.outputs[0]], name="late", outputs=[ir.Value(name="late")]))
    graph.remove(next(filter(is_constant, graph)), safe=True)
    last.replace_input_with(1, made.outputs[0])
    last.attributes["new"] = ir.AttrInt64("new", 1)
    first.outputs[0].name = "renamed"
    del graph.initializers["top"]
    stored = ir.Value(name="stored", const_value=graph.initializers["w"].const_value)
    graph.register_initializer(stored)
    graph.inputs.append(ir.Value(name="more"))
    graph.outputs.append(made.outputs[0])
    return [
        *_written(model, _public),
        *([value.name for value in values] for values in (graph.inputs, graph.outputs, graph.initializers.values())),
        _is_consistent(model),
    ]
