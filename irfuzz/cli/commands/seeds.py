"""``irfuzz seeds``: folders of seed models are listed, built again and added to."""

from __future__ import annotations

import argparse
import json
import math

from irfuzz.cli.parser import Parser, place, whole
from irfuzz.cli.progress_display import ProgressLine, say
from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.report.terminal_text_cleaning import one_line

NAME = "seeds"
ABOUT = """List seed models, build the shipped ones again, add a model of your own to a folder, or export a corpus.

list shows a folder's index.toml and whether each file has the digest that stands there; build runs the scripts of a
checkout and says which files come out differently; add takes a model of any front end, runs it, and refuses it where
its outputs do not depend on its inputs, where it is too large, or where the folder has it already. export writes the
small ones and one call of each operator into a new folder, as the first corpus of AFL++, libFuzzer or Atheris.
Exit code: 0; 1 where a file is not what the index says; 2 where the input or a flag is wrong."""
EXAMPLES = """examples:
  irfuzz seeds list
  irfuzz seeds list --dir my-seeds --json
  irfuzz seeds build --only lstm -o rebuilt
  irfuzz seeds add model.onnx --dir my-seeds --origin "our detector, 2026" --licence Apache-2.0
  irfuzz seeds add nets.py:small_vit --dir my-seeds --origin "random weights" --licence MIT --range image=0,1
  irfuzz seeds export -o corpus --max-bytes 5000"""

LARGEST = 300_000
"""Bytes of a seed, as the shipped ones."""

ACTIONS = ("list", "build", "add", "export")


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "action",
        metavar="ACTION",
        nargs="?",
        choices=ACTIONS,
        default="list",
        help="list (default), build, add or export.",
    )
    add("model", metavar="MODEL", nargs="?", type=place, help="add: a model of any front end (docs/models.md).")
    add("--dir", metavar="DIR", type=place, help="list, add, export: the folder of seeds. Default: the shipped ones.")
    add("-o", "--out", metavar="DIR", type=place, help="build: keep what was built here. export: the new folder.")
    add("--only", metavar="NAME", action="append", default=[], help="build: this seed alone; may be repeated.")
    add("--name", metavar="NAME", help="add: what to call it. Default: the file's or function's name.")
    add("--origin", metavar="TEXT", help="add: how the model was made, one sentence.")
    add("--licence", metavar="SPDX", help="add: the model's licence, such as Apache-2.0.")
    add("--reference", metavar="TEXT", default="", help="add: the definition or paper that it follows.")
    add("--title", metavar="TEXT", default="", help="add: one line for a reader.")
    add(
        "--range", metavar="NAME=LO,HI", type=_range, action="append", default=[], dest="ranges",
        help="add: lowest and highest element of an input; may be repeated. Default: what irfuzz draws for it.",
    )  # fmt: skip
    add(
        "--max-bytes", metavar="N", type=whole(1),
        help="add, export: largest model that is taken. Default: 300000; of export 20000.",
    )  # fmt: skip
    add("--json", action="store_true", help="Print JSON.")


def _range(text: str) -> tuple[str, tuple[float, float]]:
    name, _, limits = text.rpartition("=")
    low, _, high = limits.replace(",", ":").partition(":")  # older scripts have a colon
    try:
        found = (float(low), float(high))
    except ValueError:
        found = (math.nan, math.nan)
    if not name or not (-math.inf < found[0] <= found[1] < math.inf):
        raise argparse.ArgumentTypeError(f"expected a range such as image=0,1, got {text!r}")
    return name, found


def run(args: argparse.Namespace) -> int:
    if args.action != "add" and args.model is not None:
        raise UsageError(f"seeds {args.action}: expected no model, got {str(args.model)!r}")
    if args.action != "build" and args.only:
        raise UsageError(f"seeds {args.action}: --only belongs to seeds build")
    if args.action not in ("build", "export") and args.out:
        raise UsageError(f"seeds {args.action}: -o belongs to seeds build and seeds export")
    return {"list": _list, "build": _build, "add": _add, "export": _export}[args.action](args)


