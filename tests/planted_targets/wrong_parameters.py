"""Runtimes that take one parameter of one operator wrongly: ONNX's reference evaluator, but for that.

Name one as ``tests/planted_targets/wrong_parameters.py:AveragePool__count_include_pad__ignored``: operator, attribute,
and what is wrong with it (``KINDS``). Which of them show in a call is seen by running both (``shows``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

if str(Path(__file__).parent) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parent))

import wrong

Outputs = tuple[Any, ...]


def _other(value: Any, default: Any) -> Any:
    """What stands in for a value that is not heeded: the default, or if that is it, the neutral one."""
    if isinstance(value, list):
        neutral = [type(v)(1 if any(v > 1 for v in value) else 0) for v in value]
        return neutral if list(value) != neutral else None
    if default is not None and default != value:
        return default
    if isinstance(value, float):
        return value + 0.5
    return 1 - value if value in (0, 1) else None


def ignored(value: Any, default: Any) -> Any:
    """The value is not read: the default counts."""
    return _other(value, default)


def turned(value: Any, _default: Any) -> Any:
    """Lists are read from the end, numbers with the other sign, flags the other way round."""
    if isinstance(value, list):
        return value[::-1] if value[::-1] != value else None
    if isinstance(value, float):
        return -value if value else None
    return 1 - value if value in (0, 1) else None


def one_more(value: Any, _default: Any) -> Any:
    """The value is off by one; of floats, twice as large."""
    if isinstance(value, list):
        return [v + 1 for v in value]
    return value * 2 if isinstance(value, float) and value else value + 1 if isinstance(value, int) else None


KINDS: Mapping[str, Callable[[Any, Any], Any]] = {"ignored": ignored, "turned": turned, "one_more": one_more}
"""Kernels that compute with another value of the attribute; ``None`` where there is none."""

SPOILT = "spoilt"
"""Kernels that compute something else altogether, wherever the attribute is not its default."""


def fault_of(name: str) -> wrong.Fault:
    """The fault of this name.

    Raises:
        ValueError: it is none.
    """
    op, attribute, kind = name.split("__")

    def kernel(right: Callable[..., Outputs], inputs: Outputs, attrs: dict[str, Any]) -> Outputs:
        value = attrs.get(attribute)
        value = value.decode() if isinstance(value, bytes) else list(value) if isinstance(value, tuple) else value
        schema = onnx.defs.get_schema(op, 17, "").attributes[attribute]
        default = onnx.helper.get_attribute_value(schema.default_value) if schema.default_value.name else None
        default = default.decode() if isinstance(default, bytes) else default
        if value is None or isinstance(value, np.ndarray):
            return right(*inputs, **attrs)
        if kind == SPOILT:
            outputs = right(*inputs, **attrs)
            return outputs if _neutral(value, default) else tuple(map(_spoil, outputs))
        other = KINDS[kind](value, default)
        return right(*inputs, **attrs) if other is None else right(*inputs, **{**attrs, attribute: other})

    return wrong.Fault(kernel, (op,), "", (attribute,))


def _neutral(value: Any, default: Any) -> bool:
    if isinstance(value, list) and default is None:
        return len(set(value)) <= 1 and set(value) <= {0, 1}
    return value == (list(default) if isinstance(value, list) else default)


def _spoil(output: Any) -> Any:
    """Half as large again and off by one; integers off by one, truth values the other way round."""
    array = np.asarray(output)
    if array.dtype.kind == "f":
        return (array * 1.5 + 1).astype(array.dtype)
    return ~array if array.dtype.kind == "b" else array + 1 if array.dtype.kind in "iu" else output


def shows(model: onnx.ModelProto, inputs: dict[str, Any], fault: wrong.Fault) -> bool:
    """Whether a fault changes what a model computes, and nothing dies of it."""
    try:
        expected = ReferenceEvaluator(model).run(None, inputs)
        got = wrong.outputs_of(model, inputs, fault)
    except Exception:  # the kernels of the evaluator raise whatever NumPy does
        return False
    pairs = list(zip(expected, got.values(), strict=True))
    if any(np.shape(a) != np.shape(b) or np.asarray(a).dtype != np.asarray(b).dtype for a, b in pairs):
        return False
    return not wrong.same([b for _, b in pairs], [a for a, _ in pairs])


class _Runtime:
    """A plug-in of ``irfuzz.execute.adapters.plugin``."""

    fault: wrong.Fault

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        return wrong.outputs_of(onnx.load_model_from_string(model), inputs, self.fault)


def __getattr__(name: str) -> type[_Runtime]:
    """A target by the name of its fault."""
    if name.count("__") != 2 or name.startswith("__"):
        raise AttributeError(name)
    return type(name, (_Runtime,), {"fault": fault_of(name)})
