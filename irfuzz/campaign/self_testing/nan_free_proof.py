"""Proves by the ranges of a run's inputs that nothing inside of a program can give NaN, an infinity or an overflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from irfuzz.analyze.initial_ranges import Ranges
from irfuzz.analyze.numeric_range_analysis import analyze
from irfuzz.campaign.corpus.hazard_input_steering import observed
from irfuzz.errors import UsageError

if TYPE_CHECKING:
    from irfuzz.execute.run_types import Value
    from irfuzz.ir.program import Program


def nan_free(program: Program, inputs: Mapping[str, Value]) -> bool:
    """Whether every value of a program is proved to be a finite number for inputs in the ranges of these.

    A variance between 1 and 4 plus an epsilon, say, is no divisor of 0. Nothing is proved of operators that the
    analysis does not follow.
    """
    own = {v.name for v in program.graph.inputs}
    ranges = {name: ends for name, ends in observed(inputs).items() if name in own}
    floats = (v for n, v in inputs.items() if n in own and isinstance(v, np.ndarray) and v.dtype.kind == "f")
    if not all(np.isfinite(array).all() for array in floats):
        return False
    try:
        found = analyze(program, Ranges(ranges))
    except UsageError:  # a number that the type of an input cannot hold
        return False
    if found.warnings or found.unjudged or found.unknown:
        return False
    return all(bounds.finite for bounds in found.ranges.values())
