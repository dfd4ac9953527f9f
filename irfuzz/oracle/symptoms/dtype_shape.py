"""Type oracle: an output of another dtype, shape or structure than the program declares, or than the majority gives."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx_ir as ir

from irfuzz.execute.run_types import RunResult, Target
from irfuzz.facts import TensorFact
from irfuzz.oracle.dispute import Dispute
from irfuzz.oracle.excuses import verdict_on
from irfuzz.oracle.runs_to_judge import Case
from irfuzz.oracle.symptoms.dtype_shape_majority import divide_kinds, kind_of
from irfuzz.oracle.value_structure import contradictions, dtype_of
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.oracle.witnesses_and_blame import plainest

NAME = "type"

_HANDED_OVER = [
    {f"{sign}int{small}", f"{sign}int{large}"} for sign in ("", "u") for small, large in ((2, 4), (2, 8), (4, 8))
]
"""Types of less than a byte, and those that they are handed over in."""


def judge_type(case: Case) -> Iterator[Verdict]:
    """Wrong dtype and wrong shape. The facts are ONNX's own inference, so they count as a witness.

    Args:
        case: each of its doubtful outputs is judged by itself; one on which all agree gives no verdict.

    Returns:
        For each group of targets that differs, one verdict for each component.
    """
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
    got_kind, expected_kind = kind_of(result, name), kind_of(model, name)
    fact = case.fact(output)
    dispute = Dispute(
        case,
        Symptom.WRONG_DTYPE if by_dtype else Symptom.WRONG_SHAPE,
        result.target,
        center,
        firm,
        path=case.path(output),
        fixed_shape=isinstance(fact, TensorFact) and fact.is_static,
        steady_shape=lambda: case.steady_shape(output, right.shape if isinstance(right, np.ndarray) else None),
        small_type={dtype_of(got), dtype_of(right)} in _HANDED_OVER,
    )
    return verdict_on(dispute, NAME, others, output=name, got=got_kind, expected=expected_kind)
