"""Compares targets on one program and many inputs: who disagrees, how far apart they are, and at which nodes it begins.

``comparison.sample_runs`` runs and judges, ``divergence`` puts together what has one cause, ``nodes.node_search`` looks
for the nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Value
from irfuzz.execute.runner import Runner
from irfuzz.localize.check_result import CheckResult, Located
from irfuzz.localize.comparison.ground_truth_inconsistencies import Labels, inconsistencies_of
from irfuzz.localize.comparison.sample_runs import CheckSetting, Clock, Progress, SampleComparison, clock
from irfuzz.localize.disagreement_grouping import divergences_of
from irfuzz.localize.nodes.node_search import FAILURES, Locator
from irfuzz.localize.onnx_rule_violations import broken_rules
from irfuzz.oracle.cradle_distances import Inconsistency
from irfuzz.oracle.verdict import Symptom
from irfuzz.stop_request import Interrupted

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.localize.comparison.sample_disagreements import Tolerance
    from irfuzz.localize.comparison.saved_output_targets import SavedOutputs

__all__ = ["CheckResult", "CheckSetting", "Located", "NothingCompared", "check"]

_REFUSALS = FAILURES | {Symptom.WRONG_SHAPE, Symptom.WRONG_DTYPE}
"""What a model that breaks a rule makes of targets that mind it."""


class NothingCompared(UsageError):
    """No two targets ran the program on any input."""


def check(
    runner: Runner,
    program: Program,
    samples: Sequence[Mapping[str, Value]],
    *,
    base: str = "",
    tolerance: Tolerance | None = None,
    labels: Labels | None = None,
    fail_fast: bool = False,
    always_map: bool = False,
    locate: bool = True,
    causal: bool = False,
    keep: bool = False,
    saved: Sequence[SavedOutputs] = (),
    progress: Progress | None = None,
    setting: CheckSetting | None = None,
    so_far: Callable[[Callable[[], CheckResult | None]], None] | None = None,
) -> CheckResult:
    """Run a program on every sample and target, compare, and find the nodes at which the targets part.

    Args:
        runner: its targets are compared.
        program: stays as it is.
        samples: inputs by name.
        base: name of the target that the others are compared with; the first one that runs if empty.
        tolerance: fixed bounds; if omitted, the numeric oracle derives them (``irfuzz.oracle.judge``).
        labels: the truth of each sample, for CRADLE's distances.
        fail_fast: stop at the first sample on which targets disagree.
        always_map: localise the largest difference even if all agree.
        locate: localise disagreements.
        causal: look for the parameters that cause them too.
        keep: keep all outputs.
        saved: what other targets computed before; compared like the others, but nothing is located in them.
        progress: told what is under way, how much of it is done, and of how much.
        setting: witnesses, limits and time; its other fields are replaced by the arguments above.
        so_far: is given a function that makes a report of what is known so far, from any thread; it returns ``None``
            before anything was compared.

    Returns:
        What is known when all is done, or when the time is up (``CheckResult.stopped``).

    Raises:
        NothingCompared: no two targets run the model on any sample.
        UsageError: there is no such base.
    """
    whole = replace(
        setting or CheckSetting(), base=base, tolerance=tolerance, fail_fast=fail_fast, keep=keep, saved=saved,
        labelled="" if labels is None else labels.output,
    )  # fmt: skip
    tell = progress or _silent
    bench = SampleComparison(runner, program, samples, whole)
    if so_far is not None:
        so_far(lambda: _report(runner, bench, len(samples), labels, "stopped by Ctrl-C") if bench.compared else None)
    with clock(whole.seconds) as time_left:
        stopped = _in_time(time_left, lambda: bench.run(tell, lambda: time_left.over))
        if not bench.compared:
            raise NothingCompared(_why_nothing(bench, program, samples, stopped))
        report = _report(runner, bench, len(samples), labels, stopped)
        if not stopped:
            report = _with_broken(report, program, samples, drawn=whole.drawn)
        if stopped or report.broken or not (locate or always_map):
            return report
        locator = Locator(runner, program, samples, causal, whole.locating, whole.known_faults, tell)
        found: list[CheckResult] = []
        stopped = _in_time(
            time_left, lambda: found.append(_located(report, bench, locator, locate=locate, always=always_map))
        )
        if not found:
            locator.left_out.append("where targets part was not looked for to the end")
    return replace(found[0] if found else report, left_out=tuple(locator.left_out), stopped=stopped)


def _silent(what: str, done: int, of: int) -> None:
    """Tell nobody."""


def _in_time(time_left: Clock, do: Callable[[], None]) -> str:
    """Do something; why it did not come to its end, empty if it did."""
    try:
        do()
    except Interrupted:
        if not time_left.over:
            raise
    return "the time is up" if time_left.over else ""


def _why_nothing(
    bench: SampleComparison, program: Program, samples: Sequence[Mapping[str, Value]], stopped: str
) -> str:
    """Why there is no report."""
    if stopped:
        return f"{stopped}, and none of {len(samples)} inputs was compared by then; give more --time"
    why = bench.refused()
    if not bench.nowhere:
        return f"fewer than two targets run the model, so nothing can be compared ({why})"
    broken = broken_rules(program, samples[min(bench.nowhere)])
    rule = f"; it breaks a rule of ONNX: {broken[0]}" if broken else ""
    return f"no target runs the model{rule} ({why})"


def _with_broken(
    report: CheckResult, program: Program, samples: Sequence[Mapping[str, Value]], *, drawn: bool
) -> CheckResult:
    """The report with the rules that the model breaks, if targets refuse it or give another kind of output.

    Of inputs that were drawn only some may have sizes that break one: that is not the model's fault.
    """
    refusing = {d.sample for d in report.disagreements if d.symptom in _REFUSALS and not d.limit}
    if not refusing or (drawn and len(refusing) < report.samples):
        return report
    broken = broken_rules(program, samples[min(refusing)])
    return replace(report, broken=broken) if broken else report


def _report(runner: Runner, bench: SampleComparison, wanted: int, labels: Labels | None, stopped: str) -> CheckResult:
    """What is known by now; asks no worker, so any thread may call it."""
    targets = tuple(t for t in bench.own.values() if t.name not in bench.absent)
    return CheckResult(
        targets,
        {**bench.absent, **{a.target.name: a.why_not for a in runner.absent}},
        bench.done,
        wanted,
        tuple(bench.found),
        divergences_of(bench.found, targets, [t.name for t in bench.asked]),
        _inconsistencies(bench, labels),
        (),
        {n: f for n, (f, _) in bench.farthest.items()},
        bench.base,
        bench.outputs if bench.keeps else {},
        bench.measures.ranges,
        bench.measures.distances,
        accepting=tuple(t.name for t in targets if t.name in bench.through),
        nowhere=dict(bench.nowhere),
        witnesses=tuple(t.name for t in bench.asked),
        stopped=stopped,
    )


def _inconsistencies(bench: SampleComparison, labels: Labels | None) -> tuple[Inconsistency, ...]:
    if labels is None:
        return ()
    measured = {name: list(bench.outputs.get(name, {}).get(labels.output, ())) for name in bench.own}
    return tuple(inconsistencies_of(measured, labels, bench.done))


def _located(
    report: CheckResult, bench: SampleComparison, locator: Locator, *, locate: bool, always: bool
) -> CheckResult:
    """The report with the nodes at which targets part."""
    farthest = {n: s for n, (_, s) in bench.farthest.items()}
    if locate and report.agree:
        report, located = locator.decided_alone(report)
        if located:
            told = divergences_of(report.disagreements, report.targets, report.witnesses)
            return replace(report, located=located, divergences=told)
    return replace(report, located=locator.located(report, farthest, always=always))
