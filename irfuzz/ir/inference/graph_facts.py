"""Infers a fact for every value of a graph with typed inputs and keeps it in the value's ``meta``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import onnx_ir as ir

from irfuzz.errors import InvalidProgram
from irfuzz.facts import MAX_KNOWN_ELEMENTS, Dim, Element, Fact, TensorFact
from irfuzz.ir.clone import clone
from irfuzz.ir.fact_type_conversion import conflict, declared_fact, merge, only_names
from irfuzz.ir.fast_mapping_access import entries
from irfuzz.ir.inference.call_output_types import CallKey, hashable_attrs, schema_of, schema_outputs
from irfuzz.ir.inference.known_element_rules import VALUE_RULES
from irfuzz.ir.inference.misdeclared_shapes import MisdeclaredValue
from irfuzz.ir.inference.opaque_nodes import is_foreign, is_remembered, outputs_of, remember
from irfuzz.ir.inference.range_rules import RANGE_RULES, bounds_of
from irfuzz.ir.inference.sequence_rules import SEQUENCE_RULES
from irfuzz.ir.inference.shape_rules import SHAPE_RULES, broadcast, refine
from irfuzz.ir.inference.spec_result_types import completed, stated_results, stated_spec
from irfuzz.ir.serialization.checked_tensors import array_tensor
from irfuzz.ir.value import UNTYPED, fact_of, is_constant, set_fact
from irfuzz.spec import trait_values, with_trait

MAX_CALL_DEPTH = 32
"""Deepest nesting of subgraphs and functions that is inferred; deeper values stay untyped."""


LARGEST_SIZE = (1 << 63) - 1
"""Sizes are of type int64 in ONNX."""


@lru_cache(maxsize=1 << 13)
def infer_call(call: CallKey) -> tuple[Fact, ...]:
    """Facts of a call's outputs: ONNX's types, refined by partly known shapes, values and ranges.

    Raises:
        InvalidProgram: ONNX finds the call ill-typed, or a size would not fit int64; the message names the operator.
    """
    if call.domain not in ("", "ai.onnx"):
        return _elsewhere(call)
    outputs = list(schema_outputs(_rangeless(call)))
    if not outputs:
        return ()
    attrs = {name: value for name, _, value in call.attrs}
    if sequence_rule := SEQUENCE_RULES.get(call.op):
        return (sequence_rule(attrs, call.inputs, outputs[0]), *outputs[1:])
    first = outputs[0]
    if not isinstance(first, TensorFact):
        # ONNX's inference forgets how long a sequence is.
        same = call.inputs[0] if call.op == "Identity" and call.inputs else None
        return tuple(outputs) if same is None else (same,)
    if shape_rule := SHAPE_RULES.get(call.op):
        ours = shape_rule(attrs, call.inputs, call.opset)
        wrong = call.op in with_trait("wrong_inferred_shape")
        first = replace(first, shape=_held_by_int64(refine(None if wrong else first.shape, ours), call.op))
    elif first.shape is None and call.op in with_trait("broadcast_shape"):
        first = replace(first, shape=_broadcast_shape(call))
    value_rule = VALUE_RULES.get(call.op)
    if value_rule is not None and (call.op in with_trait("shape_only") or _anything_known(call)):
        first = _with_elements(first, value_rule(attrs, call.inputs, first))
    within = trait_values("result_range").get(call.op)
    if first.value is not None and first.known:
        low, high = bounds_of(first)
        first = replace(first, low=low, high=high)
    elif within is not None:
        low, high = RANGE_RULES[within](attrs, call.inputs, first)
        if low is not None or high is not None:
            first = replace(first, low=low, high=high)
    outputs[0] = first
    return tuple(outputs)


def _elsewhere(call: CallKey) -> tuple[Fact, ...]:
    """Facts of a call of another domain: ONNX's types if it defines the operator, and what its overlay states."""
    found: tuple[Fact, ...] = (UNTYPED,) * len(call.outputs)
    if schema_of(call.op, call.opset, call.domain) is not None:
        found = schema_outputs(_rangeless(call))
    spec = stated_spec(call.op, call.opset, call.domain)
    if spec is None:
        return found
    stated = stated_results(spec, call.inputs, {name: value for name, _, value in call.attrs}, len(call.outputs))
    return completed(found, stated)


def _rangeless(call: CallKey) -> CallKey:
    """The same call for ONNX, which knows no ranges: more calls are alike."""
    inputs = call.inputs
    for fact in inputs:
        if type(fact) is TensorFact and (fact.low is not None or fact.high is not None):
            break
    else:
        return call
    plain = tuple(TensorFact(f.dtype, f.shape, None, None, f.value) if type(f) is TensorFact else f for f in inputs)
    return CallKey(call.domain, call.op, call.opset, call.attrs, plain, call.outputs)


