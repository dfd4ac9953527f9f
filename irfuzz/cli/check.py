"""``irfuzz check`` says whether a model computes the same on all targets, and if not, at which nodes they part."""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from irfuzz.cli.input_flags import input_arguments, inputs_said
from irfuzz.cli.inputs import about, arrays_to_write, one_model, one_planned, page_to_write
from irfuzz.cli.interrupt import telling
from irfuzz.cli.parser import Parser, duration, names, place, positive, printable, share, whole
from irfuzz.cli.progress import Progress
from irfuzz.cli.samples import Given, by_input, draws, given, load_saved, rows_of, sample_arguments
from irfuzz.errors import UsageError

if TYPE_CHECKING:
    from irfuzz.execute.runner import Runner
    from irfuzz.execute.types import Target
    from irfuzz.ir.program import Program
    from irfuzz.isolate import Limits
    from irfuzz.localize.compare import Tolerance
    from irfuzz.localize.comparison import Setting
    from irfuzz.localize.labelled import Labels
    from irfuzz.localize.saved import Saved
    from irfuzz.localize.verdict import Report
    from irfuzz.report.check import Setup

NAME = "check"
ABOUT = """Run one model on several targets and say whether they compute the same, and if not, where they part.

Outputs may differ by what rounding explains for that model and input, or by --rtol and --atol. Who is wrong is decided
by the largest group of targets that agree, and by the model computed in float64. With --labels, CRADLE's distances to
the ground truth are measured for every pair of targets. A disagreement is localised: each node runs alone on the
inputs that it has on the other target, and CRADLE's map shows the hidden states of both.
Exit code: 0 they agree, 1 they disagree or the model breaks a rule of ONNX, 2 where the input or a flag is wrong or
fewer than two targets run it, 130 after Ctrl-C, with what is known by then printed."""
EXAMPLES = """examples:
  irfuzz check model.onnx
  irfuzz check model.onnx --data inputs.npz --labels labels.npy --targets reference,ort:all,torch:eager
  irfuzz check model.onnx --input-shapes image:1x3x48x160 --range image=0,255
  irfuzz check model.onnx --targets ort:disabled,ort:all --rtol 1e-3 --atol scores:1e-4 --map map.html
  irfuzz check model.onnx --targets runtimes --time 10m --strict"""

