"""``irfuzz.fuzz`` fuzzes models for a time and keeps each finding in a folder."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from irfuzz.api.default_settings import (
    FUZZ_HUNT,
    FUZZ_MEMORY,
    FUZZ_PROBE,
    FUZZ_PROBE_LONGEST,
    FUZZ_PROBE_SHARE,
    FUZZ_SEARCH,
    FUZZ_SHORT,
    FUZZ_SLOW_SHARE,
)
from irfuzz.api.fuzz_report import FuzzReport, report_of
from irfuzz.api.loaded_model import Inputs, LoadedModel, Model, all_loaded, all_programs, by_key
from irfuzz.api.mutation_request_check import known_mutators, refuse_unmutable
from irfuzz.api.progress_update import Observer, Update, unobserved
from irfuzz.api.stored_finding_replays import ReplayedFinding, replay_stored
from irfuzz.api.target_selection import run_layers
from irfuzz.campaign.campaign import Campaign, CampaignProgress
from irfuzz.campaign.config import Config, usual_sprouts
from irfuzz.campaign.stored_findings.release_bisection import bisect_all
from irfuzz.campaign.targets.operator_support import CLASS
from irfuzz.embed.element_type_filter import DType, element_type
from irfuzz.errors import UsageError
from irfuzz.execute.large_model_limits import memory_for
from irfuzz.execute.run_types import Target
from irfuzz.execute.target_table import describe, resolve
from irfuzz.execute.versions.releases import few_variants, read_range, versions_beside
from irfuzz.findings.baseline import NO_BASELINE, FindingBaseline, read_baseline
from irfuzz.findings.disposition import FailOn
from irfuzz.ir.program import Program
from irfuzz.mutate.model_interface.import_domain import known_domains
from irfuzz.mutate.user_mutation_constraints import Constraints
from irfuzz.spec import full_name, load_specs, split_name
from irfuzz.store.finding_sightings import OWN_TARGETS


@dataclass(frozen=True, slots=True)
class FuzzOptions:
    """What few callers of ``fuzz`` need; what is ``None`` is chosen.

    Attributes:
        mutators: their names, or papers'. Default: all.
        domains: other domains whose operators are inserted, besides those that the models have nodes of.
        search: what chooses parents and mutators: ``thompson`` (default), ``weighted``, ``mcmc`` or ``random``.
        hunt: what the static analysis steers some inputs to: ``numeric``, ``nan``, ``both`` (default) or ``none``.
        python_coverage: count lines of components written in Python; a program that runs new ones becomes a parent.
        seed: root of all randomness. Default: 0, or that of the continued campaign.
        jobs: processes that work side by side. Default: one a core.
        max_nodes: no mutant gets more nodes, or than 30 more than its seed if that has more.
        every: targets that seldom tell more run on one program in so many.
        slow_share: largest part of the time for slow targets. Default: 0.25, or 0 in less than five minutes.
        sprouts: share of the programs that grow from one node. Default: 0.6; 0.8 if more than eight targets are named.
        timeout: seconds that one target may take with one program.
        memory: bytes that a worker may take beyond its framework. Default: 4 GiB, and more for large weights.
        reduce: seconds that making one finding small may take.
        against_versions: components with how many releases before the newest are installed and compared
            (``onnxruntime:3``); their findings are bisected.
        bisect: components whose findings are, once the time is over, run on as many releases as tell in which they
            came and went; releases are installed for it.
        fail_on: what makes the report's ``exit_code`` 1: ``new`` (default: a finding that is neither known nor labelled
            nor in the baseline; of a class of the caller's, if one is tested), ``undecided`` (such a finding or
            suspect), ``any`` finding or ``never``.
        baseline: file of findings that are no news (``irfuzz findings baseline`` writes it).
        replay: folders of campaigns or findings whose scripts run first, for half of the time at most: one that shows
            and of which nothing is decided fails as a new one does, and one that does not show any more fails nothing.
        ops: names of the only operators that programs have, besides ``Constant``. Default: all.
        dtypes: the only element types of a program's inputs and of what it computes. Default: all.
        max_rank: of any value. Default: no limit.
        learn: find out first, and go on to learn, what targets refuse (classes of the caller's if there are some, else
            converters, else all but the reference evaluator), and draw only what they take.
    """

    mutators: Sequence[str] | None = None
    domains: Sequence[str] = ()
    search: str | None = None
    hunt: str | None = None
    python_coverage: bool = False
    seed: int | None = None
    jobs: int | None = None
    max_nodes: int = 200
    every: int = 16
    slow_share: float | None = None
    sprouts: float | None = None
    timeout: float = 10.0
    memory: int | None = None
    reduce: float = 20.0
    against_versions: Sequence[str] = ()
    bisect: Sequence[str] = ()
    fail_on: str = "new"
    baseline: str | Path | None = None
    replay: Sequence[str | Path] = ()
    ops: Sequence[str] | None = None
    dtypes: Sequence[DType] = ()
    max_rank: int | None = None
    learn: bool = False


@dataclass(frozen=True, slots=True)
class CampaignSetup:
    """What a campaign is started with.

    Attributes:
        config: its settings.
        targets: that are run.
        missing: why others are not, by name.
        fail_on: what makes its exit code 1.
        baseline: findings that are no news.
    """

    config: Config
    targets: tuple[Target, ...]
    missing: dict[str, str]
    fail_on: FailOn = FailOn.NEW
    baseline: FindingBaseline = NO_BASELINE

    @property
    def own(self) -> tuple[str, ...]:
        """Names of the targets that are a class of the caller's."""
        return tuple(target.name for target in self.targets if CLASS in target.options)

    def report(
        self, campaign: Campaign, progress: CampaignProgress, replayed: tuple[ReplayedFinding, ...] = ()
    ) -> FuzzReport:
        """What a campaign that was started with it has found by now.

        Args:
            campaign: open.
            progress: how far it has come.
            replayed: what the scripts of stored findings said before.
        """
        return report_of(campaign, progress, self.missing, self.fail_on, self.baseline, replayed, self.own)


