"""``irfuzz synthesize``: makes small models that cover the calls of large ones."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.cli.input_flags import input_arguments, inputs_said
from irfuzz.cli.interrupt_handling import telling
from irfuzz.cli.model_reading_and_output_checks import seeds_of, writable_folder
from irfuzz.cli.model_writer import force_flag, not_there_yet
from irfuzz.cli.parser import Parser, place, whole
from irfuzz.cli.progress_display import ProgressLine
from irfuzz.errors import InternalError, InvalidProgram, UsageError
from irfuzz.report.terminal_text_cleaning import one_line

if TYPE_CHECKING:
    from irfuzz.generate.covering_program_synthesis import Synthesis

NAME = "synthesize"
ABOUT = """Make small models that cover the layer inputs, parameters and sequences of large ones.

For each MODEL there is one file of the same name in DIR: few of its calls with all element types, ranks, up to five
shapes an operator, parameter values and pairs of operators that it has, and at most 1% of its weights where that can be
done. Equal models and seeds give equal bytes. Exit code: 0, or 2 where the input or a flag is wrong."""
EXAMPLES = """examples:
  irfuzz synthesize resnet50.onnx -o small
  irfuzz synthesize ocr.onnx -o small --input-shapes image:1x3x48x160
  irfuzz synthesize models -o small --seed 3 --json"""


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("models", metavar="MODEL", nargs="+", type=place, help="A model, or a folder with models (*.onnx below it).")
    add("-o", "--out", metavar="DIR", type=place, required=True, help="Folder for the small models.")
    add("--seed", metavar="S", type=whole(0), default=0, help="Root of all randomness. Default: 0.")
    input_arguments(parser, data="The small models have the sizes of the first.")
    force_flag(parser)
    add("--json", action="store_true", help="Print one JSON object a model.")


def run(args: argparse.Namespace) -> int:
    from irfuzz.frontends.isolated_onnx_calls import OnnxChecker
    from irfuzz.frontends.onnx_file import save_file
    from irfuzz.generate.covering_program_synthesis import synthesize
    from irfuzz.generate.graph_inputs.input_annotation import fixed

    loaded = seeds_of(args.models)
    names = _names(list(loaded))
    own = [path for path in loaded if (args.out / names[path]).resolve() == path.resolve()]
    if own:
        raise UsageError(f"--out {args.out}: {own[0]} would take its own place; give another folder")
    not_there_yet((args.out / name for name in names.values()), force=args.force)
    said = inputs_said(args, loaded)
    out = writable_folder(args.out, "--out")
    made = 0
    problems: list[str] = []
    with (
        telling(lambda: f"{made} of {len(loaded)} small models are in {out}"),
        ProgressLine("making small models", len(loaded)) as progress,
        OnnxChecker() as checker,
    ):
        for number, (path, program) in enumerate(loaded.items()):
            try:
                program = fixed(program, said[path].spec)
                found = synthesize(program, seed=args.seed, progress=_told(progress, number, path))
            except InvalidProgram as error:
                problems.append(one_line(f"{path}: {error}"))
                continue
            data = found.program.to_bytes()
            try:
                checker.check(data)
            except InvalidProgram as error:
                raise InternalError(f"{path}: what was made of it is wrong: {error}") from None
            target = out / names[path]
            save_file(data, target)
            made += 1
            if args.json:
                print(json.dumps({"source": str(path), "model": str(target), **found.to_json()}), flush=True)
            else:
                print(_line(path, target, found), flush=True)
    if not made:
        more = f" (and {len(problems) - 1} more of which nothing can be made)" if len(problems) > 1 else ""
        raise UsageError(problems[0] + more)
    for problem in problems:
        print(f"irfuzz: skipped: {problem}", file=sys.stderr)
    return 0


def _names(paths: list[Path]) -> dict[Path, str]:
    """Names of the results; the same model of two folders has to stay apart."""
    names = {path: f"{path.name.partition(':')[0].removesuffix('.onnx')}.onnx" for path in paths}
    for path, name in names.items():
        others = [p for p, n in names.items() if n == name and p != path]
        if others:
            raise UsageError(f"{path} and {others[0]}: both would become {name}; give them in two calls")
    return names


def _line(path: Path, target: Path, found: Synthesis) -> str:
    before, after = found.nodes
    heavy, light = found.weights
    kept = ", ".join(f"{count} {name}s" for name, count in found.wanted.items())
    return (
        f"{path} -> {target}: all {kept} kept; {before} nodes -> {after} (no program needs fewer than {found.least}); "
        f"{heavy:,} weights -> {light:,} ({1 - light / max(heavy, 1):.1%} fewer); {found.seconds:.1f} s"
    )


def _told(progress: ProgressLine, number: int, path: Path) -> Callable[[str], None]:
    """Where a synthesis tells what it does with a model."""
    return lambda text: progress(number, note=f"{path.name}: {text}")
