"""Runs a program's shadow with made-up rounding errors and measures how far they move its outputs, in any framework.

Runs in the worker's interpreter: imports only the standard library and numpy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .generated_module_runner import load

SMALL = 4
"""Directions in which every value is moved by one rounding error."""
WIDE = 2
"""Pairs of opposite directions in which it is moved by ``FACTOR`` of them: jumps near by show."""
FACTOR = 100.0
_WIDE = tuple((seed, sign) for seed in range(WIDE) for sign in (1.0, -1.0))
_QUICK = _WIDE[-1:]
"""Not that of the only small move, so that two directions are seen."""
_MOST = 0.01
"""Largest relative move: a hundred roundings of half precision would be another program altogether."""

PART_OF_ONE = 0.25
"""Of ``exp(x) - 1`` and approximations of ``tanh``, which go through one."""

_UNIFORM = np.random.default_rng(1987).uniform(-0.5, 0.5, 1 << 17)
POOL = _UNIFORM + np.copysign(0.5, _UNIFORM)
"""Numbers of both signs between a half and one: to cut a piece out costs less than to draw."""


class Met:
    """Which special values the runs of a module have met.

    Args:
        finite: whether no number in a value, sequence or dictionary is NaN or infinite.
        nan: whether one is NaN.

    Attributes:
        clean: nothing was NaN or infinite.
        numeric: nothing was NaN.
        overflowed: infinity came of finite numbers, or NaN did.
    """

    def __init__(self, finite: Callable[[Any], bool], nan: Callable[[Any], bool]) -> None:
        self.clean = self.numeric = True
        self.overflowed = False
        self._finite, self._nan = finite, nan

    def fed(self, values: Any) -> None:
        """Begin with what is fed to the first run."""
        self.clean, self.numeric = self._finite(values), not self._nan(values)

    def saw(self, value: Any, *made_of: Any) -> None:
        """Take note of what a step gave."""
        if self.clean:
            self.clean = self._finite(value)
            self.overflowed = self.overflowed or not self.clean
        elif not self.overflowed or self.numeric:
            if not self._finite(value) and self._finite(made_of):
                self.overflowed = True
            self.numeric = self.numeric and not self._nan(value)
        if not self.clean and self.numeric:
            self.numeric = not self._nan(value)


def drawn(random: np.random.Generator, shape: Any, pool: Any = POOL) -> Any:
    """So many of them; a part of ``pool``, which is ``POOL`` in a framework's form, unless they are too many."""
    size = math.prod(shape)
    if size <= len(POOL) // 2:
        start = int(random.integers(len(POOL) - size))
        return pool[start : start + size].reshape(shape)
    numbers = random.uniform(-0.5, 0.5, shape)
    return np.asarray(numbers + np.copysign(0.5, numbers))


def of_angles(terms: int) -> float:
    """How many times larger rounded angles make the squared error of a Fourier transform of so many terms.

    Angles go up to ``2 pi n`` if they are not reduced first, as in Bluestein's algorithm, which serves for lengths that
    are no powers of two (measured of onnxruntime: 14 roundings of 10 terms, 129 of 100).
    """
    return 1 + (2 * math.pi * terms) ** 2 / 27 / (1 + terms / 6)


def size_of(unit: float, scale: float) -> float:
    """``scale`` times an error, of which no multiple may exceed a part of the number itself."""
    return math.copysign(max(unit, min(abs(scale) * unit, _MOST)), scale)