def fuzz(
    models: Model | Sequence[Model],
    out: str | Path = "irfuzz-out",
    *,
    targets: Sequence[str] | None = None,
    seconds: float = 600.0,
    programs: int | None = None,
    equiv: bool = False,
    inputs: Inputs | None = None,
    options: FuzzOptions | None = None,
    progress: Observer[FuzzReport] = unobserved,
) -> FuzzReport:
    """Mutate models, run them on every target, and keep each disagreement as a folder that can be replayed.

    Calling it again with the same folder continues. In the main thread Ctrl-C ends it cleanly, and what is known is
    returned. Jobs are processes of their own: a script calls it below ``if __name__ == "__main__"``.

    Example:
        >>> import irfuzz, onnx.parser
        >>> model = onnx.parser.parse_model(
        ...     '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
        ... )
        >>> two = ["onnxruntime:all", "onnxruntime:disabled"]
        >>> report = irfuzz.fuzz(
        ...     model, "found", targets=two, seconds=60, programs=5, options=irfuzz.FuzzOptions(jobs=1)
        ... )
        >>> report.progress.programs >= 5
        True
        >>> [finding.title for finding in report.findings]
        [...]

    Args:
        models: a model in any form that ``irfuzz.mutate`` takes, or several.
        out: folder of the campaign; continued if it holds one.
        targets: names as in ``irfuzz targets``; classes of your own as ``package.module:Class`` or ``file.py:Class``.
            Default: all that are installed, on the CPU.
        seconds: how long.
        programs: stop after so many programs in all, even if time is left.
        equiv: test each target against itself: mutants are rewritten into forms that compute the same.
        inputs: an ``InputSpec``, one sample or several, of the only model.
        options: what few callers need.
        progress: gets an ``Update`` twice a second.

    Returns:
        The findings of all runs in that folder, and how far the campaign has come.

    Raises:
        UsageError: a model cannot be read or mutated, an argument is wrong, no program was judged in that time, or the
            folder was removed or renamed meanwhile, or cannot be written any more.
        InvalidProgram: a model breaks a rule of ONNX.
        InternalError: jobs keep dying of irfuzz's own faults.
    """
    if not seconds > 0:
        raise UsageError(f"seconds: expected a number above 0, got {seconds}")
    options, out = options or FuzzOptions(), Path(out)
    targets, options = with_versions(targets, options, seconds, equiv=equiv, progress=progress)
    setup = setup_of(out, targets, seconds, options, equiv=equiv)
    given = all_loaded(models, inputs, layers=run_layers(targets), observer=progress)
    refuse_unmutable({key: model.program for key, model in by_key(given).items()}, progress)
    config = setup.config
    if options.memory is None:
        config = replace(config, memory=memory_for((model.program for model in given), config.memory))
    with Campaign(out, config) as campaign:  # before stored findings run: whoever looks at the folder sees a campaign
        campaign.database.set(OWN_TARGETS, json.dumps(setup.own))
        replayed, seconds = _replayed_first(setup, options, seconds, progress)
        add_seeds(campaign, given, progress)
        if config.learn:
            seconds -= _ask(campaign, setup, [model.program for model in given], seconds, progress)
        before = campaign.progress(time.monotonic(), campaign.programs(), 0)
        progress(Update("starting", so_far=lambda: setup.report(campaign, before, replayed)))

        def watch(so_far: CampaignProgress) -> None:
            progress(Update("fuzzing", so_far=lambda: setup.report(campaign, so_far, replayed)))

        kind = "self-test" if equiv else "differential"
        came = campaign.run(seconds, watch, stop_at=programs, kind=kind)
        if options.bisect and not campaign.interrupted:
            _bisect(campaign, options, progress)
        report = setup.report(campaign, came, replayed)
        if report.exit_code == 0 and not report.interrupted:
            _see_that_one_was_judged(report, programs)
    return report


