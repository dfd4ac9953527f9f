"""``insert-random``: numbers are drawn; only their type, shape or limits reach what the program computed before."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, ClassVar

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.layer_rewiring import dims_of, splice_in, with_sizes
from irfuzz.mutate.editing.mutation_sites import flow_values, main_uses, node_after, tensor_fact, value_at
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import call_runs, runs
from irfuzz.mutate.editing.value_adaptation import adapt, why_not
from irfuzz.mutate.model_interface.expose_value import MOST_OUTPUTS
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Applied, Profile, Relation, Skipped
from irfuzz.spec import SampledCall, sample_call

_F = ir.DataType.FLOAT
_MOST_ELEMENTS = 1 << 12
_CLASSES = 8
"""Most columns that a value is given before Multinomial reads them as classes."""


class _Reads(Enum):
    """What an operator that draws reads, and so whether its result has the sizes of a value."""

    NOTHING = auto()
    SIZES = auto()
    PROBABILITIES = auto()
    CLASSES = auto()


@dataclass(frozen=True, slots=True)
class _Source:
    """An operator that draws; ``bounded`` if its numbers have limits."""

    op: str
    reads: _Reads
    bounded: bool


_SOURCES = (
    _Source("RandomNormal", _Reads.NOTHING, bounded=False),
    _Source("RandomNormalLike", _Reads.SIZES, bounded=False),
    _Source("RandomUniform", _Reads.NOTHING, bounded=True),
    _Source("RandomUniformLike", _Reads.SIZES, bounded=True),
    _Source("Bernoulli", _Reads.PROBABILITIES, bounded=True),
    _Source("Multinomial", _Reads.CLASSES, bounded=True),
)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A call that draws, and the tensor that it reads (``None``: nothing)."""

    source: _Source
    call: SampledCall
    reads: TensorFact | None


