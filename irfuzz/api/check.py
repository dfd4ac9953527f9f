"""``irfuzz.check`` reports whether targets compute the same of a model, and if not, at which nodes they part."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from irfuzz.api.default_settings import CHECK_MEMORY, CHECK_TIMEOUT, DRAWN
from irfuzz.api.ground_truth_labels import GroundTruth, labels_of
from irfuzz.api.loaded_model import Inputs, LoadedModel, Model, loaded, program_of
from irfuzz.api.npz_sample_reading import read_values
from irfuzz.api.progress_update import Observer, Update, unobserved
from irfuzz.api.sample_and_output_stacking import by_input, rows_of, saved_outputs
from irfuzz.api.target_selection import ComparedTargets, compared, run_layers
from irfuzz.api.unstated_input_planning import advice
from irfuzz.errors import Unsupported, UsageError
from irfuzz.execute.large_model_limits import limits_for
from irfuzz.execute.run_types import Target, Value
from irfuzz.execute.runner import Runner
from irfuzz.findings.witness_distrust import wrong_here
from irfuzz.frontends.onnx_file import save_file
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.localize import target_comparison as localize
from irfuzz.localize.check_result import CheckResult
from irfuzz.localize.comparison.failed_run_disagreements import Allowed
from irfuzz.localize.comparison.ground_truth_inconsistencies import Labels
from irfuzz.localize.comparison.sample_disagreements import Tolerance
from irfuzz.localize.comparison.saved_output_targets import SavedOutputs
from irfuzz.localize.disagreement_grouping import Divergence
from irfuzz.localize.input_summary import fed
from irfuzz.localize.target_comparison import CheckSetting, NothingCompared
from irfuzz.report.command_reports import check_json as written
from irfuzz.report.command_reports.check_json import CheckSetup
from irfuzz.report.command_reports.known_issue_labels import known_faults, with_known
from irfuzz.store.npz_tensors import pack


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """What few callers of ``check`` need.

    Attributes:
        base: name of the target that differences are measured to. Default: the first that runs the model.
        labels: the truth of each sample, for CRADLE's distances.
        saved: arrays ``TARGET/OUTPUT`` that other targets computed before, compared like the others; or the file of
            ``save_outputs``.
        fail_fast: stop at the first input on which targets disagree.
        locate: look for the nodes at which targets part.
        causes: look for the parameters that cause it too (AUDEE); takes more runs.
        map_always: localise the largest difference even if all agree.
        keep_outputs: keep all outputs, in ``CheckReport.report.outputs``.
        save_inputs: a file (npz) for the inputs, written before anything is run.
        save_outputs: a file (npz) for the outputs, as ``saved`` takes them.
        timeout: seconds that one target may take with one input. Default: 30, and more for large weights.
        memory: bytes that the process of a component may take over what its framework takes. Default: 4 GiB, likewise.
    """

    base: str = ""
    labels: GroundTruth | None = None
    saved: str | Path | Mapping[str, Value] | None = None
    fail_fast: bool = False
    locate: bool = True
    causes: bool = False
    map_always: bool = False
    keep_outputs: bool = False
    save_inputs: str | Path | None = None
    save_outputs: str | Path | None = None
    timeout: float | None = None
    memory: int | None = None


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check found.

    Attributes:
        model: its name.
        report: everything: who ran, who disagrees, for how many causes, and where targets part.
        setup: what was asked for.
    """

    model: str
    report: CheckResult
    setup: CheckSetup = field(default_factory=CheckSetup)

    @property
    def agree(self) -> bool:
        """Whether all targets compute the same, as far as that is defined."""
        return self.report.agree

    @property
    def unclear(self) -> tuple[str, ...]:
        """What a strict check does not accept though nobody disagrees, a line each."""
        return self.report.unclear

    @property
    def divergences(self) -> tuple[Divergence, ...]:
        """What differs, one for each cause."""
        return self.report.divergences

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON-able data, as ``irfuzz check --json`` prints it."""
        return written.as_json(self.report, self.model, self.setup)

    def to_html(self, title: str = "") -> str:
        """A page with the map, that needs nothing else."""
        return written.as_html(self.report, title or self.model)

    def __str__(self) -> str:
        """The report for people, as ``irfuzz check`` prints it."""
        return written.as_text(self.report, self.model, self.setup)


def check(
    model: Model,
    *,
    targets: Sequence[str | Target] | None = None,
    inputs: Inputs | None = None,
    draw: int | None = None,
    rtol: float | Mapping[str, float] | None = None,
    atol: float | Mapping[str, float] | None = None,
    seconds: float | None = None,
    options: CheckOptions | None = None,
    progress: Observer[CheckReport] = unobserved,
) -> CheckReport:
    """Run one model on several targets: do they compute the same, and if not, at which nodes do they part?

    Outputs may differ by what rounding explains for that model and input, or by ``rtol`` and ``atol``. Who is wrong is
    decided by the largest group of targets that agree, and by the model computed in float64.

    Example:
        >>> import irfuzz, numpy, onnx.parser
        >>> model = onnx.parser.parse_model(
        ...     '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
        ... )
        >>> report = irfuzz.check(model, targets=["onnxruntime:all", "onnxruntime:disabled"])
        >>> report.agree
        True
        >>> one = {"x": numpy.array([1, -1], numpy.float32)}
        >>> print(irfuzz.check(model, targets=["onnxruntime:all", "reference"], inputs=one))
        g: 2 targets agree exactly on 1 input
        ...

    Args:
        model: a path, bytes, ``ModelProto``, ``onnx_ir.Model``, onnx-graphsurgeon graph or ``Program``.
        targets: what to compare: names as in ``irfuzz targets``, or ``Target``. Default: all quick runtimes that are
            installed; ONNX's reference evaluator is asked only if others differ or fewer than two run.
        inputs: an ``InputSpec``, one sample (arrays by input name) or several.
        draw: how many inputs are drawn. Default: 8 if there are no samples; if it is given, no samples are run.
        rtol: fixed bound, of all outputs or by name, instead of derived ones (1e-5 if only ``atol`` is given).
        atol: likewise; ``|a - b| <= atol + rtol * |b|``.
        seconds: what all of it may take; then what is known is returned (``report.stopped``). Default: no limit.
        options: what few callers need.
        progress: gets an ``Update`` for each input, and while nodes are looked for.

    Returns:
        Who disagrees on what, for how many causes, and where; ``agree`` is the short answer.

    Raises:
        UsageError: the model cannot be read, an argument is wrong, or fewer than two targets run the model.
        InvalidProgram: the model breaks a rule of ONNX that no runtime lets pass.
    """
    began = time.monotonic()
    options = options or CheckOptions()
    if options.causes and not options.locate:
        raise UsageError("causes: with locate=False nothing is looked for; leave one of them out")
    feed = _feed(loaded(model, inputs, layers=run_layers(targets), observer=progress), draw, progress)
    program, samples = feed.program, feed.samples
    saved = _saved(options, program, len(samples))
    chosen = compared(targets, options.base, len(saved))
    limits = _limits(options, program)
    if options.save_inputs is not None:
        save_file(pack(by_input(samples)), Path(options.save_inputs))

    def report_of(found: CheckResult) -> CheckReport:
        setup = CheckSetup(f"{fed(samples)} (drawn)" if feed.drawn else "", chosen.left_out)
        return CheckReport(feed.model.name, with_known(found, program, samples=samples), setup)

    progress(Update("comparing", 0, len(samples), "inputs"))
    with Runner(chosen.targets, limits, required=targets is not None) as runner:
        try:
            found = localize.check(
                runner,
                program,
                samples,
                base=options.base,
                tolerance=_tolerance(rtol, atol, program),
                labels=_labels(options.labels, feed),
                fail_fast=options.fail_fast,
                always_map=options.map_always,
                locate=options.locate,
                causal=options.causes,
                keep=options.keep_outputs or options.save_outputs is not None,
                saved=saved,
                progress=_following(progress, len(samples)),
                setting=_setting(chosen, limits, seconds, began, drawn=feed.drawn),
                so_far=_telling(progress, report_of),
            )
        except NothingCompared as error:
            raise UsageError(f"{feed.model.name}: {error}{_what_to_pass(feed)}") from None
        report = report_of(found)
    if options.save_outputs is not None:
        save_file(pack(rows_of(found.outputs, found.samples, progress)), Path(options.save_outputs))
    return report


@dataclass(frozen=True, slots=True)
class _Feed:
    """What is run: the program with what is known of its inputs, and samples, given or drawn."""

    model: LoadedModel
    program: Program
    samples: list[dict[str, Value]]
    drawn: bool


def _feed(model: LoadedModel, draw: int | None, progress: Observer[CheckReport]) -> _Feed:
    """What a model is run on: samples of the caller's, else inputs of the seeds from 0.

    Raises:
        UsageError: none are wanted, or no inputs can be made.
    """
    if draw is not None and draw < 1:
        raise UsageError(f"draw: expected at least 1, got {draw}")
    if draw is None and model.said.data:
        return _Feed(model, program_of(model, plan=False), [dict(s) for s in model.said.spec.samples], drawn=False)
    program = program_of(model, observer=progress)
    try:
        samples = [make_inputs(program, seed) for seed in range(DRAWN if draw is None else draw)]
    except Unsupported as error:
        raise UsageError(f"{model.name}: {error}") from None
    return _Feed(model, program, samples, drawn=True)


def _saved(options: CheckOptions, program: Program, count: int) -> list[SavedOutputs]:
    """What other targets computed before, for so many samples."""
    values = options.saved
    if values is None:
        return []
    if not isinstance(values, Mapping):
        values = read_values(Path(values), f"saved: {values}")
    return saved_outputs(values, program, count)


def _limits(options: CheckOptions, program: Program) -> Limits:
    """What a run may take: what the caller says, else what suits the program's weights."""
    usual = Limits(seconds=options.timeout or CHECK_TIMEOUT, memory_bytes=options.memory or CHECK_MEMORY << 20)
    return limits_for([program], usual, memory=options.memory is None, seconds=options.timeout is None)


