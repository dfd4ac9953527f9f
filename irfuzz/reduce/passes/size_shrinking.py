"""Smaller tensors: shrinks a size wherever it occurs in inputs and weights, and data with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from irfuzz.execute.run_types import Value
from irfuzz.facts import TensorFact
from irfuzz.ir.fact_type_conversion import declare
from irfuzz.ir.program import Program
from irfuzz.ir.serialization.checked_tensors import array_tensor
from irfuzz.reduce.session import Change, NotPossible, Session, infer_anew


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension of a graph input or an initializer."""

    name: str
    axis: int


_NO_WEIGHTS = frozenset({ir.DataType.STRING, ir.DataType.UNDEFINED})


def bind_names(session: Session) -> bool:
    """Give inputs the sizes that they have, in place of named and unknown ones.

    For example ``float[N, 3] x`` -> ``float[2, 3] x``, if the case's ``x`` has two rows. All inputs change in one
    candidate.
    """

    def change(program: Program) -> None:
        open_ = False
        for value in program.graph.inputs:
            fact, data = program.tensor(value), session.inputs.get(value.name or "")
            if fact is not None and isinstance(data, np.ndarray) and not fact.is_static:
                declare(value, TensorFact(fact.dtype, tuple(map(int, data.shape))))
                open_ = True
        if not open_:
            raise NotPossible
        infer_anew(program)

    return session.edit(change)


def shrink_sizes(session: Session) -> bool:
    """Make sizes 1, 2 or half of what they are: everywhere, in inputs alone, then along single axes.

    Equal sizes mostly belong together (the channels of a weight and of what it meets); if they do not, the result
    is ill-typed and is not tried.
    """
    found = False
    for size in sorted({n for n, _ in _axes(session)}, reverse=True):
        axes = [axis for n, axis in _axes(session) if n == size]
        of_inputs = [axis for axis in axes if axis.name in session.inputs]
        groups = [axes, of_inputs, *([axis] for axis in axes)]
        for target in sorted({1, 2, (size + 1) // 2} - {size}):
            if target < size and session.first(
                change for group in groups if group for change in _shrinking(session, group, target)
            ):
                found = True
                break
    return found


def _axes(session: Session) -> Iterator[tuple[int, Axis]]:
    """Every size above 1 of inputs and of weights."""
    for name, value in session.inputs.items():
        if isinstance(value, np.ndarray):
            yield from ((n, Axis(name, axis)) for axis, n in enumerate(value.shape) if n > 1)
    for name, value in session.program.graph.initializers.items():
        tensor = value.const_value
        if tensor is None or value.is_graph_input() or tensor.dtype in _NO_WEIGHTS:
            continue
        # A list of int64 is a shape, axes or the like, and has as many elements as something has dimensions.
        if tensor.dtype is not ir.DataType.INT64 or len(tensor.shape) > 1:
            yield from ((n, Axis(name, axis)) for axis, n in enumerate(tensor.shape.numpy()) if n > 1)


def _shrinking(session: Session, axes: list[Axis], size: int) -> Iterator[Change]:
    by_name: dict[str, list[int]] = {}
    for axis in axes:
        by_name.setdefault(axis.name, []).append(axis.axis)
    # A fault that one element shows may show in the first part or in the last.
    yield from (lambda program, e=e: _resize(session, program, by_name, size, e) for e in (False, True))


def _resize(
    session: Session, program: Program, axes: Mapping[str, list[int]], size: int, at_end: bool
) -> dict[str, Value]:
    inputs: dict[str, Value] = {}
    for name, which in axes.items():
        value = program.value(name)
        fact = program.tensor(value)
        if value is None or fact is None or fact.shape is None:
            raise NotPossible
        data = session.inputs.get(name)
        array = data if isinstance(data, np.ndarray) else program.const_array(value)
        if array is None or array.ndim != len(fact.shape):
            raise NotPossible
        for axis in which:
            array = np.take(array, range(array.shape[axis] - size, array.shape[axis]) if at_end else range(size), axis)
        if name in session.inputs:
            # Named sizes stay named.
            shape = tuple(n if isinstance(d, int) else d for d, n in zip(fact.shape, array.shape, strict=True))
            declare(value, TensorFact(fact.dtype, shape))
            inputs[name] = array
        else:
            value.const_value = array_tensor(np.ascontiguousarray(array), fact.dtype, name)
            value.shape = ir.Shape(array.shape)
    infer_anew(program)
    return inputs
