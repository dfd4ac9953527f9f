"""``irfuzz targets``: what can run programs here, and why the rest cannot."""

from __future__ import annotations

import argparse
import json

from irfuzz.cli.parser import Parser

NAME = "targets"
ABOUT = "List the targets that are known, with versions, and why some cannot be used here."
EXAMPLES = """examples:
  irfuzz targets
  irfuzz targets --json"""


def arguments(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="Print JSON.")


def run(args: argparse.Namespace) -> int:
    from irfuzz.environment import check_environment
    from irfuzz.execute.table import describe

    check_environment()
    rows = [
        {"name": a.target.name, "component": a.target.component, "version": a.target.version, "why_not": a.why_not}
        for a in describe()
    ]
    if args.json:
        print(json.dumps(rows))
        return 0
    for row in rows:
        print(f"{row['name']:<28} {row['version'] or '-':<12} {row['why_not'] or 'ready'}")
    return 0
