"""Known faults make witnesses doubtful: a target that a rule says is wrong about a call bears no witness on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from irfuzz.execute.run_types import Target
from irfuzz.findings.known_issues import KnownIssueRule, RuleSubject, shipped
from irfuzz.oracle.converter_verdicts import OF_VALUES

if TYPE_CHECKING:
    from irfuzz.ir.program import Program


def wrong_here(program: Program, target: Target) -> str:
    """The id of a known issue by which a target computes a node of a program wrongly; empty if there is none.

    Only rules about values count that say what the calls are like (attributes, an element type, a condition), or that
    the operator is wrong whatever it is given: of others nobody knows which calls they mean.
    """
    rules = _by_component().get(target.component)
    if rules is None:
        return ""
    for node in program.graph.all_nodes():
        for rule in rules.get(node.op_type, ()):
            subjects = (
                RuleSubject.of_nodes(program, [node], target.component, target.version, symptom, "")
                for symptom in rule.symptoms
            )
            if any(map(rule.fits, subjects)):
                return rule.id
    return ""


@cache
def _by_component() -> Mapping[str, Mapping[str, Sequence[KnownIssueRule]]]:
    """Rules about single calls, by component and operator."""
    found: dict[str, dict[str, list[KnownIssueRule]]] = {}
    for rule in shipped():
        precise = (rule.attributes or rule.dtype or rule.where or rule.always) and OF_VALUES & {*rule.symptoms}
        alone = len(rule.operators) + bool(rule.one_of) == 1
        if precise and alone and not rule.passes and not rule.within:
            for operator in rule.operators or rule.one_of:
                found.setdefault(rule.component, {}).setdefault(operator, []).append(rule)
    return found
