"""A Keras model as a graph of its layers: calls of local functions, each with what tf2onnx makes of the layer as body.

The weights are initialisers of the graph and inputs of the functions. The documentation of a function is JSON: the
configuration of the layer, from which a Keras target builds the same layer on its own back end, and the inputs for
which the body was made. Runs in the worker of ``tensorflow.py``.
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Callable, Sequence
from typing import Any

front_end = importlib.import_module(".tensorflow", __package__)

DOMAIN = "keras"
"""Of the functions."""

SCHEMA = 1
"""Version of the documentation of a function."""


def layered_model(model: Any) -> bytes:
    """The layers of a functional or sequential ``keras.Model``, also of models inside of it.

    Raises:
        NotAModel: it has no graph of layers, or the layers pass masks, which a call does not show.
    """
    if not getattr(model, "inputs", None) or _graph_of(model) is None:
        raise front_end.NotAModel(
            f"the Keras model '{model.name}' is no functional or sequential one, so it has no graph of layers"
        )
    return _Writer(model).write()


class _Writer:
    """Makes one model."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.names: dict[int, str] = {}  # of values, by the id of their KerasTensor
        self.taken: set[str] = set()
        self.nodes: list[Any] = []
        self.weights: dict[int, str] = {}  # names, by the id of the variable
        self.initializers: list[Any] = []
        self.functions: dict[str, Any] = {}  # by what makes them the same
        self.keep: list[Any] = []  # tensors whose ids stand above

    def write(self) -> bytes:
        import onnx

        inputs = [self._input(tensor) for tensor in self.model.inputs]
        self._walk(self.model)
        outputs = [self._output(tensor) for tensor in self.model.outputs]
        graph = onnx.helper.make_graph(self.nodes, self.model.name, inputs, outputs, self.initializers)
        imports = [onnx.helper.make_opsetid("", front_end.OPSET), onnx.helper.make_opsetid(DOMAIN, 1)]
        made = onnx.helper.make_model(
            graph, opset_imports=imports, ir_version=front_end.IR_VERSION, functions=list(self.functions.values())
        )
        return made.SerializeToString(deterministic=True)

    # ---- the graph ----------------------------------------------------------------------------------

    def _walk(self, model: Any) -> None:
        """Write the calls of a functional model in its order; of a model inside of it, the calls in that."""
        by_depth = _graph_of(model)
        assert by_depth is not None
        for node in [node for depth in sorted(by_depth, reverse=True) for node in by_depth[depth]]:
            if node.is_input:
                continue
            if _graph_of(node.operation) is None:
                self._call(node.operation, node)
            else:
                self._inside(node.operation, node)

    def _inside(self, model: Any, node: Any) -> None:
        """A model that is a layer: its own tensors are those of the call."""
        import keras

        for own, given in zip(model.inputs, keras.tree.flatten(node.input_tensors), strict=True):
            self.names[id(own)] = self.names[id(given)]
        self._walk(model)
        for own, given in zip(model.outputs, keras.tree.flatten(node.output_tensors), strict=True):
            self._name(given, self.names[id(own)])

    def _call(self, layer: Any, node: Any) -> None:
        import onnx

        inputs, outputs = list(node.input_tensors), list(node.output_tensors)
        if any(getattr(tensor, "_keras_mask", None) is not None for tensor in outputs):
            raise front_end.NotAModel(f"layer '{layer.name}' passes a mask, which a graph of layers does not show")
        given = [self.names[id(tensor)] for tensor in inputs]
        variables = list(getattr(layer, "weights", []))
        function = self._function(layer, node, variables)
        names = [self._fresh(layer.name if len(outputs) == 1 else f"{layer.name}_{n}") for n in range(len(outputs))]
        for tensor, name in zip(outputs, names, strict=True):
            self._name(tensor, name)
        held = [self._weight(variable) for variable in variables]
        self.nodes.append(
            onnx.helper.make_node(function.name, [*given, *held], names, name=f"call_{names[0]}", domain=DOMAIN)
        )

    def _input(self, tensor: Any) -> Any:
        name = self._fresh(tensor.name.split(":")[0])
        self._name(tensor, name)
        return _value_info(name, tensor, "batch")

    def _output(self, tensor: Any) -> Any:
        """A tensor of the graph as its output; an input, or a second output of one tensor, by an Identity."""
        import onnx

        name = self.names[id(tensor)]
        if any(id(tensor) == id(given) for given in self.model.inputs):
            copy = self._fresh(f"{name}_output")
            self.nodes.append(onnx.helper.make_node("Identity", [name], [copy], name=f"copy_{copy}"))
            name = copy
        return _value_info(name, tensor, "batch")

    def _name(self, tensor: Any, name: str) -> None:
        self.names[id(tensor)] = name
        self.keep.append(tensor)

    def _fresh(self, wanted: str) -> str:
        name, count = wanted, 1
        while name in self.taken:
            count += 1
            name = f"{wanted}_{count}"
        self.taken.add(name)
        return name

    def _weight(self, variable: Any) -> str:
        import keras
        import numpy as np
        import onnx.numpy_helper

        if id(variable) not in self.weights:
            name = self.weights[id(variable)] = self._fresh(variable.path)
            array = np.asarray(keras.ops.convert_to_numpy(variable))
            self.initializers.append(onnx.numpy_helper.from_array(array, name))
        return self.weights[id(variable)]

    # ---- functions ----------------------------------------------------------------------------------

    def _function(self, layer: Any, node: Any, variables: Sequence[Any]) -> Any:
        """The function of a layer; one for all that differ in names and weights alone."""
        import keras

        tensors = list(node.input_tensors)
        call = _call_of(node, tensors)
        config = keras.saving.serialize_keras_object(layer)
        named = json.dumps(_unnamed(config), sort_keys=True)
        about = {
            "schema": SCHEMA,
            "layer": _unnamed(config),
            "call": None if call is None else {**call, "defaults": _at_default(layer)},
            "inputs": [[keras.backend.standardize_dtype(t.dtype), list(t.shape)] for t in tensors],
            "weights": len(variables),
        }
        key = json.dumps([named, about["call"], about["inputs"], [list(v.shape) for v in variables]])
        if key not in self.functions:
            kind = type(layer).__name__
            used = {function.name for function in self.functions.values()}
            name = (
                kind if kind not in used else next(f"{kind}_{n}" for n in range(2, 9999) if f"{kind}_{n}" not in used)
            )
            self.functions[key] = _body(layer, node, tensors, variables, name, json.dumps(about))
        return self.functions[key]