def answer(
    request: dict[str, Any], arrays: list[Any], errors: Callable[[dict[str, Any]], Any], double: Any,
    to_array: Callable[[Any], Any],
) -> tuple[dict[str, Any], list[Any]]:  # fmt: skip
    """Compute a module without rounding errors, and with made-up ones.

    ``request`` holds ``source``, ``arrays`` (names of the first values), ``inputs`` (names of the rest), and ``quick``,
    with which a part of the directions is enough.

    Args:
        request: as said.
        arrays: the values.
        errors: of a module what runs it (``run(tensors, seed, scale)``, errors of no scale being none) and then knows
            ``coarsest``, the largest unit roundoff, and which special values it ``met``.
        double: how the module spells float64.
        to_array: an array of a tensor.

    Returns:
        ``outputs``: their names; ``width``: of how many roundings the wide moves are; ``clean``, ``numeric`` and
        ``overflowed``: as ``Met`` says; ``reshaped``: outputs whose shape or structure some move changes; ``refused``
        and a reason if the framework cannot compute it. Then for each output what it is, how far the small moves and
        how far the wide ones move its elements at most (0 or infinity for what are no floats), all three nested as the
        output is.
    """
    count = len(request["arrays"])
    inputs = dict(zip(request["inputs"], arrays[count:]))  # noqa: B905 - Python 3.9
    module = load(request["source"])
    try:
        weights = zip(request["arrays"], arrays[:count])  # noqa: B905
        doubles = {name for name, dtype in module["WEIGHT_DTYPES"].items() if dtype == double}
        tensors = module["tensors"]({name: _weight(value, name in doubles) for name, value in weights}, inputs)
        state = errors(module)
        exact = _plain(state.run(tensors, None, 0.0), to_array)
    except Exception as error:  # noqa: BLE001 - what the framework does not take has no shadow
        return {"refused": f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"}, []

    def moved(seed: int, scale: float) -> dict[str, Any] | None:
        try:
            return _plain(state.run(tensors, seed, scale), to_array)
        except Exception:  # noqa: BLE001 - what moved values do not even run with is not decided by anybody
            return None

    quick = request.get("quick", False)
    small = [moved(seed, 1.0) for seed in (range(1) if quick else range(SMALL))]
    wide = [moved(seed, sign * FACTOR) for seed, sign in (_QUICK if quick else _WIDE)]
    values: list[Any] = []
    reshaped: list[str] = []
    for name, value in exact.items():
        values.append(value)
        values += [_farthest(value, [None if r is None else r.get(name) for r in runs]) for runs in (small, wide)]
        if any(r is None or _form(r.get(name)) != _form(value) for r in (*small, *wide)):
            reshaped.append(name)
    width = min(FACTOR, _MOST / state.coarsest) if state.coarsest else FACTOR
    met = {name: getattr(state.met, name) for name in ("clean", "numeric", "overflowed")}
    return {"outputs": list(exact), "width": width, "reshaped": reshaped, **met}, values


def _weight(value: Any, double: bool) -> Any:
    """An array as the module wants it: floats in float64, bfloat16 from its bits."""
    array = np.asarray(getattr(value, "raw", value))
    if double and array.dtype == np.uint16:
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float64) if double else array


def _plain(value: Any, to_array: Callable[[Any], Any]) -> Any:
    if isinstance(value, list):
        return [_plain(item, to_array) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item, to_array) for name, item in value.items()}
    return None if value is None else to_array(value)


def _form(value: Any) -> Any:
    """Shape, or those of a sequence's items."""
    return [_form(item) for item in value] if isinstance(value, list) else getattr(value, "shape", None)


def _farthest(value: Any, runs: list[Any]) -> Any:
    """How far the elements of an output move at most; infinitely if an integer changes or a class does."""
    if value is None:
        return None
    if isinstance(value, list):
        alike = [run if isinstance(run, list) and len(run) == len(value) else [None] * len(value) for run in runs]
        return [_farthest(item, [run[i] for run in alike]) for i, item in enumerate(value)]
    farthest = np.zeros(value.shape)
    for after in runs:
        if not isinstance(after, np.ndarray) or after.shape != value.shape:
            farthest[...] = np.inf
            continue
        if value.dtype.kind != "f":
            farthest[after != value] = np.inf
            continue
        same = (after == value) | (np.isnan(after) & np.isnan(value))
        with np.errstate(invalid="ignore", over="ignore"):
            distance = np.abs(after - value)
        farthest = np.maximum(farthest, np.where(same, 0.0, np.where(np.isfinite(distance), distance, np.inf)))
    return farthest
