# pyright: basic
"""Bodies run again and again; each is a function that gives a list."""

from __future__ import annotations

import numpy as np

from irfuzz.export.array.support.dtype_conversions import number
from irfuzz.export.size_arithmetic.result_shapes import empty_stack_sizes


def stacked(arrays, axis, row):
    """Arrays along a new axis; none at all give an empty array of the type and shape declared in ``row``."""
    return np.stack(arrays, axis) if arrays else np.zeros(empty_stack_sizes(row[1], axis, row[0]), row[0])


def loop(body, trips, going, states, rows):
    """ONNX Loop: the last states, then what each iteration gave along a new first axis; ``rows`` are of its elements.

    A condition that is not given is never asked again.
    """
    given, going, count, kept = going is not None, True if going is None else bool(going), 0, []
    while going and (trips is None or count < number(trips)):
        more, *results = body(np.array(count, np.int64), np.array(going), *states)
        states, count = results[: len(states)], count + 1
        kept.append(results[len(states) :])
        going = bool(more) if given else True
    return [*states, *(stacked([found[i] for found in kept], 0, row) for i, row in enumerate(rows))]


def scan(
    body, states, sequences, rows, scan_input_axes=(), scan_input_directions=(), scan_output_axes=(),
    scan_output_directions=(),
):  # fmt: skip
    """ONNX Scan from opset 9: the last states, then what each step gave along an axis; direction 1 is backward."""
    axes, back = scan_input_axes or [0] * len(sequences), scan_input_directions or [0] * len(sequences)
    steps, kept = sequences[0].shape[axes[0]], []
    for step in range(steps):
        places = [steps - 1 - step if backward else step for backward in back]
        elements = [np.take(x, place, axis) for x, place, axis in zip(sequences, places, axes, strict=True)]
        results = body(*states, *elements)
        states = results[: len(states)]
        kept.append(results[len(states) :])
    axes, back = scan_output_axes or [0] * len(rows), scan_output_directions or [0] * len(rows)
    return [
        *states,
        *(
            stacked([found[i] for found in (kept[::-1] if back[i] else kept)], axes[i], row)
            for i, row in enumerate(rows)
        ),
    ]


def sequence_map(body, inputs, count):
    """ONNX SequenceMap: ``count`` lists of what the body gives for each element; tensors are the same for all."""
    found = [body(*(x[i] if isinstance(x, list) else x for x in inputs)) for i in range(len(inputs[0]))]
    return [[results[i] for results in found] for i in range(count)]