def add_seeds(campaign: Campaign, given: Sequence[LoadedModel], progress: Observer[FuzzReport] = unobserved) -> None:
    """Give a campaign models that it does not have yet, with plans for inputs of which nothing is said.

    Args:
        campaign: open, and not running.
        given: the models.
        progress: gets an ``Update`` while plans are made.

    Raises:
        UsageError: the campaign has one of them with other inputs.
    """
    new = [model for model in given if model.said.spec or not campaign.was_given(model.program.digest)]
    seeds = all_programs(new, samples_too=True, observer=progress) if new else []
    for model, seed in zip(new, seeds, strict=True):
        name = model.name if model.path is None else model.path.name
        campaign.add_seed(name, seed, model.said.spec, given=model.program.digest)


def _ask(
    campaign: Campaign,
    setup: CampaignSetup,
    seeds: Sequence[Program],
    seconds: float,
    progress: Observer[FuzzReport],
) -> float:
    """Find out what targets refuse, unless it is known; returns the seconds that it took."""
    from irfuzz.campaign.targets.refusal_probe import probe_targets

    began = time.monotonic()
    doing = "asking targets what they take"
    progress(Update(doing))
    most, longest = (min(FUZZ_PROBE, seconds * share) for share in (FUZZ_PROBE_SHARE, FUZZ_PROBE_LONGEST))
    result = probe_targets(
        campaign.database, setup.config, setup.targets, seeds, (most, longest),
        lambda done: progress(Update(doing, done=done, unit="programs")),
    )  # fmt: skip
    progress(Update(remark="known already: what targets take" if result is None else str(result)))
    return time.monotonic() - began


def with_versions(
    targets: Sequence[str] | None,
    options: FuzzOptions,
    seconds: float,
    *,
    equiv: bool = False,
    progress: Observer[FuzzReport] = unobserved,
) -> tuple[Sequence[str] | None, FuzzOptions]:
    """Install the releases that ``options.against_versions`` asks for.

    Returns:
        Names of targets, with those of the releases, and the options that are left to obey.

    Raises:
        UsageError: a component or target is unknown, or fewer than two releases can be installed or are at hand.
    """
    if not options.against_versions:
        return targets, options
    if equiv:
        _fit_equiv(options)
    if isinstance(targets, str):
        raise UsageError(f"targets: expected a list of names, got the text {targets!r}")
    slow = targets is None and seconds >= FUZZ_SHORT and options.slow_share != 0
    try:
        chosen = list(resolve(targets, slow=slow))
    except UsageError as error:
        raise UsageError(str(error) if targets is None else f"targets: {error}") from None
    try:
        ranges = [read_range(text) for text in options.against_versions]
        for wanted in ranges:
            own = [t for t in chosen if t.component == wanted.component and not t.environment]
            few = few_variants(own or resolve([wanted.component]))
            if targets is None:  # all levels of one version would be as many targets as the others together
                chosen = [t for t in chosen if t not in own or t in few]
            chosen += versions_beside(few, chosen, wanted, lambda text: progress(Update(remark=text)))
    except UsageError as error:
        raise UsageError(f"against-versions: {error}") from None
    components = dict.fromkeys([*options.bisect, *(wanted.component for wanted in ranges)])
    return [t.name for t in chosen], replace(options, against_versions=(), bisect=tuple(components))


