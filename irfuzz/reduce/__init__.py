"""Makes a failing case small: the smallest program and inputs that still fail."""

from __future__ import annotations

from irfuzz.reduce.pass_loop import reduce_case
from irfuzz.reduce.session import Reduced, Still, ValuesOf

__all__ = ["Reduced", "Still", "ValuesOf", "reduce_case"]
