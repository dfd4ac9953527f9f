"""``irfuzz mutate``: writes valid mutants of seeds as ONNX files, with the traces that rebuild them."""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import sys
from collections.abc import Callable, Generator, Iterable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.cli.input_flags import input_arguments, inputs_said
from irfuzz.cli.interrupt_handling import telling
from irfuzz.cli.model_reading_and_output_checks import KEPT, planned, seeds_of, writable_folder
from irfuzz.cli.model_writer import force_flag, not_there_yet, numbered, write_model
from irfuzz.cli.parser import Parser, as_flags, names, place, whole
from irfuzz.cli.progress_display import ProgressLine, remarked
from irfuzz.errors import UsageError
from irfuzz.report.terminal_text_cleaning import one_line

if TYPE_CHECKING:
    from irfuzz.embed.parallel_mutant_stream import MutantPlan, MutantRecord
    from irfuzz.ir.program import Program

NAME = "mutate"
ABOUT = """Make valid mutants of models, each with a trace that rebuilds it byte for byte.

The mutants are OUT/000000.onnx and so on, with their traces beside them, and the seeds that a replay needs in
OUT/seeds. Equal seeds, models and flags give equal bytes, with any number of --jobs. With SEED - a model is read from
standard input, and without -o mutants go to standard output: one as it is, several each behind its length (8 bytes,
the least significant first). Exit code: 0, or 2 where the input or a flag is wrong."""
EXAMPLES = """examples:
  irfuzz mutate seeds -o mutants -n 100 --seed 7
  irfuzz mutate model.onnx -o mutants -n 10 --mutators insert-layer,change-dtype
  irfuzz mutate ocr.onnx -o mutants --input-shapes image:1x3x48x160 --range image=0,255
  irfuzz mutate model.onnx -o mutants -n 10000 --jobs 4 --inputs --json
  irfuzz mutate model.onnx -o mutants --ops Conv,Relu --keep conv1
  irfuzz mutate - --seed 3 < model.onnx > mutant.onnx
  irfuzz replay mutants/000003.trace.json -o again.onnx"""

STANDARD = Path("-")
"""Standard input or output."""

FORMATS = ("raw", "framed", "jsonl")
"""How models are written to standard output."""

WEIGHTS = "weights"
"""Folder of the weights that large mutants share."""


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "seeds", metavar="SEED", nargs="+", type=place,
        help="A model, or a folder with models (*.onnx below it); - reads a model from standard input.",
    )  # fmt: skip
    add(
        "-o", "--out", metavar="DIR", type=place,
        help="Folder for the mutants; - is standard output, as is nothing if SEED is -.",
    )  # fmt: skip
    add(
        "-n", "--count", metavar="N", type=whole(0),
        help="How many mutants in all. Default: 10; to standard output 1.",
    )  # fmt: skip
    add("--seed", metavar="S", type=whole(0), default=0, help="Root of all randomness. Default: 0.")
    add("--jobs", metavar="N", type=whole(1), default=1, help="Processes that make them. Default: 1.")
    add(
        "--mutators", metavar="NAMES", type=names,
        help="Mutators, separated by commas; comet, lemon and muffin stand for those of a paper, a paper's name of an "
        "operator (MDtype, GF) for its own. Default: all that make valid models that run.",
    )  # fmt: skip
    add(
        "--ops", metavar="NAMES", type=names,
        help="Insert nodes of these operators only; what fits values together (Cast, Reshape, ...) comes on top. "
        "One of another domain is named with it: ai.onnx.ml.Scaler.",
    )  # fmt: skip
    add(
        "--domains", metavar="NAMES", type=names, default=(),
        help="Insert operators of these domains, too, besides ONNX's own and those that the model has nodes of.",
    )  # fmt: skip
    add(
        "--keep", metavar="NODE", action="append", default=[],
        help="A node, by its name or that of a value it computes, that stays with its attributes, what it reads and "
        "the nodes that compute that; may be repeated.",
    )  # fmt: skip
    add(
        "--max-nodes", metavar="N", type=whole(1), default=200,
        help="No mutant gets more nodes, unless its seed has. Default: 200.",
    )  # fmt: skip
    add("--inputs", action="store_true", help="Write inputs beside each mutant, as 000000.inputs.npz.")
    add(
        "--format", choices=FORMATS,
        help="To standard output: raw (one model), framed (each behind its length) or jsonl (one JSON object a line, "
        "with model and inputs in base64, and the trace). Default: raw for -n 1, else framed.",
    )  # fmt: skip
    input_arguments(parser, data="Mutants keep to their sizes and ranges.")
    force_flag(parser)
    add("--json", action="store_true", help="Print one JSON object a mutant.")


