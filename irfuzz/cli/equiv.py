"""``irfuzz equiv``: models enter, rewrites after which a target contradicts itself leave."""

from __future__ import annotations

import argparse
import functools
import json
import math
import sys
import time
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irfuzz.cli.input_flags import input_arguments, inputs_said
from irfuzz.cli.inputs import planned, seeds_of, writable_folder
from irfuzz.cli.interrupt import telling
from irfuzz.cli.parser import Parser, duration, names, one_line, place, positive, printable, whole
from irfuzz.cli.progress import Progress
from irfuzz.errors import Unsupported, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from irfuzz.api.said import Said
    from irfuzz.campaign.contradiction import Contradiction, Counts
    from irfuzz.campaign.equivalence import Equivalence
    from irfuzz.execute.types import Value
    from irfuzz.execute.ways import Way
    from irfuzz.ir.program import Program
    from irfuzz.rewrite.types import Rewrite

NAME = "equiv"
ABOUT = """Rewrite models into forms that compute the same, and compare each form with the model on one target.

Also runs each model in other ways: optimised, sparse, from a data set, saved and loaded (EAGLE's rules 1, 8, 11, 16).
Needs no second component. What differs by more than rounding explains, or is refused only when optimised, is printed
with the rewrite and the operator. Of If, Loop, Scan and functions, what runs is written out and rewritten too.
Exit code: 0 nothing differs, 1 something does, 2 wrong usage or bad input, or no target runs any model."""
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
        "Default: 20.",
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
    from irfuzz.execute.ways import build_ways
    from irfuzz.rewrite.table import build_rewrites

    try:
        rewrites = build_rewrites(args.rewrites)
    except UsageError as error:
        raise UsageError(f"--rewrites: {error}") from None
    try:
        asked = args.ways if args.ways is not None or args.rewrites is None else []
        ways = build_ways(asked, slow=args.list)
    except UsageError as error:
        raise UsageError(f"--ways: {error}") from None
    if args.list:
        _list(rewrites, ways, args.json, seeds_of(args.models).values() if args.models else None)
        return 0
    if not args.models:
        raise UsageError("MODEL: expected a model or a folder with models, or --list; see `irfuzz equiv --help`")
    return _check(args, rewrites, ways)


def _check(args: argparse.Namespace, rewrites: dict[str, Rewrite], ways: dict[str, Way]) -> int:
    from irfuzz.campaign.equivalence import Equivalence
    from irfuzz.campaign.pace import Pace
    from irfuzz.campaign.unfolded_forms import check_unfolded
    from irfuzz.execute.large_limits import limits_for
    from irfuzz.execute.runner import Runner
    from irfuzz.execute.table import resolve
    from irfuzz.execute.ways import adapters_for, others_of
    from irfuzz.generate.extremes import inputs_with_extremes
    from irfuzz.isolate import Limits
    from irfuzz.spec import load_specs

    named = [*(args.targets or ()), *args.target] or None
    targets = resolve(named, slow=named is not None)
    programs = seeds_of(args.models, to_run=True)
    runs = _runs(programs, inputs_said(args, programs))
    out = None if args.out is None else writable_folder(args.out, "--out")
    found: list[Contradiction] = []
    others = {target.name: others_of(target, ways) for target in targets}
    whole = [*targets, *(other.target for row in others.values() for other in row)]
    limits = limits_for(programs.values(), Limits(seconds=args.timeout), seconds=False)
    required = named is not None
    with (
        Progress("comparing", unit="forms") as progress,
        Runner(whole, limits, required=required, adapters=adapters_for(others)) as runner,
    ):
        engine = Equivalence(runner, load_specs(), rewrites, seed=args.seed, chain=args.chain, others=others)
        pace = Pace(math.inf if args.time is None else time.monotonic() + args.time)
        with telling(lambda: _report(args, engine, found, "stopped")):
            for number, (path, program, given) in enumerate(runs):
                if pace.ends():
                    break
                which = f"run {number + 1} of {len(runs)}, {path.name}"
                progress(0, args.forms, which)
                pace.progress = functools.partial(progress, note=which)
                try:
                    inputs = inputs_with_extremes(program, args.seed) if given is None else given
                    for item in chain(
                        engine.check(path.name, program, args.forms, inputs=inputs, since=0, pace=pace),
                        check_unfolded(engine, runner, path.name, program, args.forms, inputs, pace=pace),
                    ):
                        if out is not None:
                            _keep(out, len(found) + 1, item)
                        found.append(item)
                        if not args.json:
                            print(printable("\n".join(_lines(item))), flush=True)
                except Unsupported as error:
                    print(f"irfuzz: skipped: {path}: {one_line(error)}", file=sys.stderr)
    counts = engine.counts
    for (model, target), why in counts.unusable.items():
        print(f"irfuzz: {target} does not run {model}: {one_line(why)}", file=sys.stderr)
    if not counts.answers and not pace.over:
        raise UsageError("no form was compared: no target runs any of the models, or no rewrite fits them")
    _report(args, engine, found, "the time was over" if pace.over else "")
    return 1 if found else 0


