"""``insert-strings``: whole numbers are written as text, the text passes operators on strings, and is read again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.layer_rewiring import dims_of, splice_in
from irfuzz.mutate.editing.mutation_sites import flow_values, main_uses, node_after, tensor_fact, value_at
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import CASTABLE, runs
from irfuzz.mutate.editing.value_adaptation import cast
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped

_D = ir.DataType
_TEXT = _D.STRING
_WORDS = ("a", "THE", "b c", "--", "x1")
"""Stop words that are no whole number, so that none is dropped."""

_NUMBER = ("-?[0-9]+", ".+", "[^a-z]*", "-?(0|[1-9][0-9]*)")
"""Regular expressions that every whole number matches."""

_ABSENT = (",", "e", " ", ".5")
"""What stands in no whole number."""

_MOST_ELEMENTS = 1 << 14

_ALLOWZERO = 14
"""First opset whose Reshape can be told that a zero is a size."""

_LARGE = 1e5
"""A number below this may get three more digits and still is an int32."""

Step = Callable[["_Text"], None]


@dataclass(slots=True)
class _Text:
    """The text on its way.

    Attributes:
        source: the whole numbers that it was written from.
        value: strings in the shape of ``source``.
    """

    inserter: Inserter
    choices: Choices
    source: ir.Value
    value: ir.Value

    def shaped_as_before(self) -> None:
        """Say the shape again, which operators that may drop strings forget."""
        fact = self.inserter.fact(self.source)
        static = fact.static_shape
        if static is not None and (self.inserter.opset < _ALLOWZERO or self.choices.boolean(0.7)):
            self.value = self.inserter.reshape(self.value, static)
        else:
            # A named size may be zero, which a Reshape would otherwise take from its input.
            sizes = self.inserter.value("Shape", self.source)
            self.value = self.inserter.value("Reshape", self.value, sizes, allowzero=1)


@dataclass(frozen=True, slots=True)
class InsertStrings:
    """Cast to strings, up to three operators on them that keep what they say, and a Cast back."""

    context: Context
    name: ClassVar[str] = "insert-strings"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(weight=0.4, grows=True)

    def sites(self, program: Program) -> list[str]:
        """Numbers and booleans between layers, by name, if StringNormalizer and Cast of integers are known there."""
        opset = program.opset
        if self.context.specs.get("StringNormalizer", opset) is None or not self._integers(opset):
            return []
        return [v.name for v in flow_values(program) if v.name and (f := program.tensor(v)) and f.dtype in CASTABLE]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw the integer type that is written, one to three operators on the text, and the type that is read.

        Values with a size of 0, with sizes without a name, or of more than 2 to the 14th elements are skipped. Floats
        lose their fraction, and some operators change numbers on purpose.
        """
        value = value_at(program, site)
        fact = tensor_fact(program, value).without_value()
        specs, opset = self.context.specs, program.opset
        if dims_of([fact]) is None or 0 in (fact.shape or ()):
            return Skipped("a size that has no name, or is zero")
        if (fact.size() or 0) > _MOST_ELEMENTS:
            return Skipped("too many elements to write them as text")
        ways = {op: make for op, make in _WAYS.items() if specs.get(op, opset) is not None and self._runs(op, opset)}
        if opset < _ALLOWZERO and not fact.is_static:
            ways.pop("StringNormalizer")
        chosen = [
            self.context.prefer(choices, list(ways), lambda op: ("op", op, 1, 1)) for _ in range(choices.integer(1, 3))
        ]
        integers = self._integers(opset)
        written = fact.dtype if fact.dtype in integers else choices.pick(integers)
        read = choices.pick((written, written, _D.FLOAT, _D.DOUBLE))
        inserter = Inserter(program, node_after(program, value))
        uses = main_uses(program, value)
        one = [choices.pick(uses)] if len(uses) > 1 and choices.boolean() else None
        source = cast(inserter, value, written)
        text = _Text(inserter, choices, source, inserter.cast(source, _TEXT))
        for op in chosen:
            ways[op](text)
        numbers = cast(inserter, inserter.cast(text.value, read), fact.dtype)
        splice_in(program, specs, inserter, value, numbers, choices, one)
        return f"{site} as text of {written.name}, through {', '.join(chosen)}, read as {read.name}"

    def _integers(self, opset: int) -> list[ir.DataType]:
        """The integer types that can be written as text."""
        return [dtype for dtype in (_D.INT32, _D.INT64) if runs(self.context.specs, "Cast", opset, dtype)]

    def _runs(self, op: str, opset: int) -> bool:
        """True if the operator runs on strings."""
        spec = self.context.specs.get(op, opset)
        if spec is None:
            return False
        formal = spec.inputs[spec.traits.get("data_input", 0)]
        return _TEXT in formal.dtypes and _TEXT in spec.portable.get(formal.type_str, (_TEXT,))


