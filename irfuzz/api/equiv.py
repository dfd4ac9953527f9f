"""``irfuzz.equiv`` reports after which rewrites of models, and ways to run them, a target contradicts itself."""

from __future__ import annotations

import functools
import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain as chained
from pathlib import Path
from typing import Any

import numpy as np

from irfuzz.api.loaded_model import Inputs, LoadedModel, Model, all_loaded, all_programs
from irfuzz.api.progress_update import Observer, Update, unobserved
from irfuzz.api.target_selection import named, run_layers
from irfuzz.campaign.self_testing.contradiction_record import Contradiction, FormCounts
from irfuzz.campaign.self_testing.control_flow_body_testing import check_unfolded
from irfuzz.campaign.self_testing.equivalent_form_testing import Equivalence
from irfuzz.campaign.self_testing.rounds_until_deadline import RoundTiming
from irfuzz.errors import Unsupported, UsageError
from irfuzz.execute.adapters.alternative_runs import OtherWay, Way, adapters_for, build_ways, others_of
from irfuzz.execute.large_model_limits import limits_for
from irfuzz.execute.run_types import Target, Value
from irfuzz.execute.runner import Runner
from irfuzz.frontends.onnx_file import save_file
from irfuzz.generate.graph_inputs.extreme_integers import inputs_with_extremes
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.rewrite.rewrite_rule import Rewrite
from irfuzz.rewrite.rewrite_table import build_rewrites
from irfuzz.spec import load_specs


