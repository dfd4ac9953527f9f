"""Writes a program as the source of an equivalent PyTorch module, and its arrays."""

from functools import partial

from irfuzz.export.source import lowering
from irfuzz.export.source.module_source import ModuleSource
from irfuzz.export.torch.framework import TORCH

__all__ = ["ModuleSource", "lower", "lower_model"]

lower = partial(lowering.lower, TORCH)
lower_model = partial(lowering.lower_model, TORCH)