def _list(args: argparse.Namespace) -> int:
    from irfuzz.campaign.corpus.seed_folder_maintenance import list_seeds
    from irfuzz.shipped_folders import seeds_dir

    with ProgressLine("reading seeds"):
        found = list_seeds(args.dir or seeds_dir())
    if args.json:
        print(json.dumps([seed.to_json() for seed in found]))
    else:
        for s in found:
            state = "verified" if s.verified else "DIFFERS" if s.bytes else "MISSING"
            print(
                f"{s.name:<22}{s.nodes:>4} nodes {len(s.operators):>3} operators  opset {s.opset} "
                f"{s.bytes / 1000:>6.0f} kB  {s.licence:<12} {state:<9} {one_line(s.origin)}"
            )
        wrong = sum(not s.verified for s in found)
        print(f"{len(found)} seeds" + (f", {wrong} not what the index says" if wrong else ""))
    return int(any(not s.verified for s in found))


def _build(args: argparse.Namespace) -> int:
    from irfuzz.campaign.corpus.seed_folder_maintenance import build_seeds
    from irfuzz.shipped_folders import seeds_dir

    with ProgressLine("building seeds"):
        same = build_seeds(seeds_dir(), args.out, args.only, lambda line: say(one_line(line)))
    if args.json:
        print(json.dumps({"same": [n for n in same if same[n]], "different": [n for n in same if not same[n]]}))
    else:
        for name, equal in same.items():
            print(f"{name:<22}{'as shipped' if equal else 'DIFFERS'}")
    return int(not all(same.values()))


def _add(args: argparse.Namespace) -> int:
    for flag, value in (
        ("MODEL", args.model),
        ("--dir", args.dir),
        ("--origin", args.origin),
        ("--licence", args.licence),
    ):
        if value is None:
            raise UsageError(f"seeds add: expected {flag}; see `irfuzz seeds --help`")
    with ProgressLine(f"reading and running {one_line(args.model)}"):
        return _add_model(args)


def _add_model(args: argparse.Namespace) -> int:
    from irfuzz.campaign.corpus.seed_candidate_check import examine
    from irfuzz.campaign.corpus.seed_folder_maintenance import Provenance, add_seed
    from irfuzz.frontends.model_kind_detection import source_of
    from irfuzz.frontends.onnx_file import load_seed

    program = load_seed(args.model)
    source = source_of(args.model)
    name = args.name or (source.factory.rpartition(".")[2] or source.path.stem).lower()
    try:
        candidate = examine(program, max_bytes=args.max_bytes or LARGEST, ranges=dict(args.ranges))
        about = Provenance(args.origin, args.licence, args.reference, args.title)
        path = add_seed(args.dir, name, candidate, about)
    except InvalidProgram as error:
        raise InvalidProgram(f"{args.model}: {error}") from None
    inputs = {i["name"]: [i["low"], i["high"]] for i in candidate.inputs if "low" in i}
    if args.json:
        print(json.dumps({"name": name, "file": str(path), "nodes": candidate.nodes, "ranges": inputs}))
    else:
        ranges = ", ".join(f"{n} {low:g} to {high:g}" for n, (low, high) in inputs.items())
        print(f"{path}: {candidate.nodes} nodes, {len(candidate.model)} bytes; inputs: {ranges or 'strings'}")
    return 0


def _export(args: argparse.Namespace) -> int:
    from irfuzz.embed.corpus_export import export_corpus
    from irfuzz.shipped_folders import seeds_dir

    if args.out is None:
        raise UsageError("seeds export: expected -o DIR, a new folder")
    with ProgressLine("making a corpus", unit="operators") as progress:
        written = export_corpus(
            args.dir or seeds_dir(), args.out, max_bytes=args.max_bytes or 20_000, progress=progress
        )
    total = sum(path.stat().st_size for path in written)
    if args.json:
        print(json.dumps({"folder": str(args.out), "files": [path.name for path in written], "bytes": total}))
    else:
        print(f"{args.out}: {len(written)} models, {total} bytes")
    return 0
