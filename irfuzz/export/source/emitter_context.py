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
        """The identifier that holds ``value`` in the module; the same one each time. It resembles the value's ONNX
        name.
        """
        return Code(self._names.of(value.name or ""))

    def fresh(self, hint: str) -> Code:
        """A new identifier, for what no ONNX value names, such as the counter of a loop.

        Args:
            hint: what it looks like; a number is added if that is taken.
        """
        return Code(self._names.fresh(hint))

    def input(self, node: ir.Node, index: int) -> Code | None:
        """The identifier of an input of a node, ``None`` if the input is absent.

        Args:
            node: it.
            index: place of the input from 0; a place behind the last input is an absent one.
        """
        value = self.input_value(node, index)
        return None if value is None else self.name(value)

    def input_value(self, node: ir.Node, index: int) -> ir.Value | None:
        """The value of an input, ``None`` if it is absent: behind the last one, ``None`` in the node, or with an empty
        name.

        Args:
            node: it.
            index: place of the input from 0.
        """
        value = node.inputs[index] if index < len(node.inputs) else None
        return None if value is None or value.name == "" else value

    def inputs(self, node: ir.Node) -> list[Code | None]:
        """Identifiers of all inputs in order, ``None`` for those that are absent: as many as the node has inputs."""
        return [self.input(node, i) for i in range(len(node.inputs))]

    def given(self, node: ir.Node) -> list[Code]:
        """Identifiers of the inputs that are present, in order. Their places are lost, so that this is for operators
        with any number of inputs.
        """
        return [name for name in self.inputs(node) if name is not None]

    def dtype(self, value: ir.Value | None) -> ir.DataType | None:
        """Element type of ``value``, or ``None`` if it is not known. An absent input, which is ``None``, has no type
        either.
        """
        return None if value is None else self._dtype_of(value)

    def shape(self, value: ir.Value) -> tuple[int, ...] | None:
        """Sizes of ``value`` if all are known, else ``None``; ``()`` for a scalar.

        What the program's inference found comes first, then the shape that the model declares.
        """
        found = self._shape_of(value)
        if found is not None or value.shape is None or not value.shape.is_static():
            return found
        return tuple(int(d) for d in value.shape.numpy())

    def is_plain(self, value: ir.Value | None) -> bool:
        """True if the framework surely has the usual operators on this element type.

        False for a type that is not known, for an absent value, and for types that the framework can hold but hardly
        compute with, such as booleans.
        """
        dtype = self.dtype(value)
        return dtype in self.framework.plain

    def is_float(self, value: ir.Value | None) -> bool:
        """True if the element type is surely floating point: float16, bfloat16, float32 or float64. False if it is not
        known.
        """
        return self.dtype(value) in FLOATS

    def constant(self, value: ir.Value | None) -> np.ndarray | None:
        """The array of a constant value, ``None`` if it is absent or computed.

        Constant are initializers that no graph input can replace, and results of Constant nodes. The array is not a
        copy: it must not be edited.
        """
        return None if value is None else self._constants(value)

    def ints(self, node: ir.Node, index: int) -> tuple[int, ...] | Code | None:
        """An integer input as a literal tuple if it is constant, else code that reads it; ``None`` if absent.

        ``ctx.ints(node, 1)`` of a Reshape gives ``(2, -1)`` or ``Code("ints(shape)")``. Arrays of any rank are
        flattened.

        Args:
            node: it.
            index: place of the input from 0.
        """
        value = self.input_value(node, index)
        if value is None:
            return None
        known = self.constant(value)
        if known is not None:
            return tuple(int(e) for e in np.asarray(known).reshape(-1))
        return Code(self.call("ints", self.name(value)))

    # attributes

    def attr(self, node: ir.Node, name: str, default: Any = None) -> Any:
        """An attribute as a Python value: the node's, else the operator's default at this opset, else ``default``.

        Args:
            node: it.
            name: of the attribute.
            default: for an attribute that neither the node nor the operator's schema has a value for, as one of a newer
                opset.

        Returns:
            Lists are tuples; tensors and graphs are the node's own.
        """
        found = node.attributes.get(name)
        if found is not None:
            value = found.value
            # Not any sequence: graphs and strings are some too.
            return tuple(value) if isinstance(value, list | tuple) else value
        known = attribute_defaults(node.domain, node.op_type, self.opset).get(name)
        return default if known is None else known

    def unsupported(self, node: ir.Node, why: str) -> Unsupported:
        """The error that says why this node has no exact lowering. It is returned, so that emitters write ``raise
        ctx.unsupported(node, why)``.

        Args:
            node: whose operator the error names.
            why: the reason, as a phrase without a full stop.
        """
        return Unsupported(self.framework.component, node.op_type, why)

    def spelled(self, node: ir.Node, dtype: int) -> Code:
        """The framework's spelling of an ONNX element type, as ``torch.float32``.

        Args:
            node: whose operator the error names.
            dtype: number of the type, as attributes such as ``to`` have it.

        Raises:
            Unsupported: the framework cannot compute in this type.
        """
        return Code(self.framework.spelled(dtype, node.op_type))

    def spell(self, dtype: ir.DataType) -> str:
        """The framework's spelling of a known element type, as ``tf.int64``; like ``spelled``, but an error names the
        type and no node.

        Raises:
            Unsupported: the framework cannot compute in this type.
        """
        return self.framework.spelled(dtype, f"element type {dtype.name}")

    # code

    def form(self, name: str, **parts: Any) -> str:
        """What the framework writes for ``name`` (see ``FrameworkDescription.forms``).

        ``ctx.form("matmul", a="x", b="w")`` gives ``x @ w`` for PyTorch, for example.

        Args:
            name: of the form; one that the framework does not have raises ``KeyError``.
            **parts: texts that are put into it, each by its name in braces.
        """
        return self.framework.forms[name].format(**parts)

    def store(self, name: str, tensor: ir.TensorProtocol) -> str:
        """Put a tensor into the module's arrays under a free key like ``name``, and give that key.

        Args:
            name: the key, if no array has it; else ``.2``, ``.3`` and so on is added.
            tensor: its elements are copied; bfloat16 ones are kept as ``uint16`` bit patterns.

        Raises:
            Unsupported: the framework cannot compute in the tensor's element type.
        """
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
        """A call of a support function (or of ``torch.x``); absent arguments are dropped at the end and if named.

        ``ctx.call("pad", x, None, mode="edge", value=None)`` gives ``pad(x, mode="edge")``.

        Args:
            function: a name without a dot is one of a support function, which the module then carries.
            *args: ``Code`` stands as it is, anything else as a literal; a ``None`` between others stays.
            **kwargs: the same, by name; those that are ``None`` are left out.
        """
        if "." not in function:
            self.used.add(function)
        positional = list(args)
        while positional and positional[-1] is None:
            positional.pop()
        parts = [literal(a) for a in positional] + [f"{k}={literal(v)}" for k, v in kwargs.items() if v is not None]
        return f"{function}({', '.join(parts)})"


@functools.cache
def attribute_defaults(domain: str, op: str, opset: int) -> Mapping[str, Any]:
    """Default attribute values of an operator of ``onnx.defs`` at ``opset``, as Python values.

    Args:
        domain: ``""`` for ONNX's default one.
        op: name of the operator.
        opset: version of the domain.

    Returns:
        By name, strings as ``str`` and lists as tuples; attributes without a default are not in it. It is empty if onnx
            has no such operator at this opset. The dictionary is kept for later calls and must not be edited.
    """
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
    """The end of a line of code: operator and name of the node that it computes, as ``  # Relu name``.

    A node without a name, or with one that has unprintable characters, is told by its operator only.
    """
    name = node.name or ""
    # A carriage return would end the comment.
    return f"  # {node.op_type}" + (f" {name}" if name and name.isprintable() else "")


def literal(value: Any) -> str:
    """``value`` as Python source: numbers (NaN and infinities too), strings, tuples, lists, ``None``, ``Code``.

    ``literal((1, Code("x"), "a"))`` gives ``(1, x, "a")``. Strings are escaped, so that nothing of a model ends one.

    Raises:
        TypeError: a value, or an element of one, is of another kind, such as an array.
    """
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
