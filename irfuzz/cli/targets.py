"""``irfuzz targets``: what can run programs here, and why the rest cannot."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from irfuzz.cli.parser import Parser

if TYPE_CHECKING:
    from irfuzz.execute.table import Availability

NAME = "targets"
ABOUT = """List the targets that are known, with versions, and why some cannot be used here.

Those with an @ are of environments that `irfuzz env add` built."""
EXAMPLES = """examples:
  irfuzz targets
  irfuzz targets --json"""


def arguments(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="Print JSON, one object a target.")


def run(args: argparse.Namespace) -> int:
    from irfuzz.environment import check_environment
    from irfuzz.execute.table import describe

    check_environment()
    rows = [_row(a) for a in describe()]
    if args.json:
        print(json.dumps(rows))
        return 0
    width = max(28, *(len(row["name"]) for row in rows))
    for row in rows:
        print(f"{row['name']:<{width}} {row['version'] or '-':<12} {row['why_not'] or 'ready'}")
    return 0


def _row(found: Availability) -> dict[str, Any]:
    """What is known without starting anything; the opset and IR limits of irfuzz's own environment are not."""
    target = found.target
    return {
        "name": target.name,
        "component": target.component,
        "version": target.version,
        "environment": target.environment or None,
        "interpreter": target.interpreter,
        "device": target.device,
        "options": dict(target.options),
        "opset": target.opset or None,
        "ir": target.ir or None,
        "usable": not found.why_not,
        "why_not": found.why_not,
    }
