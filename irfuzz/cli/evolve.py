"""``irfuzz evolve``: a model enters; inputs or weights with which it shows NaN or an inconsistency leave."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from irfuzz.cli.input_flags import input_arguments, inputs_said, ranges_said
from irfuzz.cli.input_plans import one_planned
from irfuzz.cli.inputs import about, one_model, writable_folder
from irfuzz.cli.interrupt import Latest, telling
from irfuzz.cli.parser import Parser, duration, names, place, printable, whole
from irfuzz.cli.progress import Progress
from irfuzz.errors import UsageError

if TYPE_CHECKING:
    from irfuzz.execute.types import Target
    from irfuzz.search.evolve import Outcome, Plan

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

DEFAULTS = {"nan": (("onnxruntime:disabled",), ("reference",)), "inconsistency": ()}
"""Targets where none are named: for ``nan`` the first that is installed, for ``inconsistency`` all runtimes."""


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", type=place, help="A model, of any kind that `irfuzz fuzz` takes.")
    add("--level", choices=("input", "weights", "both"), default="input", help="What evolves (default: input).")
    add("--fitness", choices=tuple(DEFAULTS), default="nan", help="What is looked for (default: nan).")
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
    from irfuzz.execute.large_limits import limits_for
    from irfuzz.execute.runner import Runner
    from irfuzz.generate.input_annotation import annotated
    from irfuzz.isolate import Limits
    from irfuzz.report import evolved
    from irfuzz.search.evolve import Plan, evolve
    from irfuzz.search.genetic import Settings
    from irfuzz.search.genome import Level, NothingEvolves

    path, program = one_model(args.model, to_run=True)
    said = inputs_said(args, {path: program}, weights=True)[path]
    ranges = ranges_said(said, path, program)
    program = annotated(program, said.spec)
    if not said.spec.samples:
        program = one_planned(path, program, guess_floats=False)  # the search goes beyond what is usual
    out = None if args.out is None else writable_folder(args.out, "--out")
    plan = Plan(
        level=Level(args.level),
        fitness=args.fitness,
        settings=Settings(population=args.population, parents=max(2, args.population // 4)),
        generations=args.generations,
        seconds=args.time,
        seed=args.seed,
        guide=args.guide,
    )
    so_far: Latest[Outcome] = Latest()
    with (
        Progress("searching", plan.generations, "generations") as progress,
        Runner(_targets(args.targets, args.fitness), limits_for([program], Limits())) as runner,
        about(path),
        telling(lambda: _partial(args, so_far.value, plan, runner.targets)),
    ):

        def told(outcome: Outcome) -> None:
            so_far(outcome)
            progress(len(outcome.best), note=f"best fitness {outcome.best[-1]:.6g}")

        try:
            outcome = evolve(program, runner, plan, ranges, told, said.spec.samples)
        except NothingEvolves as error:
            raise UsageError(f"{path}: {error}") from None
        targets = runner.targets
    if outcome.witness is not None and out is not None:
        evolved.write_witness(outcome.witness, targets, out)
    name = str(path)
    text = printable(evolved.as_text(outcome, plan, name, out))
    print(json.dumps(evolved.as_json(outcome, plan, name, targets, out)) if args.json else text)
    return int(outcome.witness is not None)


def _targets(wanted: tuple[str, ...] | None, fitness: str) -> tuple[Target, ...]:
    from irfuzz.execute.table import resolve

    if wanted is not None or not DEFAULTS[fitness]:
        return resolve(wanted)
    for choice in DEFAULTS[fitness]:
        try:
            return resolve(choice)
        except UsageError:
            continue
    raise UsageError("no runtime to search with is installed; name one with --targets")


def _partial(args: argparse.Namespace, outcome: Outcome | None, plan: Plan, targets: Sequence[Target]) -> None:
    """Print what a search knows that was interrupted."""
    from irfuzz.report import evolved

    if outcome is None:
        return
    name = str(args.model)
    if args.json:
        print(json.dumps(evolved.as_json(outcome, plan, name, targets, None, partial=True)))
    else:
        print(printable(evolved.as_text(outcome, plan, name, None, partial=True)))
