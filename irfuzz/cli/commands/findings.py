"""``irfuzz findings``: lists, reports, labels, bisects and exports stored findings, and writes them into a baseline."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from pathlib import Path

from irfuzz.cli.ci_reporting import baseline_of_project
from irfuzz.cli.parser import Parser, place
from irfuzz.cli.progress_display import say as progress_say
from irfuzz.errors import UsageError
from irfuzz.report.terminal_text_cleaning import printable

NAME = "findings"
ABOUT = """List the findings of a campaign, show or label one, open it in a browser, find the release that brought it.

list names those of a campaign's --out folder, with how grave each is, how often and when it was seen, and counts what
is known; show prints a report; open writes the page of a finding (report.html in its folder) or those of a campaign
(site/ in it), prints where it is, and opens it if there is a screen; label notes what a person says of one ("wontfix",
an upstream link), shown and counted from then on; bisect installs as many releases of the blamed component as tell in
which the fault came and went, and writes that into the folder; export --issue prints a finding as an issue of the
component's own tracker, in that tracker's template, after its script has been run once more, and files nothing;
baseline writes the findings of a campaign into the file that `irfuzz fuzz --baseline` takes, or adds them; recover
makes a new folder of a campaign whose database is damaged, with all that can be read.
Exit code: 0; 1 where an exported issue's script does not show the fault now; 2 where a folder is none."""
EXAMPLES = """examples:
  irfuzz findings                                             # of the campaign that ran last, in a folder here
  irfuzz findings list irfuzz-out
  irfuzz findings list irfuzz-out --suspects
  irfuzz findings show irfuzz-out/findings/0001-difference-onnxruntime-all
  irfuzz findings open irfuzz-out/findings/0001-difference-onnxruntime-all
  irfuzz findings bisect irfuzz-out/findings/0001-difference-onnxruntime-all
  irfuzz findings bisect irfuzz-out --json                  # all of a campaign
  irfuzz findings label irfuzz-out/findings/0001-difference-onnxruntime-all 'reported upstream'
  irfuzz findings export --issue irfuzz-out/findings/0001-difference-onnxruntime-all -o issue.md
  irfuzz findings baseline irfuzz-out -o irfuzz-baseline.json
  irfuzz findings recover irfuzz-out -o irfuzz-recovered"""


DOING = ("list", "show", "open", "label", "bisect", "export", "baseline", "recover")

SITE = "site"
"""Folder in a campaign's into which ``open`` writes its pages."""

WRITING = {"baseline": "FILE", "recover": "FOLDER"}
"""What writes to ``--out``, and what that is."""


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("what", choices=DOING, nargs="?", default="list", type=_doing, help="What to do (default: list).")
    add(
        "path", metavar="PATH", nargs="?", type=place,
        help="A finding's folder; for list, open, bisect and baseline also a campaign's, for recover only that. "
        "list without it: the campaign in a folder here that ran last.",
    )  # fmt: skip
    add("text", metavar="TEXT", nargs="?", help="For label: what to note; an empty one takes it back.")
    add(
        "-o", "--out", metavar="PLACE", type=place,
        help="With baseline: the file, to which what is missing is added. With recover: the new folder. "
        "With export: the file that is written (default: print it).",
    )  # fmt: skip
    add(
        "--suspects", action="store_true",
        help="With list: suspects alone, the likeliest fault first. With baseline: suspects, too.",
    )  # fmt: skip
    add("--issue", action="store_true", help="With export: as an issue of the tracker, in Markdown.")
    add(
        "--baseline", metavar="FILE", type=place,
        help="With list and open: mark what this baseline has. Default: that of table [fuzz] of irfuzz.toml or "
        "pyproject.toml.",
    )  # fmt: skip
    add("--no-browser", action="store_true", help="With open: only write the page and print where it is.")
    add("--json", action="store_true", help="Print JSON.")


def _doing(word: str) -> str:
    """The word as it is; of a folder, which people type first, it is said what goes before it."""
    if word not in DOING and Path(word).is_dir():
        command = f"irfuzz findings list {shlex.quote(word)}"
        raise argparse.ArgumentTypeError(f"expected a word such as list in front of a folder: {command}")
    return word


def run(args: argparse.Namespace) -> int:
    from irfuzz.report.command_reports import finding_list

    _check(args)
    if args.path is None:
        if args.what != "list":
            raise UsageError(f"{args.what}: expected PATH, got none")
        args.path = finding_list.newest_campaign(Path())
        progress_say(f"findings of {args.path}")
    if args.what == "list":
        found = finding_list.with_baseline(finding_list.entries([args.path]), baseline_of_project(args.baseline))
        if args.suspects:
            found = finding_list.suspects(found)
            print(
                json.dumps(finding_list.to_json(found)) if args.json else printable(finding_list.suspects_text(found))
            )
            return 0
        print(json.dumps(finding_list.to_json(found)) if args.json else printable(finding_list.as_text(found)))
        return 0
    if args.what == "bisect":
        return _bisect(args)
    if args.what == "baseline":
        return _baseline(args)
    if args.what == "export":
        return _export(args)
    if args.what == "recover":
        from irfuzz.campaign.stored_findings.campaign_recovery import recover_campaign

        recovered = recover_campaign(args.path, args.out)
        print(json.dumps(recovered.to_json()) if args.json else printable(str(recovered)))
        return 0
    if args.what == "open":
        return _open(args)
    entry = finding_list.label(args.path, args.text) if args.what == "label" else finding_list.read(args.path)
    if args.json:
        print(json.dumps(dict(entry.about)))
    else:
        print(printable(_report(args.path) if args.what == "show" else finding_list.as_text([entry])))
    return 0


