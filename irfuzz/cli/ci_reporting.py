"""The flags of a campaign that is a step of a build, and the files and lines that its server reads."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.cli.model_reading_and_output_checks import text_to_write
from irfuzz.cli.parser import Parser, place
from irfuzz.errors import UsageError
from irfuzz.report.terminal_text_cleaning import one_line

if TYPE_CHECKING:
    import argparse

    from irfuzz.findings.baseline import FindingBaseline
    from irfuzz.report.ci_reports.build_result import BuildResult

FAIL_ON = ("new", "undecided", "any", "never")
"""Spelt out, so that the parser imports nothing; ``tests/cli/test_ci_reporting.py`` compares them with ``FailOn``."""


def ci_arguments(parser: Parser) -> None:
    """``--fail-on``, ``--baseline``, ``--junit`` and ``--sarif``.

    Args:
        parser: of the command.
    """
    add = parser.add_argument
    add(
        "--fail-on", choices=FAIL_ON, default="new",
        help="What makes the exit code 1: new (a finding that is neither known nor labelled nor in the baseline), "
        "undecided (such a finding or suspect), any (finding) or never. Default: new.",
    )  # fmt: skip
    add(
        "--baseline", metavar="FILE", type=place,
        help="Findings that are no news; `irfuzz findings baseline` writes such a file, to be committed.",
    )  # fmt: skip
    add("--junit", metavar="FILE", type=place, help="Write the findings as JUnit XML, too.")
    add("--sarif", metavar="FILE", type=place, help="Write the findings as SARIF 2.1.0, too.")


def baseline_of_project(given: Path | None) -> FindingBaseline:
    """The baseline that a flag names, else that of the project in the working folder; an empty one if there is none.

    Args:
        given: what ``--baseline`` names, of a command other than ``fuzz``.

    Raises:
        UsageError: it cannot be read, or the project's file is wrong.
    """
    from irfuzz.cli.commands import fuzz
    from irfuzz.cli.flags_from_toml import read_project_flags
    from irfuzz.findings.baseline import NO_BASELINE, read_baseline

    if given is not None:
        return read_baseline(given, f"--baseline {given}")
    parser = Parser(fuzz.NAME, fuzz.ABOUT)
    fuzz.arguments(parser)
    project = read_project_flags(fuzz.NAME, parser.by_long_name(), Path.cwd())
    path: Path | None = project.values.get("baseline")
    return NO_BASELINE if path is None else read_baseline(path, f"{project.place}: baseline: {path}")


def ci_files(args: argparse.Namespace) -> dict[str, Path]:
    """The files that ``--junit`` and ``--sarif`` name, by flag; tried before the campaign rather than after it.

    Args:
        args: of a command that has ``ci_arguments``.

    Raises:
        UsageError: one cannot be written, or something else is there.
    """
    found = {
        "--junit": text_to_write(args.junit, "--junit", b"<testsuites", "JUnit XML"),
        "--sarif": text_to_write(args.sarif, "--sarif", b"sarif-2.1.0", "SARIF"),
    }
    return {flag: path for flag, path in found.items() if path is not None}


def report_to_ci(
    result: BuildResult, files: Mapping[str, Path], *, json: bool = False, environment: Mapping[str, str] | None = None
) -> None:
    """Write the files, and what GitHub Actions reads if it runs the command.

    Annotations go to standard output, or to standard error if that holds JSON; GitHub reads both. A summary that
    cannot be written is told and costs nothing else.

    Args:
        result: of the campaign.
        files: as ``ci_files`` gives them.
        json: standard output holds JSON.
        environment: in place of the process's.

    Raises:
        UsageError: a file cannot be written.
    """
    from irfuzz.report.ci_reports.github import step_summary, workflow_commands
    from irfuzz.report.ci_reports.junit import as_junit
    from irfuzz.report.ci_reports.sarif import as_sarif

    variables = os.environ if environment is None else environment
    if variables.get("GITHUB_ACTIONS") == "true":
        for line in workflow_commands(result):
            print(line, file=sys.stderr if json else sys.stdout)
    if summary := variables.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(summary).open("a", encoding="utf-8", errors="replace") as opened:
                opened.write(step_summary(result))
        except OSError as error:
            print(f"irfuzz: GITHUB_STEP_SUMMARY: {one_line(summary)}: {error.strerror}", file=sys.stderr)
    for flag, path in files.items():
        text = as_junit(result) if flag == "--junit" else as_sarif(result)
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{flag} {path}: cannot be written: {error.strerror}") from None
