"""Each warning of a program with its precondition and, if one was found, its witness."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from irfuzz.analyze.failing_inputs.fault_gradient import Gradients
from irfuzz.analyze.failing_inputs.witness_search import Witness, WitnessSearch
from irfuzz.analyze.initial_ranges import Ranges
from irfuzz.analyze.numeric_range_analysis import Alarm, Analysis, analyze
from irfuzz.analyze.raw_variances import is_never_negative
from irfuzz.analyze.safe_input_ranges import Precondition, preconditions
from irfuzz.errors import UsageError
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program

RUNTIMES = ("onnxruntime:disabled", "reference")
"""What looks for witnesses: the first that is installed."""

Progress: TypeAlias = "Callable[[WarningReport], None]"


@dataclass(frozen=True, slots=True)
class ExaminedWarning:
    """A warning.

    Attributes:
        warning: it.
        preconditions: ranges of inputs that make it safe.
        witness: inputs that trigger it, ``None`` if none was found or looked for.
        undecided: what the search saw if it found none, for people; empty if there is nothing to say.
    """

    warning: Alarm
    preconditions: tuple[Precondition, ...]
    witness: Witness | None
    undecided: str = ""


@dataclass(frozen=True, slots=True)
class WarningReport:
    """What ``irfuzz analyze`` says of a program.

    Attributes:
        analysis: ranges, warnings and counts.
        judged: the warnings, confirmed ones first.
        seconds: that the analysis took, without preconditions and witnesses.
        searched: the target that looked for witnesses; empty if none did.
        unguided: why that search went without gradients; empty if it had them or needed none.
        searches: how many of the warnings a witness was looked for.
    """

    analysis: Analysis
    judged: tuple[ExaminedWarning, ...]
    seconds: float
    searched: str
    unguided: str = ""
    searches: int = 0


def judge(
    program: Program,
    ranges: Ranges,
    *,
    domain: str = "irfuzz",
    witness_seconds: float = 3.0,
    seed: int = 0,
    progress: Progress = lambda so_far: None,
) -> WarningReport:
    """Analyze a program, then look at each warning.

    Args:
        program: it stays as it is.
        ranges: of inputs and parameters.
        domain: one of ``analysis.DOMAINS``.
        witness_seconds: for each warning; 0: no witness is looked for.
        seed: of the search.
        progress: is told what is known before each search for a witness; of the warnings that are still to be looked at
            nothing but themselves.

    Raises:
        UsageError: a range is that of nothing in the program; a witness is wanted and no runtime is installed.
    """
    started = time.perf_counter()
    found = analyze(program, ranges, domain=domain)
    for warning in [w for w in found.warnings if is_never_negative(program, w, found.ranges)]:
        found.warnings.remove(warning)
        found.safe[warning.op] += 1
    seconds = time.perf_counter() - started
    judged = [ExaminedWarning(w, (), None) for w in found.warnings]
    progress(WarningReport(found, tuple(judged), seconds, ""))
    if not found.warnings or not witness_seconds:
        judged = [ExaminedWarning(w, preconditions(program, w, ranges, domain=domain), None) for w in found.warnings]
        return WarningReport(found, tuple(judged), seconds, "")
    with Runner(resolve([_installed()])) as runner, Gradients(found.warnings) as gradients:
        search = WitnessSearch(runner, seed, witness_seconds, gradients)
        searched = f"{runner.targets[0].name} {runner.targets[0].version}"
        for done, warning in enumerate(found.warnings):
            progress(WarningReport(found, _confirmed_first(judged), seconds, searched, gradients.absent, done))
            witness = search.find(program, warning, ranges)
            safe = preconditions(program, warning, ranges, domain=domain)
            judged[done] = ExaminedWarning(warning, safe, witness, search.undecided)
    return WarningReport(found, _confirmed_first(judged), seconds, searched, gradients.absent, len(judged))


def _confirmed_first(judged: list[ExaminedWarning]) -> tuple[ExaminedWarning, ...]:
    return tuple(sorted(judged, key=lambda j: j.witness is None))


def _installed() -> str:
    for name in RUNTIMES:
        try:
            resolve([name])
        except UsageError:
            continue
        return name
    raise UsageError(
        f"no runtime to look for witnesses with ({' or '.join(RUNTIMES)}); install one or give --no-witness"
    )
