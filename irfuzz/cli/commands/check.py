"""``irfuzz check`` says whether a model computes the same on all targets, and if not, at which nodes they part."""

from __future__ import annotations

import argparse
import json
import math
import time
from typing import TYPE_CHECKING

from irfuzz.api.default_settings import CHECK_MEMORY, CHECK_TIMEOUT
from irfuzz.cli.input_flags import given_model, input_arguments
from irfuzz.cli.interrupt_handling import telling
from irfuzz.cli.model_reading_and_output_checks import arrays_to_write, page_to_write
from irfuzz.cli.parser import Parser, as_flags, duration, names, place, positive, share, whole
from irfuzz.cli.progress_display import UpdateDisplay, say
from irfuzz.cli.sample_flags import drawn, sample_arguments, with_samples
from irfuzz.errors import UsageError
from irfuzz.report.terminal_text_cleaning import printable

if TYPE_CHECKING:
    from irfuzz.api.check import CheckOptions
    from irfuzz.api.ground_truth_labels import GroundTruth
    from irfuzz.api.loaded_model import LoadedModel

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


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", type=place, help="A model, of any kind that `irfuzz fuzz` takes.")
    add(
        "--targets", metavar="NAMES", type=names,
        help="What to compare. Default: all quick runtimes that are installed. Left out are those that compile for "
        "seconds or ask another process (openvino, onnxruntime-openvino, iree, jax, tvm, tinygrad, ncnn, torch:export, "
        "torch:compile, tensorflow:function, tensorflow:xla), and keras: name them, or `runtimes` for all; and ONNX's "
        "reference evaluator (reference) is asked only if others differ or fewer than two run.",
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
        help=f"What one target may take with one input. Default: {CHECK_TIMEOUT:g}, and more for large weights.",
    )  # fmt: skip
    add(
        "--memory", metavar="MIB", type=whole(1),
        help="What the process of one component may take over what its framework takes. "
        f"Default: {CHECK_MEMORY}, and more for large weights.",
    )  # fmt: skip
    add("--json", action="store_true", help="Print JSON.")


def run(args: argparse.Namespace) -> int:
    from irfuzz.api.check import CheckReport, check
    from irfuzz.api.target_selection import run_layers
    from irfuzz.frontends.onnx_file import save_file
    from irfuzz.isolate.sandbox_report import sandbox_line

    began = time.monotonic()
    model = given_model(args, to_run=True, layers=run_layers(args.targets))
    page = page_to_write(args.map, "--map")
    model = with_samples(args, model)
    options = _options(args, model)

    def show(report: CheckReport | None) -> None:
        if report is not None:
            print(json.dumps(report.to_json()) if args.json else printable(str(report)), flush=True)

    follow: UpdateDisplay[CheckReport] = UpdateDisplay()
    words = {"labels": f"--labels {args.labels}", "saved": f"--load-outputs {args.load_outputs}"}
    with telling(lambda: show(follow.known())), as_flags("targets", "rtol", "atol", "output", **words), follow:
        report = check(
            model,
            targets=args.targets,
            draw=drawn(args),
            rtol=dict(args.rtol) or None,
            atol=dict(args.atol) or None,
            seconds=None if args.time is None else max(0.0, args.time - (time.monotonic() - began)),
            options=options,
            progress=follow,
        )
    say(sandbox_line())  # here, so that an error is one line
    if page is not None:
        save_file(report.to_html(args.model.name).encode(), page)
    show(report)
    return 0 if report.agree and not (args.strict and report.unclear) else 1


def _options(args: argparse.Namespace, model: LoadedModel) -> CheckOptions:
    from irfuzz.api.check import CheckOptions
    from irfuzz.api.npz_sample_reading import read_values

    if args.causes and args.no_localise:
        raise UsageError("--causes: with --no-localise nothing is looked for; leave one of them out")
    path = args.load_outputs
    return CheckOptions(
        base=args.base,
        labels=_labels(args, model),
        saved=None if path is None else read_values(path, f"--load-outputs {path}"),
        fail_fast=args.fail_fast,
        locate=not args.no_localise,
        causes=args.causes,
        map_always=args.map is not None,
        save_inputs=arrays_to_write(args.save_inputs, "--save-inputs"),
        save_outputs=arrays_to_write(args.save_outputs, "--save-outputs"),
        timeout=args.timeout,
        memory=None if args.memory is None else args.memory << 20,
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


def _labels(args: argparse.Namespace, model: LoadedModel) -> GroundTruth | None:
    from irfuzz.api.ground_truth_labels import GroundTruth
    from irfuzz.api.npz_sample_reading import read_array

    if args.labels is None:
        for flag in ("metric", "output", "threshold", "share"):
            if getattr(args, flag):
                raise UsageError(f"--{flag}: it is about labels; give --labels too")
        return None
    if not model.said.data or drawn(args) is not None:
        raise UsageError("--labels: they are about samples, so --data is needed too")
    if str(args.labels) in model.said.more and not args.labels.exists():
        truth = model.said.more[str(args.labels)]
    else:
        truth = read_array(args.labels, f"--labels {args.labels}: no array of the data has that name")
    return GroundTruth(truth, args.output, args.metric, args.threshold, args.share)
