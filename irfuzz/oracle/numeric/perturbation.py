"""Moves inputs or weights by a few units in the last place and measures how far every output moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
import onnx_ir as ir

from irfuzz.execute.run_types import Exit, RunResult, Stage, Value
from irfuzz.facts import TensorFact
from irfuzz.oracle.numeric.dtype_thresholds import is_float, largest, lowest, resolution
from irfuzz.oracle.value_structure import leaves_of
from irfuzz.spec import has_trait, trait_values

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

SEED = 20240229
"""Of the directions: the same case is always judged alike."""

SMALL = 1
"""One unit in the last place: what a rounding does."""

WIDE = 100
"""The factor by which a difference must exceed the spread, applied to the inputs themselves: a step that such a move
crosses may stand between two correct components."""

_MULTIPLIED = frozenset({ir.DataType.FLOAT, ir.DataType.DOUBLE, ir.DataType.FLOAT16})

WEIGHTS = 16
"""Constants of so many elements are taken for weights."""

SHORT = 2.0**8
"""Coordinates that are multiples of its inverse, and smaller than it, are short: ``(x + 1) * size / 2`` rounds none of
them, up to sizes of thousands."""

SINGLE = 4
"""Bytes of the narrowest type that holds such products."""

TIES_TO_EVEN = 20
"""The version of GridSample that says to which of two elements a point between them belongs."""

INNER = 2
"""Directions in which values inside are moved."""

_MOST = 0.01
"""Largest relative move, unless one unit is more."""

DIRECTIONS: tuple[tuple[int, int, int], ...] = (
    (SMALL, 0, 1),
    (SMALL, 0, -1),
    (SMALL, 1, 1),
    (WIDE, 0, 1),
    (WIDE, 0, -1),
)
"""Units in the last place, which random signs, and whether they are turned."""


class Rerun(Protocol):
    """Runs the case again on the same targets."""

    def __call__(self, inputs: Mapping[str, Value], program: Program | None = None, /) -> Sequence[RunResult]:
        """Results on other inputs, or of the program with other weights."""
        ...


@dataclass(frozen=True, slots=True)
class Perturbations:
    """What the reruns gave.

    Attributes:
        measured: some floating-point input or weight could be moved.
        again: tensors by target and place, from a run on the very same inputs.
        small: the same for every move by one unit.
        wide: the same for every move by ``WIDE`` units.
        inner: the same for moves of what is computed inside by one unit: roundings that moved inputs cannot show if
            they cancel out, as in ``x - mean(x)`` of equal elements.
    """

    measured: bool = False
    again: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict[str, Mapping[str, np.ndarray]])
    small: tuple[Mapping[str, Mapping[str, np.ndarray]], ...] = ()
    wide: tuple[Mapping[str, Mapping[str, np.ndarray]], ...] = ()
    inner: tuple[Mapping[str, Mapping[str, np.ndarray]], ...] = ()

    def steady(self, label: str) -> bool:
        """Whether something could be moved, and a tensor keeps its shape on every target, however it is moved.

        Args:
            label: of the tensor, as ``leaves_of`` names it.

        Returns:
            False also if no target gave that tensor in the run that repeats the case.
        """
        moves = (*self.small, *self.wide)
        shapes = [
            (before[label].shape, moved.get(name, {}).get(label, before[label]).shape)
            for name, before in self.again.items()
            if label in before
            for moved in moves
        ]
        return self.measured and bool(shapes) and all(before == after for before, after in shapes)


def measure(
    program: Program,
    inputs: Mapping[str, Value],
    rerun: Rerun | None,
) -> Perturbations:
    """Run again on the same and on moved inputs, or if they cannot move (integers), with moved weights.

    Without ``rerun`` nothing is measured.
    """
    if rerun is None:
        return Perturbations()
    again = _tensors(rerun(inputs))
    inside = [other for draw in range(INNER) if (other := move_inside(program, draw)) is not None]
    inner = tuple(_tensors(rerun(inputs, other)) for other in inside)
    small: list[Mapping[str, Mapping[str, np.ndarray]]] = []
    wide: list[Mapping[str, Mapping[str, np.ndarray]]] = []
    for units, draw, sign in DIRECTIONS:
        moved = move(program, inputs, units, draw, sign)
        if moved is not None:
            results = rerun(moved)
        else:
            other = move_weights(program, units, draw, sign)
            if other is None:
                return Perturbations(again=again, inner=inner)
            results = rerun(inputs, other)
        (small if units == SMALL else wide).append(_tensors(results))
    return Perturbations(measured=True, again=again, small=tuple(small), wide=tuple(wide), inner=inner)


def move(program: Program, inputs: Mapping[str, Value], units: int, draw: int, sign: int) -> dict[str, Value] | None:
    """Inputs whose floating-point elements are moved up or down by ``units`` units in the last place.

    Zeros, NaN and Inf stay, and no element leaves the range that the program's fact gives its input. Short coordinates
    (the trait ``samples_at``) stay, too: no component rounds them, so that a tie between two elements is one for all.

    Returns:
        ``None`` if there is nothing to move.
    """
    generator = np.random.default_rng((SEED, draw))
    moved = dict(inputs)
    changed = False
    for value in program.graph.inputs:
        name = value.name or ""
        if name not in inputs:
            continue
        fact = program.tensor(value)
        new, any_moved = _moved(inputs[name], fact, units * sign, generator, sampled_at=_sampled_at(program, value))
        moved[name] = new
        changed = changed or any_moved
    return moved if changed else None


def move_weights(program: Program, units: int, draw: int, sign: int) -> Program | None:
    """The program with its floating-point weights moved up or down by ``units`` units in the last place.

    Only constants of ``WEIGHTS`` elements or more are moved: smaller ones (exponents, scales, bounds) may decide what
    is computed. Zeros, NaN and Inf stay.

    Returns:
        ``None`` if there is nothing to move.
    """
    generator = np.random.default_rng((SEED, draw))
    moved = program.clone()
    changed = False
    for value in list(moved.graph.initializers.values()):
        if value.is_graph_input() or value.const_value is None or not is_float(value.const_value.dtype.numpy()):
            continue
        array = value.const_value.numpy()
        if array.size >= WEIGHTS:
            new, any_moved = _moved(array, None, units * sign, generator, sampled_at=_sampled_at(program, value))
            if any_moved and isinstance(new, np.ndarray):
                moved.set_constant(value, new)
                changed = True
    return moved if changed else None


def move_inside(program: Program, draw: int) -> Program | None:
    """The program with each rounded value of its main graph times one plus or minus a unit in the last place.

    Outputs of operators that jump or copy stay, and so do those of the graph, whose own rounding needs no measuring.

    Returns:
        ``None`` if no value is rounded inside.
    """
    generator = np.random.default_rng((SEED, draw))
    moved = program.clone()
    changed = False
    for node in list(moved.graph):
        sign = int(generator.integers(0, 2)) * 2 - 1
        value = node.outputs[0]
        fact = moved.tensor(value)
        exact = has_trait(node, "discontinuous") or has_trait(node, "copies")
        if exact or fact is None or fact.dtype not in _MULTIPLIED or not value.uses():
            continue
        dtype = fact.dtype.numpy()
        factor = moved.constant(np.array(1 + sign * resolution(dtype), dtype))
        (product,) = moved.insert("Mul", [value, factor], after=node).outputs
        users = [(user, index) for user, index in value.uses() if user is not product.producer()]
        moved.replace_uses(value, product, users=users)
        changed = True
    return moved if changed else None


def _sampled_at(program: Program, value: ir.Value) -> bool:
    """Whether a value is nothing but coordinates to sample at, and what becomes of ties is said of them.

    GridSample-16 does not say it, and outside of the image the order of rounding and reflecting is left open.
    """
    uses = value.uses()
    return bool(uses) and all(
        has_trait(node, "samples_at")
        and index == trait_values("samples_at", node.domain)[node.op_type]
        and program.inference.opset(node.domain) >= TIES_TO_EVEN
        and node.attributes.get_string("padding_mode", "zeros") != "reflection"
        for node, index in uses
    )


def _moved(
    value: Value, fact: TensorFact | None, units: int, generator: np.random.Generator, *, sampled_at: bool = False
) -> tuple[Value, bool]:
    if isinstance(value, list):
        items = [_moved(item, fact, units, generator) for item in value]
        return [item for item, _ in items], any(m for _, m in items)
    if value is None or not is_float(value.dtype) or not value.size:
        return value, False
    x = value.astype(np.float64)
    signs = generator.integers(0, 2, value.shape) * 2 - 1
    usable = np.isfinite(x) & (x != 0)
    _, exponent = np.frexp(np.where(usable, x, 1.0))
    if sampled_at and value.dtype.itemsize >= SINGLE:
        usable &= (x * SHORT != np.rint(x * SHORT)) | (np.abs(x) >= SHORT)
    step = np.ldexp(resolution(value.dtype), exponent - 1)
    low, high = lowest(value.dtype), largest(value.dtype)
    if fact is not None:
        low = low if fact.low is None else max(low, fact.low)
        high = high if fact.high is None else min(high, fact.high)
    # A hundred units of half precision would be another input altogether.
    width = np.clip(abs(units) * step, step, np.maximum(step, _MOST * np.abs(x)))
    near = np.clip(x + np.sign(units) * signs * width, low, high)
    # An element that already stands outside its declared range is not this module's to correct.
    new = np.where(usable & (x >= low) & (x <= high), near, x).astype(value.dtype)
    return new, not np.array_equal(new.astype(np.float64), x, equal_nan=True)


def _tensors(results: Sequence[RunResult]) -> dict[str, dict[str, np.ndarray]]:
    return {
        r.target.name: {label: t for name, value in r.outputs.items() for label, t in leaves_of(name, value)}
        for r in results
        if r.exit is Exit.OK and r.stage is Stage.RUN
    }