def _broadcast_shape(call: CallKey) -> tuple[Any, ...] | None:
    return broadcast([f.shape if isinstance(f, TensorFact) else None for f in call.inputs if f is not None])


def _anything_known(call: CallKey) -> bool:
    return any(isinstance(f, TensorFact) and f.value is not None for f in call.inputs)


def _with_elements(fact: TensorFact, known: tuple[Any, ...] | None) -> TensorFact:
    known = None if known is None else _comparable(known)
    if known is None or all(e is None for e in known) or fact.size() != len(known):
        return fact
    return replace(fact, value=known)


def _comparable(elements: tuple[Element, ...]) -> tuple[Element, ...]:
    """Elements that are told apart by ``==``: a negative zero equals the other one, and so it stays unknown."""
    return tuple(None if type(e) is float and e == 0 and math.copysign(1, e) < 0 else e for e in elements)


def constant_fact(tensor: ir.TensorProtocol | None) -> TensorFact:
    """Everything that is known of a constant; the elements are read only if there are few.

    Type and shape are always stated; elements and range only up to ``MAX_KNOWN_ELEMENTS`` elements of a type that numpy
    holds as it is (no half precision, no strings).

    Raises:
        InvalidProgram: there is no tensor (``None``).
    """
    if tensor is None:
        raise InvalidProgram("an initializer has no data")
    shape = tuple(int(d) for d in tensor.shape.numpy())
    fact = TensorFact(tensor.dtype, shape)
    size = fact.size() or 0
    if size > MAX_KNOWN_ELEMENTS or tensor.dtype not in _READABLE:
        return fact
    return fact_of_elements(fact, tensor.numpy())


def fact_of_elements(fact: TensorFact, array: np.ndarray) -> TensorFact:
    """``fact`` with the elements and bounds of an array of its shape.

    Args:
        fact: its type and shape are kept.
        array: of any size; whether so many elements belong into a fact is for the caller to say.

    Returns:
        A new fact. A negative zero in it is unknown, since it equals the positive one.
    """
    elements = tuple(np.asarray(array).ravel().tolist())
    low, high = bounds_of(TensorFact(fact.dtype, fact.shape, fact.low, fact.high, elements))
    known = _comparable(elements)
    return TensorFact(fact.dtype, fact.shape, low, high, None if all(e is None for e in known) and known else known)


