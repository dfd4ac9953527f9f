"""``irfuzz equiv``: rewrites models and reports where a target contradicts itself."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from irfuzz.cli.input_flags import input_arguments, inputs_said
from irfuzz.cli.interrupt_handling import telling
from irfuzz.cli.model_reading_and_output_checks import given_in_vain, seeds_of, writable_folder
from irfuzz.cli.parser import Parser, as_flags, duration, names, place, positive, whole
from irfuzz.cli.progress_display import UpdateDisplay
from irfuzz.errors import UsageError
from irfuzz.report.terminal_text_cleaning import one_line, printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from irfuzz.ir.program import Program

NAME = "equiv"
ABOUT = """Rewrite models into forms that compute the same, and compare each form with the model on one target.

Also runs each model in other ways: optimised, sparse, from a data set, saved and loaded (EAGLE's rules 1, 8, 11, 16).
Needs no second component. What differs by more than rounding explains, or is refused only when optimised, is printed
with the rewrite and the operator. Of If, Loop, Scan and functions, what runs is written out and rewritten too.
Exit code: 0 nothing differs, 1 something does, 2 wrong usage or bad input, or no target runs any model. Of several
models those that can be read are compared; one that cannot is named, and the exit code is 2 if nothing differs."""
EXAMPLES = """examples:
  irfuzz equiv model.onnx
  irfuzz equiv seeds --targets 'ort:all,torch:eager' --chain 4 --forms 50
  irfuzz equiv model.onnx --rewrites split-batch,conv-per-group --json
  irfuzz equiv model.onnx --ways reload,sparse --forms 0
  irfuzz equiv ocr.onnx --input-shapes image:1x3x48x160 --range image=0,255
  irfuzz equiv --list"""


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("models", metavar="MODEL", nargs="*", type=place, help="A model, or a folder with models (*.onnx below it).")
    add(
        "--targets", metavar="NAMES", type=names,
        help="Targets, separated by commas; * is a wildcard. Default: all quick runtimes that are installed.",
    )  # fmt: skip
    add(
        "--target", metavar="NAME", action="append", default=[],
        help="One more target, such as package.module:Class or file.py:Class of your own; may be repeated. "
        "Without --targets no other is tested.",
    )  # fmt: skip
    add("--rewrites", metavar="NAMES", type=names, help="Rewrites, separated by commas. Default: all.")
    add(
        "--ways", metavar="NAMES", type=names,
        help="Other ways to run the same on a target (--list), separated by commas. Default: all quick ones, or none "
        "where --rewrites is given.",
    )  # fmt: skip
    add("--chain", metavar="N", type=whole(1), default=3, help="Most rewrites in a row. Default: 3.")
    add(
        "--forms", metavar="N", type=whole(0), default=20,
        help="Rewritten forms of each model: first by each rewrite that fits, EAGLE's first, then by chains. "
        "0: test --ways alone. Default: 20.",
    )  # fmt: skip
    input_arguments(parser, most=4, data="All forms are compared on each.")
    add("--seed", metavar="S", type=whole(0), default=0, help="Root of all randomness. Default: 0.")
    add("--time", metavar="TIME", type=duration, help="At most, for all models: 90s, 10m. Default: until all is done.")
    add(
        "--timeout", metavar="SECONDS", type=positive, default=10.0,
        help="What one target may take with one program. Default: 10.",
    )  # fmt: skip
    add(
        "-o", "--out", metavar="DIR", type=place,
        help="Folder for the model, the form and the inputs of each difference. Default: keep nothing.",
    )  # fmt: skip
    add("--list", action="store_true", help="List the rewrites (with MODEL also which fit it) and the ways, and end.")
    add("--json", action="store_true", help="Print JSON.")


def run(args: argparse.Namespace) -> int:
    from irfuzz.api.equiv import EquivReport, equiv, told
    from irfuzz.api.loaded_model import LoadedModel
    from irfuzz.api.progress_update import Update
    from irfuzz.api.target_selection import run_layers

    if args.list:
        _list(args, seeds_of(args.models).values() if args.models else None)
        return 0
    if not args.models:
        raise UsageError("MODEL: expected a model or a folder with models, or --list; see `irfuzz equiv --help`")
    programs = seeds_of(args.models, to_run=True, layers=run_layers(args.targets))
    said = inputs_said(args, programs)
    models = [LoadedModel(str(path), program, said[path], path) for path, program in programs.items()]

    def show(report: EquivReport | None) -> None:
        if report is not None:
            print(json.dumps(report.to_json()) if args.json else report.summary())

    follow: UpdateDisplay[EquivReport] = UpdateDisplay()
    shown = 0

    def tell(update: Update[EquivReport]) -> None:
        nonlocal shown
        follow(update)
        known = None if args.json or update.so_far is None else update.so_far()
        for item in known.contradictions[shown:] if known is not None else ():
            shown += 1
            print(printable(told(item)), flush=True)

    with telling(lambda: show(follow.known())), as_flags("rewrites", "ways", "forms"), follow:
        report = equiv(
            models,
            targets=[*(args.targets or ()), *args.target] or None,
            rewrites=args.rewrites,
            ways=args.ways,
            forms=args.forms,
            chain=args.chain,
            seed=args.seed,
            seconds=args.time,
            timeout=args.timeout,
            out=None if args.out is None else writable_folder(args.out, "--out"),
            progress=tell,
        )
    show(report)
    lacking = given_in_vain(args.models, programs)
    if lacking:
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        print(f"irfuzz: error: not compared, for the reason above: {one_line(str(lacking[0]))}{more}", file=sys.stderr)
    return 1 if report.contradictions else 2 if lacking else 0


def _list(args: argparse.Namespace, programs: Iterable[Program] | None) -> None:
    """All rewrites and ways; of models, also whether a rewrite fits one of them."""
    from irfuzz.api.equiv import chosen
    from irfuzz.spec import load_specs

    with as_flags("rewrites", "ways"):
        rewrites, ways = chosen(args.rewrites, args.ways, slow=True)

    rows: list[dict[str, Any]] = [
        {"name": r.name, "exactness": str(r.exactness), "about": r.about, "eagle": r.eagle, "kind": "rewrite"}
        for r in rewrites.values()
    ]
    if programs is not None:
        specs, kept = load_specs(), list(programs)
        for row, rewrite in zip(rows, rewrites.values(), strict=True):
            row["fits"] = any(rewrite.sites(program, specs) for program in kept)
    for w in ways.values():
        exactness = "bitwise" if w.exact else "bounded"
        rows.append({"name": w.name, "exactness": exactness, "about": w.about, "eagle": w.eagle, "kind": "way"})
    if args.json:
        print(json.dumps(rows))
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        about = f"{'run: ' if row['kind'] == 'way' else ''}{row['about']}"
        ends = f" (EAGLE {row['eagle']})" if row["eagle"] else ""
        ends += "" if row.get("fits", True) else " (fits nowhere)"
        print(f"{row['name']:<{width}}  {row['exactness']:<8}  {about}{ends}")
