"""``irfuzz generate``: writes valid models from nothing but a seed, with the traces that rebuild them."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.cli.interrupt_handling import telling
from irfuzz.cli.model_reading_and_output_checks import writable_folder
from irfuzz.cli.model_writer import force_flag, not_there_yet, numbered, write_model
from irfuzz.cli.parser import Parser, names, place, whole
from irfuzz.cli.progress_display import ProgressLine
from irfuzz.errors import UsageError

if TYPE_CHECKING:
    from irfuzz.generate.random_programs import Generated

NAME = "generate"
ABOUT = """Make valid models from nothing, each with a trace that rebuilds it byte for byte.

The models are OUT/000000.onnx and so on, with their traces beside them. Operators, attributes and element types that
were used rarely so far are preferred. Equal flags give equal bytes. Exit code: 0, or 2 where a flag is wrong or fewer
models than -n could be made, of which those that were made stay."""
EXAMPLES = """examples:
  irfuzz generate -n 100 -o fresh --seed 7
  irfuzz generate -n 20 -o cells --topology cell --nodes 30
  irfuzz generate -n 20 -o small --ops Conv,Relu,MaxPool,Add
  irfuzz replay fresh/000003.trace.json -o again.onnx"""


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("-o", "--out", metavar="DIR", type=place, required=True, help="Folder for the models.")
    add("-n", "--count", metavar="N", type=whole(0), default=10, help="How many models. Default: 10.")
    add("--seed", metavar="S", type=whole(0), default=0, help="Root of all randomness. Default: 0.")
    add(
        "--nodes",
        metavar="N",
        type=whole(1),
        default=10,
        help="A model is done as soon as it has so many. Default: 10.",
    )
    add(
        "--ops", metavar="NAMES", type=names,
        help="Operators to use, separated by commas. In chains and cells, what merges values and fits them together "
        "comes on top, and everywhere a Shape or Size behind each random operator. Default: all of which calls are "
        "drawn.",
    )  # fmt: skip
    add(
        "--domains", metavar="NAMES", type=names, default=(),
        help="Use operators of these domains, too, besides ONNX's own and those that --ops names.",
    )  # fmt: skip
    add(
        "--topology", metavar="KIND", choices=("chain", "cell", "free"), default="free",
        help="chain (layers in a row, with skips), cell (cells of layers) or free (any graph). Default: free.",
    )  # fmt: skip
    add("--opset", metavar="N", type=whole(1), default=17, help="13, 17, 18 or 21. Default: 17.")
    force_flag(parser)
    add("--json", action="store_true", help="Print one JSON object a model.")


def run(args: argparse.Namespace) -> int:
    from irfuzz.generate.random_programs import generate

    not_there_yet(numbered(args.out, args.count), force=args.force)
    try:
        programs = generate(
            n=args.count,
            seed=args.seed,
            nodes=args.nodes,
            ops=args.ops,
            topology=args.topology,
            opset=args.opset,
            domains=args.domains,
        )
    except UsageError as error:
        raise UsageError(f"--{error}") from None
    first = next(programs, None)
    if first is None and args.count:
        given = "" if args.ops is None else f" {','.join(args.ops)}"
        raise UsageError(f"--ops{given}: not one model of --topology {args.topology} could be made of these operators")
    out = writable_folder(args.out, "--out")
    operators: Counter[str] = Counter()
    written = 0
    with (
        telling(lambda: f"{written} of {args.count} models are in {out}"),
        ProgressLine("generating", args.count, "models") as progress,
    ):
        for program in progress.over(chain([first] if first else [], programs)):
            _write(program, out, written, args.json)
            operators.update(node.op_type for node in program.program.graph)
            written += 1
    if not args.json:
        print(f"{written} models with {operators.total()} nodes of {len(operators)} operators in {out}")
    if written < args.count:
        raise UsageError(f"-n {args.count}: only {written} models could be made of these operators; they are in {out}")
    return 0


def _write(program: Generated, out: Path, index: int, as_json: bool) -> None:
    files = write_model(program.to_bytes(), program.trace, out, index)
    if as_json:
        operators = [node.op_type for node in program.program.graph]
        about = {"model": files["model"], "trace": files["trace"], "topology": program.wish.topology}
        print(json.dumps({**about, "nodes": len(operators), "operators": operators}), flush=True)
