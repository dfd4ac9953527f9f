"""What an emitter may ask beside its node: names of values, attributes, the spelling of Python."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import onnx
import onnx_ir as ir

from irfuzz.errors import Unsupported
from irfuzz.export.source.framework_description import FLOATS, FrameworkDescription
from irfuzz.export.source.python_identifiers import PythonIdentifiers


class Code(str):
    """A Python expression, as opposed to a string that is to be quoted."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TupleExpression:
    """An expression for a tuple of ``count`` values, one for each output of the node."""

    expression: str
    count: int


@dataclass(frozen=True, slots=True)
class StatementBlock:
    """Statements that assign the node's outputs themselves (control flow)."""

    lines: tuple[str, ...]


Emitted: TypeAlias = str | TupleExpression | StatementBlock
Emitter: TypeAlias = "Callable[[EmitterContext, ir.Node], Emitted]"


class EmitterContext:
    """What emitters may ask about the program and ask for in the module.

    Attributes:
        opset: version of the default domain.
        used: names of the support functions that the emitted code calls.
        arrays: constants that the module reads from its npz.
        array_dtypes: how the framework spells their types.
        framework: what the module computes with.
    """

    __slots__ = (
        *("_constants", "_dtype_of", "_names", "_shape_of"),
        *("array_dtypes", "arrays", "framework", "lower_graph", "opset", "used"),
    )

    def __init__(
        self,
        framework: FrameworkDescription,
        opset: int,
        names: PythonIdentifiers,
        constants: Callable[[ir.Value], np.ndarray | None],
        dtype_of: Callable[[ir.Value], ir.DataType | None],
        lower_graph: Callable[[ir.Graph, Sequence[str], int], list[str]],
        shape_of: Callable[[ir.Value], tuple[int, ...] | None] = lambda _: None,
    ) -> None:
        self.framework = framework
        self.opset = opset
        self._names = names
        self._constants = constants
        self._dtype_of = dtype_of
        self._shape_of = shape_of
        self.lower_graph = lower_graph
        self.used: set[str] = set()
        self.arrays: dict[str, np.ndarray] = {}
        self.array_dtypes: dict[str, str] = {}

    # values

    def name(self, value: ir.Value) -> Code:
        """The identifier that holds ``value``."""
        return Code(self._names.of(value.name or ""))

    def fresh(self, hint: str) -> Code:
        """A new identifier, for what no ONNX value names."""
        return Code(self._names.fresh(hint))

    def input(self, node: ir.Node, index: int) -> Code | None:
        """The identifier of an input, ``None`` if it is absent."""
        value = self.input_value(node, index)
        return None if value is None else self.name(value)

    def input_value(self, node: ir.Node, index: int) -> ir.Value | None:
        """The value of an input, ``None`` if it is absent."""
        value = node.inputs[index] if index < len(node.inputs) else None
        return None if value is None or value.name == "" else value

    def inputs(self, node: ir.Node) -> list[Code | None]:
        """Identifiers of all inputs."""
        return [self.input(node, i) for i in range(len(node.inputs))]

    def given(self, node: ir.Node) -> list[Code]:
        """Identifiers of the inputs that are present."""
        return [name for name in self.inputs(node) if name is not None]

    def dtype(self, value: ir.Value | None) -> ir.DataType | None:
        """Element type of ``value`` if it is known."""
        return None if value is None else self._dtype_of(value)

    def shape(self, value: ir.Value) -> tuple[int, ...] | None:
        """Sizes of ``value`` if all are known."""
        found = self._shape_of(value)
        if found is not None or value.shape is None or not value.shape.is_static():
            return found
        return tuple(int(d) for d in value.shape.numpy())

    def is_plain(self, value: ir.Value | None) -> bool:
        """True if the framework surely has the usual operators on this element type."""
        dtype = self.dtype(value)
        return dtype in self.framework.plain

    def is_float(self, value: ir.Value | None) -> bool:
        """True if the element type is surely floating point."""
        return self.dtype(value) in FLOATS

    def constant(self, value: ir.Value | None) -> np.ndarray | None:
        """The array of a constant value, ``None`` if it is absent or computed."""
        return None if value is None else self._constants(value)

    def ints(self, node: ir.Node, index: int) -> tuple[int, ...] | Code | None:
        """An integer input as a literal tuple if it is constant, else code that reads it; ``None`` if absent."""
        value = self.input_value(node, index)
        if value is None:
            return None
        known = self.constant(value)
        if known is not None:
            return tuple(int(e) for e in np.asarray(known).reshape(-1))
        return Code(self.call("ints", self.name(value)))

    # attributes

    def attr(self, node: ir.Node, name: str, default: Any = None) -> Any:
        """An attribute as a Python value: the node's, else the operator's default at this opset, else ``default``."""
        found = node.attributes.get(name)
        if found is not None:
            value = found.value
            # Not any sequence: graphs and strings are some too.
            return tuple(value) if isinstance(value, list | tuple) else value
        known = attribute_defaults(node.domain, node.op_type, self.opset).get(name)
        return default if known is None else known

    def unsupported(self, node: ir.Node, why: str) -> Unsupported:
        """The error that says why this node has no exact lowering."""
        return Unsupported(self.framework.component, node.op_type, why)

    def spelled(self, node: ir.Node, dtype: int) -> Code:
        """The framework's spelling of an ONNX element type. Raises ``Unsupported`` if there is none."""
        return Code(self.framework.spelled(dtype, node.op_type))

    def spell(self, dtype: ir.DataType) -> str:
        """The framework's spelling of a known element type."""
        return self.framework.spelled(dtype, f"element type {dtype.name}")

    # code

    def form(self, name: str, **parts: Any) -> str:
        """What the framework writes for ``name`` (see ``FrameworkDescription.forms``)."""
        return self.framework.forms[name].format(**parts)

    def store(self, name: str, tensor: ir.TensorProtocol) -> str:
        """Put a tensor into the module's arrays under a free key like ``name``, and give that key."""
        dtype = self.framework.spelled(tensor.dtype, f"constant {name!r}")
        key, count = name, 1
        while key in self.arrays:
            count += 1
            key = f"{name}.{count}"
        array = np.array(tensor.numpy(), copy=True).reshape(tensor.shape.numpy())
        self.arrays[key] = array.view(np.uint16) if tensor.dtype == ir.DataType.BFLOAT16 else array
        self.array_dtypes[key] = dtype
        return key

    def call(self, function: str, *args: Any, **kwargs: Any) -> str:
        """A call of a support function (or of ``torch.x``); absent arguments are dropped at the end and if named."""
        if "." not in function:
            self.used.add(function)
        positional = list(args)
        while positional and positional[-1] is None:
            positional.pop()
        parts = [literal(a) for a in positional] + [f"{k}={literal(v)}" for k, v in kwargs.items() if v is not None]
        return f"{function}({', '.join(parts)})"


