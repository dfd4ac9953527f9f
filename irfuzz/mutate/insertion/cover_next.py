"""``cover-next``: calls that no program has shown yet are drawn, each reading the one before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.layer_rewiring import dims_of, largest, sized_values
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.insertion.drawn_call_inserter import Grower, finish
from irfuzz.mutate.insertion.layer_sampling import draw_direct, open_positions, readers, types_at
from irfuzz.mutate.model_interface.expose_value import MOST_OUTPUTS
from irfuzz.mutate.model_interface.import_domain import domains_drawn
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import MutatorUse, Profile, Relation, Skipped
from irfuzz.spec import full_name

if TYPE_CHECKING:
    from irfuzz.facts import TensorFact
    from irfuzz.spec import OpSpec

SITE = "program"
LENGTH = (4, 16)
"""Fewest and most calls of an edit."""

_TRIES = 3
"""Consumers that are tried behind one value."""


@dataclass(frozen=True, slots=True)
class CoverNext:
    """Aims at uncovered pairs of operators, and with each at uncovered element types and attribute values.

    A consumer reads its producer's result as it is: whatever stood between them would make other pairs. If nothing
    uncovered can read a value, an operator that is itself worth a call does, adapted.
    """

    context: Context
    name: ClassVar[str] = "cover-next"
    version: ClassVar[int] = 2
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(
        weight=0.0, campaign_weight=1.0, cost=1.3, grows=True, steered=True, use=MutatorUse.ON_DEMAND
    )

    def sites(self, program: Program) -> list[str]:
        """The program as a whole, under the name ``program``, if something in it can be read; else nothing."""
        return [SITE] if sized_values(program) else []

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:  # noqa: ARG002 - the protocol's
        """Draw a value to begin with, then 4 to 16 calls, each of which reads what the one before computes.

        The last result becomes an output, or, if there are ``MOST_OUTPUTS``, takes the first value's place if it can.
        The edit ends early if nothing more is found, and is skipped if nothing is.
        """
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
        fitting = readers(context.specs, inserter.opset, fact.dtype, domains_drawn(inserter.program, context.specs))
        weights = self._worths(producer, fitting, fact) if fitting and dims_of([fact]) is not None else None
        for _ in range(_TRIES):
            if weights is None:
                break
            for place, spec in enumerate(fitting):
                if (producer, spec.name) in done:
                    weights[place] = 0.0
            if not any(weights):
                break
            spec = choices.weighted(fitting, weights)
            layer = draw_direct(context, choices, inserter.opset, spec, fact, grower.limit)
            done.add((producer, spec.name))
            result = None if layer is None else grower.place(value, layer)
            if result is not None:
                return result
            if context.wanted is not None:
                context.wanted.failed(producer, spec.name)
        return grower.layer(value, lambda specs: self._worthy(specs, choices))

    def _worths(self, producer: str, fitting: tuple[OpSpec, ...], fact: TensorFact) -> list[float] | None:
        """How much each operator is worth behind another; 0 if it takes no such rank, ``None`` if all are."""
        wanted, seen = self.context.wanted, self.context.seen
        names, fits = _that_fit(fitting, fact.dtype, len(fact.shape or ()))
        if wanted is not None:
            worths = wanted.pairs(producer, names)
        elif seen is not None:
            worths = [seen.weight(("edge", producer, name)) ** 2 for name in names]
        else:
            worths = [1.0] * len(names)
        return None if worths is None else [w if f else 0.0 for w, f in zip(worths, fits, strict=True)]

    def _worthy(self, specs: Sequence[OpSpec], choices: Choices) -> OpSpec:
        wanted = self.context.wanted
        if wanted is None:
            return self.context.prefer(choices, specs, lambda spec: ("operator", spec.name))
        return choices.weighted(specs, [wanted.call(spec.name) for spec in specs])


@lru_cache(maxsize=1024)
def _that_fit(specs: tuple[OpSpec, ...], dtype: ir.DataType, rank: int) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    """Names of operators, and whether an open input of each takes a type and a rank."""
    return tuple(s.name for s in specs), tuple(any(_takes(s, p, dtype, rank) for p in open_positions(s)) for s in specs)


def _takes(spec: OpSpec, position: int, dtype: ir.DataType, rank: int) -> bool:
    patterns = () if spec.overlay is None else spec.overlay.patterns.get(spec.inputs[position].name, ())
    return dtype in types_at(spec, position) and (not patterns or any(p.fits(rank) for _, p in patterns))


def _op(value: ir.Value) -> str:
    producer = value.producer()
    return "<input>" if producer is None else full_name(producer.domain, producer.op_type)
