"""Converts the tf.function of a generated TensorFlow module by tf2onnx."""

from __future__ import annotations

import logging
import re
from typing import Any

import onnx
import tensorflow as tf
import tf2onnx

FRAMEWORK = "tensorflow"
"""Whose generated source it takes."""

OPSET = 17
"""What everything shares; tf2onnx goes no further than 18."""

GAP = re.compile(r"is not supported|OperatorNotAllowedInGraphError|Tensorflow op|is not implemented|InaccessibleTensor")


def version() -> str:
    """Of the installed tf2onnx."""
    return str(tf2onnx.__version__)


def warm() -> None:
    """Make TensorFlow single-threaded, and tf2onnx quiet."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    logging.getLogger("tf2onnx").setLevel(logging.ERROR)


def export(source: str, arrays: dict[str, Any], inputs: dict[str, Any], outputs: list[str]) -> bytes:
    """Trace with fixed shapes, and convert.

    Args:
        source: the generated module.
        arrays: its weights; they become constants, for what a function captures would become an input.
        inputs: by name, for their types and shapes.
        outputs: names that the outputs are to have.
    """
    names: dict[str, Any] = {"__name__": "generated"}
    exec(compile(source, "<generated>", "exec"), names)  # noqa: S102 - running generated source is what this is for
    weights, given = _bits(arrays), _bits(inputs)
    _, tensors = names["tensors"](weights, given)
    if any(not isinstance(tensor, tf.Tensor) for tensor in tensors.values()):
        raise NotImplementedError("tf2onnx takes tensors as inputs, no sequences and no optionals")
    try:
        names["forward"](*names["tensors"](weights, given))
    except Exception as error:  # noqa: BLE001 - whatever it raises, the exporter is not to blame
        raise NotImplementedError(f"the module itself does not run: {error}") from None

    def compute(*values: Any) -> Any:
        made, _ = names["tensors"](weights, {})
        found = names["forward"](made, dict(zip(tensors, values)))  # noqa: B905 - Python 3.9
        if any(not isinstance(found[name], tf.Tensor) for name in outputs):
            raise NotImplementedError("tf2onnx gives tensors as outputs, no sequences and no optionals")
        return tuple(tf.identity(found[name]) for name in outputs)

    places = [f"irfuzz_input_{index}" for index in range(len(tensors))]
    signature = [
        tf.TensorSpec(tensor.shape, tensor.dtype, name=place)
        for place, tensor in zip(places, tensors.values())  # noqa: B905
    ]
    function = tf.function(compute, input_signature=signature, autograph=False)
    told = _Told()
    logging.getLogger("tf2onnx").addHandler(told)
    try:
        proto, _ = tf2onnx.convert.from_function(function, input_signature=signature, opset=OPSET)
    finally:
        logging.getLogger("tf2onnx").removeHandler(told)
    if told.gaps:
        raise NotImplementedError(f"tf2onnx goes on after it said: {told.gaps[0]}")
    _refuse_gaps(proto.graph)
    return _named(proto, dict(zip(places, tensors)), outputs).SerializeToString()  # noqa: B905


class _Told(logging.Handler):
    """Keeps what handlers of operators raise for what they do not support; tf2onnx logs it and leaves the node."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.gaps: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Look at the error behind a message, if there is one."""
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and "support" in str(error):
            self.gaps.append(f"{type(error).__name__}: {error}")


def _refuse_gaps(graph: onnx.GraphProto) -> None:
    """Say so if an operator was left as TensorFlow's, as tf2onnx does with those that it does not know."""
    for node in graph.node:
        if node.domain in ("", "ai.onnx") and not onnx.defs.has(node.op_type, OPSET):
            raise NotImplementedError(f"tf2onnx leaves TensorFlow's {node.op_type} as it is: not supported")
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _refuse_gaps(attribute.g)


def _named(proto: onnx.ModelProto, inputs: dict[str, str], outputs: list[str]) -> onnx.ModelProto:
    """The model with the program's names, which TensorFlow would not take, for what goes in and out."""
    graph = proto.graph
    taken = {name for node in graph.node for name in node.output} | {t.name for t in graph.initializer}
    clash = taken & {*inputs.values(), *outputs}
    if clash:
        raise NotImplementedError(f"tf2onnx chose the name of an input or output itself: {min(clash)!r}")
    first = []
    for value in graph.input:
        place = value.name.partition(":")[0]
        first.append(onnx.helper.make_node("Identity", [inputs[place]], [value.name]))
        value.name = inputs[place]
    last = []
    for value, name in zip(graph.output, outputs):  # noqa: B905
        last.append(onnx.helper.make_node("Identity", [value.name], [name]))
        value.name = name
    nodes = [*first, *graph.node, *last]
    del graph.node[:]
    graph.node.extend(nodes)
    return proto


def _bits(values: dict[str, Any]) -> dict[str, Any]:
    """Values as the module takes them: bit patterns if the transport tagged them."""
    return {name: getattr(value, "raw", value) for name, value in values.items()}
