"""Converts the tf.function of a generated TensorFlow module for LiteRT, and runs it there."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

FRAMEWORK = "tensorflow"
"""Whose generated source it takes."""

KERNELS = {"xnnpack": OpResolverType.BUILTIN, "builtin": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES}
"""Its kernels with XNNPACK's in place of those that XNNPACK has, which is the default; its own kernels alone."""

GAP = re.compile(
    r"Invalid tensor size|op operand #\d+ must be tensor of|only supports?\b|\bonly .* (is|are) supported|"
    r"[Uu]nresolved custom op|is unsupported|"
    r"(?i:not (currently |yet )?(supported|implemented)|unsupported|does not support)"
)
"""What kernels say of types and sizes; the first one is what Python's interface says of tensors without elements."""

_NEEDS_TENSORFLOW = re.compile(r"TF Select ops: (.*)")
_NEEDS_CUSTOM = re.compile(r"Custom ops: (.*)")
_SAID = re.compile(r"error: (.*)")
"""In what the converter says: operators for which LiteRT has no kernel, and the reason if it is another one."""

_LAST: dict[str, tuple[Any, _Made | Exception]] = {}
"""The module that was converted last, and what became of it: the variants of one request share a conversion."""


@dataclass(frozen=True)
class _Made:
    """A converted model, and the inputs that it takes: numbers that TensorFlow has to know are part of it."""

    model: bytes
    takes: list[str]


class Refused(Exception):
    """What the converter or the interpreter says, in one line."""


def version() -> str:
    """Of the installed LiteRT; the converter is TensorFlow's."""
    return importlib.metadata.version("ai-edge-litert")


def warm() -> None:
    """Make TensorFlow single-threaded."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def build(
    source: str, arrays: dict[str, Any], inputs: dict[str, Any], outputs: list[str], kernels: str
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Trace with fixed shapes, convert without any optimisation of size, and load.

    Args:
        source: the generated module.
        arrays: its weights; they become constants.
        inputs: by name, for their types and shapes.
        outputs: names of the outputs.
        kernels: a key of ``KERNELS``.
    """
    names: dict[str, Any] = {"__name__": "generated"}
    exec(compile(source, "<generated>", "exec"), names)  # noqa: S102 - running generated source is what this is for
    weights, given = _bits(arrays), _bits(inputs)
    key = (source, _content(weights), _content(given), outputs)
    if "made" not in _LAST or _LAST["made"][0] != key:
        try:
            _LAST["made"] = (key, _converted(names, weights, given, outputs))
        except (NotImplementedError, Refused) as error:
            _LAST["made"] = (key, error)
    made = _LAST["made"][1]
    if isinstance(made, Exception):
        raise made.with_traceback(None)

    def run(values: dict[str, Any]) -> dict[str, Any]:
        _, fed = names["tensors"](weights, _bits(values))
        try:
            interpreter = Interpreter(
                model_content=made.model, num_threads=1, experimental_op_resolver_type=KERNELS[kernels]
            )
            call = interpreter.get_signature_runner()
            found = call(**{f"input_{index}": np.asarray(fed[name].numpy()) for index, name in enumerate(made.takes)})
        except (RuntimeError, ValueError) as error:
            raise Refused(" ".join(str(error).split())) from None
        return {name: _array(found[f"output_{index}"]) for index, name in enumerate(outputs)}

    return run


