"""``irfuzz check``: a model and inputs enter, whether all targets compute the same and where they part leaves."""

from __future__ import annotations

import argparse
import json
import math
import sys
from typing import TYPE_CHECKING

from irfuzz.cli.inputs import about, arrays_to_write, one_model, page_to_write
from irfuzz.cli.parser import Parser, names, place, positive, printable, share
from irfuzz.cli.samples import Given, given, load_saved, rows_of, sample_arguments, stacked
from irfuzz.errors import UsageError

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.localize.compare import Tolerance
    from irfuzz.localize.labelled import Labels

NAME = "check"
ABOUT = """Run one model on several targets and say whether they compute the same, and if not, where they part.

Outputs may differ by what rounding explains for that model and input, or by --rtol and --atol. With --labels, CRADLE's
distances to the ground truth are measured for every pair of targets. A disagreement is localised: each node runs alone
on the inputs that it has on the other target, and CRADLE's map shows the hidden states of both.
Exit code: 0 they agree, 1 they disagree, 2 where the input or a flag is wrong or fewer than two targets run it."""
EXAMPLES = """examples:
  irfuzz check model.onnx
  irfuzz check model.onnx --data inputs.npz --labels labels.npy --targets reference,ort:all,torch:eager
  irfuzz check model.onnx --targets ort:disabled,ort:all --rtol 1e-3 --atol scores:1e-4 --map map.html"""


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", type=place, help="A model, of any kind that `irfuzz fuzz` takes.")
    add("--targets", metavar="NAMES", type=names, help="What to compare. Default: all runtimes that are installed.")
    add("--base", metavar="NAME", default="", help="The target to compare with. Default: the first.")
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
    add("--no-localise", action="store_true", help="Do not look for the nodes where targets part.")
    add("--causes", action="store_true", help="Look for the parameters that cause it too (AUDEE); takes more runs.")
    add("--map", metavar="FILE", type=place, help="Write a page with the map, even where all agree.")
    add("--json", action="store_true", help="Print JSON.")


def run(args: argparse.Namespace) -> int:
    from irfuzz.execute.runner import Runner
    from irfuzz.execute.table import resolve
    from irfuzz.frontends.onnx_file import save_file
    from irfuzz.localize.check import check
    from irfuzz.report import check as report
    from irfuzz.store.tensors import pack

    path, program = one_model(args.model, to_run=True)
    page = page_to_write(args.map, "--map")
    kept = arrays_to_write(args.save_outputs, "--save-outputs")
    fed = arrays_to_write(args.save_inputs, "--save-inputs")
    with about(path):
        data = given(args, program)
    samples = data.samples
    labels = _labels(args, program, data)
    tolerance = _tolerances(args, program)
    if args.causes and args.no_localise:
        raise UsageError("--causes: with --no-localise nothing is looked for; leave one of them out")
    saved = [] if args.load_outputs is None else load_saved(args.load_outputs, program, len(samples))
    targets = resolve(args.targets)
    if len(targets) + len(saved) < 2:
        raise UsageError(f"--targets: expected at least two to compare, got {', '.join(t.name for t in targets)}")
    if fed is not None:
        save_file(pack(stacked(samples, "--save-inputs")), fed)
    with Runner(targets, required=args.targets is not None) as runner:
        found = check(
            runner,
            program,
            samples,
            base=args.base,
            tolerance=tolerance,
            labels=labels,
            fail_fast=args.fail_fast,
            always_map=args.map is not None,
            locate=not args.no_localise,
            causal=args.causes,
            keep=args.save_outputs is not None,
            saved=saved,
            progress=_progress,
        )
    if kept is not None:
        save_file(pack(rows_of(found.outputs, found.samples)), kept)
    if page is not None:
        save_file(printable(report.as_html(found, path.name)).encode(), page)
    name = str(path)
    print(json.dumps(report.as_json(found, name)) if args.json else printable(report.as_text(found, name)))
    return 0 if found.agree else 1


def _progress(done: int, count: int) -> None:
    if sys.stderr.isatty():
        print(f"irfuzz: {done} of {count} inputs", file=sys.stderr)


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
    from dataclasses import replace

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
