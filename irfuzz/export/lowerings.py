"""The frameworks whose source irfuzz writes, and what lowers a program to each; no framework is imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from irfuzz.export import array, jax, keras, tensorflow, torch
from irfuzz.export.array.source_conventions import ARRAY
from irfuzz.export.source.framework_description import FrameworkDescription
from irfuzz.export.source.module_source import ModuleSource
from irfuzz.export.torch.source_conventions import TORCH
from irfuzz.ir.program import Program

LOWERINGS: Mapping[str, Callable[[Program], ModuleSource]] = {
    "torch": torch.lower,
    "tensorflow": tensorflow.lower,
    "keras": keras.lower,
    "numpy": array.lower,
    "jax": jax.lower,
}
"""By component. Each raises ``Unsupported`` where its framework cannot express the program exactly."""

SHADOWED: Mapping[str, FrameworkDescription] = {"torch": TORCH, "numpy": ARRAY}
"""Those in which shadows (``irfuzz.export.source.float64_shadow_source``) are computed, by component."""
