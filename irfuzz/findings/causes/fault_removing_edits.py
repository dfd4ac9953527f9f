"""What a fault needs: small changes of its program, each of which alone makes the fault go away.

Making a case small takes away what the fault can do without, but it makes sizes 1 and leaves inputs out whether or not
that matters. So the opposite is tried: a scalar becomes a tensor, what is broadcast gets its whole shape, an input that
is left out is given what it stands for. If the target then is right, the scalar, the broadcast or the missing input
belongs to the cause, and faults that need different ones are different.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import numpy as np
import onnx_ir as ir

from irfuzz.errors import InvalidProgram
from irfuzz.execute.run_types import Value
from irfuzz.facts import TensorFact
from irfuzz.ir.fact_type_conversion import declare
from irfuzz.ir.inference.call_output_types import schema_of
from irfuzz.ir.program import Program
from irfuzz.ir.verifier import verify
from irfuzz.reduce.session import infer_anew
from irfuzz.spec import has_trait

MOST = 12
"""So many changes of one program are tried."""

Inputs: TypeAlias = Mapping[str, Value]

Changed: TypeAlias = tuple[str, Program, Inputs]
"""What the program was like, the program that is not, and its inputs."""

IsRight: TypeAlias = Callable[[Program, Inputs], bool]
"""Whether the target runs a program and nothing is wrong."""


def conditions_of(program: Program, inputs: Inputs, is_right: IsRight) -> tuple[str, ...]:
    """Names of the conditions without which a fault does not show, sorted: ``("X of rank 0",)``.

    Args:
        program: a small one that shows the fault; it stays as it is.
        inputs: by name.
        is_right: asked of each change that is a valid program.
    """
    found: set[str] = set()
    for count, (name, candidate, given) in enumerate(_changes(program, inputs)):
        if count >= MOST:
            break
        if name not in found and not verify(candidate) and is_right(candidate, given):
            found.add(name)
    return tuple(sorted(found))


def _changes(program: Program, inputs: Inputs) -> Iterator[Changed]:
    for table in (_scalars, _broadcasts, _axes, _zero_points):
        yield from table(program, inputs)


def _scalars(program: Program, inputs: Inputs) -> Iterator[Changed]:
    """Inputs of rank 0 as tensors of one element."""
    for name, data in inputs.items():
        if isinstance(data, np.ndarray) and not data.ndim:
            yield from _with_data(program, inputs, f"{_role(program, name)} of rank 0", {name: data.reshape(1)})


def _broadcasts(program: Program, inputs: Inputs) -> Iterator[Changed]:
    """What a node broadcasts, with all of its elements."""
    for node in program.nodes():
        if not has_trait(node, "broadcasts"):
            continue
        names = {v.name or "" for v in node.inputs if v is not None}
        arrays = {name: data for name, data in inputs.items() if name in names and isinstance(data, np.ndarray)}
        others = [_shape(program, v) for v in node.inputs if v is not None and v.name not in arrays]
        shapes = [data.shape for data in arrays.values()] + [shape for shape in others if shape is not None]
        if not arrays or None in others or len(set(shapes)) < 2:
            continue
        try:
            whole = np.broadcast_shapes(*shapes)
        except ValueError:  # a product of matrices broadcasts all but the last two axes
            continue
        grown = {key: np.ascontiguousarray(np.broadcast_to(data, whole)) for key, data in arrays.items()}
        yield from _with_data(program, inputs, f"{node.op_type} broadcasts", grown)


def _axes(program: Program, inputs: Inputs) -> Iterator[Changed]:
    """Axes of reductions, all of which are meant if none are given."""
    for place, node in enumerate(program.nodes()):
        schema = schema_of(node.op_type, program.opset, node.domain)
        shape = _shape(program, node.inputs[0]) if node.inputs and node.inputs[0] is not None else None
        if schema is None or not has_trait(node, "reduces") or not shape:
            continue
        if len(schema.inputs) > 1 and (len(node.inputs) < 2 or node.inputs[1] is None):

            def give(one: Program, place: int = place, rank: int = len(shape)) -> None:
                own = one.nodes()[place]
                own.resize_inputs(2)
                one.set_input(own, 1, one.constant(np.arange(rank, dtype=np.int64)))

            yield from _edited(program, inputs, "axes not given", give)
        elif "axes" in schema.attributes and "axes" not in node.attributes:

            def state(one: Program, place: int = place, rank: int = len(shape)) -> None:
                one.set_attr(one.nodes()[place], "axes", list(range(rank)))

            yield from _edited(program, inputs, "axes not given", state)


def _zero_points(program: Program, inputs: Inputs) -> Iterator[Changed]:
    """Zero points of quantised tensors, which are 0 if none are given."""
    for place, node in enumerate(program.nodes()):
        # If an operator quantises, its zero point chooses the type: without it, it is another call.
        if not has_trait(node, "quantised") or has_trait(node, "quantises") or node.inputs[0] is None:
            continue
        data, scale = program.tensor(node.inputs[0]), _shape(program, node.inputs[1])
        if data is None or scale is None or (len(node.inputs) > 2 and node.inputs[2] is not None):
            continue

        zero = np.zeros(scale, data.dtype.numpy())

        def give(one: Program, place: int = place, zero: np.ndarray = zero) -> None:
            own = one.nodes()[place]
            own.resize_inputs(3)
            one.set_input(own, 2, one.constant(zero))

        yield from _edited(program, inputs, "zero point not given", give)


def _with_data(program: Program, inputs: Inputs, name: str, data: Mapping[str, np.ndarray]) -> Iterator[Changed]:
    """The program on other tensors in place of some of its inputs."""

    def change(one: Program) -> None:
        for key, array in data.items():
            value = one.value(key)
            fact = None if value is None else one.tensor(value)
            if value is None or fact is None:
                raise InvalidProgram(f"no input {key}")
            declare(value, TensorFact(fact.dtype, tuple(map(int, array.shape))))

    yield from _edited(program, {**inputs, **data}, name, change)


def _edited(program: Program, inputs: Inputs, name: str, change: Callable[[Program], None]) -> Iterator[Changed]:
    candidate = program.clone()
    try:
        change(candidate)
        infer_anew(candidate)
    except InvalidProgram:
        return
    yield name, candidate, inputs


def _shape(program: Program, value: ir.Value | None) -> tuple[int, ...] | None:
    """The shape of a value, if all of it is known."""
    fact = None if value is None else program.tensor(value)
    if fact is None or fact.shape is None or not fact.is_static:
        return None
    return tuple(n for n in fact.shape if isinstance(n, int))


def _role(program: Program, name: str) -> str:
    """What the first operator that reads a value calls it."""
    value = program.value(name)
    for node, place in () if value is None else value.uses():
        schema = schema_of(node.op_type, program.opset, node.domain)
        if schema is not None and schema.inputs:
            return schema.inputs[min(place, len(schema.inputs) - 1)].name
    return "an input"
