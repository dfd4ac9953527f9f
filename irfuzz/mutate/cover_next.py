"""``cover-next``: calls that no program has shown yet are drawn, each reading the one before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.mutate.context import Context
from irfuzz.mutate.expose_value import MOST_OUTPUTS
from irfuzz.mutate.grow import Grower, finish
from irfuzz.mutate.insert import Inserter
from irfuzz.mutate.layer_draw import draw_direct, readers
from irfuzz.mutate.relayer import dims_of, largest, sized_values
from irfuzz.mutate.types import Relation, Skipped

if TYPE_CHECKING:
    from irfuzz.spec import OpSpec

SITE = "program"
LENGTH = (2, 8)
"""Fewest and most calls of an edit."""

_TRIES = 3
"""Consumers that are tried behind one value."""


@dataclass(frozen=True, slots=True)
class CoverNext:
    """Aims at uncovered pairs of operators, and with each at uncovered element types and attribute values.

    A consumer reads its producer's result as it is: whatever stood between them would make other pairs. Where nothing
    uncovered can read a value, an operator that is itself worth a call does, adapted.
    """

    context: Context
    name: ClassVar[str] = "cover-next"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED

    def sites(self, program: Program) -> list[str]:
        """The program as a whole, where something can be read."""
        return [SITE] if sized_values(program) else []

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:  # noqa: ARG002 - the protocol's
        """Draw where to begin, then one call behind the other."""
        starts = sized_values(program)
        if not starts:
            return Skipped("no value that can be read")
        start = choices.pick(starts)
        grower = Grower(self.context, Inserter(program, None), choices, largest(program))
        done: set[tuple[str, str]] = set()
        ops: list[str] = []
        last = start
        for _ in range(choices.integer(*LENGTH)):
            result = self._next(grower, last, done)
            if result is None:
                break
            last = result
            ops.append(_op(last))
        if not ops:
            return Skipped("no call was found")
        if len(program.graph.outputs) < MOST_OUTPUTS:
            program.add_output(last)
            program.prune()
        else:
            finish(program, grower, start, last)
        return f"{', '.join(ops)} behind {start.name}"

    def _next(self, grower: Grower, value: ir.Value, done: set[tuple[str, str]]) -> ir.Value | None:
        """A call that reads the value: directly for an uncovered pair, else adapted for a call worth making."""
        context, choices, inserter = self.context, grower.choices, grower.inserter
        fact = inserter.fact(value)
        producer = _op(value)
        fitting = readers(context.specs, inserter.opset, fact.dtype)
        for _ in range(_TRIES if dims_of([fact]) is not None else 0):
            weights = [self._worth(producer, spec, done) for spec in fitting]
            if not fitting or not any(weights):
                break
            spec = choices.weighted(fitting, weights)
            layer = draw_direct(context, choices, inserter.opset, spec, fact, grower.limit)
            done.add((producer, spec.op))
            result = None if layer is None else grower.place(value, layer)
            if result is not None:
                return result
            if context.wanted is not None:
                context.wanted.failed(producer, spec.op)
        return grower.layer(value, lambda specs: self._worthy(specs, choices))

    def _worth(self, producer: str, spec: OpSpec, done: set[tuple[str, str]]) -> float:
        wanted = self.context.wanted
        if (producer, spec.op) in done:
            return 0.0
        if wanted is None:
            seen = self.context.seen
            return 1.0 if seen is None else 1.0 / (1 + seen.count(("edge", producer, spec.op))) ** 2
        return wanted.pair(producer, spec.op)

    def _worthy(self, specs: Sequence[OpSpec], choices: Choices) -> OpSpec:
        wanted = self.context.wanted
        if wanted is None:
            return self.context.prefer(choices, specs, lambda spec: ("operator", spec.op))
        return choices.weighted(specs, [wanted.call(spec.op) for spec in specs])


def _op(value: ir.Value) -> str:
    producer = value.producer()
    return "<input>" if producer is None else producer.op_type