def _check(args: argparse.Namespace) -> None:
    """Whether the flags belong to what is to be done."""
    if (args.text is not None) != (args.what == "label"):
        raise UsageError(f"{args.what}: expected {'TEXT behind PATH' if args.what == 'label' else 'PATH alone'}")
    if args.baseline is not None and args.what not in ("list", "open"):
        raise UsageError(f"{args.what}: --baseline belongs to list and open")
    if args.suspects and args.what not in ("list", "baseline"):
        raise UsageError(f"{args.what}: --suspects belongs to list and baseline")
    if args.issue != (args.what == "export"):
        raise UsageError(
            "export: expected --issue" if args.what == "export" else f"{args.what}: --issue belongs to export"
        )
    if args.what != "export" and (args.out is not None) != (args.what in WRITING):
        lacking = f"{args.what}: expected -o {WRITING.get(args.what)}"
        raise UsageError(lacking if args.out is None else f"{args.what}: -o belongs to {', '.join(WRITING)} and export")


def _bisect(args: argparse.Namespace) -> int:
    """In which release each came and went."""
    from irfuzz.campaign.stored_findings.release_bisection import bisect_all, bisected, save
    from irfuzz.findings.codec import ABOUT as FILE
    from irfuzz.findings.codec import about_with_versions
    from irfuzz.report.affected_versions_text import where_text
    from irfuzz.report.command_reports.finding_list import entries

    quiet = args.json
    say = (lambda text: None) if quiet else progress_say
    if (args.path / FILE).is_file():
        finding = bisected(args.path, say)
        save(args.path, finding)
        found = [finding]
    else:
        confirmed = [e.folder for e in entries([args.path]) if e.about.get("status") != "unreplayed"]
        found = list(bisect_all([f for f in confirmed if f.parent.name == "findings"], say))
    if args.json:
        keys = ("shown", "introduced", "fixed")
        rows = [json.loads(about_with_versions("{}", f)) for f in found]
        print(json.dumps([{"title": f.title, **{k: r[k] for k in keys}} for f, r in zip(found, rows, strict=True)]))
        return 0
    if not found:
        print("no confirmed finding there, so nothing was asked")
    for finding in found:
        print(printable(f"{finding.title}\n  {where_text(finding) or 'in one version only'}"))
    return 0


def _baseline(args: argparse.Namespace) -> int:
    """Put findings into a project's baseline."""
    from irfuzz.cli.model_reading_and_output_checks import file_to_write
    from irfuzz.report.command_reports.baseline_extension import extend_baseline

    path = file_to_write(args.out, "-o")
    change = extend_baseline(args.path, path or args.out, suspects=args.suspects)
    print(json.dumps(change.to_json()) if args.json else printable(str(change)))
    return 0


def _export(args: argparse.Namespace) -> int:
    """Print a finding as an issue, or write it."""
    from irfuzz.cli.model_reading_and_output_checks import file_to_write
    from irfuzz.report.upstream_issues.issue_export import issue_of

    path = file_to_write(args.out, "-o")
    progress_say("running its script")
    issue = issue_of(args.path)
    text = json.dumps(issue.to_json()) if args.json else str(issue)
    if path is None:
        print(text if args.json else printable(text))
    else:
        path.write_text(text, encoding="utf-8")
    if not issue.shows:
        print("irfuzz: its script does not show the fault here and now, and the issue says so", file=sys.stderr)
    if issue.tracker.form:
        print(f"irfuzz: read it, then file it at {issue.tracker.form}", file=sys.stderr)
    return 0 if issue.shows else 1


def _report(folder: Path) -> str:
    try:
        return (folder / "report.md").read_text(errors="replace")
    except OSError as error:
        raise UsageError(f"{folder}: its report cannot be read: {error.strerror}") from None


def _open(args: argparse.Namespace) -> int:
    """Write the page of a finding, or those of a campaign, print its path, and show it if there is a screen."""
    from irfuzz.findings.codec import ABOUT as FILE
    from irfuzz.report.command_reports.finding_list import entries, with_baseline
    from irfuzz.report.pages.site_files import write_finding_page

    baseline = baseline_of_project(args.baseline)
    if (args.path / FILE).is_file():
        page = write_finding_page(*with_baseline(entries([args.path]), baseline))
    else:
        from irfuzz.api.campaign_site import write_campaign_site

        page = write_campaign_site(args.path, args.path / SITE, baseline=baseline).index
    print(json.dumps({"page": str(page)}) if args.json else printable(str(page)))
    if not args.no_browser and _has_screen():
        import webbrowser

        if not webbrowser.open(page.resolve().as_uri()):
            progress_say("no browser could be started")
    return 0


def _has_screen() -> bool:
    """Whether a browser could show something; of systems other than Linux it is taken to be so."""
    return not sys.platform.startswith("linux") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
