"""Plainer data: lets inputs and weights become zeros, ones or short numbers, if the fault stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from irfuzz.execute.run_types import Value
from irfuzz.ir.program import Program
from irfuzz.reduce.session import Change, NotPossible, Session, is_number

SIMPLER: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "zeros": np.zeros_like,
    "ones": np.ones_like,
    "ramp": lambda a: (np.arange(a.size).reshape(a.shape) % 7).astype(a.dtype),
    "integers": lambda a: np.nan_to_num(np.rint(a.astype(np.float64)), posinf=0, neginf=0).astype(a.dtype),
    "two digits": lambda a: (
        np.array([float(f"{x:.2g}") for x in a.astype(np.float64).ravel()]).reshape(a.shape).astype(a.dtype)
    ),
}
"""Replacements, plainest first; each keeps dtype and shape."""

MAX_ELEMENTS = 1 << 16
"""Larger arrays are not rounded one by one."""


def simplify_inputs(session: Session) -> bool:
    """Plainer graph inputs: zeros, ones, a ramp, whole numbers or numbers of two digits, the plainest that still fail.

    All inputs are tried at once first, then each alone. Types and shapes stay; only tensors of numbers of at most
    ``MAX_ELEMENTS`` elements change.
    """
    return _simplify(session, lambda: {n: v for n, v in session.inputs.items() if is_number(v)}, _feed)


def simplify_weights(session: Session) -> bool:
    """Plainer initializers; those of int64 are mostly sizes and positions, and stay.

    Replacements and order are those of ``simplify_inputs``.
    """
    return _simplify(session, lambda: _weights(session.program), _fill)


def _weights(program: Program) -> dict[str, np.ndarray]:
    found = {name: program.const_array(value) for name, value in program.graph.initializers.items()}
    return {name: array for name, array in found.items() if is_number(array) and array.dtype != np.int64}


def _feed(_program: Program, arrays: Mapping[str, np.ndarray]) -> Mapping[str, Value]:
    return arrays


def _fill(program: Program, arrays: Mapping[str, np.ndarray]) -> None:
    for name, array in arrays.items():
        value = program.value(name)
        if value is None:
            raise NotPossible
        program.set_constant(value, array)


def _simplify(
    session: Session,
    current: Callable[[], dict[str, np.ndarray]],
    change: Callable[[Program, Mapping[str, np.ndarray]], Mapping[str, Value] | None],
) -> bool:
    """All arrays at once if there are several, then each by itself."""
    found = False
    if len(current()) > 1:
        found = session.first(_plainer(current(), change))
    for name in current():
        array = current().get(name)
        if array is not None:
            found |= session.first(_plainer({name: array}, change))
    return found


def _plainer(
    arrays: Mapping[str, np.ndarray],
    change: Callable[[Program, Mapping[str, np.ndarray]], Mapping[str, Value] | None],
) -> Iterator[Change]:
    """Changes that give arrays plainer elements, the plainest first."""
    for make in SIMPLER.values():
        made = {name: _made(make, array) for name, array in arrays.items() if not _plain_as(make, array)}
        plain = {name: array for name, array in made.items() if array is not None}
        if plain:
            yield lambda program, plain=plain: change(program, plain)


def _plain_as(make: Callable[[np.ndarray], np.ndarray], array: np.ndarray) -> bool:
    """True if an array is as plain as what ``make`` gives, or plainer."""
    order = list(SIMPLER.values())
    return any(_same(_made(one, array), array) for one in order[: order.index(make) + 1])


def _same(a: np.ndarray | None, b: np.ndarray) -> bool:
    return a is not None and a.tobytes() == b.tobytes()


def _made(make: Callable[[np.ndarray], np.ndarray], array: np.ndarray) -> np.ndarray | None:
    """The plainer array; ``None`` if it is too large to try or the dtype cannot hold it."""
    if not 0 < array.size <= MAX_ELEMENTS:
        return None
    with np.errstate(all="ignore"):
        try:
            plain = np.asarray(make(array), dtype=array.dtype)
        except (ValueError, OverflowError):
            return None
    if array.dtype.kind in "iu":
        # They may be positions: nothing beyond those that are known to be legal, but 0.
        plain = np.where(plain == 0, 0, np.clip(plain, array.min(), array.max())).astype(array.dtype)
    return plain
