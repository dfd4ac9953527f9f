"""Writes a program as the source of an equivalent NumPy module and its arrays."""

from functools import partial

from irfuzz.export.array.framework import ARRAY
from irfuzz.export.source import lowering
from irfuzz.export.source.module_source import ModuleSource

__all__ = ["ModuleSource", "lower", "lower_model"]

lower = partial(lowering.lower, ARRAY)
lower_model = partial(lowering.lower_model, ARRAY)
