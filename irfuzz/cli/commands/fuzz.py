"""``irfuzz fuzz``: runs a campaign on seeds and writes each finding as a folder."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.api.progress_update import unobserved
from irfuzz.cli.budget_modes import budget_arguments, with_budget
from irfuzz.cli.campaign_display import Watch, continued_lines, targets_lines, watcher
from irfuzz.cli.campaign_flags import campaign_arguments
from irfuzz.cli.ci_reporting import ci_arguments, ci_files, report_to_ci
from irfuzz.cli.input_flags import input_arguments, inputs_said
from irfuzz.cli.model_reading_and_output_checks import seeds_of
from irfuzz.cli.parser import Parser, as_flags, duration, names, place, share, whole
from irfuzz.cli.progress_display import UpdateDisplay, remarked
from irfuzz.errors import InternalError, UsageError

if TYPE_CHECKING:
    from irfuzz.api.fuzz import CampaignSetup, FuzzOptions
    from irfuzz.api.fuzz_report import FuzzReport
    from irfuzz.api.progress_update import Update

BESIDE = ("reference", "onnxruntime:disabled")
"""What a target of the user's is run beside where nobody says: independent of each other, and started in seconds."""

NAME = "fuzz"
ABOUT = """Mutate models, run them on every target, and keep each disagreement as a replayable folder.

Running it again with the same --out continues. Ctrl-C ends it cleanly, a second one at once.
Exit code: 0 nothing new, 1 the folder holds findings that are neither known nor labelled nor in --baseline (--fail-on
changes that), 2 wrong usage or bad input, 3 a fault of irfuzz itself."""
EXAMPLES = """examples:
  irfuzz fuzz seeds --time 10m --out findings
  irfuzz fuzz model.onnx --targets 'onnxruntime:*,reference' --jobs 2
  irfuzz fuzz seeds --target my_package.my_module:MyRuntime --time 1h
  irfuzz fuzz seeds --target converter.py:Converter --learn --time 20m
  irfuzz fuzz seeds --ops Conv,Relu,Add,MaxPool --dtypes float32 --max-rank 4
  irfuzz fuzz ocr.onnx --input-shapes image:1x3x48x160 --range image=0,255
  irfuzz fuzz speech.onnx --size batch=2 --data recordings.npz
  irfuzz fuzz seeds --time 20m --against-versions onnxruntime:3
  irfuzz fuzz seeds --time 10m --json > summary.json
  irfuzz fuzz seeds --time 20m --baseline irfuzz-baseline.json --junit irfuzz.xml --sarif irfuzz.sarif
  irfuzz fuzz seeds --budget pull-request --out irfuzz-out

`irfuzz targets` lists the targets and says why some cannot be used here.
Flags and seeds may stand in a table [fuzz] of irfuzz.toml or [tool.irfuzz.fuzz] of pyproject.toml in the working
folder, by their long names: time = "40m", seeds = ["models"]; `irfuzz init` writes one. The command line wins."""