def run(args: argparse.Namespace) -> int:
    from irfuzz.api.mutation_request_check import known_mutators, refuse_unmutable
    from irfuzz.embed.parallel_mutant_stream import MutantPlan, is_large, mutant_records
    from irfuzz.garbage_collection import settle
    from irfuzz.generate.graph_inputs.input_annotation import annotated
    from irfuzz.store.blob_store import FolderBlobs

    streamed = _streamed(args)
    count = (1 if streamed else 10) if args.count is None else args.count
    if not streamed:
        not_there_yet(numbered(args.out, count), force=args.force)
    with as_flags("mutators"):
        mutators = known_mutators(args.mutators)
    with _read(args.seeds) as paths:
        loaded = {_told(path, args.seeds): program for path, program in seeds_of(paths).items()}
    refuse_unmutable({**loaded}, remarked)
    said = inputs_said(args, loaded)
    loaded = planned({path: annotated(program, said[path].spec) for path, program in loaded.items()})
    named = [(path.name, program) for path, program in loaded.items()]
    options = {
        "mutators": mutators,
        "max_nodes": args.max_nodes,
        "ops": args.ops,
        "keep": args.keep,
        "domains": args.domains,
    }
    large = any(map(is_large, loaded.values()))
    blobs = (FolderBlobs(args.out / WEIGHTS), WEIGHTS) if large and not streamed else None
    plan = MutantPlan(count, args.seed, options, inputs=args.inputs, blobs=blobs)
    # Large models that are not shared would pile up between processes; there are the same ones from a single one.
    jobs = 1 if streamed and large else args.jobs
    write = _stream(args, count) if streamed else _folder(args, plan, list(loaded.values()))
    where = "standard output" if streamed else args.out
    written, without = 0, ""
    with (
        telling(lambda: f"{written} of {count} mutants are in {where}"),
        ProgressLine("mutating", count, "mutants") as progress,
        contextlib.closing(_checked(mutant_records(named, plan, jobs=jobs))) as records,
    ):
        first = next(records, None)
        settle()
        if first is None and count:
            raise UsageError(f"-n {count}: not one mutant could be made; give other seeds, mutators, --ops or --keep")
        for record in progress.over(chain([first] if first else [], records)):
            write(record, written)
            without = without or record.problem
            written += 1
    if without:
        print(f"irfuzz: some mutants have no inputs: {one_line(without)}", file=sys.stderr)
    if not streamed and not args.json:
        print(f"{written} mutants of {len(loaded)} models in {args.out}")
    if written < count:
        raise UsageError(f"-n {count}: only {written} mutants could be made; give more seeds or other mutators")
    return 0


def _streamed(args: argparse.Namespace) -> bool:
    """Whether mutants go to standard output.

    Raises:
        UsageError: flags contradict each other.
    """
    if args.seeds.count(STANDARD) > 1 or (STANDARD in args.seeds and len(args.seeds) > 1):
        raise UsageError("SEED -: standard input holds one model; expected no other seed beside it")
    if args.out is None and STANDARD not in args.seeds:
        raise UsageError("-o/--out: expected a folder, or - for standard output; see `irfuzz mutate --help`")
    streamed = args.out in (None, STANDARD)
    if args.format is not None and not streamed:
        raise UsageError("--format: it is about standard output; leave it or -o DIR out")
    if not streamed:
        return False
    if args.json:
        raise UsageError("--json: standard output holds the mutants; --format jsonl tells about each")
    if args.format == "raw" and (args.count or 1) > 1:
        raise UsageError(f"--format raw: it holds one model, got -n {args.count}; expected framed or jsonl")
    if args.inputs and args.format != "jsonl":
        raise UsageError("--inputs: standard output holds models alone; expected --format jsonl, or -o DIR")
    if args.format != "jsonl" and sys.stdout.isatty():
        raise UsageError("-o: models are no text for a terminal; expected a file or pipe behind >, or -o DIR")
    return True


