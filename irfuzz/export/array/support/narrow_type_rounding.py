# pyright: basic
"""What a program in wider types keeps of its narrow ones: where they round on purpose, and where they end."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from irfuzz.export.array.support.dtype_conversions import cast, doubled


def rounding(dtype, ulps, terms):
    """Say what the next operator's results would be rounded to; whoever makes up rounding errors listens here."""


def narrowed(x, dtype):
    """``x`` as a Cast to ``dtype`` leaves it, in float64."""
    return doubled(cast(x, dtype))


def ranged(x, dtype):
    """``x`` with infinities for what is beyond the numbers of ``dtype``."""
    return np.where(np.abs(x) > float(ml_dtypes.finfo(dtype).max), np.copysign(np.inf, x), x)