def arguments(parser: Parser) -> None:
    parser.project_table = NAME
    add = parser.add_argument
    add("seeds", metavar="SEED", nargs="*", type=place, help="A model, or a folder with models (*.onnx below it).")
    add(
        "--time", metavar="TIME", type=duration,
        help="How long: 90s, 10m, 1h30m. Default: 10m, or what --budget says.",
    )  # fmt: skip
    budget_arguments(parser)
    add(
        "-o", "--out", metavar="DIR", type=place, default=Path("irfuzz-out"),
        help="Folder of the campaign; continued where it holds one. Default: irfuzz-out.",
    )  # fmt: skip
    campaign_arguments(parser)
    add(
        "--target", metavar="NAME", action="append", default=[],
        help="One more target, such as package.module:Class or file.py:Class of your own; may be repeated. "
        "Without --targets it is run beside reference and onnxruntime:disabled.",
    )  # fmt: skip
    add(
        "--against-versions", metavar="NAME:N", action="append", default=[],
        help="Install the newest release of a component and the N before it, and compare them all; each finding says "
        "in which release it came and went, of all that can be installed. May be repeated.",
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
        "--learn", action="store_true",
        help="Ask targets first which operators, element types, ranks and attributes they take, go on to learn it, and "
        "draw only that: of classes of your own if some are named, else of converters, else of all but reference.",
    )  # fmt: skip
    add(
        "--ops", metavar="NAMES", type=names,
        help="Programs have no operators but these, besides Constant; seeds with others are left out.",
    )  # fmt: skip
    add(
        "--dtypes", metavar="NAMES", type=names, default=(),
        help="Inputs and what is computed have these element types only (float32,int64); constants may have others.",
    )  # fmt: skip
    add("--max-rank", metavar="N", type=whole(0), help="No value has more axes. Default: no limit.")
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
    add("--programs", metavar="N", type=whole(1), help="Stop after so many programs in all, even where time is left.")
    add(
        "--slow-share", metavar="SHARE", type=share,
        help="Largest part of the time for targets that take seconds a program, on those that show most that is new; "
        "0 leaves them out. Default: 0.25, or 0 where --time is less than five minutes.",
    )  # fmt: skip
    add(
        "--sprouts", metavar="SHARE", type=share,
        help="Share of the programs that grow from one node instead of a seed: small, and quickly run. "
        "Default: 0.6; 0.8 where more than eight targets are named.",
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
    ci_arguments(parser)
    add("--json", action="store_true", help="Print the summary as JSON, and no progress.")


def run(args: argparse.Namespace) -> int:
    from irfuzz.api.fuzz import fuzz, setup_of, with_versions
    from irfuzz.api.loaded_model import LoadedModel
    from irfuzz.api.target_selection import run_layers
    from irfuzz.campaign.campaign import Campaign

    if not args.seeds:
        raise UsageError("expected SEED, a model or a folder with models; see `irfuzz fuzz --help`")
    with_budget(args)
    options, targets = _options(args), _targets(args.targets, args.target)
    with _flags(args):
        targets, options = with_versions(targets, options, args.time, equiv=args.equiv, progress=_installing(args))
        setup = setup_of(args.out, targets, args.time, options, equiv=args.equiv)
    files = ci_files(args)
    continued = Campaign.stored_config(args.out) is not None
    loaded = seeds_of(args.seeds, to_run=True, layers=run_layers(targets))
    said = inputs_said(args, loaded)
    models = [LoadedModel(str(path), program, said[path], path) for path, program in loaded.items()]
    quiet = args.quiet or args.json
    follow: UpdateDisplay[FuzzReport] = UpdateDisplay(silent=quiet)
    watch: Watch | None = None
    with contextlib.ExitStack() as shown:
        shown.enter_context(follow)

        def tell(update: Update[FuzzReport]) -> None:
            nonlocal watch
            if update.doing == "starting" and not quiet:
                shown.close()
                _say_what_starts(args, setup, update.so_far() if continued and update.so_far is not None else None)
                watch = shown.enter_context(watcher(args.time))
            elif update.doing == "fuzzing" and watch is not None and update.so_far is not None:
                report = update.so_far()
                if report is not None:
                    watch(report)
            elif update.doing not in ("starting", "fuzzing"):
                follow(update)

        with _flags(args):
            report = fuzz(
                models, args.out, targets=targets, seconds=args.time, programs=args.programs, equiv=args.equiv,
                options=options, progress=tell,
            )  # fmt: skip
    print(json.dumps(report.to_json(), allow_nan=False) if args.json else str(report))
    report_to_ci(report.for_ci, files, json=args.json)
    if report.progress.internal_errors:
        raise InternalError(
            f"irfuzz itself failed {report.progress.internal_errors} times; what it failed on is in "
            f"{report.internal}, please report it"
        )
    return report.exit_code


def _installing(args: argparse.Namespace) -> Callable[[Update[FuzzReport]], None]:
    """What is told while releases are installed; nothing with ``--json``."""
    return unobserved if args.quiet or args.json else remarked


def _options(args: argparse.Namespace) -> FuzzOptions:
    from irfuzz.api.fuzz import FuzzOptions

    return FuzzOptions(
        mutators=args.mutators,
        domains=args.domains,
        search=args.search,
        hunt=args.hunt,
        python_coverage=args.python_coverage,
        seed=args.seed,
        jobs=args.jobs,
        max_nodes=args.max_nodes,
        every=args.every,
        slow_share=args.slow_share,
        sprouts=args.sprouts,
        timeout=args.timeout,
        memory=None if args.memory is None else args.memory << 20,
        reduce=args.reduce,
        against_versions=args.against_versions,
        fail_on=args.fail_on,
        baseline=args.baseline,
        replay=args.replay,
        ops=args.ops,
        dtypes=args.dtypes,
        max_rank=args.max_rank,
        learn=args.learn,
    )


@contextlib.contextmanager
def _flags(args: argparse.Namespace) -> Generator[None]:
    """Messages begin with the flags that are wrong; a target may be given by ``--targets`` or ``--target``."""
    names = (
        "mutators",
        "domains",
        "search",
        "hunt",
        "python-coverage",
        "slow-share",
        "sprouts",
        "timeout",
        "memory",
        "reduce",
        "against-versions",
        "baseline",
        "replay",
        "ops",
        "dtypes",
        "max-rank",
        "learn",
    )
    with as_flags(*names, "reduce", "jobs", "max-nodes", "every", seed=f"--seed {args.seed}"):
        try:
            yield
        except UsageError as error:
            where, _, why = str(error).partition(": ")
            if where != "targets":
                raise
            flag = "--target" if any(repr(name) in why for name in args.target) else "--targets"
            raise UsageError(f"{flag}: {why}") from None


def _say_what_starts(args: argparse.Namespace, setup: CampaignSetup, before: FuzzReport | None) -> None:
    from irfuzz.isolate.sandbox_report import sandbox_line

    lines = [] if before is None else continued_lines(before, args.programs)
    if args.project_flags.keys:
        lines.append(f"flags of {args.project_flags.place}: {', '.join(args.project_flags.keys)}")
    lines += targets_lines({t.name: t.version for t in setup.targets}, setup.missing)
    lines.append(sandbox_line())
    if len({t.component for t in setup.targets}) < 3 and not args.equiv:
        lines.append("fewer than three components: where two differ in numbers, nobody tells which is right")
    for line in lines:
        print(f"irfuzz: {line}", file=sys.stderr)


def _targets(chosen: Sequence[str] | None, more: Sequence[str]) -> tuple[str, ...] | None:
    """The names of ``--targets`` and ``--target``."""
    from irfuzz.execute.target_table import resolve

    if not more:
        return None if chosen is None else tuple(chosen)
    if chosen is None:
        there = [target.name for target in resolve(None)]
        chosen = BESIDE if set(BESIDE) <= set(there) else there
    return (*chosen, *(name for name in more if name not in chosen))
