"""``irfuzz replay``: rebuilds the model that a trace describes, byte for byte."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.cli.model_reading_and_output_checks import KEPT, reading
from irfuzz.cli.parser import Parser, place
from irfuzz.cli.progress_display import ProgressLine
from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.report.terminal_text_cleaning import one_line

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.mutate.mutation_trace import Trace

NAME = "replay"
ABOUT = """Rebuild a mutant or a generated model from its trace and check that it is the same byte for byte.

Exit code: 0, or 2 where the trace or a seed is missing or wrong, or the result is another model."""
EXAMPLES = """examples:
  irfuzz replay mutants/000003.trace.json -o again.onnx
  irfuzz replay findings/findings/0001-crash-mine/trace.json --seeds seeds -o original.onnx"""


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("trace", metavar="TRACE", type=place, help="A trace (JSON) that irfuzz wrote.")
    add("-o", "--out", metavar="FILE", type=place, help="Where to write the model. Default: only check.")
    add(
        "--seeds", metavar="PATH", type=place, action="append",
        help="Model or folder to look for the seeds in; may be repeated. Default: the folder seeds beside the trace.",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    from irfuzz.frontends.onnx_file import save_file
    from irfuzz.generate.random_programs import read_generated, rebuild_generated
    from irfuzz.mutate.mutation_trace import read_trace, rebuild, sha256

    generated = read_generated(args.trace)
    try:
        if generated is not None:
            with ProgressLine("rebuilding"):
                data = rebuild_generated(generated)
        else:
            recorded = read_trace(args.trace)
            found = _seeds_for(recorded, args.seeds, args.trace)
            with ProgressLine("rebuilding"):
                data = rebuild(recorded, found.get)
    except InvalidProgram as error:
        text = str(error)
        raise InvalidProgram(text if text.startswith(str(args.trace)) else f"{args.trace}: {text}") from None
    if args.out is None:
        print(f"{args.trace}: rebuilt, {len(data)} bytes, sha256 {sha256(data)}")
        return 0
    try:
        save_file(data, args.out)
    except UsageError as error:
        raise UsageError(f"--out {error}") from None
    print(f"{args.out}: {len(data)} bytes, sha256 {sha256(data)}")
    return 0


def _seeds_for(trace: Trace, places: list[Path] | None, path: Path) -> dict[str, Program]:
    """The seed and donors of a trace, by digest, as far as they are found."""
    from irfuzz.frontends.isolated_onnx_calls import OnnxChecker
    from irfuzz.frontends.onnx_file import find_models, load_seed
    from irfuzz.generate.one_node_programs import sprouts

    beside = path.parent / "seeds"
    sprouted = not trace.donors and any(p.digest == trace.seed.digest for p in sprouts().values())
    wanted = {trace.seed.digest, *(donor.digest for donor in trace.donors)}
    if places is None:
        names = [f"{digest}{KEPT}" for digest in sorted(wanted)]
        models = [kept for name in names for folder in (beside, path.parent) if (kept := folder / name).exists()]
        if not models and not beside.exists() and not sprouted:
            raise UsageError(f"{path}: there is no folder {beside} with its seeds; name them with --seeds")
    else:
        models, problems = find_models(places)
        if problems:
            raise UsageError(f"--seeds {problems[0]}")
    found: dict[str, Program] = {p.digest: p for p in sprouts().values() if p.digest in wanted}
    with reading(models) as progress, OnnxChecker() as checker:
        for model in progress.over(models):
            if len(found) == len(wanted):
                break
            try:
                program = load_seed(model, checker=checker)
            except InvalidProgram as error:
                print(f"irfuzz: skipped: {one_line(error)}", file=sys.stderr)
                continue
            if program.digest in wanted:
                found[program.digest] = program
    return found
