"""A sampled call with values for all of its inputs: its facts, and a model of one node."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from onnx import helper

from irfuzz.choices import Choices
from irfuzz.facts import Fact, OptionalFact, SequenceFact, TensorFact
from irfuzz.spec import OpSpec, SampledCall, SampledInput, bindings, sample_call
from irfuzz.spec.constraints.expression_functions import Undefined
from tests.spec.onenode import IR_VERSION, array_for
from tests.spec.stress import random_fact

DRAWN_ELEMENTS = 256
"""Calls are small: what is looked for hangs on sizes of 0, 1, 2 and 3."""
KNOWN_ELEMENTS = 4096
"""More than facts hold elsewhere: here the spec is asked about a call of which everything is known."""


@dataclass(frozen=True, slots=True)
class Arg:
    """One input: its elements, and what they may be where they have to be drawn anew for another shape.

    Attributes:
        constant: an initializer, not fed: the value is part of the call.
        exact: the overlay prescribes the value; another shape repeats its elements.
        items: the input is a sequence of so many tensors like ``array``.
        optional: the input is an optional that holds ``array``.
    """

    dtype: ir.DataType
    array: np.ndarray
    low: float | None = None
    high: float | None = None
    constant: bool = False
    exact: bool = False
    items: int | None = None
    optional: bool = False

    @property
    def fact(self) -> Fact:
        """All that the value says of itself."""
        if self.items is not None:
            return SequenceFact(TensorFact(self.dtype, self.array.shape), self.items)
        if self.optional:
            return OptionalFact(TensorFact(self.dtype, self.array.shape))
        return self.tensor

    @property
    def tensor(self) -> TensorFact:
        """The fact of the tensor, or of those in it."""
        a = self.array
        if self.dtype == ir.DataType.STRING or a.size > KNOWN_ELEMENTS:
            return TensorFact(self.dtype, a.shape)
        if self.dtype in (ir.DataType.COMPLEX64, ir.DataType.COMPLEX128):
            return TensorFact(self.dtype, a.shape)
        plain = a if a.dtype.kind in "iufb" else a.astype(np.float64)
        values = tuple(plain.ravel().tolist())
        if a.dtype.kind == "V" and "INT" in self.dtype.name:
            values = tuple(int(v) for v in values)
        return TensorFact(self.dtype, a.shape, value=values)

    def reshaped(self, shape: tuple[int, ...], rng: np.random.Generator) -> Arg:
        """The same kind of values in another shape."""
        if self.exact and self.array.size:
            return replace(self, array=np.resize(self.array, shape))
        fact = TensorFact(self.dtype, shape)
        return replace(self, array=array_for(SampledInput(fact, self.low, self.high), rng).reshape(shape))

    def cast(self, dtype: ir.DataType) -> Arg:
        """The same values, as far as another element type has them."""
        if dtype == self.dtype:
            return self
        source = self.array
        if self.dtype == ir.DataType.STRING:
            source = np.vectorize(len, otypes=[np.int64])(source)
        elif self.dtype in (ir.DataType.COMPLEX64, ir.DataType.COMPLEX128):
            source = source.real
        plain = np.asarray(source).astype(np.float64)
        if dtype == ir.DataType.STRING:
            words = np.empty(plain.shape, dtype=object)
            words[...] = np.vectorize(str, otypes=[object])(plain)
            return replace(self, dtype=dtype, array=words)
        target = dtype.numpy()
        if "INT" in dtype.name:
            low, high = (0, 3) if dtype.name.startswith("U") else (-2, 1)
            if dtype.bitwidth >= 4:
                low, high = (0, 15) if dtype.name.startswith("U") else (-8, 7)
            plain = np.clip(np.nan_to_num(plain, posinf=high, neginf=low), low, high)
        return replace(self, dtype=dtype, array=plain.astype(target))


@dataclass(frozen=True, slots=True)
class Case:
    """A call with all of its values; ``Case`` in, ``Case`` out is what a perturbation does."""

    spec: OpSpec
    opset: int
    attrs: Mapping[str, Any]
    args: tuple[Arg | None, ...]
    outputs: int = 1

    @property
    def facts(self) -> list[Fact | None]:
        """The facts that ``check_call`` looks at: types, shapes and values."""
        return [None if a is None else a.fact for a in self.args]

    def settled(self) -> Case:
        """The call with as many outputs as its attributes and inputs ask for, where the overlay can tell."""
        wanted = self.spec.overlay.outputs if self.spec.overlay else None
        if wanted is None:
            return self
        try:
            count = wanted.evaluate(bindings(self.spec, self.facts, self.attrs)[0])
        except Undefined:
            return self
        return replace(self, outputs=min(count, 64)) if isinstance(count, int) and count > 0 else self

    def with_arg(self, position: int, arg: Arg | None) -> Case:
        """The call with another input at ``position``."""
        return replace(self, args=(*self.args[:position], arg, *self.args[position + 1 :]))

    def with_attr(self, name: str, value: Any) -> Case:
        """The call with another value of an attribute; ``None`` leaves it out."""
        attrs = {k: v for k, v in self.attrs.items() if k != name}
        return replace(self, attrs=attrs if value is None else {**attrs, name: value})

    def key(self) -> tuple[Any, ...]:
        """Equal for calls that nothing but the numbers of their data tells apart."""
        args = tuple(
            a
            and (
                a.dtype,
                a.array.shape,
                a.items,
                a.optional,
                tuple(a.array.ravel().tolist()) if a.exact or a.low is not None else (),
            )
            for a in self.args
        )
        return (repr(sorted(self.attrs.items(), key=lambda i: i[0])), args, self.outputs)

    def text(self) -> str:
        """The call on one line."""
        attrs = ", ".join(f"{k}={v!r}" for k, v in sorted(self.attrs.items()))
        shown = []
        for a in self.args:
            if a is None:
                shown.append("-")
                continue
            value = ""
            if (a.exact or "INT" in a.dtype.name) and a.array.size <= 8:
                value = f" = {a.array.tolist()}"
            shape = f"{a.dtype.name.lower()}{list(a.array.shape)}{value}"
            shown.append(
                f"{a.items} times {shape}" if a.items is not None else f"optional {shape}" * a.optional or shape
            )
        return f"{self.spec.op}-{self.spec.since}({', '.join(shown)}{'; ' if attrs else ''}{attrs})"

    def model(self) -> tuple[bytes, dict[str, Any]]:
        """A model of one node, and what to feed. Raises ``ValueError`` or ``TypeError`` where ONNX cannot spell it."""
        names: list[str] = []
        inputs: list[onnx.ValueInfoProto] = []
        constants: list[onnx.TensorProto] = []
        feeds: dict[str, Any] = {}
        raw = any(a is not None and a.array.dtype.kind == "V" for a in self.args)
        for i, arg in enumerate(self.args):
            if arg is None:
                names.append("")
                continue
            name = f"x{i}"
            names.append(name)
            # ONNXRuntime's Python interface feeds no scalar of a type that numpy lacks, and no string beside one
            plain = arg.items is None and not arg.optional
            apart = arg.dtype == ir.DataType.STRING and raw
            if plain and (arg.constant or apart or (arg.array.ndim == 0 and arg.array.dtype.kind == "V")):
                constants.append(_tensor(arg, name))
            else:
                inputs.append(helper.make_value_info(name, _type(arg)))
                feeds[name] = arg.array if arg.items is None else [arg.array] * arg.items
        outputs = [f"y{i}" for i in range(self.outputs)]
        node = helper.make_node(self.spec.op, names, outputs, domain=self.spec.domain)
        for name, value in self.attrs.items():
            known = self.spec.attrs.get(name)
            kind = getattr(onnx.AttributeProto, known.type) if known else None
            if isinstance(value, np.ndarray):
                value = onnx.numpy_helper.from_array(value)
            node.attribute.append(helper.make_attribute(name, value, attr_type=kind))
        values = [helper.make_empty_tensor_value_info(o) for o in outputs]
        graph = helper.make_graph([node], "g", inputs, values, constants)
        opset = helper.make_opsetid(self.spec.domain, self.opset)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION[self.opset])
        return model.SerializeToString(), feeds


def _type(arg: Arg) -> onnx.TypeProto:
    tensor = helper.make_tensor_type_proto(int(arg.dtype), list(arg.array.shape))
    if arg.items is not None:
        return helper.make_sequence_type_proto(tensor)
    return helper.make_optional_type_proto(tensor) if arg.optional else tensor


def _tensor(arg: Arg, name: str) -> onnx.TensorProto:
    if arg.dtype == ir.DataType.STRING:
        return onnx.numpy_helper.from_array(arg.array, name)
    return ir.serde.serialize_tensor(ir.tensor(arg.array, dtype=arg.dtype, name=name))


def case_of(spec: OpSpec, opset: int, call: SampledCall, rng: np.random.Generator) -> Case:
    """A sampled call with drawn values."""
    args: list[Arg | None] = []
    for plan in call.inputs:
        if plan is None:
            args.append(None)
            continue
        exact = plan.value is not None
        array = np.asarray(array_for(plan, rng))
        items = plan.outer.length or 0 if isinstance(plan.outer, SequenceFact) else None
        optional = isinstance(plan.outer, OptionalFact)
        constant = exact or plan.is_parameter
        args.append(Arg(plan.fact.dtype, array, plan.low, plan.high, constant, exact, items, optional))
    return Case(spec, opset, dict(call.attrs), tuple(args), call.outputs)


@functools.cache
def wide(spec: OpSpec) -> OpSpec:
    """The spec with all valid values of its attributes to draw, also those that not every component has."""
    attrs = {
        n: replace(a, domain=replace(a.domain, pick=None, omit=0.2))
        if a.domain is not None and a.domain.one_of is not None and a.domain.pick is not None
        else a
        for n, a in spec.attrs.items()
    }
    return replace(spec, attrs=attrs) if attrs != spec.attrs else spec


def draw(spec: OpSpec, opset: int, seed: str) -> Case | None:
    """A valid call, with a first input of an unusual shape every other time; ``None`` where none is found."""
    for attempt in range(8):
        case = _draw(spec, opset, f"{seed} {attempt}")
        if case is not None:
            return case
    return None


def _draw(spec: OpSpec, opset: int, seed: str) -> Case | None:
    choices = Choices.from_seed(f"census {spec.op} {spec.since} {opset} {seed}")
    if choices.boolean(0.3):
        spec = wide(spec)
    given: dict[int, TensorFact] = {}
    if not spec.is_dense:
        call = sample_call(spec, {}, choices, max_elements=DRAWN_ELEMENTS)
        return call and case_of(spec, opset, call, np.random.default_rng(choices.seed()))
    variadic = bool(spec.inputs) and spec.inputs[0].option == "variadic"
    known = spec.overlay.values.get(spec.inputs[0].name) if spec.overlay and spec.inputs else None
    if spec.inputs and not (known and known.exact) and (variadic or choices.boolean(0.5)):
        given = {0: random_fact(choices, spec)}
        if (given[0].size() or 0) > DRAWN_ELEMENTS:
            given = {}
    call = sample_call(spec, given, choices, max_elements=DRAWN_ELEMENTS)
    if call is None and given:
        call = sample_call(spec, {}, choices, max_elements=DRAWN_ELEMENTS)
    if call is None:
        return None
    return case_of(spec, opset, call, np.random.default_rng(choices.seed()))