_READABLE = frozenset(
    d
    for d in ir.DataType
    if d.name in {"FLOAT", "DOUBLE", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64", "BOOL"}
)


class Inference:
    """Infers one model's graphs; holds what does not change while the model is edited.

    Args:
        opsets: version of every imported domain.
        functions: the model's local functions by identifier.
        size_names: names of sizes that are believed if a value declares them (``meaningful_names``); none of a
            function's, which are its own.

    Attributes:
        recorded: facts by name of a value of the main graph, which are believed where inference refuses a node or
            contradicts them; empty but for a program that breaks a rule on purpose.
    """

    def __init__(
        self,
        opsets: Mapping[str, int],
        functions: Mapping[tuple[str, str, str], ir.Function],
        size_names: frozenset[str] = frozenset(),
    ) -> None:
        self._opsets = dict(opsets)
        self._functions = functions
        self.size_names = size_names
        self.recorded: Mapping[str, Fact] = {}

    def opset(self, domain: str) -> int:
        """Version of a domain; 1 for the default domain of a model that imports none."""
        return self._opsets.get("" if domain == "ai.onnx" else domain, 1)

    def import_domain(self, domain: str, version: int) -> None:
        """Note that the model imports a domain now, at this version; the model itself is not changed."""
        self._opsets[domain] = version

    def graph(self, graph: ir.Graph | ir.Function, where: str = "", depth: int = 0) -> None:
        """Infer a whole graph whose inputs already carry facts, and check it against its declarations.

        Facts are left on its values. The place that is given stands in front of what messages say. Beyond
        ``MAX_CALL_DEPTH`` bodies and calls, of which ``depth`` says how many the graph stands in, values stay untyped.

        Raises:
            InvalidProgram: a node is ill-typed or a declaration contradicts what is computed.
        """
        if isinstance(graph, ir.Graph):
            for value in graph.initializers.values():
                self._initializer(value)
        for index, node in enumerate(graph):
            self.visit(node, f"{where}{label(node, index)}", depth)

    def visit(self, node: ir.Node, where: str, depth: int = 0) -> None:
        """Infer one node, and leave its outputs the facts that inference and their declarations give together.

        Its inputs carry facts already. Messages call it as is said here, and ``depth`` is that of its graph.

        Raises:
            InvalidProgram: the node is ill-typed or a declaration contradicts what is computed.
        """
        for output, fact in zip(node.outputs, self._found(node, where, depth), strict=True):
            if self.recorded and (known := self.recorded.get(output.name or "")) is not None:
                set_fact(output, fact if conflict(fact, known) is None else known)
                continue
            declared = only_names(declared_fact(output), self.size_names)
            if declared is not UNTYPED:
                reason = conflict(fact, declared)
                if reason is not None:
                    raise MisdeclaredValue(f"{where}: output {output.name!r} is {reason}", output, fact, declared)
                fact = merge(fact, declared)
            set_fact(output, fact)
        if is_foreign(node) and self.is_opaque(node) and not is_remembered(node):
            remember(node, _facts_of(node.inputs), _facts_of(node.outputs))

    def _found(self, node: ir.Node, where: str, depth: int) -> Sequence[Fact]:
        try:
            return self.node(node, where, depth)
        except InvalidProgram:
            if not self.recorded:
                raise
            return [self.recorded.get(output.name or "", UNTYPED) for output in node.outputs]

    def is_opaque(self, node: ir.Node) -> bool:
        """Whether nothing here tells what a node gives: no schema of ONNX's, no overlay, no function of the model."""
        if not is_foreign(node) or node.op_identifier() in self._functions:
            return False
        return not _defined(node.op_type, self._opsets.get(node.domain), node.domain)

    def _initializer(self, value: ir.Value) -> None:
        try:
            fact = constant_fact(value.const_value)
        except InvalidProgram as error:
            raise InvalidProgram(f"initializer {value.name!r}: {error}") from None
        if value.is_graph_input():
            # A graph input with a default may be given other elements at run time.
            declared = declared_fact(value)
            reason = conflict(fact, declared)
            if reason is not None:
                raise InvalidProgram(f"initializer {value.name!r} is {reason}")
            fact = declared if isinstance(declared, TensorFact) and declared.shape is not None else fact.without_value()
        set_fact(value, fact)

    def node(self, node: ir.Node, where: str, depth: int = 0) -> Sequence[Fact]:
        """Facts of one node's outputs from the facts on its inputs.

        It may be an operator, a Constant, control flow or a call of a local function. Nothing is written to the
        outputs, and what they declare is not looked at: see ``visit``.

        Returns:
            One fact for each output, ``UNTYPED`` if nothing follows.

        Raises:
            InvalidProgram: the node is ill-typed.
        """
        if not node.outputs and not is_foreign(node):
            raise InvalidProgram(f"{where}: it has no output; expected at least one")
        inputs = tuple(None if v is None else fact_of(v) for v in node.inputs)
        function = self._functions.get(node.op_identifier())
        if depth >= MAX_CALL_DEPTH:
            return [UNTYPED] * len(node.outputs)
        if function is not None:
            return self._function(function, node, inputs, where, depth)
        if is_constant(node):
            if len(node.outputs) != 1:
                raise InvalidProgram(f"{where}: Constant has {len(node.outputs)} outputs; expected one")
            fact = fact_of_constant(node.attributes)
            return self._operator(node, (), where) if fact is None else [fact]
        refers = False
        for attr in entries(node.attributes).values():
            if attr.is_ref():
                refers = True
            elif attr.type in _GRAPHS:
                from irfuzz.ir.inference.control_flow import infer_control_flow

                return infer_control_flow(self, node, inputs, where, depth)
        if refers:
            return [UNTYPED] * len(node.outputs)
        return self._operator(node, inputs, where)

    def _operator(self, node: ir.Node, inputs: tuple[Fact | None, ...], where: str) -> Sequence[Fact]:
        domain = "" if node.domain == "ai.onnx" else node.domain
        opset = self._opsets.get(domain)
        if opset is None or (domain and not _defined(node.op_type, opset, domain)):
            return outputs_of(node, inputs, where)
        call = CallKey(
            domain,
            node.op_type,
            opset,
            hashable_attrs(entries(node.attributes)),
            inputs,
            tuple(bool(o.name) for o in node.outputs),
        )
        try:
            return infer_call(call)
        except InvalidProgram as error:
            if UNTYPED in inputs:
                return [UNTYPED] * len(node.outputs)  # ONNX asks for the type of what is carried, not understood
            raise InvalidProgram(f"{where}: {error}") from None

    def _function(
        self, function: ir.Function, node: ir.Node, inputs: tuple[Fact | None, ...], where: str, depth: int
    ) -> Sequence[Fact]:
        # A body is shared by all its call sites, so each call is inferred on a copy with its attributes in place.
        body = instantiate(function, node)
        opsets = {**self._opsets, **function.opset_imports}
        inner = Inference(opsets, self._functions)
        given = list(inputs) + [None] * (len(body.inputs) - len(inputs))
        for value, fact in zip(body.inputs, given, strict=False):
            set_fact(value, UNTYPED if fact is None else fact)
        inner.graph(body, f"{where}: ", depth + 1)
        found = [fact_of(v) for v in body.outputs]
        return (found + [UNTYPED] * len(node.outputs))[: len(node.outputs)]


def _held_by_int64(shape: tuple[Dim, ...] | None, op: str) -> tuple[Dim, ...] | None:
    """The shape, if each of its sizes is one that a tensor can have.

    Raises:
        InvalidProgram: one is too large.
    """
    for size in shape or ():
        if isinstance(size, int) and size > LARGEST_SIZE:
            raise InvalidProgram(f"{op} gives a size of {size}; expected at most {LARGEST_SIZE}, the largest int64")
    return shape


def _defined(op: str, opset: int | None, domain: str) -> bool:
    """Whether the types of what an operator of another domain gives follow from those of what it takes."""
    if opset is None:
        return False
    return schema_of(op, opset, domain) is not None or stated_spec(op, opset, domain) is not None


def _facts_of(values: Sequence[ir.Value | None]) -> list[Any]:
    return [None if value is None else fact_of(value) for value in values]


def fact_of_constant(attributes: Mapping[str, ir.Attr]) -> Fact | None:
    """The fact of a Constant with these attributes; ``None`` if they do not say it (sparse values).

    Args:
        attributes: of the node, by name; ``UNTYPED`` is given if one refers to an attribute of a function.
    """
    for name, attr in attributes.items():
        if attr.is_ref():
            return UNTYPED
        if name == "value":
            return constant_fact(attr.as_tensor())
        if name in _CONSTANT_DTYPES:
            return _small(_CONSTANT_DTYPES[name], np.array(attr.value, dtype=_CONSTANT_DTYPES[name].numpy()))
        if name == "value_string":
            return TensorFact(ir.DataType.STRING, ())
        if name == "value_strings":
            return TensorFact(ir.DataType.STRING, (len(attr.value),))
    return None


def instantiate(function: ir.Function, node: ir.Node) -> ir.Function:
    """A copy of a function's body with the call's attributes in place of the references to them.

    An attribute that the call leaves out has the function's default; without one it is left out in the body as well.

    Args:
        function: stays as it is.
        node: calls it.
    """
    given = {name: attr for name, attr in function.attributes.items() if attr.value is not None}
    given.update(node.attributes)
    body = clone(function)
    for inner in body.all_nodes():
        for name, attr in list(inner.attributes.items()):
            if not attr.is_ref():
                continue
            del inner.attributes[name]
            actual = given.get(attr.ref_attr_name or "")
            # An attribute that the call leaves out is absent in the body as well (ONNX IR.md, functions).
            if actual is not None and not actual.is_ref():
                inner.attributes[name] = ir.Attr(name, actual.type, actual.value)
    return body


def _small(dtype: ir.DataType, data: np.ndarray) -> TensorFact:
    fact = TensorFact(dtype, data.shape)
    return fact_of_elements(fact, data) if data.size <= MAX_KNOWN_ELEMENTS else fact


_GRAPHS = frozenset({ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS})
_CONSTANT_DTYPES = {
    "value_int": ir.DataType.INT64,
    "value_ints": ir.DataType.INT64,
    "value_float": ir.DataType.FLOAT,
    "value_floats": ir.DataType.FLOAT,
}


def label(node: ir.Node, index: int | None = None) -> str:
    """How messages name a node: its own name, or its place in the graph.

    Args:
        node: has perhaps no name.
        index: its place, counted from 0; a question mark stands for it if it is left out.
    """
    return (
        f"node {node.name!r} ({node.op_type})"
        if node.name
        else f"node #{index if index is not None else '?'} ({node.op_type})"
    )


def tensor_of(node: ir.Node) -> ir.TensorProtocol | None:
    """The tensor of a Constant node, whichever attribute holds it; ``None`` for other nodes and sparse values.

    ``None`` as well if the attribute refers to one of a function. Numbers and strings become a new tensor.
    """
    if not is_constant(node):
        return None
    for name, attr in node.attributes.items():
        if attr.is_ref():
            return None
        if name == "value":
            return attr.as_tensor()
        if name in _CONSTANT_DTYPES:
            return array_tensor(np.array(attr.value, dtype=_CONSTANT_DTYPES[name].numpy()))
        if name in ("value_string", "value_strings"):
            return array_tensor(np.array(attr.value, dtype=object))
    return None
