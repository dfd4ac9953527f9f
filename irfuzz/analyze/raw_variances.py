"""Proves that rounding takes no raw variance of a dense layer's units below 0: no inputs make them nearly equal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from irfuzz.analyze.abstract_domain.interval import Range
from irfuzz.analyze.abstract_domain.number_formats import NumberFormat, format_of
from irfuzz.analyze.failing_inputs.reduced_elements import axes_of
from irfuzz.analyze.numeric_range_analysis import Alarm
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program

LARGEST = 1 << 16
"""Weights of a layer, at most: the certificates are found by dense linear algebra."""

FINEST = 1e-8
"""Certificates are checked in double precision, and prove nothing of formats that are nearly as fine."""

SLACK = 1e-10
"""What double precision may lose of a sum, as a share of the sum of magnitudes; far more than it does."""


@dataclass(frozen=True, slots=True)
class _Layer:
    """Units ``Relu(data @ weights + bias)`` whose raw variance is taken over all of them.

    Attributes:
        weights: a row for each input and a column for each unit.
        bias: of each unit.
        low: least element of the data.
        high: largest element.
        form: in which everything is computed.
    """

    weights: np.ndarray
    bias: np.ndarray
    low: float
    high: float
    form: NumberFormat


@dataclass(frozen=True, slots=True)
class _Rounding:
    """What rounding may do to the units of a layer and to the moments of them.

    Attributes:
        sizes: of each unit, the largest sum of magnitudes.
        error: by how much each unit may differ from the exact one.
        lost: of the difference of moments, as a share of the squared mean.
        tiny: what numbers below the smallest normal one may take from it besides.
    """

    sizes: np.ndarray
    error: np.ndarray
    lost: float
    tiny: float

    @classmethod
    def of(cls, layer: _Layer) -> _Rounding:
        """Of a layer, its sums in any order."""
        inputs, units = layer.weights.shape
        form = layer.form
        sizes = np.abs(layer.bias) + np.abs(layer.weights).sum(axis=0) * max(abs(layer.low), abs(layer.high))
        tiny = 8 * form.smallest / form.eps * max(1.0, float(sizes.max()))
        return cls(sizes, (inputs / 2 + 4) * form.eps * sizes, (1.5 * units + 8) * form.eps, tiny)


def is_never_negative(program: Program, warning: Alarm, ranges: Mapping[str, Range]) -> bool:
    """Whether ``mean(h * h) - mean(h) * mean(h)`` of ``h = Relu(x @ w + b)`` is at least 0 as computed.

    The sums of products and the means may be taken in any order; the bias is added behind the product, as the program
    says. With n units, mean m and variance V, rounding takes at most ``(1.5 n + 8) eps m ** 2`` from the difference. If
    all units are 0 it is 0. One unit of 0 beside others makes V at least ``m ** 2 / n``, which is more, unless m is so
    small that its square is no normal number (``_least_mean``). If all units are positive they are affine, and must
    be nearly equal, which no inputs make them (``_are_apart``, ``_are_beyond_reach``).

    Args:
        program: that was analysed; it stays as it is.
        warning: one of its warnings.
        ranges: of its values, as ``Analysis.ranges`` has them.

    Returns:
        ``False`` if that is not proved, or the operand is no such difference.
    """
    layer = _layer(program, warning, ranges)
    if layer is None or layer.form.eps < FINEST or layer.weights.shape[0] > layer.weights.shape[1]:
        return False  # more inputs than units can make all of them equal
    units = layer.weights.shape[1]
    rounding = _Rounding.of(layer)
    if rounding.lost * units >= 0.5 or not float(rounding.sizes.max()) ** 2 * units < layer.form.biggest / 4:
        return False
    if not _least_mean(layer, rounding) ** 2 * (1 / units - rounding.lost) > rounding.tiny:
        return False
    return _are_apart(layer, rounding) or _are_beyond_reach(layer, rounding)


def _least_mean(layer: _Layer, rounding: _Rounding) -> float:
    """A lower bound of the mean of units that are not all 0.

    A sum with a bias is a multiple of a quarter of the bias' last place, or half as large as the bias at the least, so
    that a unit that is not 0 is no smaller. If a bias is 0, a certificate that some unit is always positive: weights
    ``y >= 0`` of the units, with ``y @ (x @ w + b) > 0`` for all x in range.
    """
    units = len(layer.bias)
    least = float(np.abs(layer.bias).min()) * layer.form.eps / 8
    if least > 0:
        return least / units
    if not _has_more_units(layer):
        return 0.0
    return max(_least(layer, _mostly_positive(layer, rounding.error), rounding), 0.0) / units


def _are_apart(layer: _Layer, rounding: _Rounding) -> bool:
    """Whether the bias keeps affine units from being nearly equal, whatever the data.

    V is at least ``(y @ z) ** 2 / n`` for each unit vector y orthogonal to equal units; the residual of ``b``, as far
    as neither x nor a constant can make up for it, is such a y.
    """
    if not _has_more_units(layer):
        return False
    units = len(layer.bias)
    apart = _residual(layer)
    spread = _least(layer, apart, rounding) - (abs(float(apart.sum())) + SLACK) * 2 * float(rounding.sizes.max())
    mean = max(-_least(layer, -np.full(units, 1 / units), rounding), 0.0)
    return spread > 0 and spread**2 / units > rounding.lost * mean**2 + rounding.tiny


def _are_beyond_reach(layer: _Layer, rounding: _Rounding) -> bool:
    """Whether only data out of range makes affine units nearly equal.

    With a right inverse r of w, units ``z = m + e`` come from ``x = m (1 @ r) - b @ r + e @ r``, where rounding leaves
    ``|e| <= m sqrt(n (1.5 n + 8) eps)``. That each element of x is in range is a pair of inequalities, linear in m; no
    mean m of at least 0 solves all of them.
    """
    units = len(layer.bias)
    try:
        inverse = np.linalg.pinv(layer.weights)
    except np.linalg.LinAlgError:
        return False
    farthest = max(abs(layer.low), abs(layer.high))
    off = np.abs(layer.weights @ inverse - np.eye(len(inverse.T))) + SLACK * np.abs(layer.weights) @ np.abs(inverse)
    grows, starts = inverse.sum(axis=0), layer.bias @ inverse
    lengths = np.linalg.norm(inverse, axis=0)
    by_mean = lengths * np.sqrt(units * rounding.lost) + SLACK * np.abs(inverse).sum(axis=0)
    fixed = (rounding.error + SLACK * rounding.sizes) @ np.abs(inverse) + lengths * np.sqrt(units * rounding.tiny)
    fixed += farthest * off.sum(axis=0)
    # m * slopes <= ends, for the lower and the upper end of the range of each element.
    slopes = np.concatenate([-grows - by_mean, grows - by_mean])
    ends = np.concatenate([-starts - layer.low, starts + layer.high]) + np.tile(fixed, 2)
    if (ends[slopes == 0] < 0).any():
        return True
    least = np.max(ends[slopes < 0] / slopes[slopes < 0], initial=0.0)
    most = np.min(ends[slopes > 0] / slopes[slopes > 0], initial=np.inf)
    return bool(np.isfinite(inverse).all() and least > most)


def _has_more_units(layer: _Layer) -> bool:
    """Whether units are more than inputs and a constant, so that these cannot make any numbers of them."""
    inputs, units = layer.weights.shape
    return inputs + 1 < units


def _least(layer: _Layer, y: np.ndarray, rounding: _Rounding) -> float:
    """A lower bound of ``y @ z`` over all data in range, ``z`` as computed."""
    slopes = layer.weights @ y
    half, middle = (layer.high - layer.low) / 2, (layer.high + layer.low) / 2
    exact = float(y @ layer.bias + slopes.sum() * middle - np.abs(slopes).sum() * half)
    return exact - float(np.abs(y) @ (rounding.error + SLACK * rounding.sizes))


def _residual(layer: _Layer) -> np.ndarray:
    """The unit vector of what of the bias lies outside of all that the data and a constant can add."""
    span = np.concatenate([layer.weights, np.ones((1, len(layer.bias)))]).T
    rest = layer.bias - span @ np.linalg.lstsq(span, layer.bias, rcond=None)[0]
    length = float(np.linalg.norm(rest))
    return rest / length if length else rest


def _mostly_positive(layer: _Layer, error: np.ndarray) -> np.ndarray:
    """Weights of the units, not negative and 1 in sum, with which they depend least on the data, for what they add to.

    Least squares without negative unknowns (Lawson and Hanson, 1974); all 0 if there are no such weights.
    """
    scale = float(np.abs(layer.weights).max()) or 1.0
    added = layer.bias - error + layer.weights.sum(axis=0) * (layer.high + layer.low) / 2
    matrix = np.concatenate([layer.weights / scale, added[None] / (float(np.abs(added).max()) or 1.0)])
    wanted = np.zeros(len(matrix))
    wanted[-1] = 1.0
    y = _not_negative(matrix, wanted)
    total = float(y.sum())
    return y / total if total > 0 else y


def _not_negative(matrix: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """``y >= 0`` with the least ``|matrix @ y - wanted|``."""
    count = matrix.shape[1]
    y, held = np.zeros(count), np.ones(count, dtype=bool)
    for _ in range(3 * count):
        gain = np.where(held, matrix.T @ (wanted - matrix @ y), -np.inf)
        best = int(gain.argmax())
        if gain[best] <= 1e-12:
            break
        held[best] = False
        while True:
            trial = np.zeros(count)
            trial[~held] = np.linalg.lstsq(matrix[:, ~held], wanted, rcond=None)[0]
            bad = ~held & (trial <= 0)
            if not bad.any():
                y = trial
                break
            step = float(np.min(y[bad] / np.maximum(y[bad] - trial[bad], 1e-300)))
            y = y + step * (trial - y)
            held |= ~held & (y <= 1e-14)
            y[held] = 0.0
            if held.all():
                break
    return y


def _layer(program: Program, warning: Alarm, ranges: Mapping[str, Range]) -> _Layer | None:
    """The layer whose units' raw variance is the operand of a warning; ``None`` if it is none.

    The proof is about the arithmetic of these operators, so that their names are the pattern.
    """
    if warning.fault.nonzero or warning.fault.low > 0:
        return None
    difference = _made(program.value(warning.operand), "Sub")
    if len(difference) != 2:
        return None
    units = _squared(program, _averaged(program, difference[0]))
    if units is None or units is not _averaged(program, _squared(program, difference[1])):
        return None
    for product, bias in _either_way(_made(next(iter(_made(units, "Relu")), None), "Add")):
        operands = _made(product, "MatMul")
        if len(operands) == 2 and operands[0] is not None:
            return _with_constants(program, operands[0], operands[1], bias, ranges)
    return None


def _with_constants(
    program: Program, data: ir.Value, weights: ir.Value | None, bias: ir.Value | None, ranges: Mapping[str, Range]
) -> _Layer | None:
    reach, fact = ranges.get(data.name or ""), program.fact(data)
    w, b = _constant(program, weights, ranges), _constant(program, bias, ranges)
    if reach is None or not reach.finite or not isinstance(fact, TensorFact) or w is None or b is None:
        return None
    if w.ndim != 2 or b.size != w.shape[1] or b.shape[-1:] != (b.size,) or w.size > LARGEST:
        return None
    return _Layer(w, b.reshape(-1), reach.low, reach.high, format_of(fact.dtype))


def _constant(program: Program, value: ir.Value | None, ranges: Mapping[str, Range]) -> np.ndarray | None:
    """The elements of a constant, if the analysis took it for one: not of a parameter that is still to be trained."""
    array = None if value is None else program.const_array(value)
    if array is None or value is None or not array.size:
        return None
    wide, known = array.astype(np.float64), ranges.get(value.name or "")
    if not np.isfinite(wide).all() or (known is not None and (known.low < wide.min() or known.high > wide.max())):
        return None
    return wide


def _made(value: ir.Value | None, op: str) -> tuple[ir.Value | None, ...]:
    """The inputs of the call of this operator that computes a value; none if it is another."""
    node = None if value is None else value.producer()
    return tuple(node.inputs) if node is not None and (node.domain, node.op_type) == ("", op) else ()


def _squared(program: Program, value: ir.Value | None) -> ir.Value | None:
    """What a value is the square of."""
    factors = _made(value, "Mul")
    if len(factors) == 2 and factors[0] is factors[1]:
        return factors[0]
    power = _made(value, "Pow")
    exponent = program.const_array(power[1]) if len(power) == 2 else None
    return power[0] if exponent is not None and exponent.size == 1 and float(exponent.reshape(-1)[0]) == 2 else None


def _averaged(program: Program, value: ir.Value | None) -> ir.Value | None:
    """What a value is the mean of, over the last axis."""
    inputs = _made(value, "ReduceMean")
    node = None if value is None else value.producer()
    fact = program.fact(inputs[0]) if inputs and inputs[0] is not None else None
    if node is None or not isinstance(fact, TensorFact) or fact.shape is None:
        return None
    return inputs[0] if axes_of(program, node) == (len(fact.shape) - 1,) else None


def _either_way(pair: tuple[ir.Value | None, ...]) -> list[tuple[ir.Value | None, ir.Value | None]]:
    return [(pair[0], pair[1]), (pair[1], pair[0])] if len(pair) == 2 else []
