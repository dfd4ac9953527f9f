"""Converts Keras files, SavedModels and frozen graphs with tf2onnx; runs in a process of its own."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import re
import tempfile
import zipfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any

from .tensorflow_variable_preservation import as_initializers, as_placeholders, constants_of

OPSET = 17
IR_VERSION = 8

HARMFUL = frozenset(
    {"EagerPyFunc", "MatchingFiles", "PyFunc", "PyFuncStateless", "ReadFile", "WholeFileReader", "WriteFile"}
)
"""TensorFlow operators that touch files or run Python: no model needs them, and constant folding would run them."""

SOURCES = frozenset({"Placeholder", "PlaceholderWithDefault", "PlaceholderV2"})


class NotAModel(Exception):
    """What was given is not such a model; the message says why."""


def handle(request: dict[str, Any], _values: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    """Convert ``request["path"]``, which is a ``request["kind"]``: keras, saved_model or graph_def.

    With ``request["architecture"]`` as it is written: no variable is folded into anything or merged with another.
    With ``request["layers"]`` a Keras model becomes a graph of its layers.
    """
    path, architecture = request["path"], bool(request.get("architecture"))
    if request["kind"] == "keras":
        return {}, [keras_file(path, architecture=architecture, layers=bool(request.get("layers")))]
    convert = {"saved_model": saved_model, "graph_def": graph_def_file}[request["kind"]]
    return {}, [convert(path, architecture=architecture)]


def keras_file(path: str, *, architecture: bool = False, layers: bool = False) -> bytes:
    """A ``.keras`` or ``.h5`` file; layers that hold code (Lambda) are refused by Keras itself."""
    import keras

    if not path.endswith(".keras") or not zipfile.is_zipfile(path):
        _check_hdf5(path)
    model = keras.models.load_model(path, compile=False, safe_mode=True)
    return keras_model(model, architecture=architecture, layers=layers)


def _check_hdf5(path: str) -> None:
    with open(path, "rb") as file:  # noqa: PTH123 - the bytes only
        if file.read(8) != b"\x89HDF\r\n\x1a\n":
            raise NotAModel("not a Keras model: neither a .keras archive nor an HDF5 file")
    import h5py

    with h5py.File(path, "r") as file:
        config = file.attrs.get("model_config")
    if config is None:
        raise NotAModel("not a Keras model: the HDF5 file holds no model_config (weights alone are no model)")
    text = config.decode("utf-8", "replace") if isinstance(config, bytes) else str(config)
    if '"Lambda"' in text or "__lambda__" in text:
        raise NotAModel("a Lambda layer holds Python code, which is not run from a file; give file.py:factory")


def keras_model(model: Any, *, architecture: bool = False, layers: bool = False) -> bytes:
    """A built ``keras.Model``; ``architecture``: its variables stay as they are written
    (``tensorflow_variable_preservation.py``).

    With ``layers`` it becomes a graph of its layers (``keras_layer_import.py``).

    tf2onnx's own ``from_keras`` fails for Sequential on Keras 3, and its ``from_function`` turns captured constants
    into inputs (github.com/onnx/tensorflow-onnx/issues/2348), so the model is traced and frozen here.
    """
    if layers:
        return importlib.import_module(".keras_layer_import", __package__).layered_model(model)
    import tensorflow as tf

    tensors = getattr(model, "inputs", None)
    if not tensors:
        return _by_saved_model(model, architecture=architecture)
    names = [_plain(t.name) or f"input_{i}" for i, t in enumerate(tensors)]
    if len(set(names)) != len(names):
        names = [f"{name}_{i}" for i, name in enumerate(names)]
    signature = [
        tf.TensorSpec(t.shape, t.dtype, name=re.sub(r"[^\w.]", "_", name))
        for t, name in zip(tensors, names, strict=True)
    ]

    def call(*args: Any) -> Any:
        return model(args[0] if len(args) == 1 else list(args), training=False)

    function = tf.function(call, input_signature=signature).get_concrete_function()
    outputs = getattr(model, "output_names", None) or [model.layers[-1].name]  # Sequential has no output_names
    outputs = _structured_names(function.structured_outputs) or outputs
    return concrete_function(function, names, outputs, model.name, architecture=architecture)


def _structured_names(outputs: Any) -> list[str]:
    """Names of the outputs if they come as a dictionary, in the order of ``function.outputs``."""
    return sorted(map(str, outputs)) if isinstance(outputs, dict) else []


def _by_saved_model(model: Any, *, architecture: bool) -> bytes:
    """A subclassed model that knows its own signature only."""
    if not getattr(model, "built", False):
        raise NotAModel(
            f"the Keras model '{model.name}' has no inputs yet; build it, call it once, or use the functional API"
        )
    with tempfile.TemporaryDirectory() as folder:
        model.export(folder, format="tf_saved_model", verbose=False)
        return saved_model(folder, architecture=architecture)


def saved_model(path: str, *, architecture: bool = False) -> bytes:
    """A SavedModel folder: the signature ``serving_default``, or the only one."""
    import tensorflow as tf
    from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

    about = SavedModel()
    with open(os.path.join(path, "saved_model.pb"), "rb") as file:  # noqa: PTH118, PTH123
        about.ParseFromString(file.read())
    for meta in about.meta_graphs:
        _refuse_harmful(meta.graph_def)
    loaded = tf.saved_model.load(path)
    signatures = dict(loaded.signatures)
    names = [name for name in signatures if not name.startswith("_")]
    chosen = "serving_default" if "serving_default" in names else names[0] if len(names) == 1 else None
    if chosen is None:
        told = f"has several ({', '.join(sorted(names))})" if names else "has none"
        raise NotAModel(f"expected a SavedModel with the signature 'serving_default' or a single one; it {told}")
    function = signatures[chosen]
    inputs = [spec.name for spec in tf.nest.flatten(function.structured_input_signature)]
    outputs = _structured_names(function.structured_outputs)
    return concrete_function(function, inputs, outputs, chosen, architecture=architecture)


def graph_def_file(path: str, *, architecture: bool = False) -> bytes:
    """A frozen ``GraphDef``: placeholders are its inputs, and what no node reads are its outputs.

    In an architecture its constants of floating point that have a dimension are variables.
    """
    import tensorflow as tf

    graph_def = tf.compat.v1.GraphDef()
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            graph_def.ParseFromString(file.read())
    except Exception as error:  # noqa: BLE001 - a DecodeError, whichever protobuf made it
        raise NotAModel(f"not a frozen TensorFlow graph, nor ONNX ({error})") from None
    if not graph_def.node:
        raise NotAModel("not a frozen TensorFlow graph: it has no nodes")
    unfrozen = [n.name for n in graph_def.node if n.op in ("VarHandleOp", "VariableV2", "Variable")]
    if unfrozen:
        raise NotAModel(f"the graph is not frozen: node '{unfrozen[0]}' is a variable")
    inputs = [f"{n.name}:0" for n in graph_def.node if n.op in SOURCES]
    outputs = _ends(graph_def)
    if not inputs or not outputs:
        raise NotAModel(f"the graph has no {'outputs' if inputs else 'placeholders to feed'}")
    variables = constants_of(graph_def) if architecture else {}
    names = [_plain(n) for n in inputs], [_plain(n) for n in outputs]
    return convert_graph(graph_def, (inputs, outputs), names, "graph", variables)


def _ends(graph_def: Any) -> list[str]:
    """Every output of the nodes that no node reads."""
    import tensorflow as tf

    read = {i.lstrip("^").split(":")[0] for node in graph_def.node for i in node.input}
    ends = [n.name for n in graph_def.node if n.name not in read and n.op not in SOURCES | {"NoOp", "Const"}]
    _refuse_harmful(graph_def)
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
    return [t.name for name in ends for t in graph.get_operation_by_name(name).outputs]


def concrete_function(
    function: Any, inputs: Sequence[str], outputs: Sequence[str], name: str, *, architecture: bool = False
) -> bytes:
    """A traced function, whose variables and captured constants become initialisers.

    Args:
        function: a ``ConcreteFunction``.
        inputs: what its inputs shall be called, in its order; captures are none.
        outputs: the same for its outputs; left as they are if the number differs.
        name: of the graph.
        architecture: its variables stay as they are written.
    """
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    captured = dict(zip([t.name for t in function.graph.internal_captures], function.captured_inputs, strict=True))
    frozen = convert_variables_to_constants_v2(function, lower_control_flow=False, aggressive_inlining=True)
    graph_def = frozen.graph.as_graph_def(add_shapes=True)
    own = [t.name for t in function.inputs if t.name not in captured]
    for node in graph_def.node:
        value = captured.get(f"{node.name}:0")
        if node.op in SOURCES and value is not None and value.dtype != tf.resource:
            shape = node.attr["_output_shapes"]
            node.op = "Const"
            node.attr.clear()
            node.attr["_output_shapes"].CopyFrom(shape)
            node.attr["dtype"].type = value.dtype.as_datatype_enum
            node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value.numpy()))
    ends = [t.name for t in frozen.outputs if t.dtype != tf.resource]
    if len(inputs) != len(own):
        inputs = [_plain(n) for n in own]
    if len(outputs) != len(ends):
        outputs = [_plain(n) for n in ends]
    variables = _variables(function, captured) if architecture else {}
    return convert_graph(graph_def, (own, ends), (inputs, outputs), name, variables)


def _variables(function: Any, captured: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """By the node that holds it in the frozen graph: the name and the value of each variable of floating point."""
    found: dict[str, tuple[str, Any]] = {}
    names: dict[int, str] = {}  # several variables may have one name, and one variable may be captured twice
    for tensor, value in captured.items():
        variable = next((v for v in function.graph.variables if v.handle is value), None)
        if variable is not None and variable.dtype.is_floating:
            plain = _plain(variable.name)
            name = names.setdefault(id(variable), plain if plain not in names.values() else f"{plain}_{len(names)}")
            found[_plain(tensor)] = name, variable.numpy()
    return found


def convert_graph(
    graph_def: Any,
    ends: tuple[Sequence[str], Sequence[str]],
    names: tuple[Sequence[str], Sequence[str]],
    name: str,
    variables: Mapping[str, tuple[str, Any]],
) -> bytes:
    """A frozen graph as ONNX.

    Args:
        graph_def: edited.
        ends: its tensors that are inputs, and that are outputs.
        names: what these shall be called.
        name: of the graph.
        variables: constants that stay as they are written: by node the name and the value of each.
    """
    import onnx.defs
    import tf2onnx

    _refuse_harmful(graph_def)
    kept = as_placeholders(graph_def, variables)
    own = [*ends[0], *(f"{node}:0" for node in kept)]
    inputs = [*names[0], *(variable for variable, _ in kept.values())]
    renamed: dict[str, str] = {}
    for tensor, wanted in (*zip(own, inputs, strict=True), *zip(ends[1], names[1], strict=True)):
        renamed[tensor] = wanted if wanted not in renamed.values() else f"{wanted}_{len(renamed)}"
    with _complaints() as said:
        model, _ = tf2onnx.convert.from_graph_def(
            graph_def,
            name=name,
            input_names=own,
            output_names=list(ends[1]),
            opset=OPSET,
            tensors_to_rename=renamed,
        )
    unknown = sorted({n.op_type for n in model.graph.node if not n.domain and not onnx.defs.has(n.op_type)})
    if unknown:
        raise NotImplementedError(f"tf2onnx cannot convert {', '.join(unknown)}" + (f" ({said[0]})" if said else ""))
    if kept:
        as_initializers(model, [(renamed[f"{node}:0"], array) for node, (_, array) in kept.items()])
    _tidy(model, name)
    return model.SerializeToString(deterministic=True)


@contextlib.contextmanager
def _complaints() -> Generator[list[str]]:
    """What tf2onnx logs as errors instead of raising it."""
    said: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    listener = Listener(logging.ERROR)
    logger = logging.getLogger("tf2onnx")
    logger.addHandler(listener)
    try:
        yield said
    finally:
        logger.removeHandler(listener)


def _tidy(model: Any, name: str) -> None:
    """Drop imports that nothing uses, and let sizes that TensorFlow leaves open have names that say something.

    The leading open size of every input is ``batch``: it is one for all of them, as in Keras.
    """
    graph = model.graph
    graph.name = name
    model.ir_version = IR_VERSION
    domains = {"ai.onnx" if not n.domain else n.domain for n in _nodes(graph)} | {f.domain for f in model.functions}
    kept = [o for o in model.opset_import if (o.domain or "ai.onnx") in domains]
    del model.opset_import[:]
    model.opset_import.extend(kept)
    names: dict[str, str] = {}
    for value in (*graph.input, *graph.output):
        for axis, d in enumerate(value.type.tensor_type.shape.dim):
            if d.dim_param:
                plain = "batch" if axis == 0 else f"{value.name}_{axis}"
                d.dim_param = names.setdefault(d.dim_param, plain)
    for value in graph.value_info:
        for d in value.type.tensor_type.shape.dim:
            if d.dim_param:
                d.dim_param = names.get(d.dim_param, "")


def _nodes(graph: Any) -> Iterator[Any]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _nodes(attribute.g)


def _refuse_harmful(graph_def: Any) -> None:
    nodes = [*graph_def.node, *(n for f in graph_def.library.function for n in f.node_def)]
    found = sorted({n.op for n in nodes} & HARMFUL)
    if found:
        raise NotAModel(f"the graph holds {', '.join(found)}, which touch files or run code; such models are refused")


def _plain(name: str) -> str:
    return name.removesuffix(":0")
