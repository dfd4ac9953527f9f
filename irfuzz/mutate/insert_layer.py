"""``insert-layer``: an operator sampled from the specs is put behind a value and restored (COMET's IL, table 3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.mutate.adapt import cast, why_not
from irfuzz.mutate.context import Context
from irfuzz.mutate.insert import Inserter
from irfuzz.mutate.materialise import materialise
from irfuzz.mutate.portable import CASTABLE
from irfuzz.mutate.relayer import dims_of, largest, predict, shape_text, splice_in, with_sizes
from irfuzz.mutate.sites import NOT_LAYERS, flow_values, is_exact_input, main_uses, node_after, tensor_fact, value_at
from irfuzz.mutate.types import Relation, Skipped
from irfuzz.spec import Call, OpSpec, Specs, sample_call

_TRIES = 4
_WEIGHT_ELEMENTS = 1 << 15
_STAND_IN = 1
"""Number in place of a named size while a call is drawn: what is valid for 1 (indices, windows) is for more."""
_NOT_INSERTED = NOT_LAYERS | {"Cast", "CastLike"}


@dataclass(frozen=True, slots=True)
class InsertLayer:
    """Draws an operator and a call of it on a value, and lets the value's readers read the adapted result."""

    context: Context
    name: ClassVar[str] = "insert-layer"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED

    def sites(self, program: Program) -> list[str]:
        """Values between layers."""
        return [value.name for value in flow_values(program) if value.name]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw until the specs give a call whose result can be restored."""
        value = value_at(program, site)
        fact = tensor_fact(program, value)
        context, opset = self.context, program.opset
        producer = value.producer()
        previous = "<input>" if producer is None else producer.op_type
        limit = largest(program)
        names = dims_of([fact])
        if names is None:
            return Skipped("a size that has no name")
        sizes = {n: _STAND_IN + place for place, n in enumerate(names)}
        for _ in range(_TRIES):
            dtype = fact.dtype
            if dtype in CASTABLE and choices.boolean(0.25):
                dtype = choices.pick(CASTABLE)
            options = layers_for(context.specs, opset, dtype)
            if not options:
                continue
            spec, position = context.prefer(choices, options, lambda o: ("edge", previous, o[0].op))
            if names and spec.op in _BOUND_BY_SIZES:
                continue
            taken = replace(fact, dtype=dtype, low=None, high=None, value=None)
            given = with_sizes(taken, sizes)
            assert given is not None
            call = sample_call(spec, {position: given}, choices, seen=context.drawn, max_elements=_WEIGHT_ELEMENTS)
            if call is None:
                continue
            facts = [taken if i == position else p.fact if p else None for i, p in enumerate(call.inputs)]
            result = predict(context.specs, opset, spec.op, facts, call.attrs, call.outputs, limit)
            if isinstance(result, Skipped) or why_not(context.specs, opset, result[0], fact):
                continue
            self._insert(program, value, dtype, spec, position, call, choices)
            return f"{spec.op} on {shape_text(taken)} behind {site}, giving {shape_text(result[0])}"
        return Skipped("no call was found")

    def _insert(
        self,
        program: Program,
        value: ir.Value,
        dtype: ir.DataType,
        spec: OpSpec,
        position: int,
        call: Call,
        choices: Choices,
    ) -> None:
        inserter = Inserter(program, node_after(program, value))
        uses = main_uses(program, value)
        one = [choices.pick(uses)] if len(uses) > 1 and choices.boolean() else None
        given = cast(inserter, value, dtype)
        inputs = materialise(program, inserter, spec.op, call, {position: given}, choices)
        node = inserter.node(spec.op, inputs, call.attrs, call.outputs)
        splice_in(program, self.context.specs, inserter, value, node.outputs[0], choices, one)


_BOUND_BY_SIZES = frozenset({"ScatterElements", "ScatterND", "GatherElements", "GatherND"})
"""Operators whose indices stay below the sizes of the data: a named size may be smaller than its stand-in."""


@lru_cache(maxsize=512)
def layers_for(specs: Specs, opset: int, dtype: ir.DataType) -> tuple[tuple[OpSpec, int], ...]:
    """Operators that can be sampled, each with a position at which a computed value of ``dtype`` may stand."""
    found = []
    for spec in specs.overlaid(opset):
        if spec.op in _NOT_INSERTED:
            continue
        for position, formal in enumerate(spec.inputs):
            measured = spec.portable.get(formal.type_str)
            if dtype not in formal.dtypes or (measured is not None and dtype not in measured):
                continue
            if formal.name in spec.parameters or is_exact_input(spec.op, position, dtype):
                continue
            if spec.overlay is not None and formal.name in spec.overlay.values:
                continue  # its elements are limited
            found.append((spec, position))
    return tuple(found)
