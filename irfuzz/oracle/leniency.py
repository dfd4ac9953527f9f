"""Leniency oracle: a component runs what an edit made invalid on purpose, and another one refuses."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as ir

from irfuzz.execute.types import Exit
from irfuzz.oracle.case import Case
from irfuzz.oracle.types import Symptom, Verdict
from irfuzz.oracle.witnesses import LOWERED, components, plainest
from irfuzz.spec import check_call, load_specs

NAME = "leniency"


def judge_leniency(case: Case) -> Iterator[Verdict]:
    """Accepting what the standard forbids is no fault by itself, so that each verdict is a suspect.

    Nothing is said where everybody accepts (the rule is ours alone then) or no rule under ``ops/`` is broken, and
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
    node, rule = found
    output = next((o.name for o in node.outputs if o.name), None) or ""
    for target, others in plainest(accepting):
        yield Verdict(
            NAME,
            Symptom.LENIENCY,
            target.name,
            tuple(t.name for t, _ in plainest([r.target for r in refusing])),
            suspect=True,
            output=output,
            evidence={"refused": refusing[0].error[:300]},
            doubt="what the standard forbids may still be given a meaning",
            also=tuple(t.name for t in others),
            operator=node.op_type,
            rule=rule,
        )


def _broken(case: Case) -> tuple[ir.Node, str] | None:
    """The first node that breaks a rule, and the rule."""
    specs, program = case.specs or load_specs(), case.program
    for node in program.graph:
        spec = specs.get(node.op_type, program.opset) if node.domain in ("", "ai.onnx") else None
        inputs = [program.tensor(value) for value in node.inputs]
        if spec is None or any(fact is None and v is not None for fact, v in zip(inputs, node.inputs, strict=True)):
            continue
        found = check_call(spec, inputs, program.attrs(node))
        if found:
            return node, str(found[0])
    return None
