"""``irfuzz coverage``: how much of what operator calls can be some models cover."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.cli.interrupt_handling import telling
from irfuzz.cli.model_reading_and_output_checks import page_to_write, reading
from irfuzz.cli.parser import Parser, place
from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.report.terminal_text_cleaning import one_line

if TYPE_CHECKING:
    from irfuzz.search.coverage.fusion_coverage import Fusions
    from irfuzz.search.coverage.graphfuzz_operator_coverage import OperatorLevel
    from irfuzz.search.coverage.operator_call_coverage import Coverage

NAME = "coverage"
ABOUT = """Measure how much of the operators' inputs, parameters and sequences a set of models covers.

The criteria are COMET's (layer input, layer parameter, layer sequence), on ONNX operators with the space of the newest
opset or of the one that --opset names, and GraphFuzz's counts; and which of the patterns that optimisers fuse stand
in the models, exactly or with one thing off. Models are taken in the order of their modification times, with their
local functions written out; nodes of domains that ONNX does not define are told and not counted. Of a campaign it
tells what all of its programs cover, over its time, which passes of optimisers they fired, and how many lines of
Python components they ran (--python-coverage).
Exit code: 0, or 2 where the input is wrong."""
EXAMPLES = """examples:
  irfuzz coverage seeds
  irfuzz coverage mutants other/models --opset 17 --json
  irfuzz coverage mutants --operators --html coverage.html"""


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("models", metavar="MODEL", nargs="+", type=place, help="Models, folders of them, or one folder of a campaign.")
    add("--operators", action="store_true", help="Print each operator's coverage, and missing patterns, too.")
    add("--opset", type=int, help="Opset whose space models are measured by, from 13 on (default: the newest).")
    add(
        "--html",
        metavar="FILE",
        type=place,
        help="Write a page with the operators as a graph and the curve, over an earlier page at most.",
    )
    add("--json", action="store_true", help="Print JSON.")


def run(args: argparse.Namespace) -> int:
    from irfuzz.campaign.config import Layout
    from irfuzz.frontends.framework_conversion import Converters
    from irfuzz.frontends.isolated_onnx_calls import OnnxChecker
    from irfuzz.frontends.onnx_file import find_models, load_seed, save_file
    from irfuzz.ir.inlining import without_functions
    from irfuzz.ir.input_defaults import at_defaults
    from irfuzz.report.command_reports import coverage as report
    from irfuzz.report.command_reports import coverage_page
    from irfuzz.search.coverage.coverable_call_space import load
    from irfuzz.search.coverage.fusion_coverage import Fusions
    from irfuzz.search.coverage.graphfuzz_operator_coverage import OperatorLevel
    from irfuzz.search.coverage.operator_call_coverage import CRITERIA, Coverage

    page = page_to_write(args.html, "--html")
    if len(args.models) == 1 and Layout(args.models[0]).database.is_file():
        if args.opset is not None:
            raise UsageError("--opset: a campaign counts by the newest opset's space")
        return _campaign(args, page)
    files, problems = find_models(args.models)
    files.sort(key=lambda path: (_modified(path), path))
    coverage, fusions, levels = Coverage(load(args.opset)), Fusions(), OperatorLevel()
    curve: list[tuple[str, dict[str, float]]] = []
    counted = (coverage, fusions, levels)
    with (
        telling(lambda: _partial(args, counted, curve, len(problems), len(files))),
        reading(files) as progress,
        OnnxChecker() as checker,
        Converters() as converters,
    ):
        for path in progress.over(files):
            try:
                program = load_seed(path, checker=checker, converters=converters)
                program = without_functions(at_defaults(program))
            except InvalidProgram as error:
                text = str(error)
                problems.append(text if text.startswith(str(path)) else f"{path}: {text}")
                continue
            coverage.add(program)
            fusions.add(program)
            levels.add(program)
            shares = coverage.shares()
            curve.append((path.name, {name: shares[name].ratio for name in CRITERIA}))
    if not curve:
        raise UsageError(one_line(problems[0]) if problems else "no models")
    for problem in problems:
        print(f"irfuzz: skipped: {one_line(problem)}", file=sys.stderr)
    if page is not None:
        save_file(coverage_page.as_html(coverage, curve, fusions).encode(), page)
    if args.json:
        print(json.dumps(report.as_json(coverage, curve, len(problems), fusions, levels=levels)))
    else:
        print(report.as_text(coverage, fusions, levels=levels, operators=args.operators))
    return 0


def _partial(
    args: argparse.Namespace,
    counted: tuple[Coverage, Fusions, OperatorLevel],
    curve: list[tuple[str, dict[str, float]]],
    skipped: int,
    files: int,
) -> None:
    """Print what the models cover that were read before the command was interrupted."""
    from irfuzz.report.command_reports import coverage as report

    coverage, fusions, levels = counted
    if args.json:
        print(json.dumps(report.as_json(coverage, curve, skipped, fusions, levels=levels, partial=True)))
    else:
        print(f"partial: stopped after {len(curve) + skipped} of {files} models")
        print(report.as_text(coverage, fusions, levels=levels, operators=args.operators))


def _modified(path: Path) -> float:
    """When a model was changed last; 0 of what is no file, as a factory in one."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _campaign(args: argparse.Namespace, page: Path | None) -> int:
    """What the programs of a campaign cover: those that it ran, of which it keeps only a few."""
    from irfuzz.campaign.config import Layout
    from irfuzz.campaign.monitoring.coverage_across_jobs import coverage_of, curve_of, fusions_of, lines_of, passes_of
    from irfuzz.frontends.onnx_file import save_file
    from irfuzz.report.command_reports import coverage as report
    from irfuzz.report.command_reports import coverage_page
    from irfuzz.search.coverage.operator_call_coverage import CRITERIA
    from irfuzz.store.database import Database

    database = Database(Layout(args.models[0]).database)
    coverage = coverage_of(database)
    rows = curve_of(database)
    fusions, lines, passes = fusions_of(database), lines_of(database).shares(), passes_of(database)
    database.close()
    if not rows:
        raise UsageError(f"{args.models[0]}: this campaign has not counted any coverage yet")
    curve: list[tuple[str, dict[str, float]]] = [
        (f"{row[0]:.0f} s", dict(zip(CRITERIA, row[2:], strict=True))) for row in rows
    ]
    if page is not None:
        times = [row[0] for row in rows]
        save_file(coverage_page.as_html(coverage, curve, fusions, lines, times).encode(), page)
    if args.json:
        print(json.dumps(report.as_json(coverage, curve, 0, fusions, lines, passes=passes)))
    else:
        print(report.as_text(coverage, fusions, lines, passes=passes, operators=args.operators))
    return 0
