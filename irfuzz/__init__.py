"""irfuzz finds bugs in the software that runs neural networks: models enter, replayable findings leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irfuzz.errors import InternalError, InvalidProgram, IrfuzzError, SpecError, Unsupported, UsageError

if TYPE_CHECKING:
    from irfuzz.choices import Choices as Choices
    from irfuzz.generate.fresh import Generated as Generated
    from irfuzz.generate.fresh import generate as generate
    from irfuzz.generate.synthesis import Synthesis as Synthesis
    from irfuzz.generate.synthesis import synthesize as synthesize
    from irfuzz.ir.program import Program as Program
    from irfuzz.mutate.api import TracedMutant as TracedMutant
    from irfuzz.mutate.api import mutate as mutate
    from irfuzz.spec import load_specs as load_specs

__version__ = "0.1.0"

_LAZY = {
    "Choices": "irfuzz.choices",
    "Generated": "irfuzz.generate.fresh",
    "Program": "irfuzz.ir.program",
    "Synthesis": "irfuzz.generate.synthesis",
    "TracedMutant": "irfuzz.mutate.api",
    "load_specs": "irfuzz.spec",
    "synthesize": "irfuzz.generate.synthesis",
}
"""Public names that are imported when they are first used, so that ``import irfuzz`` costs next to nothing."""

__all__ = [
    "Choices",
    "Generated",
    "InternalError",
    "InvalidProgram",
    "IrfuzzError",
    "Program",
    "SpecError",
    "Synthesis",
    "TracedMutant",
    "Unsupported",
    "UsageError",
    "__version__",
    "generate",
    "load_specs",
    "mutate",
    "synthesize",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in ("mutate", "generate"):
        # The package of that name is callable; importing it makes it an attribute of this one.
        return import_module(f"irfuzz.{name}")
    if name in _LAZY:
        value = getattr(import_module(_LAZY[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'irfuzz' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
