"""irfuzz finds bugs in the software that runs neural networks: models enter, replayable findings leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irfuzz.errors import InternalError, InvalidProgram, IrfuzzError, SpecError, Unsupported, UsageError

if TYPE_CHECKING:
    from irfuzz.choices import Choices as Choices
    from irfuzz.ir.program import Program as Program
    from irfuzz.mutate.api import TracedMutant as TracedMutant
    from irfuzz.mutate.api import mutate as mutate
    from irfuzz.spec import load_specs as load_specs

__version__ = "0.1.0"

_LAZY = {
    "Choices": "irfuzz.choices",
    "Program": "irfuzz.ir.program",
    "TracedMutant": "irfuzz.mutate.api",
    "load_specs": "irfuzz.spec",
}
"""Public names that are imported when they are first used, so that ``import irfuzz`` costs next to nothing."""

__all__ = [
    "Choices",
    "InternalError",
    "InvalidProgram",
    "IrfuzzError",
    "Program",
    "SpecError",
    "TracedMutant",
    "Unsupported",
    "UsageError",
    "__version__",
    "load_specs",
    "mutate",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "mutate":
        # The package of that name is callable; importing it makes it an attribute of this one.
        return import_module("irfuzz.mutate")
    if name in _LAZY:
        value = getattr(import_module(_LAZY[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'irfuzz' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
