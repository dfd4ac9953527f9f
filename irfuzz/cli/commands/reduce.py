"""``irfuzz reduce`` makes a finding, or a model that a command judges, as small as it can be."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import time
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irfuzz.api.npz_sample_reading import check_sample, read_values
from irfuzz.cli.input_flags import given_model, input_arguments, said_by_flags
from irfuzz.cli.interrupt_handling import telling
from irfuzz.cli.model_reading_and_output_checks import about, file_to_write, seeds_of
from irfuzz.cli.parser import Parser, duration, place, positive, whole
from irfuzz.cli.progress_display import ProgressLine, UpdateDisplay
from irfuzz.errors import UsageError
from irfuzz.report.terminal_text_cleaning import printable

if TYPE_CHECKING:
    from irfuzz.api.loaded_model import LoadedModel

NAME = "reduce"
ABOUT = """Make a finding or a model smaller, as long as it shows the same.

FINDING is a folder that `irfuzz fuzz` wrote: it is run on its targets, and the same target must show the same symptom.
MODEL needs --check: CMD is given the path of a candidate as its last word and exits with 0 where that is interesting.
The candidate's inputs lie beside it in inputs.npz. The same call again goes on where the last one ended.
Exit code: 0, or 2 where the input or a flag is wrong or what is to be reduced does not show."""
EXAMPLES = """examples:
  irfuzz reduce irfuzz-out/findings/0001-difference-onnxruntime-all
  irfuzz reduce model.onnx --check './fails.sh' -o small.onnx
  irfuzz reduce ocr.onnx --check './fails.sh' -o small.onnx --input-shapes image:1x3x48x160
  irfuzz reduce model.onnx --check 'polygraphy run --onnxrt --trt' --fail-is-interesting -o small.onnx --jobs 4"""


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("what", metavar="FINDING|MODEL", type=place, help="A finding's folder; with --check a model.")
    add("--check", metavar="CMD", help="Exits with 0 where the model, its last argument, is interesting. No shell.")
    add("--fail-is-interesting", action="store_true", help="Interesting is what CMD exits with another code for.")
    add(
        "-o", "--out", metavar="OUT", type=place,
        help="With --check the file for the smallest model, else a folder. Default: the finding's own folder. How far "
        "it has come is kept in OUT.state.",
    )  # fmt: skip
    add("--inputs", metavar="FILE", type=place, help="An npz: with --check the model's inputs. Default: drawn.")
    input_arguments(parser, data="")
    add("--jobs", metavar="N", type=whole(1), help="Candidates that are tried at once. Default: one a core, 4 at most.")
    add("--time", metavar="TIME", type=duration, default=600.0, help="How long: 90s, 10m, 1h30m. Default: 10m.")
    add(
        "--timeout", metavar="SECONDS", type=positive, default=60.0,
        help="What CMD, or one target, may take with one candidate. Default: 60.",
    )  # fmt: skip
    add("--original", action="store_true", help="Begin with the finding's program before it was made small.")
    add(
        "--seeds", metavar="PATH", type=place, action="append", default=[],
        help="With --original: models or folders in which the finding's seed is, so that edits can be dropped.",
    )  # fmt: skip
    add("--json", action="store_true", help="Print JSON, and no progress.")


def run(args: argparse.Namespace) -> int:
    jobs = args.jobs or min(4, os.cpu_count() or 1)
    about = _model(args, jobs) if args.check is not None else _finding(args, jobs)
    _print(args, about)
    return 0


def _print(args: argparse.Namespace, about: dict[str, Any]) -> None:
    print(json.dumps(about) if args.json else printable(_text(about)), flush=True)


def _model(args: argparse.Namespace, jobs: int) -> dict[str, Any]:
    from irfuzz.api.reduce import ReduceReport, reduce
    from irfuzz.frontends.onnx_file import save_file
    from irfuzz.reduce.interestingness_command import CheckCommand
    from irfuzz.store.npz_tensors import pack

    if args.original or args.seeds:
        raise UsageError("--original, --seeds: they are about findings; a model with --check has no edits")
    if args.out is None:
        raise UsageError("--check: expected -o OUT, the file for the smallest model; see `irfuzz reduce --help`")
    out = file_to_write(args.out, "--out", model=args.what)
    assert out is not None
    model, beside, began = _given(args), out.with_suffix(".npz"), time.monotonic()
    with _state(out) as folder, UpdateDisplay[ReduceReport](silent=args.json) as follow:

        def written(report: ReduceReport, *, partial: bool) -> dict[str, Any]:
            save_file(report.program, out)
            save_file(pack(report.inputs), beside)
            more = {"seconds": round(time.monotonic() - began, 2), "partial": partial, "state": str(folder)}
            return {**report.to_json(), "model": str(out), "inputs": str(beside), **more}

        def stopped() -> str:
            report = follow.known()
            if report is None:
                return ""
            _print(args, written(report, partial=True))
            return "the same call goes on from there"

        command = CheckCommand(args.check, folder, args.timeout, fail_is_interesting=args.fail_is_interesting)
        with telling(stopped), about(args.what):
            report = reduce(
                model, command, seconds=args.time, timeout=args.timeout, jobs=jobs, state=folder, progress=follow
            )  # fmt: skip
            return written(report, partial=False)


def _given(args: argparse.Namespace) -> LoadedModel:
    """The model, with the inputs of ``--inputs`` as its only sample."""
    model = given_model(args, args.what)
    if args.inputs is None:
        return model
    words = f"--inputs {args.inputs}"
    given = read_values(args.inputs, words)
    check_sample(model.program, given, words)
    sample = {name: value for name, value in given.items() if model.program.value(name) is not None}
    said = replace(model.said, spec=replace(model.said.spec, samples=[sample]), data=words)
    return replace(model, said=said)


def _finding(args: argparse.Namespace, jobs: int) -> dict[str, Any]:
    from irfuzz.campaign.stored_findings.finding_reduction import reduce_finding
    from irfuzz.findings.codec import read_folder
    from irfuzz.reduce.resume_folder import worthless

    if args.inputs is not None or args.fail_is_interesting or said_by_flags(args):
        flags = "--inputs, --input-shapes, --size, --range, --ranges, --fail-is-interesting"
        raise UsageError(f"{flags}: they go with --check; a finding has its own inputs")
    if not (args.what / "finding.json").is_file():
        raise UsageError(f"{args.what}: not the folder of a finding; a model needs --check CMD")
    stored = read_folder(args.what)
    seeds = {p.digest: p for p in seeds_of(args.seeds).values()} if args.seeds else {}
    out = args.out or args.what
    if args.out is not None and not (out.exists() and out.samefile(args.what)):
        _room(out)
    out = out if out.name not in ("", "..") else out.resolve()
    with (
        _state(out) as folder,
        telling(lambda: "" if worthless(folder) else f"how far it has come is in {folder}; the same call goes on"),
        ProgressLine("reducing", unit="tries", silent=args.json) as progress,
    ):
        began = time.monotonic()
        done = reduce_finding(
            stored, args.what, out, folder, seconds=args.time, jobs=jobs, original=args.original, seeds=seeds,
            progress=lambda tries, nodes: progress(tries, note=f"{nodes} nodes"), timeout=args.timeout,
        )  # fmt: skip
    return {
        "finding": str(out),
        "before": done.before,
        "nodes": done.after,
        "edits": done.edits,
        "tries": done.tries,
        "seconds": round(time.monotonic() - began, 2),
        "complete": done.complete,
        "signature": done.signature,
        "shown": done.shown,
        "state": str(folder),
    }


@contextlib.contextmanager
def _state(out: Path) -> Generator[Path]:
    """The folder of the reduction's state; it goes again if the reduction fails before it has come anywhere."""
    from irfuzz.cli.model_reading_and_output_checks import writable_folder
    from irfuzz.reduce.resume_folder import worthless

    folder = out.with_name(f"{out.name}.state")
    before = folder.exists()
    try:
        yield writable_folder(folder, "--out")
    except BaseException:
        if not before and folder.is_dir() and worthless(folder):
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _room(out: Path) -> None:
    """See that the new folder takes the place of nothing but a finding.

    Raises:
        UsageError: it would.
    """
    if out.is_dir() and not (out / "finding.json").is_file() and any(out.iterdir()):
        raise UsageError(f"--out {out}: holds files that are no finding; expected a new folder")
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out}: is a file; expected a folder")


def _text(about: dict[str, Any]) -> str:
    where = about.get("model") or about.get("finding")
    operators = f" ({', '.join(about['operators'][:8])})" if about.get("operators") else ""
    edits = "" if about.get("edits") is None else f", {about['edits']} edits left"
    counted = f"{about['before']} -> {about['nodes']} nodes{operators}{edits}"
    lines = [f"{where}: {counted}, {about['tries']} tries, {about['seconds']:.1f} s"]
    if about.get("partial"):
        lines.insert(0, "partial: stopped before the smallest was found")
    if not about["complete"]:
        why = "it was stopped" if about.get("partial") else "the time was over"
        lines.append(f"It is not known to be the smallest: {why}; the same call goes on.")
    if about.get("shown") is False:
        lines.append("Its repro.py did not show the fault.")
    return "\n".join(lines)