@dataclass(frozen=True, slots=True)
class EquivReport:
    """What a test of targets against themselves found.

    Attributes:
        targets: that were tested.
        contradictions: what differs, with the rewrites, the operator, the model, the form and the inputs.
        counts: what became of all forms.
        stopped: why not all forms were compared; empty if they were.
    """

    targets: tuple[Target, ...]
    contradictions: tuple[Contradiction, ...]
    counts: FormCounts
    stopped: str = ""

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON-able data, as ``irfuzz equiv --json`` prints it."""
        return {
            "targets": {t.name: t.version for t in self.targets},
            "partial": bool(self.stopped),
            "forms": dict(sorted(self.counts.forms.items())),
            "answers": _nested(self.counts.answers),
            "refused": _nested(self.counts.refused),
            "undecided": [
                {"target": target, "rewrite": rewrite, "reason": reason, "count": count}
                for (target, rewrite, reason), count in sorted(self.counts.undecided.items())
            ],
            "contradictions": [_row(item) for item in self.contradictions],
        }

    def __str__(self) -> str:
        """The contradictions and the summary for people."""
        return "\n".join([*map(told, self.contradictions), self.summary()])

    def summary(self) -> str:
        """How many forms were compared on which target.

        Returns:
            Lines: contradictions and forms in all, then for each target its answers, with the three most frequent
            reasons why comparisons were undecided.
        """
        forms = self.counts.forms
        lines = [f"partial: {self.stopped} before all forms were compared"] if self.stopped else []
        applied = f"{len(forms)} rewrites and ways applied {sum(forms.values())} times"
        lines.append(f"{len(self.contradictions)} contradictions; {applied}")
        for target, row in _nested(self.counts.answers).items():
            lines.append(f"  {target}: " + ", ".join(f"{number} {answer}" for answer, number in row.items()))
            reasons = Counter[str]()
            for (name, _, reason), count in self.counts.undecided.items():
                reasons[reason] += count if name == target else 0
            lines += [f"    undecided: {reason} ({count})" for reason, count in reasons.most_common(3) if count]
        return "\n".join(lines)


def told(item: Contradiction) -> str:
    """A contradiction for people.

    Returns:
        Lines: model, target, what differs after which rewrite, the reason, and each rewrite of the chain.
    """
    step = item.step
    where = f"{step.rewrite} of {step.operator} ({step.site})"
    head = f"{item.model} on {item.target}: {item.comparison.symptom} after {where}"
    return "\n".join([head, f"  {item.comparison.reason}", *(f"  {s.rewrite}: {s.detail}" for s in item.chain)])


def equiv(
    models: Model | Sequence[Model],
    *,
    targets: Sequence[str | Target] | None = None,
    rewrites: Sequence[str] | None = None,
    ways: Sequence[str] | None = None,
    forms: int = 20,
    chain: int = 3,
    inputs: Inputs | None = None,
    seed: int = 0,
    seconds: float | None = None,
    timeout: float = 10.0,
    out: str | Path | None = None,
    progress: Observer[EquivReport] = unobserved,
) -> EquivReport:
    """Rewrite models into forms that compute the same, and compare each form with the model on one target.

    Also runs each model in other ways: optimised, sparse, from a data set, saved and loaded (EAGLE's rules 1, 8, 11,
    16). Needs no second component.

    Example:
        >>> import irfuzz, onnx.parser
        >>> model = onnx.parser.parse_model(
        ...     '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { a = Exp(x) y = Neg(a) }'
        ... )
        >>> report = irfuzz.equiv(model, targets=["onnxruntime:all"], forms=4)
        >>> report.contradictions
        ()
        >>> print(report)
        0 contradictions; ...

    Args:
        models: a model in any form that ``irfuzz.mutate`` takes, or several.
        targets: what is tested: names as in ``irfuzz targets``, or ``Target``. Default: all quick runtimes.
        rewrites: names of those to draw from (``irfuzz equiv --list``). Default: all.
        ways: names of other ways to run the same. Default: all quick ones, or none if ``rewrites`` is given.
        forms: rewritten forms of each model: first by each rewrite that fits, then by chains; 0 if only ``ways`` are to
            be tested.
        chain: most rewrites in a row.
        inputs: an ``InputSpec``, one sample or several, of the only model; all forms are compared on each sample.
        seed: of all choices.
        seconds: at most, for all models. Default: until all is done.
        timeout: seconds that one target may take with one program.
        out: folder for the model, the form and the inputs of each difference. Default: nothing is kept.
        progress: gets an ``Update`` for each round of forms and each contradiction.

    Returns:
        What differs by more than rounding explains, or is refused only when optimised.

    Raises:
        UsageError: a model cannot be read, an argument is wrong, or no form was compared.
        InvalidProgram: a model breaks a rule of ONNX.
    """
    for name, value, least in (("forms", forms, 0), ("chain", chain, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise UsageError(f"{name}: expected at least {least}, got {value!r}")
    drawn_from, other_ways = chosen(rewrites, ways)
    if not forms and not other_ways:
        raise UsageError("forms: expected at least 1, got 0: without ways to run there is nothing else to compare")
    given = all_loaded(models, inputs, layers=run_layers(targets), observer=progress)
    tested = named(targets)
    runs = _runs(given, progress)
    others = {target.name: others_of(target, other_ways) for target in tested}
    pace = RoundTiming(math.inf if seconds is None else time.monotonic() + seconds)
    every = [*tested, *(other.target for row in others.values() for other in row)]
    limits = limits_for((model.program for model in given), Limits(seconds=timeout), seconds=False)
    progress(Update("comparing", unit="forms"))
    with Runner(every, limits, required=targets is not None, adapters=adapters_for(others)) as runner:
        test = _Test(runner, drawn_from, others, seed, chain, forms, pace)
        folder = None if out is None else Path(out)
        for item in test.contradictions(runs, progress):
            test.found.append(item)
            if folder is not None:
                _keep(folder, len(test.found), item)
            progress(Update("comparing", so_far=functools.partial(test.report, "stopped")))
        return test.ended(progress)


def chosen(
    rewrites: Sequence[str] | None, ways: Sequence[str] | None, *, slow: bool = False
) -> tuple[dict[str, Rewrite], dict[str, Way]]:
    """The rewrites and ways of these names, with their defaults as in ``equiv``; ``slow``: slow ways are some, too.

    Raises:
        UsageError: one is unknown.
    """
    try:
        drawn_from = build_rewrites(rewrites)
    except UsageError as error:
        raise UsageError(f"rewrites: {error}") from None
    try:
        return drawn_from, build_ways(ways if ways is not None or rewrites is None else [], slow=slow)
    except UsageError as error:
        raise UsageError(f"ways: {error}") from None


@dataclass(frozen=True, slots=True)
class _Run:
    """A model and inputs, which are drawn if there are none."""

    model: LoadedModel
    program: Program
    inputs: Mapping[str, Value] | None

    @property
    def name(self) -> str:
        return self.model.name if self.model.path is None else self.model.path.name


def _runs(given: Sequence[LoadedModel], progress: Observer[EquivReport]) -> list[_Run]:
    """Each model once for each of its samples; once without if it has none."""
    programs = all_programs(given, observer=progress)
    return [
        _Run(model, program, sample)
        for model, program in zip(given, programs, strict=True)
        for sample in model.said.spec.samples or [None]
    ]


class _Test:
    """One call of ``equiv``: the engine, and what it has found so far."""

    def __init__(
        self,
        runner: Runner,
        rewrites: Mapping[str, Rewrite],
        others: Mapping[str, Sequence[OtherWay]],
        seed: int,
        chain: int,
        forms: int,
        pace: RoundTiming,
    ) -> None:
        self._engine = Equivalence(runner, load_specs(), rewrites, seed=seed, chain=chain, others=others)
        self._runner = runner
        self._seed = seed
        self._forms = forms
        self._pace = pace
        self.found: list[Contradiction] = []

    def contradictions(self, runs: Sequence[_Run], progress: Observer[EquivReport]) -> Iterator[Contradiction]:
        """Compare all forms of all models, as far as there is time."""
        engine, pace, so_far = self._engine, self._pace, functools.partial(self.report, "stopped")
        for number, run in enumerate(runs):
            if pace.ends():
                break
            note = f"run {number + 1} of {len(runs)}, {run.name}"
            pace.progress = lambda done, of, note=note: progress(
                Update("comparing", done, of, "forms", note, so_far=so_far)
            )
            pace.progress(0, self._forms)
            try:
                inputs = inputs_with_extremes(run.program, self._seed) if run.inputs is None else run.inputs
                yield from chained(
                    engine.check(run.name, run.program, self._forms, inputs=inputs, since=0, pace=pace),
                    check_unfolded(engine, self._runner, run.name, run.program, self._forms, inputs, pace=pace),
                )
            except Unsupported as error:
                progress(Update(remark=f"skipped: {run.model.name}: {error}"))

    def report(self, stopped: str = "") -> EquivReport:
        """What is known by now."""
        return EquivReport(self._engine.targets, tuple(self.found), self._engine.counts, stopped)

    def ended(self, progress: Observer[EquivReport]) -> EquivReport:
        """What is known at the end.

        Raises:
            UsageError: no form was compared, so that nothing says anything.
        """
        counts = self._engine.counts
        for (model, target), why in counts.unusable.items():
            progress(Update(remark=f"{target} does not run {model}: {why}"))
        if not counts.answers and not self._pace.over:
            raise UsageError("no form was compared: no target runs any of the models, or no rewrite fits them")
        return self.report("the time was over" if self._pace.over else "")


def _row(item: Contradiction) -> dict[str, Any]:
    return {
        "model": item.model,
        "target": item.target,
        "rewrite": item.step.rewrite,
        "operator": item.step.operator,
        "site": item.step.site,
        "symptom": item.comparison.symptom,
        "output": item.comparison.output,
        "reason": item.comparison.reason,
        "chain": [{"rewrite": s.rewrite, "site": s.site, "detail": s.detail} for s in item.chain],
    }


def _nested(counter: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    rows: dict[str, dict[str, int]] = {}
    for (target, key), number in sorted(counter.items()):
        rows.setdefault(target, {})[str(key)] = number
    return rows


def _keep(out: Path, number: int, item: Contradiction) -> None:
    """Write the model, the form and the inputs of a contradiction.

    Raises:
        UsageError: the folder cannot be written.
    """
    stem = f"{number:04d}-{item.step.rewrite}"
    save_file(item.program, out / f"{stem}.original.onnx")
    save_file(item.form_bytes(), out / f"{stem}.rewritten.onnx")
    arrays: dict[str, Any] = {name: value for name, value in item.inputs.items() if isinstance(value, np.ndarray)}
    np.savez(out / f"{stem}.inputs.npz", **arrays)
