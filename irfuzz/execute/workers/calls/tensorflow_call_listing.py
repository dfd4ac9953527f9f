"""Prints the operators that the TensorFlow source in a finding's folder calls for its inputs, one a line.

Run by path, in a process of its own: ``python -P tensorflow_call_listing.py FOLDER`` prints JSON, or an error. The
source is traced with the sizes of the inputs; what becomes a constant by that is written down as it was.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

ELEMENTS = 64
"""Most of a constant that is written down."""


class Untold(Exception):
    """Something that cannot be written as a line of source."""


class Operators:
    """Writes down the operators of a traced function.

    Attributes:
        lines: ``(name that it gives, names that it needs, source)``.
    """

    def __init__(self, known: dict[str, str]) -> None:
        self.lines: list[tuple[str, list[str], str]] = []
        self._names = dict(known)
        self._count = 0

    def add(self, operator: Any) -> None:
        """Write one operator down; those before it are known."""
        if operator.type in ("Placeholder", "NoOp"):
            return
        # TensorFlow's operators; this one gives a tensor a second name.
        if operator.type == "Identity" and operator.inputs[0].name in self._names:
            self._names[operator.outputs[0].name] = self._names[operator.inputs[0].name]
            return
        needed: list[str] = []
        text = self._constant(operator) if operator.type == "Const" else self._call(operator, needed)
        self._count += 1
        name = f"t{self._count}"
        self.lines.append((name, needed, f"{name} = {text}"))
        for output, place in zip(operator.outputs, _places(operator)):  # noqa: B905 - Python 3.9
            self._names[output.name] = name + place

    def name(self, tensor: Any) -> str:
        """What a tensor is called.

        Raises:
            Untold: it came from somewhere else.
        """
        found = self._names.get(tensor.name)
        if found is None:
            raise Untold(f"a tensor of {tensor.op.type}, which is not told")
        return found

    def _constant(self, operator: Any) -> str:
        array = tf.make_ndarray(operator.get_attr("value"))
        kind = operator.get_attr("dtype")
        if array.size > ELEMENTS or (kind not in (tf.bool, tf.float32, tf.float64, tf.float16) and not kind.is_integer):
            raise Untold(f"a constant of {array.size} elements of {kind.name}")
        return f"tf.constant({_number(array.tolist())}, tf.{kind.name}, {list(array.shape)})"

    def _call(self, operator: Any, needed: list[str]) -> str:
        function = getattr(tf.raw_ops, operator.type, None)
        if function is None or operator.control_inputs:
            raise Untold(f"the operator {operator.type}")
        left = [self.name(tensor) for tensor in operator.inputs]
        needed += [name.partition("[")[0] for name in left]
        words: list[str] = []
        called = _called(operator, inspect.signature(function).parameters)
        for argument in operator.op_def.input_arg:
            if argument.number_attr or argument.type_list_attr:
                count = operator.get_attr(argument.number_attr or argument.type_list_attr)
                count = count if isinstance(count, int) else len(count)
                words.append(f"{called[argument.name]}=[{', '.join(left[:count])}]")
            else:
                count = 1
                words.append(f"{called[argument.name]}={left[0]}")
            del left[:count]
        for attribute in operator.op_def.attr:
            word = called.get(attribute.name)
            if word is None:
                continue  # what the inputs tell
            value, default = operator.get_attr(attribute.name), inspect.signature(function).parameters[word].default
            if default is inspect.Parameter.empty or default is None or _text(value) != _text(default):
                words.append(f"{word}={_text(value)}")
        return f"tf.raw_ops.{operator.type}({', '.join(words)})"


def _called(operator: Any, parameters: Mapping[str, Any]) -> dict[str, str]:
    """What ``tf.raw_ops`` calls the inputs and attributes of an operator: a few have other names there."""
    inputs = [argument.name for argument in operator.op_def.input_arg]
    told = {
        key for a in operator.op_def.input_arg for key in (a.type_attr, a.number_attr, a.type_list_attr) if key
    }  # fmt: skip
    attributes = [attribute.name for attribute in operator.op_def.attr if attribute.name not in told]
    taken = [key for key in parameters if key != "name"]
    others = [key for key in taken if key not in inputs and key not in attributes]
    renamed = [name for name in (*inputs, *attributes) if name not in taken and not name.startswith("_")]
    if len(others) != len(renamed):
        raise Untold(f"the words of {operator.type}")
    return {**{name: name for name in (*inputs, *attributes) if name in taken}, **dict(zip(renamed, others))}  # noqa: B905


def _places(operator: Any) -> list[str]:
    """Where each output is in what ``tf.raw_ops`` gives."""
    arguments = operator.op_def.output_arg
    found: list[str] = []
    for place, argument in enumerate(arguments):
        first = f"[{place}]" if len(arguments) > 1 else ""
        if argument.number_attr or argument.type_list_attr:
            count = operator.get_attr(argument.number_attr or argument.type_list_attr)
            count = count if isinstance(count, int) else len(count)
            found += [f"{first}[{item}]" for item in range(count)]
        else:
            found.append(first)
    return found


def _number(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_number, value))}]"
    if isinstance(value, float) and value - value != 0:
        return f"float({str(value)!r})"
    return repr(value)


def _text(value: Any) -> str:
    """An attribute as source."""
    if isinstance(value, tf.DType):
        return f"tf.{value.name}"
    if isinstance(value, bytes):
        return repr(value.decode())
    if isinstance(value, tf.TensorShape):
        return repr(value.as_list() if value.rank is not None else None)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, (bool, int, str, float)):
        return _number(value)
    raise Untold(f"an attribute of type {type(value).__name__}")


def main(folder: Path) -> dict[str, Any]:
    """The operators of ``tensorflow_model.py`` in a folder.

    Returns:
        ``arguments`` (names in the function, by input), ``weights`` (names by name of the array), ``body`` (lines) and
        ``outputs`` (``[name, source]`` in their order).
    """
    names: dict[str, Any] = {"__name__": "generated"}
    exec(compile((folder / "tensorflow_model.py").read_text(), "<generated>", "exec"), names)  # noqa: S102 - see above
    arrays, inputs = load(folder / "tensorflow_weights.npz"), load(folder / "inputs.npz")
    weights, given = names["tensors"](arrays, inputs)
    if any(not isinstance(tensor, tf.Tensor) for tensor in (*weights.values(), *given.values())):
        raise Untold("a sequence or an optional")
    order: list[str] = []

    def compute(*values: Any) -> Any:
        held, tensors = values[: len(weights)], values[len(weights) :]
        found = names["forward"](dict(zip(weights, held)), dict(zip(given, tensors)))  # noqa: B905
        order[:] = list(found)
        return [tf.identity(tensor) for tensor in found.values()]

    traced = tf.function(compute, autograph=False).get_concrete_function(*weights.values(), *given.values())
    if traced.graph.captures:
        raise Untold("a tensor that is made outside of the function")
    arguments = {name: f"x{place}" for place, name in enumerate(given)}
    held = {name: f"w{place}" for place, name in enumerate(weights)}
    places = (tensor.name for tensor in traced.inputs)
    operators = Operators(dict(zip(places, [*held.values(), *arguments.values()])))  # noqa: B905
    for operator in traced.graph.get_operations():
        operators.add(operator)
    outputs = [[name, operators.name(tensor)] for name, tensor in zip(order, traced.outputs)]  # noqa: B905
    wanted = {source.partition("[")[0] for _, source in outputs}
    body: list[str] = []
    for gives, needs, text in reversed(operators.lines):
        if gives in wanted:
            wanted.update(needs)
            body.append(text)
    return {
        "arguments": arguments,
        "weights": {name: place for name, place in held.items() if place in wanted},
        "body": body[::-1],
        "outputs": outputs,
    }


def load(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file by name."""
    with np.load(path, allow_pickle=False) as members:
        names = [name for name in members.files if name != "__irfuzz__"]
        return {name.removesuffix(".npy"): members[name] for name in names}


if __name__ == "__main__":
    try:
        print(json.dumps(main(Path(sys.argv[1]))))
    except Untold as error:
        sys.exit(f"not told: {error}")