TIMEOUT = 30.0
MEMORY = 4096


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", type=place, help="A model, of any kind that `irfuzz fuzz` takes.")
    add(
        "--targets", metavar="NAMES", type=names,
        help="What to compare. Default: all quick runtimes that are installed. Left out are those that compile for "
        "seconds (openvino, iree, torch:export, torch:compile, tensorflow:function, tensorflow:xla): name them, or "
        "`runtimes` for all; and ONNX's reference evaluator (reference) is asked only if others differ or fewer than "
        "two run.",
    )  # fmt: skip
    add(
        "--base", metavar="NAME", default="",
        help="The target to which differences are measured. Default: the first of --targets that runs the model, or "
        "the quickest.",
    )  # fmt: skip
    input_arguments(parser, data="The model runs on each.")
    sample_arguments(parser)
    add(
        "--labels",
        metavar="FILE",
        type=place,
        help="An npy: the truth of each sample; or NAME of an array beside the inputs.",
    )
    for flag in ("--rtol", "--atol"):
        add(
            flag, metavar="[OUTPUT:]X", action="append", type=_tolerance, default=[],
            help="Fixed bound, of all outputs or of one; repeat it. Either one replaces derived bounds (other: 1e-5).",
        )  # fmt: skip
    add("--metric", choices=("class", "mad"), help="CRADLE's distance. Default: class where the labels are classes.")
    add("--output", metavar="NAME", help="The output that labels are about. Default: the first.")
    add("--threshold", metavar="T", type=positive, help="A distance that matters (default: class 8, mad 0.2).")
    add("--share", metavar="P", type=share, default=0.0, help="Of samples that may exceed it (default: 0).")
    add("--save-inputs", metavar="FILE", type=place, help="Write the inputs as an npz that --data takes.")
    add("--save-outputs", metavar="FILE", type=place, help="Write an npz with arrays TARGET/OUTPUT, a row a sample.")
    add("--load-outputs", metavar="FILE", type=place, help="Compare with what --save-outputs wrote, too.")
    add("--fail-fast", action="store_true", help="Stop at the first input on which targets disagree.")
    add(
        "--strict", action="store_true",
        help="Exit with 1 also if something is undecided, an output is NaN or empty everywhere, or not all was run.",
    )  # fmt: skip
    add("--no-localise", action="store_true", help="Do not look for the nodes where targets part.")
    add("--causes", action="store_true", help="Look for the parameters that cause it too (AUDEE); takes more runs.")
    add("--map", metavar="FILE", type=place, help="Write a page with the map, even where all agree.")
    add(
        "--time", metavar="TIME", type=duration,
        help="What all of it may take (90s, 10m); then what is known is printed. Default: no limit, but looking for "
        "nodes ends after 20 s.",
    )  # fmt: skip
    add(
        "--timeout", metavar="SECONDS", type=positive,
        help=f"What one target may take with one input. Default: {TIMEOUT:g}, and more for large weights.",
    )  # fmt: skip
    add(
        "--memory", metavar="MIB", type=whole(1),
        help="What the process of one component may take over what its framework takes. "
        f"Default: {MEMORY}, and more for large weights.",
    )  # fmt: skip
    add("--json", action="store_true", help="Print JSON.")


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Whom a check asks: always, only in doubt, and not at all."""

    targets: tuple[Target, ...]
    witnesses: tuple[Target, ...]
    left_out: tuple[str, ...]


def run(args: argparse.Namespace) -> int:
    from irfuzz.execute.runner import Runner
    from irfuzz.frontends.onnx_file import save_file
    from irfuzz.generate.input_annotation import annotated
    from irfuzz.localize.check import NothingCompared
    from irfuzz.report import check as report
    from irfuzz.store.tensors import pack

    began = time.monotonic()
    began = time.monotonic()
    path, program = one_model(args.model, to_run=True)
    page = page_to_write(args.map, "--map")
    kept = arrays_to_write(args.save_outputs, "--save-outputs")
    fed_to = arrays_to_write(args.save_inputs, "--save-inputs")
    said = inputs_said(args, {path: program})[path]
    program = annotated(program, said.spec)
    if draws(args, said):
        program = one_planned(path, program)
    with about(path):
        data = given(args, program, said)
    if args.causes and args.no_localise:
        raise UsageError("--causes: with --no-localise nothing is looked for; leave one of them out")
    saved = [] if args.load_outputs is None else load_saved(args.load_outputs, program, len(data.samples))
    chosen = _chosen(args, len(saved))
    limits = _limits(args, program)
    setting = _setting(args, chosen, limits, drawn=not data.named)
    setup = _setup(data, chosen)
    name = str(path)
    if fed_to is not None:
        save_file(pack(by_input(data.samples)), fed_to)

    def show(found: Report) -> None:
        found = _with_known(found, program)
        text = json.dumps(report.as_json(found, name, setup)) if args.json else report.as_text(found, name, setup)
        print(text if args.json else printable(text), flush=True)

    try:
        with Runner(chosen.targets, limits, required=args.targets is not None) as runner:
            left = None if args.time is None else max(0.0, args.time - (time.monotonic() - began))
            setting = replace(setting, seconds=left)
            found = _with_known(_checked(runner, program, data, args, setting, saved, show), program)
    except NothingCompared as error:
        raise UsageError(f"{path}: {error}{_what_to_pass(data, program)}") from None
    if kept is not None:
        save_file(pack(rows_of(found.outputs, found.samples)), kept)
    if page is not None:
        save_file(printable(report.as_html(found, path.name)).encode(), page)
    show(found)
    return 0 if found.agree and not (args.strict and found.unclear) else 1


def _chosen(args: argparse.Namespace, saved: int) -> _Chosen:
    """The targets of the flags; without them the quick runtimes, the cheapest first.

    Raises:
        UsageError: a name is unknown, or there are fewer than two.
    """
    from irfuzz.execute.table import resolve
    from irfuzz.oracle.witnesses import REFERENCE

    targets = resolve(args.targets)
    witnesses: tuple[Target, ...] = ()
    left_out: tuple[str, ...] = ()
    if args.targets is None:
        left_out = tuple(t.name for t in resolve(["runtimes"]) if t.slow)
        slowest = tuple(t for t in targets if t.component == REFERENCE)
        others = tuple(t for t in targets if t.component != REFERENCE)
        if args.base in {t.name for t in slowest} or not others:
            targets = (*others, *slowest)
        else:
            targets, witnesses = others, slowest
    if len(targets) + len(witnesses) + saved < 2:
        raise UsageError(f"--targets: expected at least two to compare, got {', '.join(t.name for t in targets)}")
    return _Chosen(targets, witnesses, left_out)


def _limits(args: argparse.Namespace, program: Program) -> Limits:
    """What a run may take: the flags, else what suits the program's weights."""
    from irfuzz.execute.large_limits import limits_for
    from irfuzz.isolate import Limits

    usual = Limits(seconds=args.timeout or TIMEOUT, memory_bytes=(args.memory or MEMORY) << 20)
    return limits_for([program], usual, memory=args.memory is None, seconds=args.timeout is None)


