"""Checks the rules that a program must keep and lists the violations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import onnx_ir as ir

from irfuzz.facts import Fact, TensorFact
from irfuzz.ir.fast_mapping_access import entries
from irfuzz.ir.inference.call_output_types import hashable_attrs, schema_of
from irfuzz.ir.inference.graph_facts import fact_of, label
from irfuzz.ir.inference.opaque_nodes import is_foreign
from irfuzz.ir.program import Program
from irfuzz.ir.subgraphs import bodies_of
from irfuzz.ir.value import UNTYPED
from irfuzz.spec import Specs, check_call, check_remembered, load_specs


@dataclass(frozen=True, slots=True)
class RuleViolation:
    """One broken rule.

    Attributes:
        where: the node, value or graph, as messages name it.
        message: value, expected and got.
    """

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


def verify(
    program: Program, specs: Specs | None = None, *, nodes: Iterable[ir.Node] | None = None
) -> list[RuleViolation]:
    """Check a program against ONNX's schemas and the rules under ``ops/``.

    Args:
        program: the program; its facts are taken as they are.
        specs: operator specs, the shipped ones by default.
        nodes: check only these nodes, their bodies and the graph outputs (after an edit); everything if omitted.

    Returns:
        The broken rules, empty for a valid program. Unknown sizes never break a rule.
    """
    specs = load_specs() if specs is None else specs
    problems: list[RuleViolation] = []
    if nodes is None:
        problems += _order(program)
        for graph in program.model.graph.subgraphs():
            for node in graph:
                problems += _node(program, specs, node)
        nodes = program.nodes()
    else:
        nodes = list(nodes)
        problems += [
            p for n in nodes for body in bodies_of(n) for i in body.all_nodes() for p in _node(program, specs, i)
        ]
    for node in nodes:
        if node.graph is program.graph:
            problems += _node(program, specs, node)
    problems += _outputs(program)
    return problems


def _node(program: Program, specs: Specs, node: ir.Node) -> list[RuleViolation]:
    if node.op_identifier() in program.model.functions:
        return []
    if is_foreign(node):
        spec = specs.get(node.op_type, program.inference.opset(node.domain), node.domain)
        if spec is None or not spec.has_overlay:
            return []  # carried, not understood
    else:
        opset = program.opset
        if schema_of(node.op_type, opset) is None:
            return [RuleViolation(label(node), f"{node.op_type} is not an operator of opset {opset}")]
        spec = specs.get(node.op_type, opset)
        if spec is None:
            return [RuleViolation(label(node), f"no specification at opset {opset}")]
    inputs = [None if value is None else fact_of(value) for value in node.inputs]
    attributes = entries(node.attributes)
    plain = True
    for attr in attributes.values():
        if attr.is_ref():
            return []
        plain = plain and attr.type in _PLAIN
    if plain:
        found = check_remembered(spec, inputs, hashable_attrs(attributes))
    else:
        found = check_call(spec, inputs, program.attrs(node))
    return [RuleViolation(label(node), str(violation)) for violation in found]


_A = ir.AttributeType
_PLAIN = frozenset({_A.INT, _A.FLOAT, _A.STRING, _A.INTS, _A.FLOATS, _A.STRINGS})


def _order(program: Program) -> list[RuleViolation]:
    seen = set(program.graph.inputs) | set(program.graph.initializers.values())
    problems: list[RuleViolation] = []
    for index, node in enumerate(program.graph):
        for position, value in enumerate(node.inputs):
            if value is not None and value not in seen:
                problems.append(
                    RuleViolation(
                        label(node, index), f"input {position} reads {value.name!r}, which is not computed before it"
                    )
                )
        seen.update(node.outputs)
    problems += [
        RuleViolation("graph", f"output {value.name!r} is not computed by anything")
        for value in program.graph.outputs
        if value not in seen
    ]
    return problems


def _outputs(program: Program) -> list[RuleViolation]:
    if not program.graph.outputs:
        return [RuleViolation("graph", "it has no outputs")]
    return [
        RuleViolation(f"output {value.name!r}", reason)
        for value in program.graph.outputs
        if (reason := _open(fact_of(value))) is not None
    ]


def _open(fact: Fact) -> str | None:
    if fact is UNTYPED:
        return "its type is unknown; declare it in the model"
    if isinstance(fact, TensorFact) and fact.shape is None:
        return "its rank is unknown; declare its shape in the model"
    return None
