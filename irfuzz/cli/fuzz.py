"""``irfuzz fuzz``: seeds and a time enter, findings leave in a folder each."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.cli.input_flags import input_arguments, inputs_said
from irfuzz.cli.inputs import known_domains, known_mutators, planned, seeds_of, tell_of_unmutable
from irfuzz.cli.parser import Parser, duration, names, place, positive, share, whole
from irfuzz.errors import InternalError, UsageError

if TYPE_CHECKING:
    from irfuzz.campaign.campaign import Progress
    from irfuzz.campaign.config import Config
    from irfuzz.execute.types import Target

SLOW_SHARE, SHORT = 0.25, 300.0
"""Share of slow targets where none is given; in less than so many seconds they would hardly have started."""

SEARCH, HUNT = "thompson", "both"

BESIDE = ("reference", "onnxruntime:disabled")
"""What a target of the user's is run beside where nobody says: independent of each other, and started in seconds."""

MEMORY = 4096
"""MiB that a worker may take beyond its framework, if nobody says more."""

NAME = "fuzz"
ABOUT = """Mutate models, run them on every target, and keep each disagreement as a replayable folder.

Running it again with the same --out continues. Ctrl-C ends it cleanly, a second one at once.
Exit code: 0 nothing found, 1 findings, 2 wrong usage or bad input, 3 a fault of irfuzz itself."""
EXAMPLES = """examples:
  irfuzz fuzz seeds --time 10m --out findings
  irfuzz fuzz model.onnx --targets 'onnxruntime:*,reference' --jobs 2
  irfuzz fuzz seeds --target my_package.my_module:MyRuntime --time 1h
  irfuzz fuzz ocr.onnx --input-shapes image:1x3x48x160 --range image=0,255
  irfuzz fuzz speech.onnx --size batch=2 --data recordings.npz
  irfuzz fuzz seeds --time 10m --json > summary.json

`irfuzz targets` lists the targets and says why some cannot be used here."""


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("seeds", metavar="SEED", nargs="+", type=place, help="A model, or a folder with models (*.onnx below it).")
    add("--time", metavar="TIME", type=duration, default=600.0, help="How long: 90s, 10m, 1h30m. Default: 10m.")
    add(
        "-o", "--out", metavar="DIR", type=place, default=Path("irfuzz-out"),
        help="Folder of the campaign; continued where it holds one. Default: irfuzz-out.",
    )  # fmt: skip
    add(
        "--targets", metavar="NAMES", type=names,
        help="Targets, separated by commas; * is a wildcard. Default: all that are installed, on the CPU.",
    )  # fmt: skip
    add(
        "--target", metavar="NAME", action="append", default=[],
        help="One more target, such as package.module:Class or file.py:Class of your own; may be repeated. "
        "Without --targets it is run beside reference and onnxruntime:disabled.",
    )  # fmt: skip
    input_arguments(parser, most=64, data="Seeds run on them, and half of the mutants, on some of them varied.")
    add(
        "--mutators", metavar="NAMES", type=names,
        help="Mutators, separated by commas; comet, lemon and muffin stand for those of a paper, a paper's name of an "
        "operator (MDtype, GF) for its own. Default: all.",
    )  # fmt: skip
    add(
        "--domains", metavar="NAMES", type=names, default=(),
        help="Insert operators of these domains, too (ai.onnx.ml, com.microsoft, ...), besides ONNX's own and those "
        "that a seed has nodes of.",
    )  # fmt: skip
    add(
        "--search", metavar="NAME",
        help="What chooses parents and mutators: thompson, weighted, mcmc (COMET's) or random. Default: thompson.",
    )  # fmt: skip
    add(
        "--python-coverage", action="store_true",
        help="Count lines of components written in Python (onnx2torch, tf2onnx, onnxscript, ..., a class of your own); "
        "a program that runs new ones becomes a parent. They run slower.",
    )  # fmt: skip
    add(
        "--seed", metavar="S", type=whole(0),
        help="Root of all randomness. Default: 0, or that of the continued campaign.",
    )  # fmt: skip
    add("--jobs", metavar="N", type=whole(1), help="Processes that work side by side. Default: one a core.")
    add("--programs", metavar="N", type=whole(1), help="Stop after so many programs in all, even where time is left.")
    add(
        "--max-nodes", metavar="N", type=whole(1), default=200,
        help="No mutant gets more nodes, or than 30 more than its seed where that has more. Default: 200.",
    )  # fmt: skip
    add(
        "--every", metavar="N", type=whole(1), default=16,
        help="Targets that seldom tell more run on one program in so many, and whenever others disagree. Default: 16.",
    )  # fmt: skip
    add(
        "--slow-share", metavar="SHARE", type=share,
        help="Largest part of the time for targets that take seconds a program, on those that show most that is new; "
        "0 leaves them out. Default: 0.25, or 0 where --time is less than five minutes.",
    )  # fmt: skip
    add(
        "--timeout", metavar="SECONDS", type=positive, default=10.0,
        help="What one target may take with one program. Default: 10.",
    )  # fmt: skip
    add(
        "--memory", metavar="MIB", type=whole(1),
        help=f"What one worker may take beyond its framework. Default: {MEMORY}, and more for large weights.",
    )  # fmt: skip
    add(
        "--reduce", metavar="SECONDS", type=positive, default=20.0,
        help="How long making one finding small may take. Default: 20.",
    )  # fmt: skip
    add(
        "--sprouts", metavar="SHARE", type=share,
        help="Share of the programs that grow from one node instead of a seed: small, and quickly run. "
        "Default: 0.4; 0.8 where more than eight targets are named.",
    )  # fmt: skip
    add(
        "--hunt", metavar="WHAT",
        help="What the static analysis steers the inputs of some programs to: numeric (differences, away from what "
        "may give NaN), nan (into it), both in turn, or none. Default: both.",
    )  # fmt: skip
    add(
        "--equiv", action="store_true",
        help="Test each target against itself: every mutant is rewritten into forms that compute the same and run in "
        "other ways (those that take long on one program in --every); a finding names the rewrite and the operator.",
    )  # fmt: skip
    add("--json", action="store_true", help="Print the summary as JSON, and no progress.")


