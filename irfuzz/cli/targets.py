"""``irfuzz targets``: what can run programs here, and why the rest cannot."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from irfuzz.execute.table import describe

NAME = "targets"
EXAMPLES = """Examples:

irfuzz targets

irfuzz targets --json"""


def run(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List the targets that are known, with versions, and why some cannot be used here."""
    rows = [
        {"name": a.target.name, "component": a.target.component, "version": a.target.version, "why_not": a.why_not}
        for a in describe()
    ]
    if as_json:
        print(json.dumps(rows))
        return
    for row in rows:
        print(f"{row['name']:<28} {row['version'] or '-':<12} {row['why_not'] or 'ready'}")