@dataclass(frozen=True, slots=True)
class InsertRandom:
    """A drawn tensor becomes an output, lends its shape, or is compared with limits that it cannot exceed."""

    context: Context
    name: ClassVar[str] = "insert-random"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.EQUIVALENT
    profile: ClassVar[Profile] = Profile(weight=0.5)

    def sites(self, program: Program) -> list[str]:
        """Values between layers, which get another reader or pass through one more node; by name."""
        return [value.name for value in flow_values(program) if value.name]

    def apply(self, program: Program, site: str, choices: Choices) -> Applied | Skipped:
        """Draw an operator and what becomes of its numbers; what the program computed before stays the same.

        The numbers become an output, give the value their shape, which it has already, or are compared with limits that
        none exceeds. Dropout in training mode either drops nothing, or gives only its shape.
        """
        value = value_at(program, site)
        fact = tensor_fact(program, value).without_value()
        specs, opset = self.context.specs, program.opset
        names = dims_of([fact])
        if names is None or 0 in (fact.shape or ()):
            return Skipped("a size that has no name, or is zero")
        ways = ["limits"] if runs(specs, "Where", opset, fact.dtype) else []
        if len(program.graph.outputs) < MOST_OUTPUTS:
            ways.append("output")
        if runs(specs, "Reshape", opset, fact.dtype):
            ways += ["shape"]
        if fact.dtype.is_floating_point() and runs(specs, "Dropout", opset, fact.dtype) and opset >= 12:
            ways.append("dropout")
        if not ways:
            return Skipped(f"nothing to do with {fact.dtype.name}")
        way = choices.pick(ways)
        if way == "dropout":
            return self._dropout(program, value, fact, choices)
        drawn = self._draw(opset, fact, way, choices)
        if drawn is None:
            return Skipped("no call that draws was found")
        inserter = Inserter(program, node_after(program, value))
        uses = main_uses(program, value)
        one = [choices.pick(uses)] if len(uses) > 1 and choices.boolean() else None
        numbers = self._insert(inserter, drawn, value, choices)
        if way == "output":
            program.add_output(numbers)
            return Applied(f"{drawn.source.op} beside {site} is an output", Relation.EQUIVALENT)
        if way == "shape":
            same = inserter.value("Reshape", value, inserter.value("Shape", numbers))
        else:
            same = self._between(inserter, value, fact, numbers, choices)
        splice_in(program, specs, inserter, value, same, choices, one)
        return Applied(f"{drawn.source.op} lends {site} its {way}", Relation.EQUIVALENT)

    def _draw(self, opset: int, fact: TensorFact, way: str, choices: Choices) -> _Drawn | None:
        """A call that exists at this opset and runs; for ``shape`` one whose result has the value's shape."""
        specs = self.context.specs
        shape = fact.shape or ()
        found = [s for s in _SOURCES if (s.bounded or way != "limits") and _runs_at_all(self.context, s.op, opset)]
        if way == "shape":
            found = [s for s in found if s.reads is not _Reads.CLASSES]
        if not fact.is_static:
            found = [s for s in found if s.reads in (_Reads.SIZES, _Reads.PROBABILITIES)]
        if not found or (fact.size() or 0) > _MOST_ELEMENTS:
            return None
        source = self.context.prefer(choices, found, lambda s: ("op", s.op, int(s.reads is not _Reads.NOTHING), 1))
        spec = specs.get(source.op, opset)
        assert spec is not None
        reads: TensorFact | None = None
        if spec.inputs:
            dtype = fact.dtype if source.reads is _Reads.SIZES else _F
            if source.reads is _Reads.CLASSES:
                columns = choices.integer(2, _CLASSES)
                shape = (choices.integer(1, 4), columns)
            reads = TensorFact(dtype, shape)
            if why_not(specs, opset, fact, reads) is not None:
                return None
        # No attribute hangs on the sizes, so that named ones may be any.
        static = with_sizes(reads, dict.fromkeys(dims_of([fact]) or (), 1))
        call = sample_call(spec, {} if static is None else {0: static}, choices)
        if call is None or not call_runs(spec, [reads] if reads is not None else []):
            return None
        default = _F if reads is None else ir.DataType.INT32 if source.reads is _Reads.CLASSES else reads.dtype
        dtype = ir.DataType(call.attrs.get("dtype", default))
        # Numpy has no bfloat16, so that hardly anybody could read such an output.
        if dtype is ir.DataType.BFLOAT16 or (way == "limits" and not self._compares(opset, dtype)):
            return None
        if reads is None and way == "shape":
            call.attrs["shape"] = list(shape)
        return _Drawn(source, call, reads)

    def _compares(self, opset: int, dtype: ir.DataType) -> bool:
        """True if numbers of a type keep their limits on the way to a comparison."""
        return not dtype.is_floating_point() or runs(self.context.specs, "Greater", opset, dtype)

    def _insert(self, inserter: Inserter, drawn: _Drawn, value: ir.Value, choices: Choices) -> ir.Value:
        inputs: list[ir.Value] = []
        if drawn.reads is not None:
            given = adapt(self.context.specs, inserter, value, drawn.reads, choices)
            if drawn.source.reads is _Reads.PROBABILITIES:
                given = inserter.value("Sigmoid", given)
            inputs.append(given)
        return inserter.node(drawn.source.op, inputs, drawn.call.attrs).outputs[0]

    def _between(
        self, inserter: Inserter, value: ir.Value, fact: TensorFact, numbers: ir.Value, choices: Choices
    ) -> ir.Value:
        """The value if no drawn number is outside of its limits, which holds for all of them, else zero."""
        got = inserter.fact(numbers)
        low, high = got.low, got.high
        assert low is not None
        assert high is not None
        # The limits of integers and truth values are small, and so exact in a float.
        if not runs(self.context.specs, "Greater", inserter.opset, got.dtype):
            numbers = inserter.cast(numbers, _F)
        kind = inserter.fact(numbers).dtype
        slack = 0.0 if got.dtype.is_integer() or got.dtype is ir.DataType.BOOL else 0.01 * max(abs(low), abs(high))
        above = choices.boolean()
        limit = inserter.scalar(high + slack if above else low - slack, kind)
        outside = inserter.value("Greater" if above else "Less", numbers, limit)
        flat = inserter.reshape(outside, [-1])
        first = inserter.slice(flat, [0], [0], [1])
        mask = inserter.reshape(first, [1] * (fact.rank or 0))
        zero = inserter.constant(np.zeros((), fact.dtype.numpy()), "zero")
        return inserter.value("Where", mask, zero, value)

    def _dropout(self, program: Program, value: ir.Value, fact: TensorFact, choices: Choices) -> Applied:
        """Dropout in training: with a ratio of zero the identity, else only the result's shape is used."""
        inserter = Inserter(program, node_after(program, value))
        drops = choices.boolean()
        ratio = inserter.scalar(choices.pick((0.1, 0.5, 0.9)) if drops else 0.0, choices.pick((_F, fact.dtype)))
        training = inserter.constant(np.array(1, np.bool_), "training")
        attrs: dict[str, Any] = {"seed": choices.integer(0, 9)} if choices.boolean() else {}
        count = choices.pick((1, 2))
        node = inserter.node("Dropout", [value, ratio, training], attrs, count)
        kept = node.outputs[0]
        if drops:
            kept = inserter.value("Reshape", value, inserter.value("Shape", node.outputs[count - 1]))
        splice_in(program, self.context.specs, inserter, value, kept, choices)
        return Applied(f"Dropout in training behind {value.name}", Relation.EQUIVALENT)


def _runs_at_all(context: Context, op: str, opset: int) -> bool:
    spec = context.specs.get(op, opset)
    return spec is not None and spec.is_sampled and all(spec.portable.values())
