"""A program's NumPy module in float64 and its inputs enter; what it computes leaves, and how far rounding moves that.

Runs in the worker's interpreter: imports only the standard library, numpy and ml_dtypes. ``shadow.py`` does the same
with PyTorch, and has the sources of the method; here a step is a ufunc, or one of a few functions of numpy or of the
module that stand for a kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

from .generated import load
from .moved_runs import PART_OF_ONE, drawn, measured, refusal, size_of, width


def handle(request: dict[str, Any], arrays: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    """Compute a module without rounding errors, and with made-up ones; all as ``shadow.py`` has it."""
    count = len(request["arrays"])
    weights = dict(zip(request["arrays"], arrays[:count]))  # noqa: B905 - Python 3.9
    inputs = dict(zip(request["inputs"], arrays[count:]))  # noqa: B905
    with np.errstate(all="ignore"):
        module = load(request["source"])
        try:
            tensors = module["tensors"](_weights(weights, module["WEIGHT_DTYPES"]), inputs)
            state = _Errors(module)
            exact = _plain(state.run(tensors, None, 0.0))
        except Exception as error:  # noqa: BLE001 - whatever NumPy does not take has no shadow
            return refusal(error)
        names, values = measured(
            lambda seed, scale: _plain(state.run(tensors, seed, scale)), exact, quick=request.get("quick", False)
        )
    return {"outputs": names, "width": width(state.coarsest), "clean": state.clean}, values


def _weights(weights: dict[str, Any], dtypes: dict[str, Any]) -> dict[str, Any]:
    """Arrays as the module wants them: floats in float64, bfloat16 from its bits."""
    found = {}
    for name, value in weights.items():
        array = np.asarray(getattr(value, "raw", value))
        if dtypes[name] is np.float64 and array.dtype == np.uint16:
            array = array.view(ml_dtypes.bfloat16)
        found[name] = array.astype(np.float64) if dtypes[name] is np.float64 else array
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return None if value is None else np.asarray(value)


# ---- made-up rounding errors ----------------------------------------------------------------


class _Library:
    """numpy, or a module of it, as generated source sees it: whatever it gives tells of its steps."""

    def __init__(self, library: Any, adopt: Callable[[Any], Any]) -> None:
        self._library = library
        self._adopt = adopt

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._library, name)
        if isinstance(found, ModuleType):
            found = _Library(found, self._adopt)
        elif callable(found) and not isinstance(found, (type, np.ufunc)):
            function, adopt = found, self._adopt

            def call(*args: Any, **kwargs: Any) -> Any:
                return adopt(function(*args, **kwargs))

            found = call
        setattr(self, name, found)
        return found


class _Errors:
    """Adds to the result of every rounded step an error of the size that the type of its operator allows.

    The first run, without errors, notes for every step where there is none: what is infinite or NaN, and whole numbers.

    Attributes:
        coarsest: the largest unit roundoff that was met.
        clean: nothing was NaN or infinite, as far as the runs without errors and with large ones tell.
        array: the class of all arrays in the module.
    """

    def __init__(self, module: dict[str, Any]) -> None:
        state = self

        class Watched(np.ndarray):
            """An array that tells what is computed with it."""

            def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
                return state.ufunc(ufunc, method, args, kwargs)

            def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
                if func in KERNELS:
                    return state.step(func.__name__, KERNELS[func], func, [state.base(a) for a in args], kwargs)
                return super().__array_function__(func, types, args, kwargs)

        self.array = Watched
        self._module = module
        module["np"] = _Library(np, self.came)
        module["rounding"] = self._rounding
        for name, rule in FUNCTIONS.items():
            if name in module:
                module[name] = self._kernel(name, module[name], rule)
        module["ranged"] = self._ranged
        for name in ("narrowed", "cast"):
            if name in module:
                module[name] = self._exactly(module[name], moved=name == "narrowed")
        self.coarsest = 0.0
        self.clean = True
        self._unit = self._ulps = self._scale = 0.0
        self._terms = self._step = 0
        self._folded = False
        self._dtype: Any = np.float32
        self._sound: list[tuple[str, Any]] = []
        self._random = np.random.default_rng(0)

    def came(self, value: Any) -> Any:
        """What a function of numpy gives, as ``array``."""
        if self.clean and abs(self._scale) != 1:
            self.clean = _is_finite(value)
        return self.adopt(value)

    def adopt(self, value: Any) -> Any:
        """Arrays, and those in sequences, as ``array``."""
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.adopt, value))
        return value.view(self.array) if type(value) is np.ndarray else value

    def base(self, value: Any) -> Any:
        """The inverse."""
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.base, value))
        return value.view(np.ndarray) if isinstance(value, self.array) else value

    def run(self, tensors: Any, seed: int | None, scale: float) -> dict[str, Any]:
        """Outputs by name; without errors where ``scale`` is 0."""
        self._unit, self._scale, self._step = 0.0, scale, 0
        self._random = np.random.default_rng(seed)
        weights, inputs = ({name: self.adopt(value) for name, value in given.items()} for given in tensors)
        if not scale:
            self.clean = _is_finite([*weights.values(), *inputs.values()])
        return self._module["forward"](weights, inputs)

    def ufunc(self, ufunc: np.ufunc, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A ufunc's result; an array that it was to be written to has it, too."""
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        plain = [self.base(arg) for arg in args]
        out = kwargs.pop("out", None)
        if method == "at":
            return self._at(ufunc, plain)
        if out is not None and out[0] is not None:
            result = self.step(name, RULES.get(name), getattr(ufunc, method), plain, kwargs)
            self.base(out[0])[...] = result
            return out[0]
        return self.step(name, RULES.get(name), getattr(ufunc, method), plain, kwargs)

    def step(self, name: str, rule: Any, func: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What a step gives, with the error that ``rule`` says."""
        if rule is None or not self._unit or not self._ulps:
            result = func(*args, **kwargs)
            if self.clean and abs(self._scale) != 1:
                self.clean = _is_finite(result)
            return self._given(result)
        size = size_of(self._unit * self._ulps, self._scale)
        if rule in _OF_MOVED and self._scale:
            args = [self._moved(args[0], size), *args[1:]]
        result = np.asarray(func(*args, **kwargs))
        if result.dtype.kind not in "fc":
            return self._given(result)
        if not self._scale:
            self._sound.append((name, self._exact(rule, args, result)))
            self.clean = self.clean and _is_finite(result)
            return self._given(result)
        exact = self._noted(name, result)
        error = self._drawn(result) * size * rule(func, args, kwargs, result, self._terms)
        if name == "multiply.reduce":
            error = np.where(_order_decides(args[0], kwargs, self._dtype), np.nan, error)
        noisy = result + error if exact is None else np.where(exact, result, result + error)
        if self.clean and abs(self._scale) != 1:
            self.clean = _is_finite(noisy)
        return self._given(noisy)

    def _given(self, result: Any) -> Any:
        return self.adopt(np.asarray(result) if isinstance(result, np.generic) else result)

    def _at(self, ufunc: np.ufunc, args: list[Any]) -> None:
        """``ufunc.at``: elements combined into an array in place, each with an error for every element that it took."""
        target, places, updates = args
        before = np.array(target)

        def scattered(*_args: Any) -> Any:
            ufunc.at(target, places, updates)
            return np.array(target)

        rule = _scattered(ufunc, before, places, updates) if ufunc in (np.add, np.multiply) else None
        noisy = self.step(f"{ufunc.__name__}.at", rule, scattered, [before], {})
        target[...] = self.base(noisy)

    def _kernel(self, name: str, function: Any, rule: Any) -> Any:
        """A function of the module as one step, inside of which nothing is rounded."""

        def call(*args: Any) -> Any:
            unit, self._unit = self._unit, 0.0
            try:
                if unit and self._ulps and self._scale and rule in _OF_MOVED:
                    size = size_of(unit * self._ulps, self._scale)
                    args = tuple(self._moved(a, size) if isinstance(a, np.ndarray) else a for a in args)
                result = function(*args)
            finally:
                self._unit = unit
            if isinstance(result, tuple):
                return tuple(
                    self.step(f"{name}.{i}", _log_shares if i else rule, lambda *_, r=r: r, self.base(list(args)), {})
                    for i, r in enumerate(self.base(result))
                )
            base = self.base(result)
            plain_rule = None if rule is None else _after(rule)
            return self.step(name, plain_rule, lambda *_: base, self.base(list(args)), {})

        return call

    def _exactly(self, function: Any, *, moved: bool) -> Any:
        """A function of the module that rounds on purpose or not at all."""

        def call(x: Any, dtype: Any) -> Any:
            unit, self._unit = self._unit, 0.0
            try:
                result = function(x, dtype)
            finally:
                self._unit = 0.0 if moved else unit
            if not moved:
                return result
            if self.clean and abs(self._scale) != 1:
                self.clean = _is_finite(result)
            own = float(ml_dtypes.finfo(dtype).eps) / 2
            self.coarsest = max(self.coarsest, own)
            # Some components leave out a rounding that another one undoes.
            return result + self._drawn(result) * size_of(own, self._scale) * np.abs(result) if self._scale else result

        return call

    def _ranged(self, x: Any, dtype: Any) -> Any:
        """What the module's own ``ranged`` gives."""
        plain = self.base(x)
        beyond = np.abs(plain) > float(ml_dtypes.finfo(dtype).max)
        if not beyond.any():
            return x
        self.clean = self.clean and abs(self._scale) == 1
        return self.adopt(np.where(beyond, np.copysign(np.inf, plain), plain))

    def _rounding(self, dtype: Any, ulps: int, terms: int) -> None:
        unit = float(ml_dtypes.finfo(dtype).eps) / 2
        self.coarsest = max(self.coarsest, unit)
        self._unit, self._ulps, self._terms, self._folded = unit, float(ulps), max(0, terms), terms < 0
        self._dtype = dtype

    def _drawn(self, like: Any) -> Any:
        """Numbers of both signs between a half and one."""
        return drawn(self._random, like.shape)

    def _exact(self, rule: Any, args: Any, result: Any) -> Any:
        """Which elements of a result no component rounds; ``None`` for none of them."""
        exact = ~np.isfinite(result)
        if rule in _EXACT_ON_WHOLE and not self._folded:
            exact = exact | _is_whole(args, result, 1 / self._unit, elementwise=rule not in _SUMS)
        return exact if bool(exact.any()) else None

    def _noted(self, name: str, result: Any) -> Any:
        """What the first run noted for this step; nothing where moved values have taken another way."""
        step, self._step = self._step, self._step + 1
        if step >= len(self._sound) or self._sound[step][0] != name:
            return None
        exact = self._sound[step][1]
        return exact if exact is not None and exact.shape == result.shape else None

    def _moved(self, x: Any, size: float) -> Any:
        if not isinstance(x, np.ndarray) or x.dtype.kind != "f":
            return x
        x = self.base(x)
        return np.where(np.isfinite(x), x + x * self._drawn(x) * size, x)


def _is_finite(value: Any) -> bool:
    """Whether no number in an array, or in those of a sequence, is NaN or infinite."""
    if isinstance(value, (list, tuple)):
        return all(map(_is_finite, value))
    if not isinstance(value, (np.ndarray, np.generic)) or value.dtype.kind not in "fc":
        return True
    return bool(np.isfinite(np.asarray(value)).all())


def _own(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """One rounding of the result."""
    return np.abs(result)


def _multiplied(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """The same; of whole numbers it is exact."""
    return np.abs(result)


def _nonlinear(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """The same, and the argument is moved first: libraries compute functions of what they have rounded themselves."""
    return np.abs(result)


def _through_one(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """The same, and a part of one, which ``exp(x) - 1`` and approximations of ``tanh`` go through."""
    return np.abs(result) + PART_OF_ONE


def _terms_apart(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """One rounding of either term of a sum or difference: what is folded into a weight is rounded before it cancels."""
    return np.abs(args[0]) + np.abs(args[1])


def _of_sum(total: Any, squares: Any, terms: Any) -> Any:
    """The root mean square of the error of a sum in random order, in units of a rounding (``shadow.py``)."""
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
    if not terms and one.ndim == 2 and one.size and one.size < two.size + one.size:
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


def _scattered(ufunc: np.ufunc, before: Any, places: Any, updates: Any) -> Any:
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


def _order_decides(x: Any, kwargs: Any, dtype: Any) -> Any:
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


def _log_shares(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """Its logarithm: that sum's error as it is."""
    n = args[0].shape[args[1]] if args[0].ndim else 1
    return (np.abs(result) + 1) * math.sqrt(1 + n / 3)


def _after(rule: Any) -> Any:
    """A rule whose argument was moved before."""
    return {_nonlinear: _own, _through_one: _near_one}.get(rule, rule)


def _near_one(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """What ``_through_one`` says."""
    return np.abs(result) + PART_OF_ONE


def _spectrum(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """That of a sum along the axis."""
    axis = args[2] if len(args) > 2 else -1
    squares = np.sum(np.abs(args[0]) ** 2, axis, keepdims=True)
    return _of_sum(np.abs(result), np.broadcast_to(squares, result.shape), args[0].shape[axis])


def _is_whole(args: Any, result: Any, limit: float, *, elementwise: bool) -> Any:
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
    **dict.fromkeys(["divide", "reciprocal", "sqrt", "square", "fmod", "remainder"], _own),
    **dict.fromkeys(_FUNCTIONS.split(), _nonlinear),
    **dict.fromkeys(["expm1", "tanh", "sinh", "arcsinh", "arccosh", "arctanh"], _through_one),
    "multiply": _multiplied,
    "add": _terms_apart,
    "subtract": _terms_apart,
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
    "erf": _nonlinear,
    "logistic": _through_one,
    "mel_weights": None,
    "soft_max": _shares,
    "soft_plus": _through_one,
}
"""The same of functions of the module."""

_OF_MOVED = frozenset({_nonlinear, _through_one})
_SUMS = frozenset({_summed, _product, _contracted})
_EXACT_ON_WHOLE = _SUMS | {_multiplied, _terms_apart}
