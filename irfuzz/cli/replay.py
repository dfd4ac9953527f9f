"""``irfuzz replay``: a trace enters, the mutant that it describes leaves, byte for byte."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from irfuzz.errors import IrfuzzError, UsageError
from irfuzz.frontends.onnx_file import find_models, load_seed
from irfuzz.ir.program import Program
from irfuzz.mutate.trace import read_trace, rebuild

NAME = "replay"
EXAMPLES = """Examples:

irfuzz replay mutants/000003.trace.json -o again.onnx

irfuzz replay trace.json --seeds models/ -o again.onnx"""


def run(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A .trace.json that irfuzz wrote.", show_default=False)],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to write the model; omitted: only check.", show_default=False)] = None,
    seeds: Annotated[
        list[Path] | None,
        typer.Option(help="Models to look for the seeds in. Default: the folder seeds beside the trace.", show_default=False),
    ] = None,
) -> None:
    """Rebuild a mutant from its trace and check that it is the same byte for byte."""
    recorded = read_trace(trace)
    places = seeds or [trace.parent / "seeds"]
    wanted = {recorded.seed.digest, *(donor.digest for donor in recorded.donors)}
    found: dict[str, Program] = {}
    # Kept seeds are named by digest, so usually only those that are needed are read.
    models, _ = find_models([place for place in places if place.exists()])
    for path in sorted(models, key=lambda p: p.stem not in wanted):
        if len(found) == len(wanted):
            break
        try:
            program = load_seed(path)
        except IrfuzzError as error:
            print(f"irfuzz: skipped: {error}", file=sys.stderr)
            continue
        if program.digest in wanted:
            found[program.digest] = program
    data = rebuild(recorded, found.get)
    if out is None:
        print(f"{trace}: rebuilt, {len(data)} bytes, sha256 {recorded.sha256}")
        return
    try:
        out.write_bytes(data)
    except OSError as error:
        raise UsageError(f"--out {out}: cannot be written: {error.strerror}") from None
    print(f"{out}: {len(data)} bytes, sha256 {recorded.sha256}")
