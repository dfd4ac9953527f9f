"""``irfuzz mutate``: seeds enter, valid mutants leave as ONNX files with the traces that rebuild them."""

from __future__ import annotations

import argparse
import json
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.cli.input_flags import input_arguments, inputs_said
from irfuzz.cli.input_plans import planned
from irfuzz.cli.inputs import KEPT, known_mutators, seeds_of, tell_of_unmutable, writable_folder
from irfuzz.cli.interrupt import telling
from irfuzz.cli.outputs import force_flag, not_there_yet, numbered, write_model
from irfuzz.cli.parser import Parser, names, place, whole
from irfuzz.cli.progress import Progress
from irfuzz.errors import UsageError

if TYPE_CHECKING:
    from irfuzz.mutate.api import TracedMutant

NAME = "mutate"
ABOUT = """Make valid mutants of models, each with a trace that rebuilds it byte for byte.

The mutants are OUT/000000.onnx and so on, with their traces beside them, and the seeds that a replay needs in
OUT/seeds. Equal seeds, models and flags give equal bytes. Exit code: 0, or 2 where the input or a flag is wrong."""
EXAMPLES = """examples:
  irfuzz mutate seeds -o mutants -n 100 --seed 7
  irfuzz mutate model.onnx -o mutants -n 10 --mutators insert-layer,change-dtype
  irfuzz mutate ocr.onnx -o mutants --input-shapes image:1x3x48x160 --range image=0,255
  irfuzz replay mutants/000003.trace.json -o again.onnx"""


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("seeds", metavar="SEED", nargs="+", type=place, help="A model, or a folder with models (*.onnx below it).")
    add("-o", "--out", metavar="DIR", type=place, required=True, help="Folder for the mutants.")
    add("-n", "--count", metavar="N", type=whole(0), default=10, help="How many mutants in all. Default: 10.")
    add("--seed", metavar="S", type=whole(0), default=0, help="Root of all randomness. Default: 0.")
    add(
        "--mutators", metavar="NAMES", type=names,
        help="Mutators, separated by commas; comet, lemon and muffin stand for those of a paper, a paper's name of an "
        "operator (MDtype, GF) for its own. Default: all that make valid models that run.",
    )  # fmt: skip
    add(
        "--max-nodes", metavar="N", type=whole(1), default=200,
        help="No mutant gets more nodes, unless its seed has. Default: 200.",
    )  # fmt: skip
    input_arguments(parser, data="Mutants keep to their sizes and ranges.")
    force_flag(parser)
    add("--json", action="store_true", help="Print one JSON object a mutant.")


def run(args: argparse.Namespace) -> int:
    from irfuzz.frontends.onnx_file import save_file
    from irfuzz.generate.input_annotation import annotated
    from irfuzz.memory import settle
    from irfuzz.mutate.api import mutate_many

    not_there_yet(numbered(args.out, args.count), force=args.force)
    mutators = known_mutators(args.mutators)
    loaded = seeds_of(args.seeds)
    tell_of_unmutable(loaded)
    said = inputs_said(args, loaded)
    loaded = planned({path: annotated(program, said[path].spec) for path, program in loaded.items()})
    mutants = mutate_many(
        [(path.name, program) for path, program in loaded.items()],
        seed=args.seed,
        n=args.count,
        mutators=mutators,
        max_nodes=args.max_nodes,
    )
    first = next(mutants, None)
    settle()
    if first is None and args.count:
        raise UsageError(f"-n {args.count}: not one mutant could be made; give other seeds or other mutators")
    out = writable_folder(args.out, "--out")
    kept = writable_folder(out / "seeds", "--out")
    for program in loaded.values():
        # A replay must find its seeds wherever the folder is taken to, and nobody is to take them for mutants.
        save_file(program, kept / f"{program.digest}{KEPT}")
    written = 0
    with (
        telling(lambda: f"{written} of {args.count} mutants are in {out}"),
        Progress("mutating", args.count, "mutants") as progress,
    ):
        for mutant in progress.over(chain([first] if first else [], mutants)):
            _write(mutant, out, written, args.json)
            written += 1
    if not args.json:
        print(f"{written} mutants of {len(loaded)} models in {out}")
    if written < args.count:
        raise UsageError(f"-n {args.count}: only {written} mutants could be made; give more seeds or other mutators")
    return 0


def _write(mutant: TracedMutant, out: Path, index: int, as_json: bool) -> None:
    model, trace = write_model(mutant.to_bytes(), mutant.trace, out, index)
    if as_json:
        about = {"model": str(model), "trace": str(trace)}
        about["seed"] = mutant.trace["seed"]["name"]
        print(json.dumps({**about, "invalid": mutant.declared_invalid, "edits": mutant.trace["edits"]}), flush=True)
