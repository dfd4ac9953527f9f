"""How NumPy's lowering reads a node: inputs and attributes as they are, everything else left to the support functions.

A node becomes ``function(inputs..., attribute=value...)``. If an attribute became an input, or the reverse, the
function takes either in one parameter. This reading shares nothing with the emitters of ``irfuzz.export.source``: those
choose axes, defaults and forms themselves, and PyTorch's and TensorFlow's lowerings are one reading because of it.
"""

from __future__ import annotations

import functools
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import onnx.defs
import onnx_ir as ir

from irfuzz.export.array import support
from irfuzz.export.source.emitter_context import Code, Emitted, Emitter, EmitterContext, TupleExpression

TYPES = frozenset({"dtype", "output_datatype", "output_dtype", "precision", "stash_type", "to"})
"""Attributes that hold the number of an element type; 0 stands for none."""


def attributes(ctx: EmitterContext, node: ir.Node) -> dict[str, Any]:
    """The node's attributes, and the defaults of its operator at this opset for those that it does not have.

    Returns:
        A new dictionary by name. Numbers, strings and lists are Python's; tensors and graphs are the node's own, not
            copies. An attribute that has neither a value nor a default is not in it.
    """
    return {**_defaults(node.op_type, ctx.opset), **{name: given.value for name, given in node.attributes.items()}}


@functools.cache
def _defaults(op: str, opset: int) -> Mapping[str, Any]:
    schema = onnx.defs.get_schema(op, opset, "")
    defaults = {name: attribute.default_value for name, attribute in schema.attributes.items()}
    return {name: ir.from_proto(default).value for name, default in defaults.items() if default.type}


@functools.cache
def _parameters(function: str) -> Mapping[str, Any]:
    """Default of each parameter of a support function; numpy's own functions get no attributes."""
    for module in pkgutil.iter_modules(support.__path__):
        found = getattr(import_module(f"{support.__name__}.{module.name}"), function, None)
        if found is not None:
            return {name: p.default for name, p in inspect.signature(found).parameters.items()}
    return {}


def op(function: str, results: int = 1, *, ignored: tuple[str, ...] = (), **names: str) -> Emitter:
    """``function(inputs..., attribute=value...)``.

    Args:
        function: of the support package, or of numpy if there are no attributes.
        results: how many outputs it gives, as a tuple if more than one.
        ignored: attributes that change nothing of what is computed.
        names: parameters of attributes, if their own name is one of Python's.
    """

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        given = keywords(ctx, node, function, ignored, names)
        call = ctx.call(function, *ctx.inputs(node), **given)
        return call if results == 1 else TupleExpression(call, results)

    return emit


def keywords(
    ctx: EmitterContext,
    node: ir.Node,
    function: str,
    ignored: tuple[str, ...] = (),
    names: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Attributes by the parameter that takes each; what the function does by default anyway is left out.

    Raises:
        Unsupported: the function has no parameter for one that is not to be ignored.
    """
    known = _parameters(function)
    found: dict[str, Any] = {}
    for name, value in attributes(ctx, node).items():
        if name in ignored:
            continue
        parameter = (names or {}).get(name, name)
        if parameter not in known and "how" not in known:
            raise ctx.unsupported(node, f"attribute {name} = {value!r}")
        if name in TYPES:
            value = ctx.spelled(node, value) if value else None
        if isinstance(value, list | tuple):
            value = tuple(value)
        if value != known.get(parameter, inspect.Parameter.empty):
            found[parameter] = value
    return found


def elementwise(function: str) -> Emitter:
    """A function of numpy's, or of the support package, in float64, rounded to the type of its argument.

    With ``elementwise("np.exp")``, ``Exp(x)`` becomes ``rounded(np.exp, x)``. Only the first input is read.

    Args:
        function: as the module writes it; one without a dot is a support function and goes into the module, too.
    """

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        if "." not in function:
            ctx.used.add(function)
        return ctx.call("rounded", Code(function), ctx.input(node, 0))

    return emit


def infix(symbol: str) -> Emitter:
    """An operator of Python's on both inputs: with ``infix("+")``, ``Add(a, b)`` becomes ``a + b``.

    Before opset 7, if ``broadcast`` and ``axis`` are set, the second operand is ``begin_at(b, a, axis)``, which puts
    its axes at that place.

    Args:
        symbol: of the operator; numpy's own rules for types and broadcasting hold.
    """

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        a, b = _operands(ctx, node)
        return f"{a} {symbol} {b}"

    return emit


def binary(function: str) -> Emitter:
    """A function of both inputs: with ``binary("np.equal")``, ``Equal(a, b)`` becomes ``np.equal(a, b)``.

    Before opset 7, if ``broadcast`` and ``axis`` are set, the second operand is ``begin_at(b, a, axis)``.

    Args:
        function: as the module writes it; one without a dot is a support function.
    """
    return lambda ctx, node: ctx.call(function, *_operands(ctx, node))


def _operands(ctx: EmitterContext, node: ir.Node) -> tuple[Code | None, Code | None]:
    """Both operands; before opset 7 ``axis`` says where in the first one the axes of the second begin."""
    a, b = ctx.inputs(node)
    given = attributes(ctx, node)
    if given.get("broadcast") and "axis" in given:
        b = Code(ctx.call("begin_at", b, a, given["axis"]))
    return a, b


def before(opset: int, old: Emitter, new: Emitter) -> Emitter:
    """An emitter that asks at each node for the opset of its program.

    Args:
        opset: version of the default domain, the first one that ``new`` is for.
        old: for programs of an older opset.
        new: from ``opset`` on. ``before(13, op("softmax_rows"), op("softmax"))`` is Softmax, for example.
    """
    return lambda ctx, node: (old if ctx.opset < opset else new)(ctx, node)


def unless(refusal: Callable[[EmitterContext, ir.Node, Mapping[str, Any]], str], emitter: Emitter) -> Emitter:
    """``emitter``, unless a reason is given why the node has no exact form.

    The emitter that this returns raises ``Unsupported`` with the reason; nothing is emitted then.

    Args:
        refusal: gets the context, the node and its attributes with defaults, and gives the reason; an empty string lets
            the node pass.
        emitter: for nodes that pass.
    """

    def emit(ctx: EmitterContext, node: ir.Node) -> Emitted:
        why = refusal(ctx, node, attributes(ctx, node))
        if why:
            raise ctx.unsupported(node, why)
        return emitter(ctx, node)

    return emit
