"""``irfuzz conform`` says, by operator, how many cases of known result targets get right, wrong, or refuse."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from irfuzz.api.default_settings import CHECK_TIMEOUT, CONFORM_SLOW_SAMPLE
from irfuzz.cli.interrupt_handling import telling
from irfuzz.cli.model_reading_and_output_checks import page_to_write, text_to_write, writable_folder
from irfuzz.cli.parser import Parser, as_flags, duration, names, place, positive, whole
from irfuzz.cli.progress_display import UpdateDisplay, say
from irfuzz.errors import UsageError
from irfuzz.report.terminal_text_cleaning import printable

if TYPE_CHECKING:
    from irfuzz.api.conform import ConformReport

NAME = "conform"
ABOUT = """Run cases whose results are known on targets: which operators has each, and which of them are right.

The cases are ONNX's own node cases, the models of bugs that irfuzz found, the shipped seeds, and calls of each operator
that are drawn with --seed. Each target is judged alone by the numeric oracle, beside ONNX's expected values and
witnesses of other components. A case is right or wrong, the target dies of it, hangs or refuses it, or it is undecided.
With --out results are kept by target and version, and only what is missing there is run.
Exit code: 0, 1 as --fail-on says, 2 if the input or a flag is wrong, 130 after Ctrl-C, with what is known by then
printed."""
EXAMPLES = """examples:
  irfuzz conform onnxruntime:all
  irfuzz conform opencv,tract,mnn --cases node --out conformance
  irfuzz conform torch:compile --sample 200 --time 15m
  irfuzz conform onnxruntime:all --ops Conv,MaxPool --json
  irfuzz conform openvino --cases node --junit openvino.xml --html openvino.html --fail-on wrong
  irfuzz conform --compare before.json after.json --fail-on worse"""

FAIL_ON = ("wrong", "worse", "never")


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "target",
        metavar="TARGET",
        nargs="*",
        type=names,
        help="Names as in `irfuzz targets`, also with commas between.",
    )
    add("--cases", metavar="KINDS", type=names, help="Some of node, bug, seed and drawn. Default: all.")
    add("--ops", metavar="NAMES", type=names, help="Only cases about these operators.")
    add(
        "--sample", metavar="N", type=whole(1),
        help="Run N of the cases, which go round the operators; the row says so. Default: all, and of a slow target "
        f"{CONFORM_SLOW_SAMPLE}.",
    )  # fmt: skip
    add("--seed", metavar="N", type=whole(0), default=0, help="Of the sample and of drawn calls (default: 0).")
    add(
        "--time",
        metavar="TIME",
        type=duration,
        help="After which no more cases are begun (90s, 10m). Default: no limit.",
    )
    add(
        "--timeout", metavar="SECONDS", type=positive,
        help=f"What one target may take with one case. Default: {CHECK_TIMEOUT:g}.",
    )  # fmt: skip
    add("-o", "--out", metavar="DIR", type=place, help="Keep results there, and run only what is missing.")
    add(
        "--compare", metavar=("OLD", "NEW"), nargs=2, type=place,
        help="Run nothing; say what changed between two files of --json, or files or folders of --out.",
    )  # fmt: skip
    add(
        "--fail-on", choices=FAIL_ON, default="never",
        help="What makes the exit code 1: wrong (a case is wrong, or a target dies of it or hangs), worse (of "
        "--compare) or never. Default: never.",
    )  # fmt: skip
    add("--json", action="store_true", help="Print JSON.")
    add("--junit", metavar="FILE", type=place, help="Write JUnit XML, too.")
    add("--html", metavar="FILE", type=place, help="Write a page, too.")


def run(args: argparse.Namespace) -> int:
    _check_flags(args)
    if args.compare is not None:
        return _compare(args)
    from irfuzz.api.conform import conform
    from irfuzz.frontends.onnx_file import save_file
    from irfuzz.isolate.sandbox_report import sandbox_line

    junit = text_to_write(args.junit, "--junit", b"<testsuites", "JUnit XML")
    page = page_to_write(args.html, "--html")
    out = None if args.out is None else writable_folder(args.out, "--out")

    def show(report: ConformReport | None) -> None:
        if report is not None:
            print(json.dumps(report.to_json()) if args.json else printable(str(report)), flush=True)

    follow: UpdateDisplay[ConformReport] = UpdateDisplay()
    with telling(lambda: show(follow.known())), as_flags("cases", "ops", "sample", targets="TARGET"), follow:
        report = conform(
            [name for words in args.target for name in words],
            cases=args.cases,
            ops=args.ops,
            sample=args.sample,
            seed=args.seed,
            seconds=args.time,
            timeout=args.timeout,
            out=out,
            progress=follow,
        )
    say(sandbox_line())
    if junit is not None:
        save_file(report.to_junit().encode(), junit)
    if page is not None:
        save_file(report.to_html().encode(), page)
    show(report)
    return int(args.fail_on == "wrong" and report.faults > 0)


def _check_flags(args: argparse.Namespace) -> None:
    """See that the flags go together."""
    if args.compare is None:
        if not args.target:
            raise UsageError("TARGET: expected at least one; `irfuzz targets` lists them")
        if args.fail_on == "worse":
            raise UsageError("--fail-on worse: nothing is compared; give --compare OLD NEW, too")
        return
    for flag in ("target", "cases", "ops", "sample", "time", "timeout", "out", "junit", "html"):
        if getattr(args, flag):
            word = "TARGET" if flag == "target" else f"--{flag}"
            raise UsageError(f"{word}: with --compare nothing is run; leave it out")
    if args.fail_on == "wrong":
        raise UsageError("--fail-on wrong: with --compare nothing is run; expected worse or never")


def _compare(args: argparse.Namespace) -> int:
    from irfuzz.conformance.result_comparison import compare_results
    from irfuzz.conformance.result_folder import read_results
    from irfuzz.report.command_reports.conformance_table import comparison_text

    old, new = (read_results(path) for path in args.compare)
    with as_flags("compare"):
        found = compare_results(old, new)
    print(json.dumps([one.to_json() for one in found]) if args.json else comparison_text(found))
    return int(args.fail_on == "worse" and any(one.worse for one in found))
