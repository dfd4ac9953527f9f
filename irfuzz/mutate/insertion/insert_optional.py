"""``insert-optional``: a value is put into an optional and taken out again, or kept because there is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.layer_rewiring import dims_of, splice_in
from irfuzz.mutate.editing.mutation_sites import flow_values, main_uses, node_after, tensor_fact, value_at
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import runs
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped

_ANYTHING = 18
"""First opset whose operators on optionals take what is no optional, too."""


@dataclass(frozen=True, slots=True)
class InsertOptional:
    """Readers of a value read it through OptionalGetElement, or a Where that OptionalHasElement decides."""

    context: Context
    name: ClassVar[str] = "insert-optional"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.EQUIVALENT
    profile: ClassVar[Profile] = Profile(weight=0.4, grows=True)

    def sites(self, program: Program) -> list[str]:
        """Values between layers, in opsets that have Optional (from 15 on), by name."""
        if self.context.specs.get("Optional", program.opset) is None:
            return []
        return [value.name for value in flow_values(program) if value.name]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw what becomes of the optional; the value's readers, or one of them, read the same elements as before.

        After: ``OptionalGetElement(Optional(x))``, or ``x`` if OptionalHasElement says that there is one and else 0, or
        both; from opset 18 on the Optional may be left out.
        """
        value = value_at(program, site)
        fact = tensor_fact(program, value).without_value()
        specs, opset = self.context.specs, program.opset
        if dims_of([fact]) is None:
            return Skipped("a size that has no name")
        if not runs(specs, "Optional", opset, fact.dtype):
            return Skipped(f"optionals of {fact.dtype.name} are not known to run")
        decides = fact.dtype is not ir.DataType.STRING and runs(specs, "Where", opset, fact.dtype)
        # Of empty optionals nothing is made: onnx's reference evaluator takes them for full ones.
        way = choices.weighted(("get", "has", "both"), (2, decides, 2 * decides))
        direct = opset >= _ANYTHING and choices.boolean(0.3)
        inserter = Inserter(program, node_after(program, value))
        uses = main_uses(program, value)
        one = [choices.pick(uses)] if len(uses) > 1 and choices.boolean() else None
        optional = value if direct else inserter.value("Optional", value)
        result = value if way == "has" else inserter.value("OptionalGetElement", optional)
        if way != "get":
            full = inserter.value("OptionalHasElement", optional)
            zero = inserter.constant(np.zeros((), fact.dtype.numpy()), "zero")
            result = inserter.value("Where", full, result, zero)
        splice_in(program, specs, inserter, value, result, choices, one)
        return f"{site} through an optional ({way})"
