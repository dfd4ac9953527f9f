"""``irfuzz fuzz``: seeds and a time enter, findings leave in a folder each."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from irfuzz.campaign.config import Config
from irfuzz.cli.inputs import duration, names, seeds_of
from irfuzz.errors import InternalError, UsageError
from irfuzz.execute.table import resolve

if TYPE_CHECKING:
    from rich.table import Table

    from irfuzz.campaign.campaign import Campaign, Progress
    from irfuzz.store.database import FindingRow

NAME = "fuzz"
EXAMPLES = """Examples:

irfuzz fuzz seeds --time 10m --out findings

irfuzz fuzz model.onnx --targets 'onnxruntime:*,reference' --jobs 2

irfuzz fuzz seeds --target my_package.my_module:MyRuntime --time 1h

Exit code: 0 nothing found, 1 findings, 2 bad input, 3 a fault of irfuzz itself."""


def run(
    seeds: Annotated[list[Path], typer.Argument(metavar="SEED...", help="Models, or folders with models.", show_default=False)],
    time: Annotated[str, typer.Option(help="How long: 90s, 10m, 1h30m.")] = "10m",
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the campaign; continued where it holds one.")] = Path(
        "irfuzz-out"
    ),
    targets: Annotated[str | None, typer.Option(help="Targets, separated by commas; * is a wildcard. Default: all installed.")] = None,
    target: Annotated[
        list[str] | None, typer.Option(help="One more target, for example package.module:Class. May be repeated.", show_default=False)
    ] = None,
    mutators: Annotated[str | None, typer.Option(help="Mutators, separated by commas. Default: all.")] = None,
    seed: Annotated[int | None, typer.Option(help="Root of all randomness. Default: 0, or that of the continued campaign.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Processes that work side by side. Default: one a core.")] = None,
    max_nodes: Annotated[int, typer.Option(help="No mutant gets more nodes, unless its seed has.")] = 200,
    every: Annotated[int, typer.Option(help="Slow targets run on one program in so many, and whenever others disagree.")] = 16,
    timeout: Annotated[float, typer.Option(help="Seconds that one target may take with one program.")] = 10.0,
    memory: Annotated[int, typer.Option(help="MiB that one worker may take beyond its framework.")] = 4096,
    programs: Annotated[int | None, typer.Option(help="Stop after so many programs in all.", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> int:
    """Mutate models, run them on every target, and keep each disagreement as a replayable folder.

    Running it again with the same --out continues. Ctrl-C ends it cleanly.
    """
    from irfuzz.campaign.campaign import Campaign  # the database takes a while to import, and other commands do without

    seconds = duration(time)
    if programs is not None and programs < 1:
        raise UsageError(f"--programs: expected at least 1, got {programs}")
    stored = Campaign.stored_config(out)
    config = Config(
        seed=seed if seed is not None else (stored.seed if stored else 0),
        targets=_targets(targets, target),
        mutators=names(mutators),
        jobs=jobs if jobs is not None else max(1, len(os.sched_getaffinity(0))),
        max_nodes=max_nodes,
        every=every,
        timeout=timeout,
        memory=memory << 20,
    )
    if stored is not None and stored.seed != config.seed:
        raise UsageError(f"--seed {config.seed}: {out} holds a campaign with seed {stored.seed}; use another --out folder")
    programs_by_file = seeds_of(seeds)
    with Campaign(out, config) as campaign:
        for path, program in programs_by_file.items():
            campaign.add_seed(path.name, program)
        if campaign.continued and not quiet:
            print(f"irfuzz: continuing the campaign in {out}", file=sys.stderr)
        summary = _watch(campaign, seconds, programs, quiet or as_json)
        rows = campaign.findings()
        if as_json:
            print(json.dumps({**summary.to_json(), "out": str(out), "list": [_row_json(campaign, r) for r in rows]}))
        else:
            _print_summary(campaign, summary, rows)
        if campaign.errors:
            raise InternalError(f"jobs died {campaign.errors} times of irfuzz's own faults; see {campaign.layout.log(0).parent}")
    return 1 if rows else 0


def _targets(text: str | None, more: list[str] | None) -> tuple[str, ...] | None:
    chosen = names(text)
    if more:
        base = chosen if chosen is not None else tuple(t.name for t in resolve(None))
        chosen = (*base, *more)
    resolve(chosen)  # says now what is wrong with a name, not from inside a job
    return chosen


def _watch(campaign: Campaign, seconds: float, programs: int | None, quiet: bool) -> Progress:
    if quiet:
        return campaign.run(seconds, lambda progress: None, stop_at=programs)
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    if not console.is_terminal:
        last = 0.0

        def line(progress: Progress) -> None:
            nonlocal last
            if progress.seconds - last >= 10:
                last = progress.seconds
                print(_one_line(progress), file=sys.stderr, flush=True)

        return campaign.run(seconds, line, stop_at=programs)
    with Live(console=console, refresh_per_second=4, transient=True) as live:
        return campaign.run(seconds, lambda progress: live.update(_panel(progress, seconds)), stop_at=programs)


def _one_line(p: Progress) -> str:
    last = "none yet" if p.last is None else f"{p.last:.0f} s ago"
    return (
        f"irfuzz: {p.seconds:.0f} s, {p.programs} programs ({p.rate:.0f}/s), corpus {p.corpus}, "
        f"findings {p.findings} (last new: {last}), suspects {p.suspects}"
    )


def _panel(p: Progress, seconds: float) -> Table:
    from rich.table import Table

    table = Table(show_header=False, box=None, padding=(0, 2))
    table.add_row("time", f"{p.seconds:.0f} of {seconds:.0f} s")
    table.add_row("programs", f"{p.programs}  ({p.rate:.0f}/s)")
    table.add_row("corpus", str(p.corpus))
    last = "" if p.last is None else f"  (last new {p.last:.0f} s ago)"
    table.add_row("findings", f"{p.findings}{last}")
    table.add_row("suspects", str(p.suspects))
    return table


def _print_summary(campaign: Campaign, summary: Progress, rows: list[FindingRow]) -> None:
    print(_one_line(summary).removeprefix("irfuzz: "))
    for name, count in summary.counts.items():
        print(f"  {name}: {count}")
    if summary.unreplayed:
        print(f"  {summary.unreplayed} seen but not shown by their own repro.py; see {campaign.layout.out / 'unreplayed'}")
    for row in rows:
        print(f"{campaign.folder_of(row)}: {row.title}")
    if not rows:
        print("nothing found")


def _row_json(campaign: Campaign, row: FindingRow) -> dict[str, object]:
    return {
        "folder": str(campaign.folder_of(row)),
        "title": row.title,
        "symptom": row.symptom,
        "target": row.target,
        "signature": row.signature,
        "times": row.times,
    }
