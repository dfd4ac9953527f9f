# pyright: basic
"""What a program in wider types keeps of its narrow ones: where they round on purpose, and where they end."""

from __future__ import annotations

import torch

from irfuzz.export.torch.support.dtype_conversions import cast


def rounding(dtype, ulps, terms):
    """Say what the next operator's results would be rounded to; whoever makes up rounding errors listens here."""


def narrowed(x, dtype):
    """``x`` as a Cast to ``dtype`` leaves it, in float64."""
    return cast(x, dtype).double()


def ranged(x, dtype):
    """``x`` with infinities for what is beyond the numbers of ``dtype``."""
    limit = torch.finfo(dtype).max
    return torch.where(torch.abs(x) > limit, torch.copysign(torch.full_like(x, torch.inf), x), x)