def _normalise(text: _Text) -> None:
    choices = text.choices
    flat = text.inserter.reshape(text.value, choices.pick(([-1], [1, -1])))
    attrs: dict[str, Any] = {"locale": "C"}
    if choices.boolean(0.8):
        attrs["case_change_action"] = choices.pick(("NONE", "UPPER", "LOWER"))
    if choices.boolean(0.5):
        attrs["is_case_sensitive"] = choices.integer(0, 1)
    if choices.boolean(0.6):
        attrs["stopwords"] = choices.sample(_WORDS, choices.integer(1, 3))
    text.value = text.inserter.value("StringNormalizer", flat, **attrs)
    text.shaped_as_before()


def _identity(text: _Text) -> None:
    text.value = text.inserter.value("Identity", text.value)


def _transpose(text: _Text) -> None:
    rank = text.inserter.fact(text.value).rank or 0
    order = text.choices.sample(range(rank), rank)
    back = [order.index(i) for i in range(rank)]
    once = text.inserter.value("Transpose", text.value, perm=order)
    text.value = text.inserter.value("Transpose", once, perm=back)


def _where(text: _Text) -> None:
    """Some of the numbers become others that are constants."""
    other = text.inserter.constant(np.array(text.choices.pick(("0", "7", "-12")), dtype=object), "text")
    fact = text.inserter.fact(text.source)
    zero = text.inserter.scalar(text.choices.integer(-1, 1), fact.dtype)
    mask = text.inserter.value("Less", text.source, zero)
    text.value = text.inserter.value("Where", mask, other, text.value)


def _concat(text: _Text) -> None:
    """Twice the text along an axis, and half of it."""
    shape = text.inserter.fact(text.value).shape or ()
    axes = [i for i, d in enumerate(shape) if type(d) is int]
    if not axes:
        return _identity(text)
    axis = text.choices.pick(axes)
    size = shape[axis]
    assert isinstance(size, int)
    both = text.inserter.value("Concat", text.value, text.value, axis=axis)
    start = text.choices.integer(0, size)
    text.value = text.inserter.slice(both, [axis], [start], [start + size])
    return None


def _string_concat(text: _Text) -> None:
    """Nothing in front of the text, or a zero behind it, which is ten times the number."""
    fact = text.inserter.fact(text.source)
    small = fact.low is not None and fact.high is not None and max(-fact.low, fact.high) < _LARGE
    behind = small and text.choices.boolean()
    part = text.inserter.constant(np.array("0" if behind else "", dtype=object), "text")
    pair = (text.value, part) if behind else (part, text.value)
    text.value = text.inserter.value("StringConcat", *pair)


def _split(text: _Text) -> None:
    """Cut at what stands in no number: one part each."""
    attrs: dict[str, Any] = {"delimiter": text.choices.pick(_ABSENT)}
    if text.choices.boolean():
        attrs["maxsplit"] = text.choices.integer(1, 3)
    text.value = text.inserter.node("StringSplit", [text.value], attrs, 2).outputs[0]
    text.shaped_as_before()


def _matches(text: _Text) -> None:
    """Text stays where it is a number, which is everywhere."""
    mask = text.inserter.value("RegexFullMatch", text.value, pattern=text.choices.pick(_NUMBER))
    other = text.inserter.constant(np.array("0", dtype=object), "text")
    text.value = text.inserter.value("Where", mask, text.value, other)


# The operators that are built, each with what builds it.
_WAYS: dict[str, Step] = {
    "StringNormalizer": _normalise,
    "Identity": _identity,
    "Transpose": _transpose,
    "Where": _where,
    "Concat": _concat,
    "StringConcat": _string_concat,
    "StringSplit": _split,
    "RegexFullMatch": _matches,
}
"""What may be done to text, by the operator that it takes."""
