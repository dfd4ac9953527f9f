"""Plainer data: a session enters; inputs and weights become zeros, ones or short numbers where the fault stays."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from irfuzz.errors import InvalidProgram
from irfuzz.reduce.session import Session, is_number

SIMPLER: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "zeros": np.zeros_like,
    "ones": np.ones_like,
    "ramp": lambda a: (np.arange(a.size).reshape(a.shape) % 7).astype(a.dtype),
    "integers": lambda a: np.nan_to_num(np.rint(a.astype(np.float64)), posinf=0, neginf=0).astype(a.dtype),
    "two digits": lambda a: np.array([float(f"{x:.2g}") for x in a.astype(np.float64).ravel()]).reshape(a.shape).astype(a.dtype),
}
"""Replacements, plainest first; each keeps dtype and shape."""

MAX_ELEMENTS = 1 << 16
"""Larger arrays are not rounded one by one."""


def simplify_inputs(session: Session) -> bool:
    """Plainer graph inputs."""
    found = False
    for name in list(session.inputs):
        for make in SIMPLER.values():
            value = session.inputs.get(name)
            if value is None or not is_number(value) or not isinstance(value, np.ndarray) or value.size > MAX_ELEMENTS:
                break
            plain = _made(make, value)
            if plain is None:
                continue
            if np.array_equal(plain, value):
                break
            if session.attempt(session.program.clone(), {**session.inputs, name: plain}):
                found = True
                break
    return found


def simplify_weights(session: Session) -> bool:
    """Plainer initializers of floating-point numbers; integers are sizes and indices, and stay."""
    found = False
    for name in list(session.program.graph.initializers):
        for make in SIMPLER.values():
            value = session.program.value(name)
            array = None if value is None else session.program.const_array(value)
            if array is None or array.dtype.kind != "f" or array.size > MAX_ELEMENTS:
                break
            plain = _made(make, array)
            if plain is None:
                continue
            if np.array_equal(plain, array):
                break
            candidate = session.program.clone()
            target = candidate.value(name)
            assert target is not None
            try:
                candidate.set_constant(target, plain)
            except InvalidProgram:
                continue
            if session.attempt(candidate):
                found = True
                break
    return found


def _made(make: Callable[[np.ndarray], np.ndarray], array: np.ndarray) -> np.ndarray | None:
    with np.errstate(all="ignore"):
        try:
            return np.asarray(make(array), dtype=array.dtype)
        except (ValueError, TypeError):
            return None  # the dtype cannot hold it