def _graph_of(model: Any) -> Any:
    """The nodes of a functional model by their depth; those of the one in a Sequential; ``None`` of all else."""
    return getattr(getattr(model, "_functional", None) or model, "_nodes_by_depth", None)


def _unnamed(config: Any) -> Any:
    """The configuration without the name of the layer and the sizes that it was built for."""
    kept = {k: v for k, v in config.items() if k not in ("build_config", "shared_object_id")}
    kept["config"] = {k: v for k, v in kept["config"].items() if k != "name"}
    return kept


def _at_default(layer: Any) -> list[str]:
    """The parameters of a layer that have the value they have if nobody names them: an older Keras may lack them."""
    parameters = inspect.signature(type(layer).__init__).parameters.values()
    config = layer.get_config() if hasattr(layer, "get_config") else {}
    usual = {"data_format": "channels_last"}  # what None stands for
    names = [p for p in parameters if p.name in config]
    return sorted(p.name for p in names if config[p.name] in (p.default, usual.get(p.name, p.default)))


def _call_of(node: Any, tensors: Sequence[Any]) -> Any:
    """The arguments of a call with numbers for its tensors; ``None`` if JSON cannot hold them."""
    places = {id(tensor): place for place, tensor in reversed(list(enumerate(tensors)))}

    def shown(value: Any) -> Any:
        if id(value) in places and hasattr(value, "dtype"):
            return {"tensor": places[id(value)]}
        if isinstance(value, (list, tuple)):
            return {"list": [shown(v) for v in value]}
        if value is None or isinstance(value, (bool, int, float, str)):
            return {"value": value}
        raise TypeError

    try:
        arguments = node.arguments
        given = {k: v for k, v in arguments.kwargs.items() if v is not None}
        return {"args": [shown(v) for v in arguments.args], "kwargs": {k: shown(v) for k, v in given.items()}}
    except TypeError:
        return None


