"""What steps of a NumPy module round, and what their errors are relative to (docs/oracles.md has the formulae).

Runs in the worker's interpreter: imports only the standard library, numpy and ml_dtypes. A rule takes the step's
function and arguments, its result and the number of terms that its operator states, and gives the error of a rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from .rounding_error_perturbation import PART_OF_ONE, of_angles


def own(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """One rounding of the result."""
    return np.abs(result)


def multiplied(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """The same; of whole numbers it is exact."""
    return np.abs(result)


def nonlinear(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """The same, and the argument is moved first: libraries compute functions of what they have rounded themselves."""
    return np.abs(result)


def through_one(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """The same, and a part of one, which ``exp(x) - 1`` and approximations of ``tanh`` go through."""
    return np.abs(result) + PART_OF_ONE


def terms_apart(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """One rounding of either term of a sum or difference: what is folded into a weight is rounded before it cancels."""
    return np.abs(args[0]) + np.abs(args[1])


def _of_sum(total: Any, squares: Any, terms: Any) -> Any:
    """The root mean square of the error of a sum in random order, in roundings (as in the PyTorch worker)."""
    return np.sqrt(np.abs(squares) * (1 + terms / 6) + np.abs(total) ** 2 * (np.maximum(1, terms) / 3))


def _squares(args: Any) -> list[Any]:
    return [np.abs(a) ** 2 if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a for a in args]


def _summed(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    return _of_sum(result, func(*_squares(args), **kwargs), terms or max(1, args[0].size // max(1, result.size)))


def _running(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    axis = kwargs.get("axis", args[1] if len(args) > 1 else 0)
    n = terms or (args[0].shape[axis] if args[0].ndim else 1)
    return _of_sum(result, func(*_squares(args), **kwargs), n)


def _running_product(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    axis = kwargs.get("axis", args[1] if len(args) > 1 else 0)
    return np.abs(result) * math.sqrt(terms or (args[0].shape[axis] if args[0].ndim else 1))


def _product(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """A product of matrices; zeros of a filter are no terms."""
    one, two = args[0], args[1]
    inner = one.shape[-1] if one.ndim else 1
    if not terms and one.ndim == 2 and one.size:
        inner = max(1, int((one != 0).sum(-1).max()))
    return _of_sum(result, func(one * one, two * two, **kwargs), terms or inner)


def _contracted(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """An Einstein sum; one that only moves elements is exact."""
    given, _, left = args[0].partition("->")
    sizes: dict[str, int] = {}
    for labels, x in zip(given.split(","), args[1:]):  # noqa: B905 - Python 3.9
        sizes.update(zip(labels.replace("...", ""), x.shape[-len(labels.replace("...", "")) or None :]))  # noqa: B905
    n = math.prod(size for label, size in sizes.items() if label not in left) if left else max(1, args[1].size)
    if n <= 1 and len(args) == 2:
        return np.zeros(())
    return _of_sum(result, func(args[0], *_squares(args[1:]), **kwargs), terms or n)


def _factors(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """One rounding of the result for each factor, or for each term of a sum of positive numbers."""
    return np.abs(result) * math.sqrt(terms or max(1, args[0].size // max(1, result.size)))


def scattered(ufunc: np.ufunc, before: Any, places: Any, updates: Any) -> Any:
    """The rule of elements that were combined in place: their number differs from element to element."""

    def rule(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
        counts = np.zeros(before.shape)
        np.add.at(counts, places, 1.0)
        if ufunc is np.multiply:
            return np.abs(result) * np.sqrt(counts)
        squares = before * before
        np.add.at(squares, places, updates * updates)
        return np.where(counts > 0, _of_sum(result, squares, counts), 0.0)

    return rule


def order_decides(x: Any, kwargs: Any, dtype: Any) -> Any:
    """Which products of many factors leave the range of their type in one order and not in another."""
    limits, how = ml_dtypes.finfo(dtype), {name: kwargs[name] for name in ("axis", "keepdims") if name in kwargs}
    logs = np.where(x == 0, 0.0, np.log2(np.abs(x)))
    above, below = np.sum(np.maximum(logs, 0), **how), np.sum(np.minimum(logs, 0), **how)
    zero = np.sum(x == 0, **how) > 0
    high, low = math.log2(float(limits.max)), math.log2(float(limits.tiny))
    return ((above > high) & ((below < 0) | zero)) | ((below < low) & (above > 0) & ~zero)


def _shares(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """Softmax: relative, with a sum over the axis."""
    n = args[0].shape[args[1]] if args[0].ndim else 1
    return np.abs(result) * math.sqrt(1 + n / 3)


def log_shares(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """Its logarithm: that sum's error as it is."""
    n = args[0].shape[args[1]] if args[0].ndim else 1
    return (np.abs(result) + 1) * math.sqrt(1 + n / 3)


