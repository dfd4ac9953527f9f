"""``irfuzz corpus``: makes the corpus of a campaign smaller."""

from __future__ import annotations

import argparse
import json

from irfuzz.cli.parser import Parser, place

NAME = "corpus"
ABOUT = """Make the corpus of a campaign smaller without losing what its programs show.

minimise keeps the seeds and a few programs that together brought every feature that any program of the corpus brought,
removes the others and large weights that nothing needs any more, and gives their room back. A campaign drops programs
by itself that hold no feature any more, because cheaper ones brought all of theirs; this goes further. Findings stay,
and the campaign can be continued. Nothing else may be using the folder.
Exit code: 0, or 2 where the folder is none of a campaign or in use."""
EXAMPLES = """examples:
  irfuzz corpus minimise irfuzz-out
  irfuzz corpus minimise irfuzz-out --json"""


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("what", choices=("minimise",), help="What to do.")
    add("campaign", metavar="CAMPAIGN", type=place, help="Folder of the campaign.")
    add("--json", action="store_true", help="Print JSON.")


def run(args: argparse.Namespace) -> int:
    from irfuzz.campaign.corpus.minimisation import minimise
    from irfuzz.report.terminal_text_cleaning import printable

    found = minimise(args.campaign)
    print(json.dumps(found.to_json()) if args.json else printable(str(found)))
    return 0
