"""``irfuzz fleet start``: runs agents of a fleet on the nodes of a Ray cluster until they end."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.cli.parser import Parser, whole
from irfuzz.cli.progress_display import say
from irfuzz.errors import UsageError

if TYPE_CHECKING:
    from irfuzz.fleet.store_connection import StoreConnection

FLAGS = ("ray", "agents", "agent_flags")
"""Flags that belong to ``start`` alone."""


def start_arguments(parser: Parser) -> None:
    """The flags of ``start``."""
    add = parser.add_argument
    add("--ray", metavar="ADDRESS", help="With start: HOST:PORT of a Ray cluster, or local for this machine alone.")
    add("--agents", metavar="N", type=whole(1), help="With start: how many agents. Default: 1.")
    add(
        "--agent-flags", metavar="FLAGS",
        help="With start: more flags for each `irfuzz agent`, in one word: '--jobs 4 --time 8h'.",
    )  # fmt: skip


def check_start(args: argparse.Namespace) -> None:
    """Refuse flags of ``start`` elsewhere, and ``start`` without an address.

    Raises:
        UsageError: there is one, or it is missing.
    """
    for name in FLAGS:
        if args.what != "start" and getattr(args, name) is not None:
            raise UsageError(f"{args.what}: --{name.replace('_', '-')} belongs to start")
    if args.what == "start" and args.ray is None:
        raise UsageError("start: expected --ray ADDRESS or --ray local")


def start(args: argparse.Namespace, store: StoreConnection) -> None:
    """Check store and blobs here, give the fleet the seeds, and run agents until they end."""
    from irfuzz.fleet.agent import shared_blobs
    from irfuzz.fleet.starters.ray_starter import LOCAL, start_on_ray

    shared_blobs(store, args.blobs).check()
    if store.file is not None and args.ray != LOCAL:
        raise UsageError(
            f"--store {store.name}: a store in SQLite is for one machine; expected postgresql+psycopg://..."
        )
    try:
        flags = shlex.split(args.agent_flags or "")
    except ValueError as error:
        raise UsageError(f"--agent-flags: {error}") from None
    url = store.url if store.file is None else store.url.set(database=str(store.file.resolve()))
    address = url.render_as_string(hide_password=False)
    out = (args.out or Path("irfuzz-agents")).absolute()
    codes = start_on_ray(args.ray, args.agents or 1, address, out, flags, say)
    print(json.dumps({"agents": len(codes), "out": str(out)}) if args.json else f"{len(codes)} agents ended")