def after(rule: Any) -> Any:
    """A rule whose argument was moved before."""
    return {nonlinear: own, through_one: _near_one}.get(rule, rule)


def _near_one(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """What ``through_one`` says."""
    return np.abs(result) + PART_OF_ONE


def _spectrum(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """That of a sum along the axis, and of its factors, whose angles are rounded."""
    axis = args[2] if len(args) > 2 else -1
    terms = args[0].shape[axis]
    squares = np.sum(np.abs(args[0]) ** 2, axis, keepdims=True) * of_angles(terms)
    return _of_sum(np.abs(result), np.broadcast_to(squares, result.shape), terms)


def is_whole(args: Any, result: Any, limit: float, *, elementwise: bool) -> Any:
    """Where sums and products are of whole numbers and stay below ``limit``: they are exact in any order."""
    arrays = [a for a in args if isinstance(a, np.ndarray) and a.dtype.kind == "f"]
    numbers = [a for a in args if isinstance(a, float) and not a.is_integer()]
    if numbers or not arrays or result.dtype.kind == "c":
        return np.zeros((), np.bool_)
    whole = [a == np.rint(a) for a in arrays]
    if elementwise:
        return (np.abs(result) < limit) & whole[0] & whole[-1]
    if not all(a.size and bool(w.all()) for a, w in zip(arrays, whole)):  # noqa: B905 - Python 3.9
        return np.zeros((), np.bool_)
    # Magnitudes add up to at most the number of terms times the largest product.
    most = math.prod(max(1.0, float(np.abs(a).max())) for a in arrays) * max(a.size for a in arrays)
    return np.full((), most < limit)


_FUNCTIONS = """
    exp exp2 log log2 log10 log1p sin cos tan arcsin arccos arctan arctan2 cosh power float_power logaddexp
"""
RULES: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(["divide", "reciprocal", "sqrt", "square", "fmod", "remainder"], own),
    **dict.fromkeys(_FUNCTIONS.split(), nonlinear),
    **dict.fromkeys(["expm1", "tanh", "sinh", "arcsinh", "arccosh", "arctanh"], through_one),
    "multiply": multiplied,
    "add": terms_apart,
    "subtract": terms_apart,
    "add.reduce": _summed,
    "add.accumulate": _running,
    "multiply.reduce": _factors,
    "multiply.accumulate": _running_product,
    "matmul": _product,
}
"""What ufuncs round, by name and method, and what their errors are relative to; others are exact."""

KERNELS: dict[Any, Callable[..., Any]] = {
    np.dot: _product,
    np.einsum: _contracted,
    np.linalg.det: _factors,
    np.fft.fft: _spectrum,
    np.fft.ifft: _spectrum,
    np.fft.rfft: _spectrum,
    np.fft.irfft: _spectrum,
}
"""The same of functions of numpy's that are one step."""

FUNCTIONS: dict[str, Callable[..., Any] | None] = {
    "erf": nonlinear,
    "logistic": through_one,
    "mel_weights": None,
    "soft_max": _shares,
    "soft_plus": through_one,
}
"""The same of functions of the module."""

OF_MOVED = frozenset({nonlinear, through_one})
SUMS = frozenset({_summed, _product, _contracted})
EXACT_ON_WHOLE = SUMS | {multiplied, terms_apart}
