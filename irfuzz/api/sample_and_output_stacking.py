"""Samples that a check runs a model on, and arrays by name that hold them or what targets computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from irfuzz.api.progress_update import Observer, Update
from irfuzz.errors import UsageError
from irfuzz.localize.comparison.saved_output_targets import SavedOutputs, saved_of

if TYPE_CHECKING:
    from irfuzz.execute.run_types import Value
    from irfuzz.ir.program import Program


def stacked(rows: Sequence[Mapping[str, Value]], flag: str) -> dict[str, Value]:
    """One array a name, with an axis of samples in front.

    Raises:
        UsageError: samples differ in shape, or there is something else than tensors.
    """
    found: dict[str, Value] = {}
    for name in rows[0] if rows else ():
        arrays = [np.asarray(r[name]) for r in rows if isinstance(r[name], np.ndarray)]
        if len(arrays) != len(rows) or len({(a.shape, a.dtype) for a in arrays}) != 1:
            raise UsageError(f"{flag}: {name!r} is not a tensor of the same shape in all samples")
        found[name] = np.stack(arrays)
    return found


def by_input(samples: Sequence[Mapping[str, Value]]) -> dict[str, Value]:
    """What ``save_inputs`` writes: an array a name, with an axis of samples in front; a list if shapes differ."""
    found: dict[str, Value] = {}
    for name in samples[0]:
        values = [sample[name] for sample in samples]
        try:
            found |= stacked([{name: value} for value in values], "")
        except UsageError:
            found[name] = values
    return found


def rows_of(outputs: Mapping[str, Mapping[str, Sequence[Value]]], count: int, observer: Observer) -> dict[str, Value]:
    """What ``save_outputs`` writes: ``TARGET/OUTPUT``, a row a sample; a list if samples differ in shape.

    Targets that did not run every sample are left out, with a remark.

    Args:
        outputs: values by target and output.
        count: of samples.
        observer: gets the remarks.
    """
    found: dict[str, Value] = {}
    for target, by_name in outputs.items():
        if any(len(values) != count for values in by_name.values()):
            observer(Update(remark=f"--save-outputs: {target} did not run every input; left out"))
            continue
        for name, values in by_name.items():
            key = f"{target}/{name}"
            try:
                found |= stacked([{key: value} for value in values], "")
            except UsageError:
                found[key] = list(values)
    return found


def saved_outputs(values: Mapping[str, Value], program: Program, count: int) -> list[SavedOutputs]:
    """What ``save_outputs`` has written, as targets that answer with it.

    Args:
        values: arrays ``TARGET/OUTPUT``, a row a sample.
        program: that computed them.
        count: of samples that are run.

    Raises:
        UsageError: there are no such arrays, or they have fewer samples.
    """
    found = saved_of(values, [o.name or "" for o in program.graph.outputs])
    if not found:
        names = ", ".join(o.name or "" for o in program.graph.outputs)
        raise UsageError(f"saved: expected arrays TARGET/OUTPUT of outputs {names}")
    for one in found:
        if one.count < count:
            raise UsageError(
                f"saved: {one.target.name} has {one.count} samples, and {count} are run; give the inputs that it was "
                "saved with"
            )
    return found