def _replayed_first(
    setup: CampaignSetup, options: FuzzOptions, seconds: float, progress: Observer[FuzzReport]
) -> tuple[tuple[ReplayedFinding, ...], float]:
    """What the scripts of stored findings say, and the seconds that are left."""
    if not options.replay:
        return (), seconds
    began, places = time.monotonic(), [Path(place) for place in options.replay]
    try:
        replayed = replay_stored(places, setup.baseline, seconds / 2, jobs=setup.config.jobs, progress=progress)
    except UsageError as error:
        raise UsageError(f"replay: {error}") from None
    return replayed, seconds - (time.monotonic() - began)


def _bisect(campaign: Campaign, options: FuzzOptions, progress: Observer[FuzzReport]) -> None:
    """Say of each new finding in which release it came and in which it went; Ctrl-C leaves the others as they are."""
    waiting = [
        campaign.folder_of(f)
        for f in campaign.findings()
        if f.component in options.bisect and all(s.previous is None for s in f.shown)
    ]
    if not waiting:
        return
    progress(Update("bisecting", done=0, total=len(waiting), unit="findings"))
    found = bisect_all(
        waiting, lambda text: progress(Update(remark=text)), timeout=options.timeout, done=campaign.reread
    )
    with contextlib.suppress(KeyboardInterrupt):
        for number, _ in enumerate(found, 1):
            progress(Update("bisecting", done=number, total=len(waiting), unit="findings"))


def _see_that_one_was_judged(report: FuzzReport, enough: int | None) -> None:
    """See that a campaign which could have judged a program did: else that nothing was found says nothing.

    Raises:
        UsageError: it did not.
    """
    progress = report.progress
    if progress.programs_this_run or (enough is not None and progress.programs >= enough):
        return
    counted = ", ".join(f"{n}: {c}" for n in ("unmutated", "no inputs") if (c := progress.counts.get(n)))
    if counted and not progress.programs:
        raise UsageError(f"no program was judged in {progress.seconds:.0f} s ({counted}); use other seeds")
    if report.starting_targets:
        waits = ", ".join(f"{name} ({seconds:.0f} s)" for name, seconds in report.starting_targets.items())
        raise UsageError(
            f"no program was judged in {progress.seconds:.0f} s: still starting: {waits}; if it hangs on import, leave "
            "it out of --targets, else give more --time"
        )
    if report.unanswered:
        waits = ", ".join(f"{name} ({seconds:.0f} s)" for name, seconds in report.unanswered.items())
        raise UsageError(
            f"no program was judged in {progress.seconds:.0f} s: no answer yet from {waits}; if it hangs, give a "
            "shorter --timeout or leave it out of --targets, else give more --time"
        )
    raise UsageError(
        f"no program was judged in {progress.seconds:.0f} s: the targets had not started, or the first programs took "
        "longer; give more --time or fewer --targets"
    )


def setup_of(
    out: Path, targets: Sequence[str] | None, seconds: float, options: FuzzOptions, *, equiv: bool = False
) -> CampaignSetup:
    """What a campaign in a folder is started with; says what is wrong with an argument before any model is read.

    Raises:
        UsageError: something is wrong.
    """
    if equiv:
        _fit_equiv(options)
    if isinstance(targets, str):
        raise UsageError(f"targets: expected a list of names, got the text {targets!r}")
    fail_on, baseline = _policy(options)
    config = _config(out, targets, seconds, options)
    try:
        found = resolve(config.targets, slow=config.slow_share > 0, witness=not equiv)
    except UsageError as error:
        raise UsageError(str(error) if targets is None else f"targets: {error}") from None
    if not found:
        raise UsageError("no target is installed; `irfuzz targets` says what each one needs")
    return CampaignSetup(config, found, _missing(config, found), fail_on, baseline)


