"""``irfuzz fleet``: shows what the agents of a fleet do, tells them what to do, and writes their findings and pages."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.cli.fleet_commands.fleet_seeds import fleet_seeds
from irfuzz.cli.fleet_commands.fleet_start import check_start, start, start_arguments
from irfuzz.cli.parser import Parser, duration, place
from irfuzz.cli.progress_display import ProgressLine, say
from irfuzz.errors import UsageError
from irfuzz.report.terminal_text_cleaning import printable

if TYPE_CHECKING:
    from irfuzz.fleet.store_connection import StoreConnection
    from irfuzz.report.pages.site_files import WrittenSite

NAME = "fleet"
ABOUT = """Show the agents of a campaign on many machines, tell them what to do, give them seeds, write their findings.

status shows agents, rates, leases, the union of what programs show, and findings with who has seen them; drain lets
agents finish and exit, pause lets them wait, resume lets them go on, end lets them exit and no new one begin, each with
--agent for one alone; add-seeds gives every agent seeds; findings writes folders as `irfuzz fuzz` does; report writes
pages as `irfuzz report` does, of all agents; label says of a finding what it is, on pages and in the folders of all
agents, and an empty LABEL takes that back; distil keeps the programs that together show everything, as agents do once a
night, and removes what was dropped a week ago; start runs agents on a Ray cluster until they end. Agents hear what they
are told when they synchronise, within ten seconds (docs/fleet.md).
Exit code: 0, or 2 if the store cannot be used."""
EXAMPLES = """examples:
  irfuzz fleet status --store sqlite:///fleet.sqlite
  irfuzz fleet status --store postgresql+psycopg://fuzz:secret@db/fleet --json
  irfuzz fleet pause --store sqlite:///fleet.sqlite --agent node7-1f9a02c4
  irfuzz fleet drain --store sqlite:///fleet.sqlite
  irfuzz fleet add-seeds models --store sqlite:///fleet.sqlite
  irfuzz fleet findings --store sqlite:///fleet.sqlite -o findings
  irfuzz fleet distil --store sqlite:///fleet.sqlite --dry-run
  irfuzz fleet report --store sqlite:///fleet.sqlite -o site --follow
  irfuzz fleet start models --store sqlite:///fleet.sqlite --ray local --agents 2 --agent-flags '--time 8h'
  irfuzz fleet label findings/0001-difference-onnxruntime-all 'reported upstream' --store sqlite:///fleet.sqlite"""

ORDERED = {"drain": "drain", "pause": "pause", "resume": "run", "end": "end"}
"""What agents are told, by the word of the command line."""

DOING = ("status", *ORDERED, "add-seeds", "findings", "distil", "report", "label", "start")

SEEDED = ("add-seeds", "start")
"""What takes models."""

WRITING = ("findings", "report")
"""What writes to ``--out``."""


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("what", choices=DOING, help="What to do.")
    add(
        "words", metavar="WORD", nargs="*",
        help="With add-seeds and start: models, or folders with models. With label: SIGNATURE LABEL, where the folder "
        "of a finding stands for its signature as well.",
    )  # fmt: skip
    add("--store", metavar="URL", required=True, help="The store of the fleet, as for `irfuzz agent`.")
    add("--blobs", metavar="PLACE", help="Where models and weights are, if not where the fleet has them.")
    add("--agent", metavar="NAME", help="With drain, pause and resume: this agent alone.")
    add(
        "-o",
        "--out",
        metavar="DIR",
        type=place,
        help="With findings and report: the folder that is written to. "
        "With start: the folder of the agents' folders on each node (default: irfuzz-agents).",
    )
    add("--dry-run", action="store_true", help="With distil: say what would be dropped, and change nothing.")
    add(
        "--retain", metavar="TIME", type=duration,
        help="With distil: how long dropped programs stay in the store, from now on. Default: 7d, or the last said.",
    )  # fmt: skip
    start_arguments(parser)
    add("--follow", action="store_true", help="With report: write the pages anew every 20 s until no agent runs.")
    add("--json", action="store_true", help="Print JSON.")


def run(args: argparse.Namespace) -> int:
    from irfuzz.fleet.store_connection import StoreConnection

    _check(args)
    store = StoreConnection(args.store, make=args.what == "start")
    try:
        ACTIONS.get(args.what, _tell)(args, store)
    finally:
        store.close()
    return 0


