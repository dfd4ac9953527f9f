"""Runs a program's module in float64 and measures how far rounding errors move what it computes.

Runs in the worker's interpreter: imports only the standard library, numpy and torch.

Rounding errors are made up as in Monte Carlo arithmetic (Parker 1997; Denis, de Oliveira Castro and Petit 2016): every
step of every operator gets one of a random sign, of the size that the program's own type gives it (``docs/oracles.md``
has the formulae). A sum gets the root mean square error of its additions, taken as independent with mean zero (Higham
and Mary 2019, model 2.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .rounding_error_perturbation import PART_OF_ONE, POOL, Met, answer, drawn, of_angles, size_of

POOL_OF_TENSORS = torch.from_numpy(POOL)


def warm() -> None:
    """Make torch single-threaded. Called once, before the first request."""
    torch.set_num_threads(1)


def handle(request: dict[str, Any], arrays: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    """Answer as ``moved_runs.answer`` says."""
    torch.set_num_threads(1)
    return answer(request, arrays, _Errors, torch.float64, lambda tensor: tensor.detach().contiguous().numpy())


# ---- made-up rounding errors ----------------------------------------------------------------


class _Errors(TorchDispatchMode):
    """Adds to the result of every rounded step an error of the size that the type of its operator allows.

    The first run, without errors, notes for every step where there is none: what is infinite or NaN, and whole numbers.

    Attributes:
        coarsest: the largest unit roundoff that was met.
        met: which special values the runs without errors and with large ones have met.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled here, and what keeps compilers out costs more than a step

    def __init__(self, module: dict[str, Any]) -> None:
        super().__init__()
        self._module = module
        self._plain = module.get("narrowed")
        module["rounding"] = self._rounding
        module["narrowed"] = self._narrowed
        module["ranged"] = self._ranged
        self.coarsest = 0.0
        self.met = Met(_is_finite, _has_nan)
        self._unit = self._ulps = self._scale = 0.0
        self._terms = self._step = 0
        self._folded, self._looking = False, True
        self._dtype = torch.float32
        self._sound: list[tuple[Any, Any]] = []
        self._random = np.random.default_rng(0)

    def run(self, tensors: Any, seed: int | None, scale: float) -> dict[str, Any]:
        """Outputs by name; without errors if ``scale`` is 0."""
        self._unit, self._scale, self._step = 0.0, scale, 0
        self._random = np.random.default_rng(seed)
        if not scale:
            self.met.fed(tensors)
        with torch.no_grad(), self:
            return self._module["forward"](*tensors)

    def _rounding(self, dtype: torch.dtype, ulps: int, terms: int) -> None:
        unit = torch.finfo(dtype).eps / 2
        self.coarsest = max(self.coarsest, unit)
        self._unit, self._ulps, self._terms, self._folded = unit, float(ulps), max(0, terms), terms < 0
        self._dtype = dtype

    def _narrowed(self, x: Any, dtype: torch.dtype) -> Any:
        assert self._plain is not None
        unit = torch.finfo(dtype).eps / 2
        self.coarsest = max(self.coarsest, unit)
        self._unit = 0.0
        self._looking = False  # at the steps of the rounding itself, which mention infinity
        result = self._plain(x, dtype)
        self._looking = True
        self._saw(result, x)
        if not self._scale:
            return result
        # Some components leave out a rounding that another one undoes. What is infinite stays so.
        size = size_of(unit, self._scale) * torch.where(torch.isfinite(result), result.abs(), 0.0)
        return result + self._drawn(result) * size

    def _ranged(self, x: Any, dtype: torch.dtype) -> Any:
        """What the module's own ``ranged`` gives, at a lower price if nothing is beyond the range."""
        limit = torch.finfo(dtype).max
        if not x.numel() or float(x.abs().amax()) <= limit:
            return x
        result = torch.where(x.abs() > limit, torch.copysign(torch.full_like(x, math.inf), x), x)
        self.met.overflowed = self.met.overflowed or not torch.equal(torch.isinf(result), torch.isinf(x))
        return result

    def _saw(self, value: Any, *made_of: Any) -> None:
        if self._looking and abs(self._scale) != 1:
            self.met.saw(value, *made_of)

    def _drawn(self, like: Any) -> Any:
        """Numbers of both signs between a half and one; of complex numbers either part is moved."""
        first = torch.as_tensor(drawn(self._random, like.shape, POOL_OF_TENSORS))
        if not like.is_complex():
            return first
        return torch.complex(first, torch.as_tensor(drawn(self._random, like.shape, POOL_OF_TENSORS)))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func.overloadpacket.__name__
        rule = RULES.get(name) if self._unit and self._ulps else None
        if rule is None or "rounding_mode" in kwargs:
            result = func(*args, **kwargs)
            if name not in _MENTIONED:
                self._saw(result, args)
            return result
        size = size_of(self._unit * self._ulps, self._scale)
        if rule in _OF_MOVED and self._scale:
            args = (self._moved(args[0], size), *args[1:])
        result = func(*args, **kwargs)
        first = result[0] if isinstance(result, tuple) else result
        if not isinstance(first, torch.Tensor) or not (first.is_floating_point() or first.is_complex()):
            return result
        if not self._scale:
            self._sound.append((func, self._exact(rule, args, first)))
            self._saw(first, args)
            return result
        exact = self._noted(func, first)
        error = self._drawn(first) * size * rule(func, args, kwargs, first, self._terms)
        if name == "prod":
            error = torch.where(_order_decides(args, self._dtype), math.nan, error)
        noisy = first + error if exact is None else torch.where(exact, first, first + error)
        self._saw(noisy, args)
        return (noisy, *result[1:]) if isinstance(result, tuple) else noisy

    def _exact(self, rule: Any, args: Any, result: Any) -> Any:
        """Which elements of a result no component rounds; ``None`` for none of them."""
        exact = ~torch.isfinite(result)
        if rule in _EXACT_ON_WHOLE and not self._folded:
            exact = exact | _is_whole(args, result, 1 / self._unit, elementwise=rule not in _SUMS)
        return exact if bool(exact.any()) else None

    def _noted(self, func: Any, result: Any) -> Any:
        """What the first run noted for this step; nothing if moved values have taken another way."""
        step, self._step = self._step, self._step + 1
        if step >= len(self._sound) or self._sound[step][0] is not func:
            return None
        exact = self._sound[step][1]
        return exact if exact is not None and exact.shape == result.shape else None

    def _moved(self, x: Any, size: float) -> Any:
        if not isinstance(x, torch.Tensor) or not x.is_floating_point():
            return x
        return torch.where(torch.isfinite(x), x + x * self._drawn(x) * size, x)


