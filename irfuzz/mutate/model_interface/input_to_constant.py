"""``input-to-constant``: one of several graph inputs becomes an initializer with valid elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.input_domain import input_domain
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.call_inputs import random_array
from irfuzz.mutate.editing.dry_run import rehearse
from irfuzz.mutate.editing.layer_rewiring import USUAL_ELEMENTS
from irfuzz.mutate.editing.mutation_sites import exact_values, value_at
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import CASTABLE
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped
from irfuzz.spec import SampledInput


@dataclass(frozen=True, slots=True)
class InputToConstant:
    """Exchanges an input for elements drawn from its domain; the last input stays."""

    context: Context
    name: ClassVar[str] = "input-to-constant"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(weight=1.5)

    def sites(self, program: Program) -> list[str]:
        """Graph inputs of known size and plain type, if there are two at least; inputs with a default are not
        counted.
        """
        graph = program.graph
        given = [value for value in graph.inputs if value.name not in graph.initializers]
        return [value.name for value in given if value.name and _can(program, value)] if len(given) > 1 else []

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw the elements, within the input's domain if it has one, and put an initializer in the input's place.

        Skipped if the elements decide shapes and no domain says which are right, or if the result would break a rule.
        """
        value = value_at(program, site)
        if not value.is_graph_input() or value.is_initializer() or len(program.graph.inputs) < 2:
            return Skipped("not one of several inputs")
        if not _can(program, value):
            return Skipped("an input that cannot be a constant")
        fact = program.fact(value)
        assert isinstance(fact, TensorFact)
        domain = input_domain(value)
        if domain is None and value in exact_values(program):
            return Skipped("its elements decide shapes, and no domain says which are right")
        if domain is not None and domain.exact is not None and len(domain.exact) == fact.size():
            array = np.array(domain.exact).astype(fact.dtype.numpy()).reshape(fact.static_shape or ())
        else:
            plan = SampledInput(fact) if domain is None else SampledInput(fact, domain.low, domain.high)
            array = random_array(plan, choices.seed())
        reason = rehearse(program, self.context.specs, lambda copy: _exchange(copy, site, array))
        if reason is not None:
            return Skipped(reason)
        return f"the input {site} is the constant {_exchange(program, site, array)}"


def _can(program: Program, value: ir.Value) -> bool:
    fact = program.fact(value)
    if not isinstance(fact, TensorFact) or fact.dtype not in CASTABLE or value.is_graph_output():
        return False
    size = fact.size()
    return size is not None and size <= USUAL_ELEMENTS


def _exchange(program: Program, site: str, array: np.ndarray) -> str:
    """The name of the new constant."""
    value = value_at(program, site)
    new = Inserter(program, None).constant(array, "fixed")
    program.replace_uses(value, new)
    program.graph.inputs.remove(value)
    program.forget(value)
    program.prune()
    return new.name or ""
