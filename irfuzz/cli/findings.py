"""``irfuzz findings``: folders of findings enter; a list, a report or a page leaves, or one gets a label."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from irfuzz.cli.parser import Parser, place
from irfuzz.errors import UsageError
from irfuzz.report.terminal import printable

NAME = "findings"
ABOUT = """List the findings of a campaign, show one, open it in a browser, or label it.

list names those of a campaign's --out folder and counts what is known; show prints a report; open writes report.html
and opens it; label notes what a person says of one ("wontfix", an upstream link), shown and counted from then on.
Exit code: 0, or 2 where a folder is none."""
EXAMPLES = """examples:
  irfuzz findings list irfuzz-out
  irfuzz findings show irfuzz-out/findings/0001-difference-onnxruntime-all
  irfuzz findings label irfuzz-out/findings/0001-difference-onnxruntime-all 'reported upstream'"""


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("what", choices=("list", "show", "open", "label"), help="What to do.")
    add("path", metavar="PATH", type=place, help="A finding's folder; for list also a campaign's folder.")
    add("text", metavar="TEXT", nargs="?", help="For label: what to note; an empty one takes it back.")
    add("--no-browser", action="store_true", help="With open: only write the page and print where it is.")
    add("--json", action="store_true", help="Print JSON.")


def run(args: argparse.Namespace) -> int:
    from irfuzz.report import findings

    if (args.text is not None) != (args.what == "label"):
        raise UsageError(f"{args.what}: expected {'TEXT behind PATH' if args.what == 'label' else 'PATH alone'}")
    if args.what == "list":
        found = findings.entries([args.path])
        print(json.dumps([e.to_json() for e in found]) if args.json else printable(findings.as_text(found)))
        return 0
    entry = findings.label(args.path, args.text) if args.what == "label" else findings.read(args.path)
    if args.what == "open":
        import webbrowser

        page = _page(args.path, str(entry.about.get("title", "")))
        print(json.dumps({"page": str(page)}) if args.json else page)
        if not args.no_browser and not webbrowser.open(page.resolve().as_uri()):
            print("irfuzz: no browser could be started", file=sys.stderr)
        return 0
    if args.json:
        print(json.dumps(dict(entry.about)))
    else:
        print(printable(_report(args.path) if args.what == "show" else findings.as_text([entry])))
    return 0


def _report(folder: Path) -> str:
    try:
        return (folder / "report.md").read_text(errors="replace")
    except OSError as error:
        raise UsageError(f"{folder}: its report cannot be read: {error.strerror}") from None


def _page(folder: Path, title: str) -> Path:
    """The report and the script as a page, beside them."""
    import html

    script = folder / "repro.py"
    parts = [_report(folder), *([script.read_text(errors="replace")] if script.is_file() else [])]
    body = "".join(f"<pre>{html.escape(part)}</pre>\n" for part in parts)
    page = folder / "report.html"
    try:
        page.write_text(f'<!doctype html><meta charset="utf-8"><title>{html.escape(title)}</title>\n{body}')
    except OSError as error:
        raise UsageError(f"{page}: cannot be written: {error.strerror}") from None
    return page
