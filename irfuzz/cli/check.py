"""``irfuzz check``: a model and inputs enter, whether all targets compute the same and where they part leaves."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.cli.inputs import file_to_write, one_model
from irfuzz.cli.parser import Parser, names, place, printable, share, whole
from irfuzz.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

    from irfuzz.execute.types import Value
    from irfuzz.ir.program import Program
    from irfuzz.localize.compare import Tolerance
    from irfuzz.localize.labelled import Labels

NAME = "check"
ABOUT = """Run one model on several targets and say whether they compute the same, and if not, where they part.

Outputs may differ by what rounding explains for that model and input, or by --rtol and --atol. With --labels, CRADLE's
distances to the ground truth are measured for every pair of targets. A disagreement is localised: each node runs alone
on the inputs that it has on the other target, and CRADLE's map shows the hidden states of both.
Exit code: 0 they agree, 1 they disagree, 2 where the input or a flag is wrong or fewer than two targets run it."""
EXAMPLES = """examples:
  irfuzz check model.onnx
  irfuzz check model.onnx --data inputs.npz --labels labels.npy --targets reference,ort:all,torch:eager
  irfuzz check model.onnx --targets ort:disabled,ort:all --rtol 1e-3 --atol scores:1e-4 --map map.html"""


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", type=place, help="A model, of any kind that `irfuzz fuzz` takes.")
    add("--targets", metavar="NAMES", type=names, help="What to compare. Default: all runtimes that are installed.")
    add("--base", metavar="NAME", default="", help="The target to compare with. Default: the first.")
    add("--data", metavar="FILE", type=place, help="An npz: for each input an array whose first axis is the samples.")
    add("--labels", metavar="FILE", type=place, help="An npy, the truth of each sample; or NAME of an array in --data.")
    add("--seeds", metavar="N", type=whole(1), default=8, help="Inputs that are drawn without --data (default: 8).")
    add("--samples", metavar="N", type=whole(1), help="Take the first N of --data.")
    for flag in ("--rtol", "--atol"):
        add(
            flag, metavar="[OUTPUT:]X", action="append", type=_tolerance, default=[],
            help="Fixed bound, of all outputs or of one; repeat it. Either one replaces derived bounds (other: 1e-5).",
        )  # fmt: skip
    add("--metric", choices=("class", "mad"), help="CRADLE's distance. Default: class where the labels are classes.")
    add("--output", metavar="NAME", help="The output that labels are about. Default: the first.")
    add("--threshold", metavar="T", type=float, help="A distance that matters (default: class 8, mad 0.2).")
    add("--share", metavar="P", type=share, default=0.0, help="Of samples that may exceed it (default: 0).")
    add("--save-inputs", metavar="FILE", type=place, help="Write the inputs as an npz that --data takes.")
    add("--save-outputs", metavar="FILE", type=place, help="Write an npz with arrays TARGET/OUTPUT, a row a sample.")
    add("--fail-fast", action="store_true", help="Stop at the first input on which targets disagree.")
    add("--no-localise", action="store_true", help="Do not look for the nodes where targets part.")
    add("--causes", action="store_true", help="Look for the parameters that cause it too (AUDEE); takes more runs.")
    add("--map", metavar="FILE", type=place, help="Write a page with the map, even where all agree.")
    add("--json", action="store_true", help="Print JSON.")


def run(args: argparse.Namespace) -> int:
    from irfuzz.execute.runner import Runner
    from irfuzz.execute.table import resolve
    from irfuzz.frontends.onnx_file import save_file
    from irfuzz.localize.check import check
    from irfuzz.report import check as report
    from irfuzz.store.tensors import pack

    path, program = one_model(args.model)
    page = file_to_write(args.map, "--map")
    kept = file_to_write(args.save_outputs, "--save-outputs")
    data: dict[str, np.ndarray] | None = None
    if args.data is None:
        samples = _drawn(program, args.seeds)
    else:
        data = _load(args.data, "--data")
        samples = _split(program, data, args.data, args.samples)
    labels = _labels(args, program, data, len(samples))
    tolerance = _tolerances(args, program)
    if args.causes and args.no_localise:
        raise UsageError("--causes: with --no-localise nothing is looked for; leave one of them out")
    targets = resolve(args.targets)
    if len(targets) < 2:
        raise UsageError(f"--targets: expected at least two to compare, got {', '.join(t.name for t in targets)}")
    if args.save_inputs is not None:
        save_file(pack(_stacked(samples, "--save-inputs")), args.save_inputs)
    with Runner(targets, required=args.targets is not None) as runner:
        found = check(
            runner,
            program,
            samples,
            base=args.base,
            tolerance=tolerance,
            labels=labels,
            fail_fast=args.fail_fast,
            always_map=args.map is not None,
            locate=not args.no_localise,
            causal=args.causes,
            keep=args.save_outputs is not None,
            progress=_progress,
        )
    if kept is not None:
        rows: dict[str, Value] = {}
        for target, outputs in found.outputs.items():
            for name, values in outputs.items():
                rows |= _stacked([{f"{target}/{name}": v} for v in values], "--save-outputs")
        save_file(pack(rows), kept)
    if page is not None:
        save_file(report.as_html(found, path.name).encode(), page)
    name = str(path)
    print(json.dumps(report.as_json(found, name)) if args.json else printable(report.as_text(found, name)))
    return 0 if found.agree else 1


def _progress(done: int, count: int) -> None:
    if sys.stderr.isatty():
        print(f"irfuzz: {done} of {count} inputs", file=sys.stderr)


def _tolerance(text: str) -> tuple[str, float]:
    """The type of ``--rtol`` and ``--atol``."""
    name, _, number = text.rpartition(":")
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"expected [OUTPUT:]NUMBER of at least 0, got {text!r}")
    return name, value


def _tolerances(args: argparse.Namespace, program: Program) -> Tolerance | None:
    from irfuzz.localize.compare import Tolerance

    if not args.rtol and not args.atol:
        return None
    known = {o.name or "" for o in program.graph.outputs}
    for flag in ("rtol", "atol"):
        for name, _ in getattr(args, flag):
            if name and name not in known:
                raise UsageError(f"--{flag}: {name!r} is no output of the model ({', '.join(sorted(known))})")
    rtols, atols = dict(args.rtol), dict(args.atol)
    return Tolerance(rtols.pop("", 1e-5), atols.pop("", 1e-5), rtols, atols)


def _load(path: Path, flag: str) -> dict[str, np.ndarray]:
    import numpy as np

    from irfuzz.errors import InvalidProgram
    from irfuzz.store.tensors import unpack

    try:
        values = unpack(path.read_bytes(), f"{flag} {path}")
    except OSError as error:
        raise UsageError(f"{flag} {path}: {error.strerror}") from None
    except InvalidProgram as error:
        raise UsageError(str(error)) from None
    found = {name: _text(v) for name, v in values.items() if isinstance(v, np.ndarray) and v.ndim}
    if not found:
        raise UsageError(f"{flag} {path}: it holds no arrays with an axis of samples")
    return found


def _text(array: np.ndarray) -> np.ndarray:
    """Strings as objects, as irfuzz holds them."""
    return array.astype(object) if array.dtype.kind in "SU" else array


def _split(program: Program, data: Mapping[str, np.ndarray], path: Path, most: int | None) -> list[dict[str, Value]]:
    """The samples of ``--data``: a row is an input as a whole, or its part along a first axis of one."""
    from irfuzz.facts import TensorFact

    wanted = [v for v in program.graph.inputs if v.name not in program.graph.initializers or v.name in data]
    ranks: dict[str, int | None] = {}
    for value in wanted:
        name, fact = value.name or "", program.fact(value)
        if name not in data:
            raise UsageError(f"--data {path}: no array for input {name!r}; it has {', '.join(data)}")
        if not isinstance(fact, TensorFact):
            raise UsageError(f"--data {path}: input {name!r} is no tensor")
        array, expected = data[name], fact.dtype.numpy()
        if fact.dtype.name != "STRING" and array.dtype != expected:
            raise UsageError(f"--data {path}: {name!r} is {array.dtype}, expected {expected}")
        keep = array.ndim == fact.rank
        inner = array.shape[1:]
        sizes = None if fact.shape is None else (fact.shape[1:] if keep else fact.shape)
        fits = sizes is not None and len(sizes) == len(inner)
        fits = fits and all(not isinstance(s, int) or s == n for s, n in zip(sizes or (), inner, strict=True))
        if not fits or (keep and fact.shape and isinstance(fact.shape[0], int) and fact.shape[0] != 1):
            raise UsageError(
                f"--data {path}: {name!r} has shape {list(array.shape)}, expected samples of {list(fact.shape or ())}"
            )
        ranks[name] = 1 if keep else None
    counts = {len(data[name]) for name in ranks}
    if len(counts) != 1 or 0 in counts:
        raise UsageError(f"--data {path}: expected as many samples of each input, got {sorted(counts)}")
    count = min(counts.pop(), most or sys.maxsize)
    return [{n: data[n][i : i + 1] if keep else data[n][i] for n, keep in ranks.items()} for i in range(count)]


def _drawn(program: Program, count: int) -> list[dict[str, Value]]:
    """Inputs of the seeds from 0; named dimensions have the same sizes in all."""
    import numpy as np

    from irfuzz.facts import TensorFact
    from irfuzz.generate.inputs import make_inputs

    first = make_inputs(program, 0)
    dims: dict[str, int] = {}
    for value in program.graph.inputs:
        fact, made = program.fact(value), first.get(value.name or "")
        if isinstance(fact, TensorFact) and isinstance(made, np.ndarray) and fact.shape is not None:
            dims |= {d: n for d, n in zip(fact.shape, made.shape, strict=True) if isinstance(d, str)}
    return [first, *(make_inputs(program, seed, dims=dims) for seed in range(1, count))]


def _labels(
    args: argparse.Namespace, program: Program, data: Mapping[str, np.ndarray] | None, count: int
) -> Labels | None:
    from dataclasses import replace

    import numpy as np

    from irfuzz.facts import TensorFact
    from irfuzz.localize.labelled import labels_for
    from irfuzz.oracle.cradle import Metric

    if args.labels is None:
        return None
    if data is None:
        raise UsageError("--labels: they are about samples, so --data is needed too")
    if str(args.labels) in data and not args.labels.exists():
        truth = data[str(args.labels)]
    else:
        try:
            truth = np.asarray(np.load(args.labels, allow_pickle=False))
        except (OSError, ValueError) as error:
            raise UsageError(f"--labels {args.labels}: neither an npy file nor an array of --data: {error}") from None
    if truth.ndim == 0 or truth.dtype.kind not in "iuf" or len(truth) < count:
        raise UsageError(f"--labels {args.labels}: expected {count} numbers, got {truth.dtype}{list(truth.shape)}")
    outputs = {o.name or "": o for o in program.graph.outputs}
    name = args.output or next(iter(outputs))
    if name not in outputs:
        raise UsageError(f"--output: {name!r} is no output of the model ({', '.join(outputs)})")
    fact = program.fact(outputs[name])
    sizes = list(fact.shape or ()) if isinstance(fact, TensorFact) else []
    classes = math.prod(s if isinstance(s, int) else 1 for s in sizes)
    made = labels_for(truth[:count], name, classes, None if args.metric is None else Metric(args.metric))
    threshold = made.threshold if args.threshold is None else args.threshold
    return replace(made, threshold=threshold, share=args.share)


def _stacked(rows: Sequence[Mapping[str, Value]], flag: str) -> dict[str, Value]:
    """One array a name, with an axis of samples in front."""
    import numpy as np

    found: dict[str, Value] = {}
    for name in rows[0] if rows else ():
        arrays = [np.asarray(r[name]) for r in rows if isinstance(r[name], np.ndarray)]
        if len(arrays) != len(rows) or len({(a.shape, a.dtype) for a in arrays}) != 1:
            raise UsageError(f"{flag}: {name!r} is not a tensor of the same shape in all samples")
        found[name] = np.stack(arrays)
    return found
