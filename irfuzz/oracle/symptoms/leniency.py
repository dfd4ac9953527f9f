"""Leniency oracle: a component answers what an edit made invalid on purpose, and others refuse."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as ir

from irfuzz.execute.run_types import Exit, Stage
from irfuzz.facts import TensorFact
from irfuzz.ir.inference.graph_facts import constant_fact
from irfuzz.oracle.runs_to_judge import Case
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.oracle.witnesses_and_blame import LOWERED, components, plainest
from irfuzz.spec import OpSpec, Violation, check_call, load_specs

NAME = "leniency"

FRAMEWORKS = LOWERED - {"numpy", "jax"}
"""Their kernels check a call by themselves, whoever wrote it; functions of arrays know nothing of operators."""

FLAG = "expected one of 0, 1"

_MOST_KNOWN = 64
"""So many elements of a constant are looked at."""


def judge_leniency(case: Case) -> Iterator[Verdict]:
    """A finding if one component answers, two independent ones refuse, and a rule of ``ops/`` forbids it.

    Components that read ONNX are independent of each other; the kernels of frameworks are one more, if they refuse
    while running. Nothing is said if everybody accepts (the rule is ours alone then) or no rule is broken, and
    nothing of who does not read ONNX.
    """
    if not case.expected_invalid:
        return
    refusing = [r for r in case.results if r.exit is Exit.REJECTED and r.target.component not in LOWERED]
    accepting = [
        r.target for r in case.ran if r.target.component not in LOWERED | components([r.target for r in refusing])
    ]
    if not refusing or not accepting:
        return
    found = _broken(case)
    if found is None:
        return
    node, spec, violation = found
    output = next((o.name for o in node.outputs if o.name), None) or ""
    kernels = [
        r for r in case.results if r.target.component in FRAMEWORKS and r.exit is Exit.REJECTED and r.stage is Stage.RUN
    ]
    opinions = components([r.target for r in refusing])
    doubt = _doubt(case, spec, violation, len(components(accepting)))
    if not doubt and len(opinions) + bool(kernels) < 2:
        doubt = f"only {' and '.join(sorted(opinions))} refuses it"
    for target, others in plainest(accepting):
        yield Verdict(
            NAME,
            Symptom.LENIENCY,
            target.name,
            tuple(t.name for t, _ in plainest([r.target for r in (*refusing, *kernels)])),
            suspect=bool(doubt),
            output=output,
            evidence={"refused": refusing[0].error[:300], "call": str(violation)},
            doubt=doubt,
            also=tuple(t.name for t in others),
            operator=node.op_type,
            rule=violation.rule,
        )


def _doubt(case: Case, spec: OpSpec, violation: Violation, answering: int) -> str:
    """Why to answer may be right after all; empty for a finding."""
    if spec.overlay is not None and violation.rule in spec.overlay.open:
        return "ONNX's text does not spell the rule out"
    if violation.rule.endswith(FLAG):
        return "a flag that is neither 0 nor 1 may be read as set"
    if answering > 1:
        return "more than one component answers"
    if any(r.target.component in FRAMEWORKS for r in case.ran):
        return "the kernels of a framework answer, too"
    return ""


def _broken(case: Case) -> tuple[ir.Node, OpSpec, Violation] | None:
    """The first node that breaks a rule, and the rule."""
    specs, program = case.specs or load_specs(), case.program
    for node in program.graph:
        spec = specs.get(node.op_type, program.opset) if node.domain in ("", "ai.onnx") else None
        inputs = [_fact(case, value) for value in node.inputs]
        if spec is None or any(fact is None and v is not None for fact, v in zip(inputs, node.inputs, strict=True)):
            continue
        found = check_call(spec, inputs, program.attrs(node))
        if found:
            return node, spec, found[0]
    return None


def _fact(case: Case, value: ir.Value | None) -> TensorFact | None:
    """What is known of an input: of a small constant what it holds, for facts are those of the valid call."""
    constant = None if value is None else value.const_value
    if constant is not None and constant.size <= _MOST_KNOWN:
        return constant_fact(constant)
    return case.program.tensor(value)