def _body(layer: Any, node: Any, tensors: Sequence[Any], variables: Sequence[Any], name: str, about: str) -> Any:
    """The function of one layer, traced with its weights as arguments and converted by tf2onnx."""
    import keras
    import onnx
    import tensorflow as tf

    specs = [tf.TensorSpec(t.shape, t.dtype, name=f"x{n}") for n, t in enumerate(tensors)]
    specs += [tf.TensorSpec(v.shape, v.dtype, name=f"w{n}") for n, v in enumerate(variables)]

    def call(*values: Any) -> Any:
        given, weights = values[: len(tensors)], values[len(tensors) :]
        args, kwargs = node.arguments.fill_in(dict(zip(map(id, tensors), given, strict=True)))
        if "training" in kwargs or _takes_training(layer):
            kwargs["training"] = False
        with keras.StatelessScope(state_mapping=list(zip(variables, weights, strict=True))):
            return [tf.identity(value) for value in keras.tree.flatten(layer(*args, **kwargs))]

    traced = tf.function(call, input_signature=specs, autograph=False).get_concrete_function()
    inputs = [str(spec.name) for spec in specs]
    outputs = [f"y{n}" for n in range(len(node.output_tensors))]
    model = onnx.ModelProto.FromString(front_end.concrete_function(traced, inputs, outputs, name))
    constants = [
        onnx.helper.make_node("Constant", [], [tensor.name], value=tensor) for tensor in model.graph.initializer
    ]
    imports = list(model.opset_import) or [onnx.helper.make_opsetid("", front_end.OPSET)]
    nodes = [*constants, *model.graph.node]
    results = [v.name for v in model.graph.output]
    lacking = _of_unknown_sizes(model)
    for place, tensor in enumerate(node.output_tensors):
        if results[place] in lacking:
            results[place] = _of_known_sizes(nodes, results[place], tuple(tensor.shape))
    return onnx.helper.make_function(DOMAIN, name, inputs, results, nodes, imports, doc_string=about)


def _of_unknown_sizes(model: Any) -> set[str]:
    """Outputs of which ONNX's inference does not tell all sizes but the first: of a loop over time, for instance."""
    import onnx

    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    for output in bare.graph.output:
        output.type.tensor_type.ClearField("shape")
    del bare.graph.value_info[:]
    told = onnx.shape_inference.infer_shapes(bare, data_prop=True).graph.output
    shapes = {output.name: output.type.tensor_type for output in told}
    return {
        name
        for name, kind in shapes.items()
        if not kind.HasField("shape") or not all(size.HasField("dim_value") for size in kind.shape.dim[1:])
    }


def _of_known_sizes(nodes: list[Any], name: str, shape: Sequence[int | None]) -> str:
    """A result whose sizes inference cannot tell but Keras knows, behind a Reshape that says them.

    Args:
        nodes: of the function, to which the Reshape is added.
        name: of the result.
        shape: with ``None`` for sizes that Keras does not know. If another than the first is unknown, or is 0, which a
            Reshape would take for one, nothing is added.

    Returns:
        The name of what the function gives.
    """
    import numpy as np
    import onnx

    if len(shape) < 2 or shape[0] is not None or not all(shape[1:]):
        return name
    sizes = onnx.numpy_helper.from_array(np.array([0, *shape[1:]], np.int64), f"{name}_sizes")
    nodes.append(onnx.helper.make_node("Constant", [], [sizes.name], value=sizes))
    nodes.append(onnx.helper.make_node("Reshape", [name, sizes.name], [f"{name}_of_known_sizes"]))
    return f"{name}_of_known_sizes"


def _takes_training(layer: Any) -> bool:
    takes: Callable[[], bool] | bool = getattr(layer, "_call_has_training_arg", False)
    return bool(takes)


def _value_info(name: str, tensor: Any, batch: str) -> Any:
    import keras
    import numpy as np
    import onnx

    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(keras.backend.standardize_dtype(tensor.dtype)))
    shape = [batch if not axis and size is None else f"{name}_{axis}" if size is None else size
             for axis, size in enumerate(tensor.shape)]  # fmt: skip
    return onnx.helper.make_tensor_value_info(name, kind, shape)
