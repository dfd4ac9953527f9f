"""``--budget``: how long a campaign of a build takes, and what it does first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.cli.parser import Parser, as_flags, place
from irfuzz.cli.progress_display import say

if TYPE_CHECKING:
    import argparse

USUAL = 600.0
"""Seconds of a campaign if nobody says how long it takes."""

BUDGETS: Mapping[str, float] = {"pull-request": 120.0, "night": 3600.0}
"""Seconds by the name of a mode."""


def budget_arguments(parser: Parser) -> None:
    """``--budget``, ``--replay`` and ``--changed-since``.

    Args:
        parser: of the command; ``--budget`` on its command line takes the place of a ``time`` in a project's file.
    """
    add = parser.add_argument
    add(
        "--budget", choices=tuple(BUDGETS),
        help="Time of a build, unless --time is given: pull-request is 2m, night is 1h. What is stored in --out is "
        "replayed first.",
    )  # fmt: skip
    add(
        "--replay", metavar="DIR", type=place, action="append", default=[],
        help="First run the repro.py of the findings in a folder, a campaign's or one of findings, for half the time "
        "at most: what shows and is not decided fails, what is gone fails nothing. May be repeated.",
    )  # fmt: skip
    add(
        "--changed-since", metavar="COMMIT",
        help="Draw only operators that the project's changes since a commit name, in names of files, functions and "
        "classes or by themselves; all if they name none, or --ops is given.",
    )  # fmt: skip
    parser.instead_of["--budget"] = ("time",)


def with_budget(args: argparse.Namespace) -> None:
    """Fill in what the flags leave open: ``args.time``, ``args.replay`` with the campaign's own folder, ``args.ops``.

    Args:
        args: of a command that has ``budget_arguments``, ``--ops`` and ``--out``; changed in place.

    Raises:
        UsageError: git does not know the commit of ``--changed-since``.
    """
    from irfuzz.store.finding_sightings import DATABASE

    if args.time is None:
        args.time = USUAL if args.budget is None else BUDGETS[args.budget]
    if args.budget is not None and (args.out / DATABASE).is_file() and args.out not in args.replay:
        args.replay = [args.out, *args.replay]
    if args.changed_since is not None and args.ops is None:
        from irfuzz.api.project.changed_operators import changed_operators

        with as_flags("changed-since"):
            found = changed_operators(Path(), args.changed_since)
        say(f"changes since {args.changed_since} name {', '.join(found) or 'no operator, so all are drawn'}")
        args.ops = found or None
