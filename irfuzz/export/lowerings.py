"""The frameworks whose source irfuzz writes, and what lowers a program to each; no framework is imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from irfuzz.export import keras, tensorflow, torch
from irfuzz.export.source.module import ModuleSource
from irfuzz.ir.program import Program

LOWERINGS: Mapping[str, Callable[[Program], ModuleSource]] = {
    "torch": torch.lower,
    "tensorflow": tensorflow.lower,
    "keras": keras.lower,
}
"""By component. Each raises ``Unsupported`` where its framework cannot express the program exactly."""
