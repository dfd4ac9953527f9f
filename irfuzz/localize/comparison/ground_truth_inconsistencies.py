"""CRADLE's distances of every pair of targets, from their outputs and the ground truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Value
from irfuzz.oracle.cradle_distances import THRESHOLDS, Inconsistency, Metric, class_distances, mad_distances
from irfuzz.oracle.value_structure import describe


@dataclass(frozen=True, slots=True)
class Labels:
    """The ground truth, and how outputs are measured against it.

    Attributes:
        truth: first axis: samples.
        metric: of CRADLE's distances.
        output: name of the graph output that is measured.
        threshold: ``T``.
        share: ``p``, 0 to 1.
    """

    truth: np.ndarray
    metric: Metric
    output: str
    threshold: float
    share: float = 0.0


def inconsistencies_of(measured: Mapping[str, list[Value]], labels: Labels, done: int) -> Iterator[Inconsistency]:
    """CRADLE's distances for every pair of targets that gave all outputs alike.

    Args:
        measured: by target, its values of the labelled output, one a sample.
        labels: the truth, and how the distance to it is measured.
        done: how many samples were compared; targets that lack one, or whose shapes differ, are left out.
    """
    stacked: dict[str, np.ndarray] = {}
    for name, values in measured.items():
        arrays = [v for v in values if isinstance(v, np.ndarray)]
        if len(arrays) == done and len({a.shape for a in arrays}) == 1:
            stacked[name] = np.stack([a.reshape(-1) for a in arrays])
    truth = labels.truth[:done]
    names = list(stacked)
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            one, two = stacked[a], stacked[b]
            if one.shape != two.shape:
                continue
            if labels.metric is Metric.CLASS:
                apart = class_distances(one, two, truth)
            else:
                wanted = truth.reshape(done, -1)
                if wanted.shape[1] == 1 and one.shape[1] > 1:
                    wanted = np.eye(one.shape[1])[truth.reshape(done).astype(np.int64)]  # one-hot, section III.B
                apart = mad_distances(one, two, wanted)
            yield Inconsistency((a, b), labels.metric, apart, labels.threshold, labels.share)


def labels_for(truth: np.ndarray, output: str, classes: int, metric: Metric | None) -> Labels:
    """The truth with the metric that fits it: integers below the number of classes are classes.

    Args:
        truth: first axis: samples.
        output: name of the graph output.
        classes: elements of that output in a sample.
        metric: chosen by the user, or ``None``.

    Raises:
        UsageError: truth and output do not fit.
    """
    whole = truth.dtype.kind in "iu" and truth.size == len(truth) and classes > 1
    chosen = metric or (Metric.CLASS if whole else Metric.MAD)
    if whole:
        truth = truth.reshape(len(truth)).astype(np.int64)
        if truth.size and not 0 <= int(truth.min()) <= int(truth.max()) < classes:
            raise UsageError(f"labels are {truth.min()} to {truth.max()}, and output {output!r} has {classes} classes")
    elif chosen is Metric.CLASS:
        raise UsageError(f"the class-based distance needs one whole number a sample, got {describe(truth)}")
    elif truth.size != len(truth) * classes:
        raise UsageError(f"labels have {truth.size // max(len(truth), 1)} numbers a sample, {output!r} has {classes}")
    return Labels(truth, chosen, output, THRESHOLDS[chosen])