@contextlib.contextmanager
def _read(seeds: list[Path]) -> Generator[list[Path]]:
    """The seeds as files, for a while; what comes on standard input is one too."""
    if STANDARD not in seeds:
        yield seeds
        return
    from irfuzz.errors import InvalidProgram
    from irfuzz.ir.serialization.checked_tensors import MAX_BYTES
    from irfuzz.isolate.scratch_folder import ScratchFolder

    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    if not data:
        raise UsageError("SEED -: expected an ONNX model on standard input, got nothing")
    if len(data) > MAX_BYTES:
        raise UsageError(f"SEED -: expected a model of at most {MAX_BYTES} bytes on standard input, got more")
    with ScratchFolder("mutate") as folder:
        path = folder.path / "stdin.onnx"
        path.write_bytes(data)
        try:
            yield [path]
        except (InvalidProgram, UsageError) as error:
            raise type(error)(str(error).replace(str(path), "standard input")) from None


def _told(path: Path, seeds: list[Path]) -> Path:
    """What a seed is called to people."""
    return Path("standard input") if STANDARD in seeds else path


def _checked(records: Iterable[MutantRecord]) -> Generator[MutantRecord]:
    """The same; an error names the flag that is wrong."""
    try:
        yield from records
    except UsageError as error:
        flag, colon, why = str(error).partition(": ")
        raise UsageError(f"--{flag}: {why}" if colon and flag in ("ops", "keep") else str(error)) from None


def _folder(
    args: argparse.Namespace, plan: MutantPlan, seeds: Iterable[Program]
) -> Callable[[MutantRecord, int], None]:
    """Writes mutants as files; the folder is made for the first of them."""
    begun: list[Path] = []

    def write(record: MutantRecord, index: int) -> None:
        if not begun:
            begun.append(writable_folder(args.out, "--out"))
            _keep_seeds(begun[0], plan, seeds)
        files = write_model(record.model, record.trace, begun[0], index, record.inputs)
        if args.json:
            print(json.dumps({**files, **record.to_json()}), flush=True)

    if not plan.count:
        _keep_seeds(writable_folder(args.out, "--out"), plan, seeds)
    return write


def _keep_seeds(out: Path, plan: MutantPlan, seeds: Iterable[Program]) -> None:
    """Write what a replay needs, to be found wherever the folder is taken to, so that nobody takes it for mutants.

    A large seed stands in the folder itself: a model may name files beside and below it only.
    """
    from irfuzz.embed.parallel_mutant_stream import written
    from irfuzz.frontends.onnx_file import save_file

    kept = out if plan.blobs is not None else writable_folder(out / "seeds", "--out")
    for program in seeds:
        save_file(written(program, plan.blobs), kept / f"{program.digest}{KEPT}")


def _stream(args: argparse.Namespace, count: int) -> Callable[[MutantRecord, int], None]:
    """Writes mutants to standard output."""
    from irfuzz.embed.stream_framing import write_frame

    output = sys.stdout.buffer

    def raw(record: MutantRecord, _index: int) -> None:
        output.write(record.model)
        output.flush()

    def framed(record: MutantRecord, _index: int) -> None:
        write_frame(output, record.model)

    def jsonl(record: MutantRecord, _index: int) -> None:
        given = None if record.inputs is None else base64.b64encode(record.inputs).decode()
        about = {"onnx": base64.b64encode(record.model).decode(), "inputs": given, "trace": record.trace}
        print(json.dumps({**record.to_json(), **about}), flush=True)

    named = {"raw": raw, "framed": framed, "jsonl": jsonl}
    return named[args.format or ("raw" if count == 1 else "framed")]
