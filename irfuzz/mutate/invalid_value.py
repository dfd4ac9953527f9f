"""``invalid-value``: an attribute gets a value that no component may accept (AUDEE, section 2.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.mutate.context import Context
from irfuzz.mutate.sites import node_at
from irfuzz.mutate.types import Profile, Relation, Skipped, Use
from irfuzz.spec import OpSpec, check_call


@dataclass(frozen=True, slots=True)
class InvalidValue:
    """Draws one of the values that ``ops/`` declares invalid, and makes sure that it breaks a rule of this call.

    Facts stay those of the program before: of what an invalid program computes nothing can be said. The engine makes
    no further edit, and nobody mutates the result.
    """

    context: Context
    name: ClassVar[str] = "invalid-value"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.INVALID
    profile: ClassVar[Profile] = Profile(weight=0.0, campaign_weight=0.25, use=Use.ON_DEMAND, covers=False)

    def sites(self, program: Program) -> list[str]:
        """Nodes with an attribute for which invalid values are declared."""
        opset = program.opset
        found: list[str] = []
        for node in program.graph:
            spec = self.context.specs.get(node.op_type, opset) if node.domain in ("", "ai.onnx") else None
            if spec is not None and any(attr.invalid for attr in spec.attrs.values()):
                found.append(program.site_of(node))
        return found

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw the attribute and its value."""
        node = node_at(program, site)
        spec = self.context.specs.get(node.op_type, program.opset)
        if spec is None:
            return Skipped("unknown operator")
        values = [(name, value) for name, attr in sorted(spec.attrs.items()) for value in attr.invalid]
        for name, value in choices.sample(values, len(values)):
            rule = broken(program, spec, node, name, value)
            if rule is not None:
                program.set_attr(node, name, value, infer=False)
                return f"{node.op_type} at {site} has the invalid {name} = {value!r} ({rule})"
        return Skipped("no declared value breaks a rule here")


def broken(program: Program, spec: OpSpec, node: ir.Node, name: str, value: Any) -> str | None:
    """The rule that a node would break with another value of an attribute, ``None`` where it breaks none."""
    facts: list[TensorFact | None] = []
    for given in node.inputs:
        fact = None if given is None else program.fact(given)
        if fact is not None and not isinstance(fact, TensorFact):
            return None
        facts.append(fact)
    found = check_call(spec, facts, {**program.attrs(node), name: value})
    return str(found[0]) if found else None
