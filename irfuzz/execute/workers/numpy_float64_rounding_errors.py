"""Computes a program's NumPy module in float64, and how far made-up rounding errors move what it gives.

Runs in the worker's interpreter: imports only the standard library, numpy and ml_dtypes.
``torch_float64_rounding_errors.py`` does the same with PyTorch, and has the sources of the method; here a step is a
ufunc, or one of a few functions of numpy or of the module that stand for a kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

from .numpy_rounding_rules import (
    EXACT_ON_WHOLE,
    FUNCTIONS,
    KERNELS,
    OF_MOVED,
    RULES,
    SUMS,
    after,
    is_whole,
    log_shares,
    order_decides,
    scattered,
)
from .rounding_error_perturbation import Met, answer, drawn, size_of


def handle(request: dict[str, Any], arrays: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    """Answer as ``moved_runs.answer`` says."""
    with np.errstate(all="ignore"):
        return answer(request, arrays, _Errors, np.float64, np.asarray)


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
        met: which special values the runs without errors and with large ones have met.
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
        # Its functions copy: what is computed goes through ufuncs, and an infinity that they pad with is no number.
        module["np"] = _Library(np, self.adopt)
        module["rounding"] = self._rounding
        for name, rule in FUNCTIONS.items():
            if name in module:
                module[name] = self._kernel(name, module[name], rule)
        module["ranged"] = self._ranged
        for name in ("narrowed", "cast"):
            if name in module:
                module[name] = self._exactly(module[name], moved=name == "narrowed")
        self.coarsest = 0.0
        self.met = Met(_is_finite, _has_nan)
        self._unit = self._ulps = self._scale = 0.0
        self._terms = self._step = 0
        self._folded = False
        self._dtype: Any = np.float32
        self._sound: list[tuple[str, Any]] = []
        self._random = np.random.default_rng(0)

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
        """Outputs by name; without errors if ``scale`` is 0."""
        self._unit, self._scale, self._step = 0.0, scale, 0
        self._random = np.random.default_rng(seed)
        weights, inputs = ({name: self.adopt(value) for name, value in given.items()} for given in tensors)
        if not scale:
            self.met.fed([*weights.values(), *inputs.values()])
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
            self._saw(result, args)
            return self._given(result)
        size = size_of(self._unit * self._ulps, self._scale)
        if rule in OF_MOVED and self._scale:
            args = [self._moved(args[0], size), *args[1:]]
        result = np.asarray(func(*args, **kwargs))
        if result.dtype.kind not in "fc":
            return self._given(result)
        if not self._scale:
            self._sound.append((name, self._exact(rule, args, result)))
            self._saw(result, args)
            return self._given(result)
        exact = self._noted(name, result)
        error = self._drawn(result) * size * rule(func, args, kwargs, result, self._terms)
        if name == "multiply.reduce":
            error = np.where(order_decides(args[0], kwargs, self._dtype), np.nan, error)
        noisy = result + error if exact is None else np.where(exact, result, result + error)
        self._saw(noisy, args)
        return self._given(noisy)

    def _saw(self, value: Any, *made_of: Any) -> None:
        if abs(self._scale) != 1:
            self.met.saw(value, *made_of)

    def _given(self, result: Any) -> Any:
        return self.adopt(np.asarray(result) if isinstance(result, np.generic) else result)

    def _at(self, ufunc: np.ufunc, args: list[Any]) -> None:
        """``ufunc.at``: elements combined into an array in place, each with an error for every element that it took."""
        target, places, updates = args
        before = np.array(target)

        def combined(*_args: Any) -> Any:
            ufunc.at(target, places, updates)
            return np.array(target)

        rule = scattered(ufunc, before, places, updates) if ufunc in (np.add, np.multiply) else None
        noisy = self.step(f"{ufunc.__name__}.at", rule, combined, [before], {})
        target[...] = self.base(noisy)

    def _kernel(self, name: str, function: Any, rule: Any) -> Any:
        """A function of the module as one step, inside of which nothing is rounded."""

        def call(*args: Any, **kwargs: Any) -> Any:
            unit, self._unit = self._unit, 0.0
            try:
                if unit and self._ulps and self._scale and rule in OF_MOVED:
                    size = size_of(unit * self._ulps, self._scale)
                    args = tuple(self._moved(a, size) if isinstance(a, np.ndarray) else a for a in args)
                result = function(*args, **kwargs)
            finally:
                self._unit = unit
            if isinstance(result, tuple):
                return tuple(
                    self.step(f"{name}.{i}", log_shares if i else rule, lambda *_, r=r: r, self.base(list(args)), {})
                    for i, r in enumerate(self.base(result))
                )
            base = self.base(result)
            plain_rule = None if rule is None else after(rule)
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
            self._saw(result, x)
            own = float(ml_dtypes.finfo(dtype).eps) / 2
            self.coarsest = max(self.coarsest, own)
            if not self._scale:
                return result
            # Some components leave out a rounding that another one undoes. What is infinite stays so.
            size = size_of(own, self._scale) * np.where(np.isfinite(result), np.abs(result), 0.0)
            return result + self._drawn(result) * size

        return call

    def _ranged(self, x: Any, dtype: Any) -> Any:
        """What the module's own ``ranged`` gives."""
        plain = self.base(x)
        beyond = np.abs(plain) > float(ml_dtypes.finfo(dtype).max)
        if not beyond.any():
            return x
        result = np.where(beyond, np.copysign(np.inf, plain), plain)
        if abs(self._scale) != 1:
            self.met.saw(result, plain)
        self.met.overflowed = self.met.overflowed or bool(np.isfinite(plain[beyond]).any())
        return self.adopt(result)

    def _rounding(self, dtype: Any, ulps: int, terms: int) -> None:
        unit = float(ml_dtypes.finfo(dtype).eps) / 2
        self.coarsest = max(self.coarsest, unit)
        self._unit, self._ulps, self._terms, self._folded = unit, float(ulps), max(0, terms), terms < 0
        self._dtype = dtype

    def _drawn(self, like: Any) -> Any:
        """Numbers of both signs between a half and one; of complex numbers either part is moved."""
        first = drawn(self._random, like.shape)
        return first + 1j * drawn(self._random, like.shape) if like.dtype.kind == "c" else first

    def _exact(self, rule: Any, args: Any, result: Any) -> Any:
        """Which elements of a result no component rounds; ``None`` for none of them."""
        exact = ~np.isfinite(result)
        if rule in EXACT_ON_WHOLE and not self._folded:
            exact = exact | is_whole(args, result, 1 / self._unit, elementwise=rule not in SUMS)
        return exact if bool(exact.any()) else None

    def _noted(self, name: str, result: Any) -> Any:
        """What the first run noted for this step; nothing if moved values have taken another way."""
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


def _has_nan(value: Any) -> bool:
    """Whether a number in an array, or in those of a sequence, is NaN."""
    if isinstance(value, (list, tuple)):
        return any(map(_has_nan, value))
    if not isinstance(value, (np.ndarray, np.generic)) or value.dtype.kind not in "fc":
        return False
    return bool(np.isnan(np.asarray(value)).any())