def _check(args: argparse.Namespace) -> None:
    """Refuse flags that have no meaning for what is to be done.

    Raises:
        UsageError: there is one, or one is missing.
    """
    check_start(args)
    if args.words and args.what not in (*SEEDED, "label"):
        raise UsageError(f"{args.words[0]}: only {' and '.join(SEEDED)} take models; see `irfuzz fleet --help`")
    if args.what == "add-seeds" and (not args.words or "" in args.words):
        raise UsageError("add-seeds: expected SEED, a model or a folder with models")
    if args.what == "label" and len(args.words) != 2:
        raise UsageError(f"label: expected SIGNATURE LABEL, got {len(args.words)} words")
    if args.what != "start" and (args.what in WRITING) != (args.out is not None):
        lacking = f"{args.what}: expected -o DIR"
        raise UsageError(lacking if args.out is None else f"{args.what}: -o belongs to {' and '.join(WRITING)}")
    if args.follow and args.what != "report":
        raise UsageError(f"{args.what}: --follow belongs to report")
    if args.agent is not None and args.what not in ("drain", "pause", "resume"):
        raise UsageError("--agent: only drain, pause and resume are about one agent")
    if (args.dry_run or args.retain is not None) and args.what != "distil":
        raise UsageError(f"{args.what}: --retain and --dry-run belong to distil")


def _status(args: argparse.Namespace, store: StoreConnection) -> None:
    from irfuzz.fleet.fleet_status import fleet_status

    found = fleet_status(store)
    print(json.dumps(found.to_json()) if args.json else printable(str(found)))


def _tell(args: argparse.Namespace, store: StoreConnection) -> None:
    from irfuzz.fleet.agent_registry import Orders, tell

    orders = Orders(ORDERED[args.what])
    tell(store, orders, args.agent)
    whom = args.agent or "all agents"
    print(json.dumps({"agent": args.agent, "told": orders.value}) if args.json else f"told {whom}: {orders.value}")


def _add_seeds(args: argparse.Namespace, store: StoreConnection) -> None:
    from irfuzz.api.loaded_model import all_programs
    from irfuzz.fleet.agent import shared_blobs
    from irfuzz.fleet.program_exchange import give_seeds

    blobs = shared_blobs(store, args.blobs)
    models = fleet_seeds([Path(word) for word in args.words])
    programs = all_programs(models, samples_too=True)
    names = [model.name if model.path is None else model.path.name for model in models]
    new = give_seeds(store, blobs, list(zip(names, programs, strict=True)))
    if args.what == "add-seeds" or not args.json:
        print(json.dumps({"new": new, "seeds": names}) if args.json else f"{new} new seeds")


def _findings(args: argparse.Namespace, store: StoreConnection) -> None:
    from irfuzz.fleet.agent import shared_blobs
    from irfuzz.fleet.fleet_status import write_findings

    folders = write_findings(store, shared_blobs(store, args.blobs), args.out)
    lines = [f"{len(folders)} findings in {args.out}", *map(str, folders)]
    print(json.dumps([str(folder) for folder in folders]) if args.json else "\n".join(lines))


def _distil(args: argparse.Namespace, store: StoreConnection) -> None:
    from dataclasses import replace

    from irfuzz.fleet.agent import shared_blobs
    from irfuzz.fleet.blob_sweep import sweep_blobs
    from irfuzz.fleet.upkeep.corpus_distillation import RETENTION, distil

    blobs = None if args.dry_run else shared_blobs(store, args.blobs)
    if args.retain is not None and not args.dry_run:
        with store.transaction() as connection:
            store.set(connection, {RETENTION: str(args.retain)})
    found = distil(store, dry=args.dry_run)
    if blobs is not None:
        found = replace(found, blobs=sweep_blobs(store, blobs))
    print(json.dumps(found.to_json()) if args.json else found)


def _report(args: argparse.Namespace, store: StoreConnection) -> None:
    from irfuzz.cli.model_reading_and_output_checks import writable_folder
    from irfuzz.fleet.agent import shared_blobs
    from irfuzz.fleet.reporting.fleet_site import write_fleet_site
    from irfuzz.fleet.store_connection import StoreUnreachable
    from irfuzz.report.pages.page_frame import REFRESH_SECONDS

    writable_folder(args.out, "-o")
    blobs = shared_blobs(store, args.blobs)

    def write() -> WrittenSite:
        with ProgressLine("writing pages") as progress:
            return write_fleet_site(store, blobs, args.out, progress)

    written = write()
    while args.follow and written.running:
        say(f"{written.index}: {written.pages} findings; written again in {REFRESH_SECONDS} s")
        time.sleep(REFRESH_SECONDS)
        try:
            written = write()
        except StoreUnreachable as error:
            say(f"{error}; the pages stay as they are meanwhile")
    if args.json:
        print(json.dumps({"index": str(written.index), "pages": written.pages, "running": written.running}))
    else:
        print(printable(str(written.index)))


def _label(args: argparse.Namespace, store: StoreConnection) -> None:
    from irfuzz.fleet.reporting.finding_labels import label_finding

    named, text = args.words
    signature = label_finding(store, named, text)
    done = f"{signature}: {text or 'no label any more'}"
    print(json.dumps({"signature": signature, "label": text}) if args.json else printable(done))


def _start(args: argparse.Namespace, store: StoreConnection) -> None:
    if args.words:
        _add_seeds(args, store)
    start(args, store)


ACTIONS = {
    "status": _status,
    "add-seeds": _add_seeds,
    "findings": _findings,
    "distil": _distil,
    "report": _report,
    "label": _label,
    "start": _start,
}
"""What does each word but those of ``ORDERED``."""