def run(args: argparse.Namespace) -> int:
    from irfuzz.campaign.campaign import Campaign
    from irfuzz.cli.show import summary_json, summary_text, targets_lines, watcher
    from irfuzz.execute.large_limits import memory_for
    from irfuzz.generate.input_annotation import annotated

    _fit_equiv(args)
    config = _config(args, Campaign.stored_config(args.out))
    chosen = _resolve(config, args.target)
    missing = _missing(config, chosen)
    loaded = seeds_of(args.seeds, to_run=True)
    tell_of_unmutable(loaded)
    if args.memory is None:
        config = replace(config, memory=memory_for(loaded.values(), config.memory))
    said = inputs_said(args, loaded)
    seeds = planned({path: annotated(program, said[path].spec) for path, program in loaded.items()})
    quiet = args.quiet or args.json
    with Campaign(args.out, config) as campaign:
        for path, seed in seeds.items():
            campaign.add_seed(path.name, seed, said[path].spec, given=loaded[path].digest)
        if not quiet:
            if campaign.continued:
                _say(f"continuing the campaign in {args.out}, seed {config.seed}")
            for text in targets_lines({t.name: t.version for t in chosen}, missing):
                _say(text)
            if len({t.component for t in chosen}) < 3 and not args.equiv:
                _say("fewer than three components: where two differ in numbers, nobody tells which is right")
        with watcher(campaign, args.time, quiet=quiet) as watch:
            kind = "self-test" if args.equiv else "differential"
            progress = campaign.run(args.time, watch, stop_at=args.programs, kind=kind)
        rows = campaign.findings()
        code = 3 if progress.internal_errors else 1 if rows else 0
        if code == 0 and not campaign.interrupted:
            _judged(progress, args.programs)
        if args.json:
            print(json.dumps(summary_json(campaign, progress, rows, missing, code), allow_nan=False))
        else:
            print(summary_text(campaign, progress, rows))
        if progress.internal_errors:
            raise InternalError(
                f"irfuzz itself failed {progress.internal_errors} times; what it failed on is in "
                f"{campaign.layout.internal}, please report it"
            )
    return code