def _setting(args: argparse.Namespace, chosen: _Chosen, limits: Limits, *, drawn: bool) -> Setting:
    from irfuzz.localize.comparison import Setting
    from irfuzz.localize.ends import Allowed
    from irfuzz.report.check_known import known_faults

    return Setting(
        drawn=drawn,
        witnesses=chosen.witnesses,
        allowed=Allowed(limits.seconds, limits.memory_bytes),
        known_faults=known_faults(),
    )


def _setup(data: Given, chosen: _Chosen) -> Setup:
    from irfuzz.localize.fed import fed
    from irfuzz.report.check import Setup

    return Setup("" if data.named else f"{fed(data.samples)} (drawn)", chosen.left_out)


def _what_to_pass(data: Given, program: Program) -> str:
    """The end of a message about inputs that nobody takes."""
    from irfuzz.api.input_plans import advice
    from irfuzz.localize.fed import fed

    if data.named:
        return f"; the inputs of {data.named} were {fed(data.samples)}"
    return f"; drawn inputs: {fed(data.samples)}; {advice(program)}"


def _with_known(found: Report, program: Program) -> Report:
    from irfuzz.report.check_known import with_known

    return with_known(found, program)


def _checked(
    runner: Runner,
    program: Program,
    data: Given,
    args: argparse.Namespace,
    setting: Setting,
    saved: Sequence[Saved],
    show: Callable[[Report], None],
) -> Report:
    """Compare, with progress on standard error, and with what is known printed after Ctrl-C."""
    from irfuzz.localize.check import check

    known: list[Callable[[], Report | None]] = []

    def tell() -> None:
        found = known[0]() if known else None
        if found is not None:
            show(found)

    with telling(tell), Progress("comparing", len(data.samples), "inputs") as progress:

        def follow(what: str, done: int, of: int) -> None:
            if what == "inputs":
                progress(done, of)
            else:
                progress(note=f"{what}: {done} of {of} nodes" if of else what)

        return check(
            runner,
            program,
            data.samples,
            base=args.base,
            tolerance=_tolerances(args, program),
            labels=_labels(args, program, data),
            fail_fast=args.fail_fast,
            always_map=args.map is not None,
            locate=not args.no_localise,
            causal=args.causes,
            keep=args.save_outputs is not None,
            saved=saved,
            progress=follow,
            setting=setting,
            so_far=known.append,
        )


def _tolerance(text: str) -> tuple[str, float]:
    """The type of ``--rtol`` and ``--atol``."""
    name, _, number = text.rpartition(":")
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"expected [OUTPUT:]NUMBER of at least 0, got {text!r}")
    return name, value


def _tolerances(args: argparse.Namespace, program: Program) -> Tolerance | None:
    from irfuzz.localize.compare import Tolerance

    if not args.rtol and not args.atol:
        return None
    known = {o.name or "" for o in program.graph.outputs}
    for flag in ("rtol", "atol"):
        for name, _ in getattr(args, flag):
            if name and name not in known:
                raise UsageError(f"--{flag}: {name!r} is no output of the model ({', '.join(sorted(known))})")
    rtols, atols = dict(args.rtol), dict(args.atol)
    return Tolerance(rtols.pop("", 1e-5), atols.pop("", 1e-5), rtols, atols)


def _labels(args: argparse.Namespace, program: Program, given: Given) -> Labels | None:
    import numpy as np

    from irfuzz.facts import TensorFact
    from irfuzz.localize.labelled import labels_for
    from irfuzz.oracle.cradle import Metric

    data, count = given.more, len(given.samples)
    if args.labels is None:
        for flag in ("metric", "output", "threshold", "share"):
            if getattr(args, flag):
                raise UsageError(f"--{flag}: it is about labels; give --labels too")
        return None
    if not given.named:
        raise UsageError("--labels: they are about samples, so --data is needed too")
    if str(args.labels) in data and not args.labels.exists():
        truth = data[str(args.labels)]
    else:
        try:
            truth = np.asarray(np.load(args.labels, allow_pickle=False))
        except (OSError, ValueError) as error:
            raise UsageError(f"--labels {args.labels}: neither an npy file nor an array of the data: {error}") from None
    if truth.ndim == 0 or truth.dtype.kind not in "iuf" or len(truth) < count:
        raise UsageError(f"--labels {args.labels}: expected {count} numbers, got {truth.dtype}{list(truth.shape)}")
    outputs = {o.name or "": o for o in program.graph.outputs}
    name = next(iter(outputs)) if args.output is None else args.output
    if name not in outputs:
        raise UsageError(f"--output: {name!r} is no output of the model ({', '.join(outputs)})")
    fact = program.fact(outputs[name])
    sizes = list(fact.shape or ()) if isinstance(fact, TensorFact) else []
    classes = math.prod(s if isinstance(s, int) else 1 for s in sizes)
    made = labels_for(truth[:count], name, classes, None if args.metric is None else Metric(args.metric))
    threshold = made.threshold if args.threshold is None else args.threshold
    return replace(made, threshold=threshold, share=args.share)