def _report(args: argparse.Namespace, engine: Equivalence, found: list[Contradiction], partial: str) -> None:
    """Print what was found; ``partial`` says why that is not all."""
    counts = engine.counts
    if args.json:
        used = {t.name: t.version for t in engine.targets}
        tally = {"partial": bool(partial), **_tally(counts)}
        print(json.dumps({"targets": used, **tally, "contradictions": [_row(item) for item in found]}))
    else:
        head = [f"partial: {partial} before all forms were compared"] if partial else []
        print("\n".join([*head, *_summary(counts, len(found))]))


def _runs(
    programs: Mapping[Path, Program], said: Mapping[Path, Said]
) -> list[tuple[Path, Program, Mapping[str, Value] | None]]:
    """Each model once for each of its samples; once with ``None`` if it has none."""
    from irfuzz.generate.input_annotation import annotated

    models = {path: annotated(program, said[path].spec) for path, program in programs.items()}
    models |= planned({path: model for path, model in models.items() if not said[path].spec.samples})
    return [(path, model, given) for path, model in models.items() for given in said[path].spec.samples or [None]]


def _list(
    rewrites: dict[str, Rewrite], ways: dict[str, Way], as_json: bool, programs: Iterable[Program] | None
) -> None:
    """All rewrites and ways; of models, also whether a rewrite fits one of them."""
    from irfuzz.spec import load_specs

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
    if as_json:
        print(json.dumps(rows))
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        about = f"{'run: ' if row['kind'] == 'way' else ''}{row['about']}"
        ends = f" (EAGLE {row['eagle']})" if row["eagle"] else ""
        ends += "" if row.get("fits", True) else " (fits nowhere)"
        print(f"{row['name']:<{width}}  {row['exactness']:<8}  {about}{ends}")


def _lines(item: Contradiction) -> list[str]:
    step = item.step
    where = f"{step.rewrite} of {step.operator} ({step.site})"
    head = f"{item.model} on {item.target}: {item.comparison.symptom} after {where}"
    return [head, f"  {item.comparison.reason}", *(f"  {s.rewrite}: {s.detail}" for s in item.chain)]


def _row(item: Contradiction) -> dict[str, Any]:
    return {
        "model": item.model,
        "target": item.target,
        "rewrite": item.step.rewrite,
        "operator": item.step.operator,
        "site": item.step.site,
        "symptom": item.comparison.symptom,
        "output": item.comparison.output,
        "reason": item.comparison.reason,
        "chain": [{"rewrite": s.rewrite, "site": s.site, "detail": s.detail} for s in item.chain],
    }


def _tally(counts: Counts) -> dict[str, Any]:
    return {
        "forms": dict(sorted(counts.forms.items())),
        "answers": _nested(counts.answers),
        "refused": _nested(counts.refused),
    }


def _nested(counter: dict[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    rows: dict[str, dict[str, int]] = {}
    for (target, key), number in sorted(counter.items()):
        rows.setdefault(target, {})[str(key)] = number
    return rows


def _summary(counts: Counts, found: int) -> list[str]:
    lines = [
        f"{found} contradictions; {len(counts.forms)} rewrites and ways applied {sum(counts.forms.values())} times"
    ]
    for target, row in _nested(counts.answers).items():
        lines.append(f"  {target}: " + ", ".join(f"{number} {answer}" for answer, number in row.items()))
    return lines


def _keep(out: Path, number: int, item: Contradiction) -> None:
    import numpy as np

    from irfuzz.frontends.onnx_file import save_file

    stem = f"{number:04d}-{item.step.rewrite}"
    save_file(item.program, out / f"{stem}.original.onnx")
    save_file(item.form_bytes(), out / f"{stem}.rewritten.onnx")
    arrays: dict[str, Any] = {name: value for name, value in item.inputs.items() if isinstance(value, np.ndarray)}
    np.savez(out / f"{stem}.inputs.npz", **arrays)
