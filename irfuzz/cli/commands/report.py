"""``irfuzz report``: writes the pages of a campaign."""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING

from irfuzz.cli.ci_reporting import baseline_of_project
from irfuzz.cli.parser import Parser, place
from irfuzz.cli.progress_display import ProgressLine, say
from irfuzz.report.terminal_text_cleaning import printable

if TYPE_CHECKING:
    from irfuzz.report.pages.site_files import WrittenSite

NAME = "report"
ABOUT = """Write a campaign as pages: an overview, and one of each finding with its program as a graph.

The pages are files: they need no server and load nothing from the network, and can be read without JavaScript. The
overview has the findings by cause, curves over time and what each target did; the page of a finding its report, its
program, the values of both sides, a script to copy, and how it was found. Of a running campaign the overview loads
itself again; --follow writes it anew until the campaign ends.
Exit code: 0, or 2 where the folder is none of a campaign."""
EXAMPLES = """examples:
  irfuzz report irfuzz-out -o site
  irfuzz report irfuzz-out -o site --follow                   # beside `irfuzz fuzz`
  irfuzz findings open irfuzz-out/findings/0001-difference-onnxruntime-all    # one finding"""


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("campaign", metavar="CAMPAIGN", type=place, help="Folder of the campaign, which may be running.")
    add(
        "-o", "--out", metavar="FOLDER", type=place, required=True,
        help="Folder of the pages, made if it is missing; index.html in it is the one to open.",
    )  # fmt: skip
    add(
        "--follow", action="store_true",
        help="Write the pages anew every 20 s until the campaign ends; one that has not begun is waited for once.",
    )  # fmt: skip
    add(
        "--baseline", metavar="FILE", type=place,
        help="Mark what this baseline has. Default: that of table [fuzz] of irfuzz.toml or pyproject.toml.",
    )  # fmt: skip
    add("--json", action="store_true", help="Print JSON.")


def run(args: argparse.Namespace) -> int:
    from irfuzz.api.campaign_site import write_campaign_site
    from irfuzz.cli.model_reading_and_output_checks import writable_folder
    from irfuzz.report.pages.page_frame import REFRESH_SECONDS

    def write() -> WrittenSite:
        with ProgressLine("writing pages") as progress:
            return write_campaign_site(args.campaign, args.out, progress, baseline=baseline)

    baseline = baseline_of_project(args.baseline)
    writable_folder(args.out, "-o")
    written = write()
    waited = False
    while args.follow and (written.running or not waited):
        state = "" if written.running else "no campaign runs there yet; "
        say(f"{written.index}: {state}{written.pages} findings; written again in {REFRESH_SECONDS} s")
        waited = True
        time.sleep(REFRESH_SECONDS)
        written = write()
    if args.json:
        print(json.dumps({"index": str(written.index), "pages": written.pages, "running": written.running}))
    else:
        print(printable(str(written.index)))
    return 0
