"""What was fed to a model, in one line: type, shapes and range of each input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from irfuzz.execute.run_types import Value
from irfuzz.oracle.value_structure import describe, dtype_of, leaves_of

SHAPES, INPUTS, LOOKED_AT = 3, 8, 1 << 16
"""So many shapes of an input and so many inputs are told, and so many elements looked at for a range."""


def fed(samples: Sequence[Mapping[str, Value]]) -> str:
    """Such as ``x float32[1,3,48,160] in -1 to 1, length int64[1] in 160``.

    Args:
        samples: inputs by name; the first has the names. Shapes and ranges are those of all samples, and of large
            arrays some elements are looked at.
    """
    names = list(samples[0]) if samples else []
    told = [_one(name, [s[name] for s in samples if name in s]) for name in names[:INPUTS]]
    more = [f"and {len(names) - INPUTS} more"] if len(names) > INPUTS else []
    return ", ".join([*told, *more])


def _one(name: str, values: Sequence[Value]) -> str:
    if not all(isinstance(v, np.ndarray) for v in values):
        return f"{name} {describe(values[0])}"
    shapes = list(dict.fromkeys(describe(v).removeprefix(dtype_of(v)) for v in values))
    kinds = " ".join(shapes[:SHAPES]) + (" ..." if len(shapes) > SHAPES else "")
    return f"{name} {dtype_of(values[0])}{kinds}{_range(values)}"


def _range(values: Sequence[Value]) -> str:
    low, high = np.inf, -np.inf
    for value in values:
        for _, leaf in leaves_of("", value):
            if leaf.dtype.kind in "OUSc":
                return ""
            seen = leaf.reshape(-1)[:: max(1, leaf.size // LOOKED_AT)].astype(np.float64)
            seen = seen[np.isfinite(seen)]
            low, high = min(low, seen.min(initial=np.inf)), max(high, seen.max(initial=-np.inf))
    if low > high:
        return ""
    return f" in {low:g}" if low == high else f" in {low:.3g} to {high:.3g}"
