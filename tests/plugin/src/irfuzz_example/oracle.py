"""Suspects each output that everybody computes as NaN though nothing that went in was."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from irfuzz.oracle.runs_to_judge import Case
from irfuzz.oracle.verdict import Symptom, Verdict

NAME = "nan-everywhere"


def judge_nan_everywhere(case: Case) -> Iterator[Verdict]:
    """Differences cannot show it, for all agree."""
    floats = [v for v in case.inputs.values() if isinstance(v, np.ndarray) and v.dtype.kind == "f"]
    if not case.ran or not all(np.isfinite(v).all() for v in floats):
        return
    for output in case.program.graph.outputs:
        name = output.name or ""
        found = [r.outputs.get(name) for r in case.ran]
        if all(isinstance(v, np.ndarray) and v.dtype.kind == "f" and np.isnan(v).any() for v in found):
            yield Verdict(NAME, Symptom.NAN_INF, case.ran[0].target.name, suspect=True, output=name)