def _judged(progress: Progress, enough: int | None) -> None:
    """See that a campaign which could have judged a program did: else that nothing was found says nothing.

    Raises:
        UsageError: it did not.
    """
    if progress.programs_this_run or (enough is not None and progress.programs >= enough):
        return
    counted = ", ".join(f"{n}: {c}" for n in ("unmutated", "no inputs") if (c := progress.counts.get(n)))
    if counted and not progress.programs:
        raise UsageError(f"no program was judged in {progress.seconds:.0f} s ({counted}); use other seeds")
    raise UsageError(
        f"no program was judged in {progress.seconds:.0f} s: the targets had not started, or the first programs took "
        "longer; give more --time or fewer --targets"
    )


def _fit_equiv(args: argparse.Namespace) -> None:
    """Refuse what has no meaning for a test of each target against itself.

    Raises:
        UsageError: such a flag is given.
    """
    given = {
        "--search": args.search is not None,
        "--hunt": args.hunt is not None,
        "--slow-share": args.slow_share is not None,
        "--python-coverage": args.python_coverage,
    }
    for flag, there in given.items() if args.equiv else ():
        if there:
            raise UsageError(
                f"{flag}: has no meaning with --equiv, which draws parents by what is new in them, steers no inputs, "
                "and runs every target that is named on every program; leave it out"
            )


def _config(args: argparse.Namespace, stored: Config | None) -> Config:
    from irfuzz.campaign.config import Config, usual_sprouts

    seed = args.seed if args.seed is not None else (stored.seed if stored else 0)
    if stored is not None and stored.seed != seed:
        raise UsageError(
            f"--seed {seed}: {args.out} holds a campaign with seed {stored.seed}; "
            "leave --seed out to continue it, or use another --out"
        )
    targets = _targets(args.targets, args.target)
    return Config(
        seed=seed,
        targets=targets,
        mutators=known_mutators(args.mutators),
        domains=known_domains(args.domains),
        jobs=args.jobs if args.jobs is not None else max(1, len(os.sched_getaffinity(0))),
        max_nodes=args.max_nodes,
        every=args.every,
        timeout=args.timeout,
        memory=(args.memory or MEMORY) << 20,
        reduce=args.reduce,
        sprouts=usual_sprouts(targets) if args.sprouts is None else args.sprouts,
        search=SEARCH if args.search is None else args.search,
        slow_share=args.slow_share if args.slow_share is not None else SLOW_SHARE * (args.time >= SHORT),
        hunt=HUNT if args.hunt is None else args.hunt,
        python_coverage=args.python_coverage,
    )


def _targets(chosen: Sequence[str] | None, more: Sequence[str]) -> tuple[str, ...] | None:
    from irfuzz.execute.table import resolve

    if not more:
        return None if chosen is None else tuple(chosen)
    if chosen is None:
        there = [target.name for target in resolve(None)]
        chosen = BESIDE if set(BESIDE) <= set(there) else there
    return (*chosen, *(name for name in more if name not in chosen))


def _resolve(config: Config, more: Sequence[str]) -> tuple[Target, ...]:
    """The targets, those of ``--target`` among them; says now what is wrong with a name, not from inside a job."""
    from irfuzz.execute.table import resolve

    try:
        found = resolve(config.targets, slow=config.slow_share > 0)
    except UsageError as error:
        if config.targets is None:
            raise
        flag = "--target" if any(repr(name) in str(error) for name in more) else "--targets"
        raise UsageError(f"{flag}: {error}") from None
    if not found:
        raise UsageError("no target is installed; `irfuzz targets` says what each one needs")
    return found


def _missing(config: Config, chosen: Sequence[Target]) -> dict[str, str]:
    """Targets that are not used though nobody left them out, and why."""
    from irfuzz.execute.table import describe, resolve

    if config.targets is not None:
        return {}
    longer = {target.name for target in resolve(slow=True)}
    used = {target.name for target in chosen}
    slow = f"slow; campaigns of {SHORT / 60:g} minutes and more run them, or --slow-share {SLOW_SHARE}"
    return {
        a.target.name: a.why_not or (slow if a.target.name in longer else "used only where --targets names them")
        for a in describe()
        if a.target.name not in used
    }


def _say(text: str) -> None:
    print(f"irfuzz: {text}", file=sys.stderr)
