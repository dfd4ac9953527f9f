"""One program and many inputs enter, where the targets disagree leaves, and at which nodes the disagreement begins."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from irfuzz.errors import UsageError
from irfuzz.execute.runner import Runner
from irfuzz.execute.taps import has_inner, run_tapped
from irfuzz.execute.together import Task
from irfuzz.execute.types import Exit, RunResult, Target, Value
from irfuzz.localize.audee import Causal, Causes
from irfuzz.localize.compare import Disagreement, Tolerance, beyond, ends, farthest_of, judged
from irfuzz.localize.hidden import Map, localise
from irfuzz.localize.labelled import Labels, inconsistencies_of
from irfuzz.localize.replay import Replayed, feeds, replay
from irfuzz.localize.saved import Saved
from irfuzz.localize.unfold import Unfolded, unfold_faithfully
from irfuzz.oracle.cradle import Inconsistency

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

CHUNK = 32
"""So many inputs travel at once."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Located:
    """Where two targets part.

    Attributes:
        base: whose values every node got in the replay.
        target: who is off.
        sample: on which input.
        map: CRADLE's; ``None`` where hidden states could not be read (``why_not``).
        replayed: each node alone, the faulty ones first.
        why_not: why there is no map.
        causes: AUDEE's, where they were asked for.
        unfolded: the program whose nodes are told, if bodies and functions were written out for this input.
    """

    base: str
    target: str
    sample: int
    map: Map | None
    replayed: tuple[Replayed, ...]
    why_not: str = ""
    causes: Causes | None = None
    unfolded: Unfolded | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found.

    Attributes:
        targets: those that ran, with versions.
        absent: reasons by target name of those that could not run the model.
        samples: how many inputs were run.
        disagreements: of samples and targets.
        inconsistencies: CRADLE's, of every pair of targets; empty without labels.
        located: for the worst disagreement of each component.
        farthest: largest difference of each target to the base, by name.
        base: the target that the others are compared with.
        outputs: by target and output, one value a sample; only where they were asked for.
    """

    targets: tuple[Target, ...]
    absent: Mapping[str, str]
    samples: int
    disagreements: tuple[Disagreement, ...]
    inconsistencies: tuple[Inconsistency, ...]
    located: tuple[Located, ...]
    farthest: Mapping[str, float]
    base: str
    outputs: Mapping[str, Mapping[str, list[Value]]]

    @property
    def agree(self) -> bool:
        """Whether all targets compute the same, as far as that is defined."""
        return not any(not d.undecided for d in self.disagreements) and not any(
            i.inconsistent for i in self.inconsistencies
        )


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
    saved: Sequence[Saved] = (),
    progress: Progress | None = None,
) -> Report:
    """Run a program on every sample and target, compare, and find where the targets part.

    Args:
        runner: its targets are compared.
        program: stays as it is.
        samples: inputs by name.
        base: name of the target that the others are compared with; the first one where empty.
        tolerance: fixed bounds; where omitted, the numeric oracle derives them (``irfuzz.oracle.judge``).
        labels: the truth of each sample, for CRADLE's distances.
        fail_fast: stop at the first sample on which targets disagree.
        always_map: localise the largest difference even where all agree.
        locate: localise disagreements.
        causal: look for the parameters that cause them too.
        keep: keep all outputs.
        saved: what other targets computed before; compared like the others, but nothing is located in them.
        progress: told how many samples are done.

    Raises:
        UsageError: fewer than two targets run the model.
    """
    own = {t.name: t for t in (*runner.targets, *(one.target for one in saved))}
    main = own.get(base or next(iter(own)))
    if main is None:
        raise UsageError(f"base {base!r} is not one of the targets: {', '.join(own)}")
    data = program.to_bytes()
    found: list[Disagreement] = []
    absent: dict[str, str] = {}
    farthest: dict[str, tuple[float, int]] = {}
    outputs: dict[str, dict[str, list[Value]]] = {}
    measured: dict[str, list[Value]] = {name: [] for name in own}
    done = 0
    for at in range(0, len(samples), 1 if fail_fast else CHUNK):
        part = samples[at : at + (1 if fail_fast else CHUNK)]
        ran_now = runner.run_all([Task(program, inputs, model=data) for inputs in part])
        rows: list[list[RunResult]] = [
            [*row, *(one.result(number) for one in saved)] for number, row in enumerate(ran_now, at)
        ]
        for number, (inputs, row) in enumerate(zip(part, rows, strict=True), at):
            absent.update({r.target.name: r.error for r in row if r.exit is Exit.UNSUPPORTED})
            ran = [r for r in row if r.exit is not Exit.UNSUPPORTED]
            if len(ran) < 2:
                reasons = "; ".join(f"{n}: {why}" for n, why in absent.items())
                raise UsageError(f"fewer than two targets run the model, so nothing can be compared ({reasons})")
            found += ends(number, ran, main)
            found += (
                beyond(number, ran, main, tolerance)
                if tolerance is not None
                else judged(runner, program, inputs, number, ran, main)
            )
            for name, far in farthest_of(ran, main).items():
                farthest[name] = max(farthest.get(name, (-1.0, number)), (far, number), key=lambda f: f[0])
            for result in ran:
                if labels is not None:
                    measured[result.target.name].append(result.outputs.get(labels.output))
                if keep:
                    for output, value in result.outputs.items():
                        outputs.setdefault(result.target.name, {}).setdefault(output, []).append(value)
        done = at + len(part)
        if progress is not None:
            progress(done, len(samples))
        if fail_fast and any(not d.undecided for d in found):
            break
    inconsistencies = () if labels is None else tuple(inconsistencies_of(measured, labels, done))
    report = Report(
        tuple(t for t in own.values() if t.name not in absent),
        {**absent, **{a.target.name: a.why_not for a in runner.absent}},
        done, tuple(found), inconsistencies, (), {n: f for n, (f, _) in farthest.items()}, main.name, outputs,
    )  # fmt: skip
    if not locate and not always_map:
        return report
    live = {t.name: t for t in runner.targets}
    if locate and report.agree:
        report, located = _decided_alone(runner, program, samples, report, live, causal=causal)
        if located:
            return replace(report, located=located)
    pairs = list(_pairs(report, {n: s for n, (_, s) in farthest.items()}, live, always=always_map))
    located = tuple(_locate(runner, program, samples[s], live[a], live[b], s, causal=causal) for a, b, s in pairs)
    return replace(report, located=located)


def _decided_alone(
    runner: Runner,
    program: Program,
    samples: Sequence[Mapping[str, Value]],
    report: Report,
    live: Mapping[str, Target],
    *,
    causal: bool,
) -> tuple[Report, tuple[Located, ...]]:
    """The report with undecided differences decided where a node before the output differs alone.

    What ONNX leaves open for some values, or a rounding error decides, is open as long as the values inside are not
    known. A node that is replayed alone has known inputs, the same on both targets. What becomes of NaN and infinities
    stays undecided.
    """
    decided: dict[str, str] = {}
    located: list[Located] = []
    open_ones = sorted((d for d in report.disagreements if d.undecided), key=lambda d: (-d.distance, d.sample))
    for d in open_ones:
        base = d.base if d.base in live and d.base != d.target else report.base
        if d.target in decided or d.target not in live or base not in live or base == d.target:
            continue
        found = _locate(runner, program, samples[d.sample], live[base], live[d.target], d.sample, causal=causal)
        sure = [r for r in found.replayed if r.faulty and math.isfinite(r.distance) and not r.specials]
        looked_at = program if found.unfolded is None else found.unfolded.program
        faulty = next((r for r in sure if feeds(looked_at, r.name, d.output)), None)
        decided[d.target] = "" if faulty is None else f"alone, {faulty.name} ({faulty.op}): {faulty.detail}"
        located += [found] if faulty is not None else []
    told = tuple(
        replace(d, undecided=False, what=f"{d.what}; {decided[d.target]}") if decided.get(d.target) else d
        for d in report.disagreements
    )
    return replace(report, disagreements=told), tuple(located)


def _pairs(
    report: Report, farthest: Mapping[str, int], live: Mapping[str, Target], *, always: bool
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


def _locate(
    runner: Runner,
    program: Program,
    inputs: Mapping[str, Value],
    base: Target,
    target: Target,
    sample: int,
    *,
    causal: bool,
) -> Located:
    unfolded = unfold_faithfully(runner, program, inputs, base, target)
    program = program if unfolded is None else unfolded.program
    one, two = run_tapped(runner, program, inputs, [base, target], apart=True)
    known = {**inputs, **one.outputs, **one.taps}
    why_not = ""
    for result in (one, two):
        if result.exit is not Exit.OK or (not result.taps and has_inner(program)):
            why_not = f"{result.target.name} gave no hidden states: {result.error or 'it refuses them as outputs'}"
    made = None if why_not else localise(program, one, two)
    replayed = tuple(replay(runner, program, known, base, target))
    causes = Causal(runner, base, target).causes(program, inputs) if causal else None
    return Located(base.name, target.name, sample, made, replayed, why_not, causes, unfolded)
