"""``irfuzz mutate``: seeds enter, valid mutants leave as ONNX files with the traces that rebuild them."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import track

from irfuzz.cli.inputs import names, seeds_of, writable_folder
from irfuzz.errors import UsageError
from irfuzz.frontends.onnx_file import save_file
from irfuzz.mutate.api import mutate_many
from irfuzz.mutate.trace import write_trace

NAME = "mutate"
EXAMPLES = """Examples:

irfuzz mutate seeds -o mutants -n 100 --seed 7

irfuzz mutate model.onnx -o mutants -n 10 --mutators insert-layer,change-dtype

irfuzz replay mutants/000003.trace.json -o again.onnx"""


def run(
    seeds: Annotated[list[Path], typer.Argument(metavar="SEED...", help="Models, or folders with models.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the mutants.", show_default=False)],
    count: Annotated[int, typer.Option("-n", "--count", help="How many mutants in all.")] = 10,
    seed: Annotated[int, typer.Option(help="Root of all randomness; equal seeds give equal bytes.")] = 0,
    mutators: Annotated[str | None, typer.Option(help="Mutators, separated by commas. Default: all.")] = None,
    max_nodes: Annotated[int, typer.Option(help="No mutant gets more nodes, unless its seed has.")] = 200,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a mutant.")] = False,
) -> None:
    """Make valid mutants of models, each with a trace that rebuilds it byte for byte."""
    if count < 0:
        raise UsageError(f"-n: expected at least 0, got {count}")
    if max_nodes < 1:
        raise UsageError(f"--max-nodes: expected at least 1, got {max_nodes}")
    if seed < 0:
        raise UsageError(f"--seed: expected at least 0, got {seed}")
    loaded = seeds_of(seeds)
    existed = out.exists()
    writable_folder(out, "--out")
    kept = writable_folder(out / "seeds", "--out")
    try:
        mutants = mutate_many(
            [(path.name, program) for path, program in loaded.items()],
            seed=seed,
            n=count,
            mutators=names(mutators),
            max_nodes=max_nodes,
        )
    except UsageError:
        if not existed:
            shutil.rmtree(out)
        raise
    for program in loaded.values():
        # A replay must find its seeds wherever the folder is taken to.
        save_file(program, kept / f"{program.digest}.onnx")
    written = 0
    for index, mutant in enumerate(track(mutants, total=count, description="mutating", transient=True, console=_console())):
        path = out / f"{index:06d}.onnx"
        path.write_bytes(mutant.to_bytes())
        write_trace(mutant.trace, out / f"{index:06d}.trace.json")
        written += 1
        if as_json:
            about = {"model": str(path), "trace": str(out / f"{index:06d}.trace.json")}
            print(json.dumps({**about, "seed": mutant.trace["seed"]["name"], "edits": mutant.trace["edits"]}))
    if not as_json:
        print(f"{written} mutants of {len(loaded)} models in {out}")
    if written < count:
        raise UsageError(f"-n {count}: only {written} mutants could be made; give more seeds or allow more mutators")


def _console() -> object:
    from rich.console import Console

    return Console(file=sys.stderr)