@functools.cache
def attribute_defaults(domain: str, op: str, opset: int) -> Mapping[str, Any]:
    """Default attribute values of an operator of ``onnx.defs`` at ``opset``, as Python values."""
    try:
        schema = onnx.defs.get_schema(op, opset, domain)
    except onnx.defs.SchemaError:
        return {}
    found: dict[str, Any] = {}
    for name, attribute in schema.attributes.items():
        if attribute.default_value.name:
            value = onnx.helper.get_attribute_value(attribute.default_value)
            if isinstance(value, bytes):
                value = value.decode()
            elif isinstance(value, list):
                value = tuple(v.decode() if isinstance(v, bytes) else v for v in value)
            found[name] = value
    return found


def _spelled(character: str) -> str:
    """One character inside a quoted string; models are hostile, so nothing unprintable reaches the source raw."""
    if character in '"\\':
        return "\\" + character
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")


def comment(node: ir.Node) -> str:
    """The end of a line of code: operator and name of the node that it computes."""
    name = node.name or ""
    # A carriage return would end the comment.
    return f"  # {node.op_type}" + (f" {name}" if name and name.isprintable() else "")


def literal(value: Any) -> str:
    """``value`` as Python source: numbers (NaN and infinities too), strings, tuples, lists, ``None``, ``Code``."""
    if isinstance(value, Code):
        return str(value)
    if value is None or isinstance(value, bool | int):
        return repr(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f'float("{value}")'
    if isinstance(value, str):
        return '"' + "".join(_spelled(c) for c in value) + '"'
    if isinstance(value, list | tuple):
        inner = ", ".join(literal(v) for v in value)
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    raise TypeError(f"no Python literal for {type(value).__name__} {value!r}")
