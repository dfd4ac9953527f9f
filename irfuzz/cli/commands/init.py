"""``irfuzz init``: sets a project up for campaigns in its build."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from irfuzz.cli.parser import Parser, as_flags, names
from irfuzz.cli.progress_display import ProgressLine, say
from irfuzz.errors import UsageError
from irfuzz.report.terminal_text_cleaning import printable

NAME = "init"
ABOUT = """Write what a project needs for campaigns in its build: irfuzz.toml, first seeds, a baseline, a job.

The seeds are small shipped models that the target runs, and calls of single operators if those are few. In a terminal
what no flag says is asked; elsewhere nothing is, and the only class in the folder that looks like a target is taken.
Files that are there are never replaced without --force, and the baseline not even then.
Exit code: 0; 2 where the target cannot be used or a file is there already, and then nothing is written."""
EXAMPLES = """examples:
  irfuzz init
  irfuzz init --target my_package.my_module:MyConverter --ci gitlab
  irfuzz init --targets 'reference,onnxruntime:*' --ci none"""

SERVERS = ("github", "gitlab", "cron", "none")
"""Spelt out, so that the parser imports nothing; ``tests/cli/test_init.py`` compares them with ``BuildServer``."""


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "--target", metavar="NAME",
        help="What is tested: package.module:Class or file.py:Class of your own, or another target.",
    )  # fmt: skip
    add(
        "--targets", metavar="NAMES", type=names,
        help="Targets that are compared, separated by commas. Default: those that `irfuzz fuzz` chooses.",
    )  # fmt: skip
    add(
        "--ci", choices=SERVERS,
        help="Whose job is written: github (.github/workflows/irfuzz.yml), gitlab, cron or none. Default: gitlab where "
        "there is a .gitlab-ci.yml, else github.",
    )  # fmt: skip
    add("--force", action="store_true", help="Replace files that are there, except for the baseline.")
    add("--json", action="store_true", help="Print JSON.")


def run(args: argparse.Namespace) -> int:
    from irfuzz.api.project.project_setup import BuildServer, set_up_project

    asks = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty() and not args.json
    target = args.target or ("" if args.targets else _target(asks))
    server = args.ci or _server(asks)
    with ProgressLine("trying seeds"), as_flags("target", "targets"):
        done = set_up_project(
            Path(), target or None, targets=args.targets, server=BuildServer(server), force=args.force
        )
    print(json.dumps(done.to_json()) if args.json else printable(str(done)))
    return 0


def _target(asks: bool) -> str:
    """The class of the user's, asked for or found."""
    from irfuzz.api.project.project_setup import likely_targets

    found = likely_targets(Path())
    if asks:
        for name in found:
            say(f"looks like a target: {name}")
        told = _asked("What is tested, as package.module:Class or file.py:Class", found[0] if found else "")
        if told:
            return told
        raise UsageError("--target: expected what is tested, got nothing")
    if len(found) != 1:
        there = f"there are {', '.join(found)}" if found else "no class here has run(self, model_bytes, inputs)"
        raise UsageError(f"--target: expected what is tested, package.module:Class or file.py:Class; {there}")
    say(f"target: {found[0]}")
    return found[0]


def _server(asks: bool) -> str:
    usual = "gitlab" if Path(".gitlab-ci.yml").exists() else "github"
    if not asks:
        return usual
    told = _asked(f"Whose job is written: {', '.join(SERVERS)}", usual)
    if told not in SERVERS:
        raise UsageError(f"--ci: expected one of {', '.join(SERVERS)}, got {told!r}")
    return told


def _asked(question: str, usual: str) -> str:
    print(f"{question}{f' [{usual}]' if usual else ''}: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() or usual