def _setting(
    chosen: ComparedTargets, limits: Limits, seconds: float | None, began: float, *, drawn: bool
) -> CheckSetting:
    return CheckSetting(
        drawn=drawn,
        witnesses=chosen.witnesses,
        allowed=Allowed(limits.seconds, limits.memory_bytes),
        seconds=None if seconds is None else max(0.0, seconds - (time.monotonic() - began)),
        known_faults=known_faults(),
        distrust=wrong_here,
    )


def _following(progress: Observer[CheckReport], count: int) -> Callable[[str, int, int], None]:
    """Says of each step of a check how far it is."""

    def follow(what: str, done: int, of: int) -> None:
        if what == "inputs":
            progress(Update("comparing", done, of, "inputs"))
        else:
            progress(Update("comparing", None, count, "inputs", f"{what}: {done} of {of} nodes" if of else what))

    return follow


def _telling(
    progress: Observer[CheckReport], report_of: Callable[[CheckResult], CheckReport]
) -> Callable[[Callable[[], CheckResult | None]], None]:
    """Passes on the function that makes a report of what is known so far."""

    def tell(known: Callable[[], CheckResult | None]) -> None:
        def so_far() -> CheckReport | None:
            found = known()
            return None if found is None else report_of(found)

        progress(Update("comparing", so_far=so_far))

    return tell


