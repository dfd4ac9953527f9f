"""Type oracle: an output of another dtype, shape or structure than the program declares, or than the majority gives."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as ir

from irfuzz.execute.types import RunResult, Target
from irfuzz.oracle.case import Case
from irfuzz.oracle.kinds import divide_kinds, kind_of
from irfuzz.oracle.shapes import contradictions, dtype_of
from irfuzz.oracle.types import Symptom, Verdict
from irfuzz.oracle.witnesses import plainest

NAME = "type"


def judge_type(case: Case) -> Iterator[Verdict]:
    """Wrong dtype and wrong shape. The facts are ONNX's own inference, so they count as a witness."""
    by_name = {r.target.name: r for r in case.ran}
    for output in case.doubtful:
        name = output.name or ""
        division = divide_kinds(case.ran, name, case.program.fact(output))
        if division is None:
            continue
        model = by_name[division.center[0].name]
        for blame in division.blamed:
            for target, others in plainest(blame.group):
                yield _verdict(case, output, model, by_name[target.name], others, division.center, blame.firm)


def _verdict(
    case: Case,
    output: ir.Value,
    model: RunResult,
    result: RunResult,
    others: tuple[Target, ...],
    center: tuple[Target, ...],
    firm: bool,
) -> Verdict:
    name = output.name or ""
    got = result.outputs.get(name)
    wrong_dtype, _ = contradictions(got, case.program.fact(output)) if name in result.outputs else ("", "")
    right = model.outputs.get(name)
    alike = got is not None and right is not None and isinstance(got, list) == isinstance(right, list)
    by_dtype = alike and (bool(wrong_dtype) or dtype_of(got) != dtype_of(right))
    path = case.path(output)
    why = ""
    if not firm:
        why = "no two independent witnesses against it alone"
    elif case.expected_invalid:
        why = "the program is invalid on purpose"
    elif not by_dtype and path.data_shaped:
        why = f"the shape depends on computed values ({', '.join(path.data_shaped)})"
    elif path.open:
        why = f"undefined behaviour ({', '.join(o.what for o in path.open)})"
    elif by_dtype and "int4" in kind_of(model, name) + kind_of(result, name):
        why = "types of less than a byte are handed over in several ways"
    evidence: dict[str, str | int | float] = {"expected": kind_of(model, name), "got": kind_of(result, name)}
    if others:
        evidence["also"] = ", ".join(t.name for t in others)
    if why:
        evidence["suspect"] = why
    return Verdict(
        NAME,
        Symptom.WRONG_DTYPE if by_dtype else Symptom.WRONG_SHAPE,
        result.target.name,
        tuple(t.name for t in center),
        bool(why),
        name,
        evidence=evidence,
    )