def _policy(options: FuzzOptions) -> tuple[FailOn, FindingBaseline]:
    """What makes the exit code 1, and the findings that do not."""
    try:
        fail_on = FailOn(options.fail_on)
    except ValueError:
        raise UsageError(f"fail-on: expected one of {', '.join(FailOn)}, got {options.fail_on!r}") from None
    if options.baseline is None:
        return fail_on, NO_BASELINE
    return fail_on, read_baseline(Path(options.baseline), f"baseline: {options.baseline}")


def _fit_equiv(options: FuzzOptions) -> None:
    """Refuse what has no meaning for a test of each target against itself.

    Raises:
        UsageError: such an option is given.
    """
    given = {
        "against-versions": bool(options.against_versions or options.bisect),
        "search": options.search is not None,
        "hunt": options.hunt is not None,
        "slow-share": options.slow_share is not None,
        "python-coverage": options.python_coverage,
        "learn": options.learn,
        "ops": options.ops is not None,
        "dtypes": bool(options.dtypes),
        "max-rank": options.max_rank is not None,
    }
    for name, there in given.items():
        if there:
            raise UsageError(
                f"{name}: has no meaning with --equiv, which draws parents by what is new in them, steers no inputs, "
                "runs every target that is named on every program, and rewrites to whatever computes the same; leave "
                "it out"
            )


def _config(out: Path, targets: Sequence[str] | None, seconds: float, options: FuzzOptions) -> Config:
    stored = Campaign.stored_config(out)
    seed = options.seed if options.seed is not None else (stored.seed if stored else 0)
    if stored is not None and stored.seed != seed:
        raise UsageError(
            f"seed: {out} holds a campaign with seed {stored.seed}; "
            "leave --seed out to continue it, or use another --out"
        )
    names, share = None if targets is None else tuple(targets), options.slow_share
    mutators = known_mutators(options.mutators)
    domains = known_domains(load_specs(), options.domains) if options.domains else ()
    ops = None if options.ops is None else frozenset(full_name(*split_name(op)) for op in options.ops)
    Constraints(ops).check(())
    try:
        return Config(
            seed=seed,
            targets=names,
            mutators=mutators,
            domains=domains,
            jobs=options.jobs if options.jobs is not None else max(1, len(os.sched_getaffinity(0))),
            max_nodes=options.max_nodes,
            every=options.every,
            timeout=options.timeout,
            memory=FUZZ_MEMORY << 20 if options.memory is None else options.memory,
            reduce=options.reduce,
            sprouts=usual_sprouts(_quick(names)) if options.sprouts is None else options.sprouts,
            search=FUZZ_SEARCH if options.search is None else options.search,
            slow_share=share if share is not None else FUZZ_SLOW_SHARE * (seconds >= FUZZ_SHORT),
            hunt=FUZZ_HUNT if options.hunt is None else options.hunt,
            python_coverage=options.python_coverage,
            ops=None if ops is None else tuple(sorted(ops)),
            dtypes=tuple(sorted({element_type(dtype).name.lower() for dtype in options.dtypes})),
            max_rank=options.max_rank,
            learn=options.learn,
        )
    except UsageError as error:
        raise UsageError(str(error).removeprefix("--")) from None


def _quick(names: Sequence[str] | None) -> int:
    """How many targets run every program; few if none are named."""
    if names is None:
        return 0
    try:
        return sum(not target.slow for target in resolve(names))
    except UsageError:
        return 0  # which is told once the other settings were looked at


def _missing(config: Config, chosen: Sequence[Target]) -> dict[str, str]:
    """Targets that are not used though nobody left them out, and why."""
    if config.targets is not None:
        return {}
    longer = {target.name for target in resolve(slow=True)}
    used = {target.name for target in chosen}
    slow = f"slow; campaigns of {FUZZ_SHORT / 60:g} minutes and more run them, or --slow-share {FUZZ_SLOW_SHARE}"
    return {
        a.target.name: a.why_not or (slow if a.target.name in longer else "used only where --targets names them")
        for a in describe()
        if a.target.name not in used
    }