def _tolerance(
    rtol: float | Mapping[str, float] | None, atol: float | Mapping[str, float] | None, program: Program
) -> Tolerance | None:
    """Fixed bounds, if there are any; the name of an output stands for all if it is empty.

    Raises:
        UsageError: a bound is negative, or of an output that the model does not have.
    """
    if rtol is None and atol is None:
        return None
    known = {o.name or "" for o in program.graph.outputs}
    bounds: list[dict[str, float]] = []
    for argument, given in (("rtol", rtol), ("atol", atol)):
        named = {**given} if isinstance(given, Mapping) else {} if given is None else {"": float(given)}
        for name, bound in named.items():
            if name and name not in known:
                raise UsageError(f"{argument}: {name!r} is no output of the model ({', '.join(sorted(known))})")
            if not 0 <= bound < np.inf:
                raise UsageError(f"{argument}: expected a number of at least 0, got {bound}")
        bounds.append(named)
    rtols, atols = bounds
    return Tolerance(rtols.pop("", 1e-5), atols.pop("", 1e-5), rtols, atols)


def _labels(truth: GroundTruth | None, feed: _Feed) -> Labels | None:
    if truth is None:
        return None
    if feed.drawn:
        raise UsageError("labels: they are about samples; give inputs, too")
    return labels_of(truth, feed.program, len(feed.samples))


def _what_to_pass(feed: _Feed) -> str:
    """The end of a message about inputs that nobody takes."""
    if feed.drawn:
        return f"; drawn inputs: {fed(feed.samples)}; {advice(feed.program)}"
    return f"; the inputs of {feed.model.said.data} were {fed(feed.samples)}"
