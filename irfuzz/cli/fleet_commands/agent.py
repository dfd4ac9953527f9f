"""``irfuzz agent``: works on a campaign that many machines share, until it is told to end."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from irfuzz.cli.campaign_flags import CAMPAIGN_FLAGS, campaign_arguments
from irfuzz.cli.fleet_commands.fleet_seeds import fleet_seeds
from irfuzz.cli.parser import Parser, as_flags, duration, names, place, positive, whole

NAME = "agent"
ABOUT = """Work on a campaign that many machines share, in a folder of its own, until told to end.

An agent runs the ordinary campaign and synchronises its folder with the store every few seconds: programs that show
something new, findings, how far it is. It may be killed at any moment and started again with the same command; a store
that is away is waited for. SIGTERM and Ctrl-C end it cleanly. The first agent makes the store (docs/fleet.md).
Beside its own campaign it does one piece at a time of the work that is there once for all: findings of others are
confirmed, made smaller, and run on the releases that the machine has; with --follow it makes environments of new ones.
Exit code: 0 it ended as asked, 2 wrong usage, or the store is away at the start or the end, 3 a fault of irfuzz."""
EXAMPLES = """examples:
  irfuzz agent seeds --store sqlite:///fleet.sqlite --time 8h
  irfuzz agent --store postgresql+psycopg://fuzz:secret@db/fleet --blobs s3://bucket/fleet --jobs 8
  irfuzz agent --store sqlite:///fleet.sqlite --out helper --work confirm,reduce,versions
  irfuzz agent seeds --store sqlite:///fleet.sqlite --follow onnxruntime,onnx --look 12h
  irfuzz fleet status --store sqlite:///fleet.sqlite"""


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("seeds", metavar="SEED", nargs="*", type=place, help="A model, or a folder with models; the store's come too.")
    add(
        "--store", metavar="URL", required=True,
        help="sqlite:///PATH for agents of one machine, postgresql+psycopg://USER:PASSWORD@HOST/NAME for many.",
    )  # fmt: skip
    add(
        "--blobs", metavar="PLACE",
        help="Folder that all agents reach, or s3://bucket/folder, for models and weights; the fleet remembers the "
        "first. Default: beside the file of a SQLite store.",
    )  # fmt: skip
    add(
        "-o", "--out", metavar="DIR", type=place, default=Path("irfuzz-agent"),
        help="Folder of this agent alone; it goes on if that holds one. Default: irfuzz-agent.",
    )  # fmt: skip
    add("--time", metavar="TIME", type=duration, help="How long: 90s, 10m, 8h. Default: until told to end.")
    add("--programs", metavar="N", type=whole(1), help="End after so many programs in this folder.")
    campaign_arguments(parser)
    add(
        "--seed", metavar="S", type=whole(0),
        help="Root of all randomness of the fleet, if this agent makes the store. Default: 0, or the fleet's.",
    )  # fmt: skip
    add(
        "--sync", metavar="SECONDS", type=positive, default=5.0,
        help="Time between two synchronisations, at most 10. Default: 5.",
    )  # fmt: skip
    add(
        "--work", metavar="KIND[,KIND...]", type=names,
        help="Kinds of work that it takes: fuzz, confirm, sweep, distil, reduce, versions, re-check, replay. "
        "Default: all.",
    )  # fmt: skip
    add(
        "--follow", metavar="PACKAGE[,PACKAGE...]", type=names, default=(),
        help="Make an environment of each new release of these, run all findings on it, and compare it with the one "
        "before on the whole corpus.",
    )  # fmt: skip
    add(
        "--look", metavar="TIME", type=duration, default=6 * 3600.0,
        help="With --follow: time between two looks at the package index. Default: 6h.",
    )  # fmt: skip
    add("--json", action="store_true", help="Print what became of the agent as JSON.")


def run(args: argparse.Namespace) -> int:
    from irfuzz.api.fuzz import FuzzOptions
    from irfuzz.fleet.agent import AgentOptions, run_agent
    from irfuzz.fleet.upkeep.agent_abilities import read_work
    from irfuzz.fleet.upkeep.release_following import distribution_to_follow

    fuzz = FuzzOptions(
        seed=args.seed, jobs=args.jobs, max_nodes=args.max_nodes, every=args.every, timeout=args.timeout,
        memory=None if args.memory is None else args.memory << 20, reduce=args.reduce,
    )  # fmt: skip
    options = AgentOptions(
        args.store, args.out, args.blobs, args.targets, args.time, args.programs, min(args.sync, 10.0), fuzz,
        read_work(args.work), tuple(dict.fromkeys(map(distribution_to_follow, args.follow))), args.look,
    )  # fmt: skip
    models = fleet_seeds(args.seeds, args.targets)

    def say(text: str) -> None:
        if not args.quiet:
            print(f"irfuzz: {text}", file=sys.stderr, flush=True)

    with as_flags(*CAMPAIGN_FLAGS):
        report = run_agent(options, models, say)
    print(json.dumps(report.to_json()) if args.json else report)
    return 0
