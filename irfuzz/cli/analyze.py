"""``irfuzz analyze``: a model enters, the operators that may compute NaN, an infinity or crash leave."""

from __future__ import annotations

import argparse
import json
import math
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.cli.inputs import seeds_of, writable_folder
from irfuzz.cli.parser import Parser, place, positive, whole
from irfuzz.errors import UsageError

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

NAME = "analyze"
ABOUT = """Find operators of a model that may compute NaN, an infinity or crash, without training or running it.

Ranges of the inputs come from --range, --ranges, --data, the index.toml beside the model, or the inputs' metadata; an
input of which nothing is said may be every finite number of its type. Weights are what the model holds, or, with
--architecture, within the range that they start from. For each warning an input that really triggers it is looked for.
Exit code: 0 nothing warned of, 1 warnings, 2 where the input or a flag is wrong."""
EXAMPLES = """examples:
  irfuzz analyze model.onnx --range image=0,1
  irfuzz analyze model.onnx --ranges ranges.toml --architecture --json
  irfuzz analyze model.onnx --data inputs.npz -o witnesses --html report.html"""

DOMAINS = ("irfuzz", "debar", "intervals", "smashing", "expansion")


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", type=place, help="A model, of any kind that `irfuzz fuzz` takes.")
    add(
        "--range",
        metavar="NAME=LO,HI",
        action="append",
        default=[],
        dest="given",
        type=_range,
        help="Of an input or initializer; repeat it.",
    )
    add("--ranges", metavar="FILE", type=place, help="TOML: NAME = [LO, HI] lines.")
    add(
        "--data",
        metavar="FILE",
        type=place,
        help="An npz of inputs: their smallest and largest elements are the ranges.",
    )
    add("--architecture", action="store_true", help="Weights may still be trained: only their range is known.")
    add("--domain", choices=DOMAINS, default="irfuzz", help="The abstraction (default: irfuzz).")
    add("--no-witness", action="store_true", help="Do not look for inputs that trigger the warnings.")
    add("--witness-time", metavar="S", type=positive, default=3.0, help="Seconds for each warning (default: 3).")
    add("--seed", metavar="N", type=whole(0), default=0, help="Of the search (default: 0).")
    add(
        "-o",
        "--out",
        metavar="DIR",
        type=place,
        help="Write a folder for each confirmed warning: model, inputs, repro.py.",
    )
    add("--html", metavar="FILE", type=place, help="Write the report as a page.")
    add("--json", action="store_true", help="Print JSON.")


def run(args: argparse.Namespace) -> int:
    from irfuzz.analyze.judged import judge
    from irfuzz.analyze.ranges import Ranges
    from irfuzz.frontends.onnx_file import save_file
    from irfuzz.report import numeric

    loaded = seeds_of([args.model])
    if len(loaded) != 1:
        raise UsageError(f"{args.model}: expected one model, found {len(loaded)}")
    ((path, program),) = loaded.items()
    given = {**_of_index(path, program), **_of_file(args.ranges), **_of_data(args.data, program), **dict(args.given)}
    out = None if args.out is None else writable_folder(args.out, "--out")
    report = judge(
        program,
        Ranges(given, args.architecture),
        domain=args.domain,
        witness_seconds=0 if args.no_witness else args.witness_time,
        seed=args.seed,
        progress=_progress,
    )
    if out is not None:
        numeric.write_witnesses(report, out)
    if args.html is not None:
        save_file(numeric.as_html(report, path.name).encode(), args.html)
    name = str(path)
    print(json.dumps(numeric.as_json(report, name)) if args.json else numeric.as_text(report, name))
    return numeric.exit_code(report)


def _progress(done: int, count: int) -> None:
    if sys.stderr.isatty():
        print(f"irfuzz: looking for witnesses: {done} of {count}", file=sys.stderr)


def _range(text: str) -> tuple[str, tuple[float, float]]:
    """The type of ``--range``."""
    name, _, ends = text.rpartition("=")
    try:
        low, high = (float(e) for e in ends.split(","))
    except ValueError:
        low = high = math.nan
    if not name or not low <= high:
        raise argparse.ArgumentTypeError(f"expected NAME=LO,HI with LO <= HI, got {text!r}")
    return name, (low, high)


def _of_file(path: Path | None) -> dict[str, tuple[float, float]]:
    if path is None:
        return {}
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--ranges {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"--ranges {path}: not TOML: {error}") from None
    found: dict[str, tuple[float, float]] = {}
    for name, ends in content.items():
        if (
            not isinstance(ends, list)
            or len(ends) != 2
            or not all(isinstance(e, int | float) for e in ends)
            or not ends[0] <= ends[1]
        ):
            raise UsageError(f"--ranges {path}: {name}: expected [LO, HI] with LO <= HI, got {ends!r}")
        found[name] = (float(ends[0]), float(ends[1]))
    return found


def _of_data(path: Path | None, program: Program) -> dict[str, tuple[float, float]]:
    if path is None:
        return {}
    import zipfile

    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as arrays:
            data = {name: np.asarray(arrays[name]) for name in arrays.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise UsageError(f"--data {path}: no npz of arrays: {error}") from None
    names = {v.name or "" for v in program.graph.inputs}
    found = {
        n: (float(a.min()), float(a.max())) for n, a in data.items() if n in names and a.size and a.dtype.kind in "biuf"
    }
    if not found:
        raise UsageError(f"--data {path}: none of its arrays is an input of the model ({', '.join(sorted(names))})")
    return found


def _of_index(path: Path, program: Program) -> dict[str, tuple[float, float]]:
    """What an ``index.toml`` beside the model says of its inputs."""
    from irfuzz.campaign.seed_folder import INDEX, read_index

    if not (path.parent / INDEX).exists():
        return {}
    names = {v.name or "" for v in program.graph.inputs}
    entries = [e for e in read_index(path.parent) if e["file"] == path.name]
    return {
        str(i["name"]): (float(i["low"]), float(i["high"]))
        for e in entries
        for i in e.get("inputs", ())
        if "low" in i and i["name"] in names
    }
