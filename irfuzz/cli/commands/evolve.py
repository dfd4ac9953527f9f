"""``irfuzz evolve``: searches inputs or weights with which a model shows NaN or an inconsistency."""

from __future__ import annotations

import argparse
import json

from irfuzz.cli.input_flags import given_model, input_arguments
from irfuzz.cli.interrupt_handling import telling
from irfuzz.cli.model_reading_and_output_checks import writable_folder
from irfuzz.cli.parser import Parser, duration, names, place, whole
from irfuzz.cli.progress_display import UpdateDisplay
from irfuzz.report.terminal_text_cleaning import printable

NAME = "evolve"
ABOUT = """Search inputs or weights of a model for NaN, or for what makes targets disagree.

A genetic search as AUDEE's (algorithm 1): a population of inputs, weights or both evolves by Cauchy noise and crossover
towards NaN in any inner value, or towards outputs that lie apart. Ranges come from --range, --ranges, irfuzz.toml,
--data, the index.toml beside the model, or the inputs' metadata; an input of which nothing is said may be every finite
number.
Exit code: 0 nothing found, 1 found, 2 where the input or a flag is wrong."""
EXAMPLES = """examples:
  irfuzz evolve model.onnx --fitness nan --range image=0,1 -o witness
  irfuzz evolve model.onnx --size N=2 --data inputs.npz
  irfuzz evolve model.onnx --level both --fitness inconsistency --targets ort:all,torch:eager
  irfuzz evolve model.onnx --level weights --fitness nan --generations 50 --json"""

FITNESS = ("nan", "inconsistency")


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", type=place, help="A model, of any kind that `irfuzz fuzz` takes.")
    add("--level", choices=("input", "weights", "both"), default="input", help="What evolves (default: input).")
    add("--fitness", choices=FITNESS, default="nan", help="What is looked for (default: nan).")
    add("--guide", choices=("gradient",), default="", help="Follow gradients of the PyTorch lowering too; for NaN.")
    add("--targets", metavar="NAMES", type=names, help="What runs it; see `irfuzz targets`.")
    input_arguments(parser, data="The search starts from them, and their ends are the ranges.", weights=True, most=8)
    add(
        "--population", metavar="N", type=whole(4), default=32, help="Chromosomes (default: 32); a quarter are parents."
    )
    add("--generations", metavar="N", type=whole(1), default=100, help="At most (default: 100).")
    add("--time", metavar="TIME", type=duration, default=60.0, help="At most (default: 1m).")
    add("--seed", metavar="N", type=whole(0), default=0, help="Of the search (default: 0).")
    add("-o", "--out", metavar="DIR", type=place, help="Write what was found: model, inputs, repro.py.")
    add("--json", action="store_true", help="Print JSON.")


def run(args: argparse.Namespace) -> int:
    from irfuzz.api.evolve import EvolutionReport, evolve

    model = given_model(args, to_run=True, weights=True)
    out = None if args.out is None else writable_folder(args.out, "--out")

    def show(report: EvolutionReport | None) -> None:
        if report is not None:
            folder = None if report.partial else out
            print(json.dumps(report.to_json(folder)) if args.json else printable(report.to_text(folder)))

    follow: UpdateDisplay[EvolutionReport] = UpdateDisplay()
    with telling(lambda: show(follow.known())), follow:
        report = evolve(
            model,
            fitness=args.fitness,
            level=args.level,
            guide=args.guide,
            targets=args.targets,
            population=args.population,
            generations=args.generations,
            seconds=args.time,
            seed=args.seed,
            progress=follow,
        )
    if out is not None:
        report.write(out)
    show(report)
    return int(report.witness is not None)