def _converted(names: dict[str, Any], weights: dict[str, Any], given: dict[str, Any], outputs: list[str]) -> _Made:
    """The model for LiteRT, through a SavedModel, as ``tf.lite.TFLiteConverter`` advises.

    Raises:
        NotImplementedError: TensorFlow itself does not run or trace the module, or LiteRT lacks an operator.
    """
    made, tensors = names["tensors"](weights, given)
    if any(not isinstance(tensor, tf.Tensor) for tensor in tensors.values()):
        raise NotImplementedError("LiteRT takes tensors as inputs, no sequences and no optionals")
    try:
        found = names["forward"](made, tensors)
    except Exception as error:  # noqa: BLE001 - whatever it raises, the converter is not to blame
        raise NotImplementedError(f"the module itself does not run: {error}") from None
    if any(not isinstance(found[name], tf.Tensor) for name in outputs):
        raise NotImplementedError("LiteRT gives tensors as outputs, no sequences and no optionals")
    module, traced, takes = _traced(names, weights, given, outputs)
    try:
        return _Made(tf.lite.TFLiteConverter.from_concrete_functions([traced], module).convert(), takes)
    except Exception as error:  # noqa: BLE001 - it raises several kinds; the reason is in the text
        raise _in_short(error) from None


def _traced(
    names: dict[str, Any], weights: dict[str, Any], given: dict[str, Any], outputs: list[str]
) -> tuple[Any, Any, list[str]]:
    """The module, its function, and the inputs that this takes.

    Inputs that may say axes, sizes and counts become constants if TensorFlow cannot trace the module otherwise.
    """
    _, tensors = names["tensors"](weights, given)
    counts = [n for n, t in tensors.items() if t.shape.rank < 2 and (t.dtype.is_integer or t.shape.num_elements() == 1)]
    why = ""
    for known in ([], counts) if counts and len(counts) < len(tensors) else ([],):
        takes = [name for name in tensors if name not in known]
        signature = [
            tf.TensorSpec(tensors[name].shape, tensors[name].dtype, name=f"input_{index}")
            for index, name in enumerate(takes)
        ]
        module: Any = tf.Module()
        compute = _function_of(names, weights, {name: given[name] for name in known}, takes, outputs)
        module.compute = tf.function(compute, input_signature=signature, autograph=False)
        try:
            return module, module.compute.get_concrete_function(), takes
        except Exception as error:  # noqa: BLE001 - tracing comes before the converter
            why = " ".join(str(error).split())[:300]
    raise NotImplementedError(f"TensorFlow does not trace it: {why}")


def _function_of(
    names: dict[str, Any], weights: dict[str, Any], known: dict[str, Any], takes: list[str], outputs: list[str]
) -> Callable[..., dict[str, Any]]:
    """What the module computes of the inputs in ``takes``, with weights and ``known`` inputs as constants."""

    def compute(*values: Any) -> dict[str, Any]:
        made, fixed = names["tensors"](weights, known)
        found = names["forward"](made, {**fixed, **dict(zip(takes, values))})  # noqa: B905 - Python 3.9
        return {f"output_{index}": tf.identity(found[name]) for index, name in enumerate(outputs)}

    return compute


def _in_short(error: Exception) -> Exception:
    """What the converter says without its trace: the operators that LiteRT lacks are a gap."""
    text = str(error)
    for pattern, what in ((_NEEDS_TENSORFLOW, "TensorFlow's"), (_NEEDS_CUSTOM, "the custom")):
        lacking = pattern.search(text)
        if lacking is not None:
            return NotImplementedError(f"LiteRT has no kernel of its own for {what} {lacking[1].strip()}")
    said = _SAID.search(text)
    return Refused(said[1] if said is not None else " ".join(text.split())[:500])


def _array(value: Any) -> Any:
    """An output as an array of its own; strings come as bytes."""
    array = np.array(value)
    if array.dtype == object:
        return np.array([v.decode() if isinstance(v, bytes) else v for v in array.ravel()], object).reshape(array.shape)
    return array


def _content(values: dict[str, Any]) -> list[Any]:
    """What tells arrays apart."""
    if any(not isinstance(v, np.ndarray) for v in values.values()):
        return [repr(values)]
    return [
        (name, str(v.dtype), v.shape, v.tobytes() if v.dtype != object else v.tolist()) for name, v in values.items()
    ]


def _bits(values: dict[str, Any]) -> dict[str, Any]:
    """Values as the module takes them: bit patterns if the transport tagged them."""
    return {name: getattr(value, "raw", value) for name, value in values.items()}
