"""Makes CRADLE's labels of the truth of each sample and of how outputs are measured against it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from irfuzz.errors import UsageError
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.localize.comparison.ground_truth_inconsistencies import Labels, labels_for
from irfuzz.oracle.cradle_distances import Metric


@dataclass(frozen=True, slots=True)
class GroundTruth:
    """What the right answers are.

    Attributes:
        values: numbers; the first axis is that of samples.
        output: name of the output that they are about. Default: the first.
        metric: CRADLE's distance, ``class`` or ``mad``. Default: ``class`` if the values are classes.
        threshold: a distance that matters. Default: 8 of ``class``, 0.2 of ``mad``.
        share: of samples that may exceed it.
    """

    values: np.ndarray
    output: str | None = None
    metric: str | None = None
    threshold: float | None = None
    share: float = 0.0


def labels_of(truth: GroundTruth, program: Program, count: int) -> Labels:
    """The truth of so many samples, held against the model.

    Raises:
        UsageError: the values are no numbers, too few, or do not fit the output.
    """
    values = truth.values
    if values.ndim == 0 or values.dtype.kind not in "iuf" or len(values) < count:
        raise UsageError(f"labels: expected {count} numbers, got {values.dtype}{list(values.shape)}")
    outputs = {o.name or "": o for o in program.graph.outputs}
    name = next(iter(outputs)) if truth.output is None else truth.output
    if name not in outputs:
        raise UsageError(f"output: {name!r} is no output of the model ({', '.join(outputs)})")
    if truth.metric is not None and truth.metric not in set(Metric):
        raise UsageError(f"metric: expected one of {', '.join(Metric)}, got {truth.metric!r}")
    fact = program.fact(outputs[name])
    sizes = list(fact.shape or ()) if isinstance(fact, TensorFact) else []
    classes = math.prod(s if isinstance(s, int) else 1 for s in sizes)
    made = labels_for(values[:count], name, classes, None if truth.metric is None else Metric(truth.metric))
    threshold = made.threshold if truth.threshold is None else truth.threshold
    return replace(made, threshold=threshold, share=truth.share)
