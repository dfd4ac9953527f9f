"""``irfuzz analyze``: which operators of a model may compute NaN or an infinity, or crash."""

from __future__ import annotations

import argparse
import json

from irfuzz.cli.input_flags import given_model, input_arguments
from irfuzz.cli.interrupt_handling import telling
from irfuzz.cli.model_reading_and_output_checks import page_to_write, writable_folder
from irfuzz.cli.parser import Parser, place, positive, whole
from irfuzz.cli.progress_display import UpdateDisplay
from irfuzz.report.terminal_text_cleaning import printable

NAME = "analyze"
ABOUT = """Find operators of a model that may compute NaN, an infinity or crash, without training or running it.

Ranges of the inputs come from --range, --ranges, irfuzz.toml, --data, the index.toml beside the model, or the inputs'
metadata; an input of which nothing is said may be every finite number of its type. Weights are what the model holds,
or, with --architecture, within the range that they start from. For each warning an input that really triggers it is
looked for.
Exit code: 0 nothing warned of, 1 warnings, 2 where the input or a flag is wrong."""
EXAMPLES = """examples:
  irfuzz analyze model.onnx --range image=0,1
  irfuzz analyze model.onnx --ranges ranges.toml --architecture --json
  irfuzz analyze model.onnx --data inputs.npz -o witnesses --html report.html"""

DOMAINS = ("irfuzz", "debar", "intervals", "smashing", "expansion")


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", type=place, help="A model, of any kind that `irfuzz fuzz` takes.")
    input_arguments(parser, data="Their smallest and largest elements are the ranges.", weights=True)
    add("--architecture", action="store_true", help="Weights may still be trained: only their range is known.")
    add("--domain", choices=DOMAINS, default="irfuzz", help="The abstraction (default: irfuzz).")
    add("--no-witness", action="store_true", help="Do not look for inputs that trigger the warnings.")
    add("--witness-time", metavar="S", type=positive, default=3.0, help="Seconds for each warning (default: 3).")
    add("--seed", metavar="N", type=whole(0), default=0, help="Of the search (default: 0).")
    add(
        "-o",
        "--out",
        metavar="DIR",
        type=place,
        help="Write a folder for each confirmed warning: model, inputs, repro.py.",
    )
    add("--html", metavar="FILE", type=place, help="Write the report as a page.")
    add("--json", action="store_true", help="Print JSON.")


def run(args: argparse.Namespace) -> int:
    from irfuzz.api.analyze import AnalysisReport, analyze
    from irfuzz.frontends.onnx_file import save_file

    model = given_model(args, weights=True, architecture=args.architecture)
    page = page_to_write(args.html, "--html")
    out = None if args.out is None else writable_folder(args.out, "--out")

    def show(report: AnalysisReport | None) -> None:
        if report is not None:
            print(json.dumps(report.to_json()) if args.json else printable(str(report)))

    follow: UpdateDisplay[AnalysisReport] = UpdateDisplay()
    with telling(lambda: show(follow.known())), follow:
        report = analyze(
            model,
            architecture=args.architecture,
            domain=args.domain,
            witness_seconds=0 if args.no_witness else args.witness_time,
            seed=args.seed,
            progress=follow,
        )
    if out is not None:
        report.write_witnesses(out)
    if page is not None:
        save_file(report.to_html(args.model.name).encode(), page)
    show(report)
    return int(bool(report.warnings))
