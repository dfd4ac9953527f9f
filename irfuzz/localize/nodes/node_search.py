"""For the worst disagreement of each component: which node differs alone, and how the hidden states part."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from irfuzz.execute.intermediate_values import has_inner, run_tapped
from irfuzz.execute.run_types import Exit, RunResult, Target, Value
from irfuzz.execute.runner import Runner
from irfuzz.localize.check_result import CheckResult, Located
from irfuzz.localize.comparison.sample_disagreements import Disagreement
from irfuzz.localize.nodes.causal_testing import CausalTest
from irfuzz.localize.nodes.control_flow_unrolling import unfold_faithfully
from irfuzz.localize.nodes.localization_map import localise, more_deltas
from irfuzz.localize.nodes.single_node_replay import feeds, replay
from irfuzz.oracle.verdict import Symptom

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

FAILURES = frozenset({Symptom.CRASH, Symptom.PROTOCOL, Symptom.REJECTION, Symptom.HANG, Symptom.MEMORY})
"""Symptoms of targets that gave no values at all."""


@dataclass(slots=True)
class Locator:
    """Looks for nodes until its time is over.

    Attributes:
        runner: has the targets.
        program: stays as it is.
        samples: inputs by name.
        causal: look for the parameters that cause it, too.
        seconds: for all of it.
        first: operators by component whose nodes are looked at before all others, because they are known to be wrong.
        progress: is told what is under way, how much is done, and of how much.
        left_out: what there was no time for; filled in.
    """

    runner: Runner
    program: Program
    samples: Sequence[Mapping[str, Value]]
    causal: bool = False
    seconds: float = math.inf
    first: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    progress: Callable[[str, int, int], None] = lambda _what, _done, _of: None
    left_out: list[str] = field(default_factory=list[str])
    _end: float = field(init=False, default=math.inf)

    def __post_init__(self) -> None:
        """Start the clock."""
        self._end = time.monotonic() + self.seconds

    @property
    def over(self) -> bool:
        """Whether the time is up that it was given when it was made."""
        return time.monotonic() >= self._end

    def located(self, report: CheckResult, farthest: Mapping[str, int], *, always: bool) -> tuple[Located, ...]:
        """The nodes at which the targets part, for the worst disagreement of each component.

        Args:
            report: what disagrees.
            farthest: number of the sample with the largest difference, by target.
            always: locate the largest difference even if all agree.
        """
        live = {t.name: t for t in self.runner.targets}
        found: list[Located] = []
        for base, target, sample in list(_pairs(report, farthest, live, always=always)):
            if self.over:
                self.left_out.append(f"where {target} and {base} part was not looked for")
                continue
            symptom = next((d.symptom for d in report.disagreements if d.target == target and d.sample == sample), None)
            found.append(self._locate(sample, live[base], live[target], failed=symptom in FAILURES))
        return tuple(found)

    def decided_alone(self, report: CheckResult) -> tuple[CheckResult, tuple[Located, ...]]:
        """The report with undecided differences decided if a node before the output differs alone.

        What ONNX leaves open for some values, or a rounding error decides, is open as long as the values inside are not
        known. A node that is replayed alone has known inputs, the same on both targets. What becomes of NaN and
        infinities stays undecided.
        """
        live = {t.name: t for t in self.runner.targets}
        decided: dict[str, str] = {}
        located: list[Located] = []
        open_ones = [d for d in report.disagreements if d.undecided and d.symptom not in FAILURES]
        for d in sorted(open_ones, key=lambda d: (-d.distance, d.sample)):
            base = d.base if d.base in live and d.base != d.target else report.base
            if d.target in decided or d.target not in live or base not in live or base == d.target:
                continue
            if self.over:
                self.left_out.append(f"whether a node decides what {d.target} computes was not looked for")
                decided[d.target] = ""
                continue
            found = self._locate(d.sample, live[base], live[d.target], failed=False)
            sure = [r for r in found.replayed if r.faulty and math.isfinite(r.distance) and not r.specials]
            looked_at = self.program if found.unfolded is None else found.unfolded.program
            faulty = next((r for r in sure if feeds(looked_at, r.name, d.output)), None)
            decided[d.target] = "" if faulty is None else f"alone, {faulty.name} ({faulty.op}): {faulty.detail}"
            located += [found] if faulty is not None else []
        told = tuple(_decided(d, decided) for d in report.disagreements)
        return replace(report, disagreements=told), tuple(located)

    def _locate(self, sample: int, base: Target, target: Target, *, failed: bool) -> Located:
        what = f"locating where {target.name} and {base.name} part"
        self.progress(what, 0, 0)
        inputs = self.samples[sample]
        unfolded = unfold_faithfully(self.runner, self.program, inputs, base, target)
        program = self.program if unfolded is None else unfolded.program
        # Of a target that gives no outputs there is no map; running it again with more outputs only costs time.
        both = [base] if failed else [base, target]
        ran = run_tapped(self.runner, program, inputs, both, apart=True, stopping=lambda: self.over)
        one, two = ran[0], ran[-1]
        known = {**inputs, **one.outputs, **one.taps}
        why_not = f"{target.name} gave no outputs" if failed else ""
        for result in ran:
            why_not = why_not or _no_states(program, result)
        made = None
        if not why_not:
            more = more_deltas(self.runner, program, inputs, (base, target), lambda: self.over)
            made = localise(program, one, two, more)
        replayed = tuple(
            replay(
                self.runner, program, known, base, target, stopping=lambda: self.over,
                first=self.first.get(target.component, frozenset()),
                progress=lambda done, of: self.progress(what, done, of),
            )
        )  # fmt: skip
        if self.over:
            self.left_out.append(f"{what} ended after {self.seconds:g} s, with {len(replayed)} nodes run alone")
        causes = CausalTest(self.runner, base, target).causes(program, inputs) if self.causal else None
        return Located(base.name, target.name, sample, made, replayed, why_not, causes, unfolded)


def _decided(d: Disagreement, decided: Mapping[str, str]) -> Disagreement:
    if not d.undecided or d.symptom in FAILURES or not decided.get(d.target):
        return d
    return replace(d, undecided=False, what=f"{d.what}; {decided[d.target]}")


def _no_states(program: Program, result: RunResult) -> str:
    if result.exit is not Exit.OK or (not result.taps and has_inner(program)):
        return f"{result.target.name} gave no hidden states: {result.error or 'it refuses them as outputs'}"
    return ""


def _pairs(
    report: CheckResult, farthest: Mapping[str, int], live: Mapping[str, Target], *, always: bool
) -> Iterator[tuple[str, str, int]]:
    """Base, target and sample of what is worth localising: the most inconsistent of each component."""
    component = {t.name: t.component for t in live.values()}
    seen: set[str] = set()
    decided = sorted((d for d in report.disagreements if not d.undecided), key=lambda d: (-d.distance, d.sample))
    for d in decided:
        if d.target in component and d.base in component and d.base != d.target and component[d.target] not in seen:
            seen.add(component[d.target])
            pair = [i for i in report.inconsistencies if set(i.targets) == {d.target, d.base} and len(i.triggering)]
            yield d.base, d.target, int(np.argmax(pair[0].distances)) if pair else d.sample
    if seen:
        return
    for i in report.inconsistencies:
        if i.inconsistent and live.keys() >= set(i.targets):
            a, b = i.targets if i.targets[1] != report.base else i.targets[::-1]
            yield a, b, int(np.argmax(i.distances))
            return
    ranked = sorted((-far, name) for name, far in report.farthest.items() if name in live)
    if always and ranked and report.base in live:
        name = ranked[0][1]
        yield report.base, name, farthest[name]