def _is_finite(value: Any) -> bool:
    """Whether no number in a tensor, or in those of a sequence or dictionary, is NaN or infinite."""
    if isinstance(value, (list, tuple)):
        return all(map(_is_finite, value))
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    if not isinstance(value, torch.Tensor) or not (value.is_floating_point() or value.is_complex()):
        return True
    return bool(torch.isfinite(value).all())


def _has_nan(value: Any) -> bool:
    """Whether a number in a tensor, or in those of a sequence or dictionary, is NaN."""
    if isinstance(value, (list, tuple)):
        return any(map(_has_nan, value))
    if isinstance(value, dict):
        return any(map(_has_nan, value.values()))
    if not isinstance(value, torch.Tensor) or not (value.is_floating_point() or value.is_complex()):
        return False
    return bool(torch.isnan(value).any())


def _own(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """One rounding of the result."""
    return result.abs()


def _multiplied(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """The same; of whole numbers it is exact."""
    return result.abs()


def _nonlinear(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """The same, and the argument is moved first: libraries compute functions of what they have rounded themselves."""
    return result.abs()


def _through_one(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """The same, and a part of one (of ``alpha``), which ``exp(x) - 1`` and approximations of ``tanh`` go through."""
    name = func.overloadpacket.__name__
    factors = [abs(a) for a in args[1:3] if isinstance(a, (int, float))] if name in ("elu", "celu") else []
    return result.abs() + PART_OF_ONE * math.prod(factors)


def _terms_apart(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """One rounding of either term of a sum or difference: what is folded into a weight is rounded before it cancels."""
    one, two = (abs(a) for a in args[:2])
    return torch.as_tensor(one + abs(kwargs.get("alpha", 1)) * two)


def _of_sum(total: Any, squares: Any, terms: int) -> Any:
    """The root mean square of the error of a sum in random order, in units of a rounding.

    Every addition rounds a partial sum. Over all orders of n terms of sum t and sum of squares q, the squares of the
    partial sums add up to n t^2 / 3 + n q / 6 on average, and each term is rounded itself.
    """
    return torch.sqrt(squares.abs() * (1 + terms / 6) + total * total * (max(1, terms) / 3))


def _squares(args: Any) -> list[Any]:
    return [a * a if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in args]


def _summed(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    n = terms or max(1, args[0].numel() // max(1, result.numel()))
    squares = func(*_squares(args), **kwargs)
    if func.overloadpacket.__name__ not in ("sum", "scatter_add"):  # a mean: of both sums 1 / n
        return _of_sum(result, squares / max(1, args[0].numel() // max(1, result.numel())), n)
    return _of_sum(result, squares, n)


def _running(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    n = terms or (args[0].shape[args[1]] if args[0].dim() else 1)
    if func.overloadpacket.__name__ == "cumprod":
        return result.abs() * math.sqrt(n)
    return _of_sum(result, func(*_squares(args), **kwargs), n)


def _product(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    last = [a for a in args if isinstance(a, torch.Tensor)][-1]
    n = terms or last.shape[-2 if last.dim() > 1 else -1]
    return _of_sum(result, func(*_squares(args), **kwargs), n)


def _convolution(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    weight, transposed = args[1], bool(args[6])
    n = terms or weight.numel() // max(1, weight.shape[1 if transposed else 0])
    return _of_sum(result, func(*_squares(args), **kwargs), n)


def _factors(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """One rounding of the result for each factor, or for each term of a sum of positive numbers."""
    return result.abs() * math.sqrt(terms or max(1, args[0].numel() // max(1, result.numel())))


def _order_decides(args: Any, dtype: torch.dtype) -> Any:
    """Which products of many factors leave the range of their type in one order and not in another."""
    x, axes = args[0], args[1:2]
    limits = torch.finfo(dtype)
    logs = torch.where(x == 0, torch.zeros_like(x), x.abs().log2())
    above, below = logs.clamp(min=0).sum(*axes, *args[2:3]), logs.clamp(max=0).sum(*axes, *args[2:3])
    zero = (x == 0).sum(*axes, *args[2:3]) > 0
    high, low = math.log2(limits.max), math.log2(limits.tiny)
    return ((above > high) & ((below < 0) | zero)) | ((below < low) & (above > 0) & ~zero)


def _shares(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """Softmax: relative, with a sum over the axis; its logarithm: that sum's error as it is."""
    n = args[0].shape[args[1]] if args[0].dim() else 1
    return (result.abs() + ("log" in func.overloadpacket.__name__)) * math.sqrt(1 + n / 3)


def _spectrum(func: Any, args: Any, kwargs: Any, result: Any, terms: int) -> Any:
    """That of sums along the axes, and of their factors, whose angles are rounded."""
    axes = tuple(args[1]) if isinstance(args[1], (list, tuple)) else (args[1],)
    terms = math.prod(args[0].shape[a] for a in axes)
    squares = (args[0].abs() ** 2).sum(axes, keepdim=True).expand(result.shape) * of_angles(terms)
    return _of_sum(result.abs(), squares, terms)


def _is_whole(args: Any, result: Any, limit: float, *, elementwise: bool) -> Any:
    """Where sums and products are of whole numbers and stay below ``limit``: they are exact in any order."""
    tensors = [a for a in args if isinstance(a, torch.Tensor) and a.is_floating_point()]
    numbers = [a for a in args if isinstance(a, float) and not a.is_integer()]
    if numbers or not tensors or result.is_complex():
        return torch.zeros((), dtype=torch.bool)
    whole = [a == torch.round(a) for a in tensors]
    if elementwise:
        return (result.abs() < limit) & whole[0] & whole[-1]
    if not all(a.numel() and bool(w.all()) for a, w in zip(tensors, whole)):  # noqa: B905 - Python 3.9
        return torch.zeros((), dtype=torch.bool)
    # Magnitudes add up to at most the number of terms times the largest product.
    most = math.prod(max(1.0, float(a.abs().amax())) for a in tensors) * max(a.numel() for a in tensors)
    return torch.full((), most < limit)


_RELATIVE = "div reciprocal sqrt rsqrt square addcmul addcdiv lerp hardswish hardsigmoid leaky_relu fmod remainder"
_FUNCTIONS = """
    exp exp2 log log2 log10 log1p sin cos tan asin acos atan cosh erf erfc pow logaddexp logit atan2
"""
_THROUGH_ONE = "elu celu selu expm1 tanh sigmoid softplus sinh asinh acosh atanh gelu mish silu logsumexp"
RULES: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(_RELATIVE.split(), _own),
    **dict.fromkeys(_FUNCTIONS.split(), _nonlinear),
    **dict.fromkeys(_THROUGH_ONE.split(), _through_one),
    "mul": _multiplied,
    **dict.fromkeys(("add", "sub", "rsub"), _terms_apart),
    **dict.fromkeys(("sum", "mean", "avg_pool1d", "avg_pool2d", "avg_pool3d", "scatter_add"), _summed),
    **dict.fromkeys(("mm", "bmm", "addmm", "baddbmm", "mv", "dot", "addmv"), _product),
    **dict.fromkeys(("prod", "linalg_vector_norm", "var", "std", "_linalg_det", "scatter_reduce"), _factors),
    **dict.fromkeys(("_softmax", "_log_softmax"), _shares),
    **dict.fromkeys(("_fft_r2c", "_fft_c2c", "_fft_c2r"), _spectrum),
    "cumsum": _running,
    "cumprod": _running,
    "convolution": _convolution,
}
"""What steps PyTorch rounds, by the name of its operator, and what their errors are relative to; others are exact."""

_MENTIONED = frozenset({"scalar_tensor", "full_like"})
"""Steps that give what the module's text says: the infinity of a comparison is no number of the program."""

_OF_MOVED = frozenset({_nonlinear, _through_one})
_SUMS = frozenset({_summed, _product, _convolution})
_EXACT_ON_WHOLE = _SUMS | {_multiplied, _terms_apart}
