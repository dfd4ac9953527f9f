"""irfuzz finds bugs in the software that runs neural networks and turns each into a finding that replays."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from irfuzz.errors import InternalError, InvalidProgram, IrfuzzError, SpecError, Unsupported, UsageError

if TYPE_CHECKING:
    from irfuzz.api.analyze import AnalysisReport as AnalysisReport
    from irfuzz.api.analyze import analyze as analyze
    from irfuzz.api.check import CheckOptions as CheckOptions
    from irfuzz.api.check import CheckReport as CheckReport
    from irfuzz.api.check import check as check
    from irfuzz.api.conform import ConformReport as ConformReport
    from irfuzz.api.conform import conform as conform
    from irfuzz.api.equiv import EquivReport as EquivReport
    from irfuzz.api.equiv import equiv as equiv
    from irfuzz.api.evolve import EvolutionReport as EvolutionReport
    from irfuzz.api.evolve import evolve as evolve
    from irfuzz.api.fuzz import FuzzOptions as FuzzOptions
    from irfuzz.api.fuzz import fuzz as fuzz
    from irfuzz.api.fuzz_report import FuzzReport as FuzzReport
    from irfuzz.api.ground_truth_labels import GroundTruth as GroundTruth
    from irfuzz.api.judge import judge as judge
    from irfuzz.api.progress_update import Update as Update
    from irfuzz.api.reduce import ReduceReport as ReduceReport
    from irfuzz.api.reduce import reduce as reduce
    from irfuzz.choices import Choices as Choices
    from irfuzz.execute.run_types import RunResult as RunResult
    from irfuzz.execute.run_types import Target as Target
    from irfuzz.execute.runner import Runner as Runner
    from irfuzz.findings.finding import Finding as Finding
    from irfuzz.generate.covering_program_synthesis import Synthesis as Synthesis
    from irfuzz.generate.covering_program_synthesis import synthesize as synthesize
    from irfuzz.generate.input_spec import InputSpec as InputSpec
    from irfuzz.generate.random_programs import Generated as Generated
    from irfuzz.generate.random_programs import generate as generate
    from irfuzz.ir.program import Program as Program
    from irfuzz.mutate.traced_mutant_generation import TracedMutant as TracedMutant
    from irfuzz.mutate.traced_mutant_generation import load as load
    from irfuzz.mutate.traced_mutant_generation import mutate as mutate
    from irfuzz.oracle.verdict import Verdict as Verdict
    from irfuzz.spec import load_specs as load_specs

__version__ = "0.2.0"

_LAZY = {
    "AnalysisReport": "irfuzz.api.analyze",
    "CheckOptions": "irfuzz.api.check",
    "CheckReport": "irfuzz.api.check",
    "Choices": "irfuzz.choices",
    "ConformReport": "irfuzz.api.conform",
    "EquivReport": "irfuzz.api.equiv",
    "EvolutionReport": "irfuzz.api.evolve",
    "Finding": "irfuzz.findings.finding",
    "FuzzOptions": "irfuzz.api.fuzz",
    "FuzzReport": "irfuzz.api.fuzz_report",
    "Generated": "irfuzz.generate.random_programs",
    "GroundTruth": "irfuzz.api.ground_truth_labels",
    "InputSpec": "irfuzz.generate.input_spec",
    "Program": "irfuzz.ir.program",
    "ReduceReport": "irfuzz.api.reduce",
    "RunResult": "irfuzz.execute.run_types",
    "Runner": "irfuzz.execute.runner",
    "Synthesis": "irfuzz.generate.covering_program_synthesis",
    "Target": "irfuzz.execute.run_types",
    "TracedMutant": "irfuzz.mutate.traced_mutant_generation",
    "Update": "irfuzz.api.progress_update",
    "Verdict": "irfuzz.oracle.verdict",
    "analyze": "irfuzz.api.analyze",
    "check": "irfuzz.api.check",
    "conform": "irfuzz.api.conform",
    "equiv": "irfuzz.api.equiv",
    "evolve": "irfuzz.api.evolve",
    "fuzz": "irfuzz.api.fuzz",
    "generate": "irfuzz.generate.random_programs",
    "judge": "irfuzz.api.judge",
    "load": "irfuzz.mutate.traced_mutant_generation",
    "load_specs": "irfuzz.spec",
    "mutate": "irfuzz.mutate.traced_mutant_generation",
    "reduce": "irfuzz.api.reduce",
    "synthesize": "irfuzz.generate.covering_program_synthesis",
}
"""Public names that are imported when they are first used, so that ``import irfuzz`` costs next to nothing."""

__all__ = [
    "AnalysisReport",
    "CheckOptions",
    "CheckReport",
    "Choices",
    "ConformReport",
    "EquivReport",
    "EvolutionReport",
    "Finding",
    "FuzzOptions",
    "FuzzReport",
    "Generated",
    "GroundTruth",
    "InputSpec",
    "InternalError",
    "InvalidProgram",
    "IrfuzzError",
    "Program",
    "ReduceReport",
    "RunResult",
    "Runner",
    "SpecError",
    "Synthesis",
    "Target",
    "TracedMutant",
    "Unsupported",
    "Update",
    "UsageError",
    "Verdict",
    "__version__",
    "analyze",
    "check",
    "conform",
    "equiv",
    "evolve",
    "fuzz",
    "generate",
    "judge",
    "load",
    "load_specs",
    "mutate",
    "reduce",
    "synthesize",
]


class _Package(ModuleType):
    """Keeps the public functions that have the name of a folder (``mutate``), whatever is imported first.

    When a module of such a folder is imported, Python binds the folder to its name here. The function stays, and gets
    the attributes of the folder instead, so that ``irfuzz.mutate.mutator_protocol`` is a module whoever came first.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _LAZY or not isinstance(value, ModuleType):
            super().__setattr__(name, value)
        elif name in self.__dict__:
            self.__dict__[name].__dict__ = value.__dict__


# Python's own way to customise a module (reference, "Customizing module attribute access").
sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _LAZY:
        raise AttributeError(f"module 'irfuzz' has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    if (folder := sys.modules.get(f"{__name__}.{name}")) is not None:
        value.__dict__ = folder.__dict__
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
