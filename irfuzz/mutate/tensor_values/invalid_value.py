"""``invalid-value``: a parameter of a call gets a value just beyond a rule of its operator (AUDEE, section 2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.errors import InternalError
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.mutation_sites import node_at
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import MutatorUse, Profile, PublishedOperator, Relation, Skipped
from irfuzz.spec import OpSpec
from irfuzz.spec.constraints.rule_breaking_values import RuleBreakingValue, beyond


@dataclass(frozen=True, slots=True)
class InvalidValue:
    """Draws a rule that an attribute or a constant input of a call can break, and the nearest value that breaks it.

    Facts stay those of the program before: of what an invalid program computes nothing can be said. The engine makes
    no further edit, and nobody mutates the result.
    """

    context: Context
    name: ClassVar[str] = "invalid-value"
    version: ClassVar[int] = 2
    relation: ClassVar[Relation] = Relation.INVALID
    profile: ClassVar[Profile] = Profile(
        weight=0.0, campaign_weight=0.25, use=MutatorUse.ON_DEMAND, covers=False,
        papers=(
            PublishedOperator(
                "comet", 4, "MParam", "Mutate Parameter", "values that the documentation forbids", beside=True
            ),
        ),
    )  # fmt: skip

    def sites(self, program: Program) -> list[str]:
        """Nodes of the default domain whose operator has rules under ``ops/`` and attributes, or inputs that are
        parameters.
        """
        opset = program.opset
        found: list[str] = []
        for node in program.graph:
            spec = self.context.specs.get(node.op_type, opset) if node.domain in ("", "ai.onnx") else None
            if spec is not None and spec.overlay is not None and (spec.attrs or spec.overlay.values):
                found.append(program.site_of(node))
        return found

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw the rule among those that the node's attributes or constants can break, and write the value that breaks
        it.

        Nothing is inferred anew, so the program is invalid then. Skipped if no rule can be broken here.
        """
        node = node_at(program, site)
        spec = self.context.specs.get(node.op_type, program.opset)
        facts = None if spec is None else facts_of(program, node)
        if spec is None or facts is None:
            return Skipped("a call of which nothing is known")
        crafted = beyond(spec, facts, program.attrs(node))
        if not crafted:
            return Skipped("no value breaks a rule here")
        one = choices.pick(crafted)
        if one.position < 0:
            program.set_attr(node, one.name, one.value, infer=False)
        else:
            put(program, node, spec, one)
        return f"{node.op_type} at {site} has the invalid {one.name} = {one.value!r} ({one.violation})"


def facts_of(program: Program, node: ir.Node) -> Sequence[TensorFact | None] | None:
    """What is known of a node's inputs, in order, with ``None`` for an omitted one; ``None`` for all if one is no
    tensor.
    """
    facts: list[TensorFact | None] = []
    for given in node.inputs:
        fact = None if given is None else program.fact(given)
        if fact is not None and not isinstance(fact, TensorFact):
            return None
        facts.append(fact)
    return facts


def put(program: Program, node: ir.Node, spec: OpSpec, one: RuleBreakingValue) -> None:
    """Let a node read a constant of its own with the crafted elements; facts stay those of the valid call.

    Args:
        program: it is edited.
        node: the one that reads it; other readers keep what they read.
        spec: its operator, for the message.
        one: input and elements.

    Raises:
        InternalError: the elements of that input were not known.
    """
    given = node.inputs[one.position]
    fact = None if given is None else program.tensor(given)
    if fact is None or fact.static_shape is None or fact.value is None:
        raise InternalError(f"{spec.op}: an input that is not known was crafted")
    kind = fact.dtype.numpy()
    constant = Inserter(program, node).constant(np.array(fact.value, kind).reshape(fact.static_shape), "c")
    node.replace_input_with(one.position, constant)
    array = np.array(one.value, kind).reshape(fact.static_shape)
    constant.const_value = ir.Tensor(array, name=constant.name)
