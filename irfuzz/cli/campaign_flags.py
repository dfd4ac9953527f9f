"""Flags that say how a campaign works, for the commands that run one."""

from __future__ import annotations

from irfuzz.api.default_settings import FUZZ_MEMORY
from irfuzz.cli.parser import Parser, names, positive, whole

CAMPAIGN_FLAGS = ("targets", "jobs", "max-nodes", "every", "timeout", "memory", "reduce")
"""What ``campaign_arguments`` adds, for ``parser.as_flags``."""


def campaign_arguments(parser: Parser) -> None:
    """Add the flags of the loop.

    Args:
        parser: of a command; reads ``--memory`` in MiB.
    """
    add = parser.add_argument
    add(
        "--targets", metavar="NAMES", type=names,
        help="Targets, separated by commas; * is a wildcard. Default: all that are installed, on the CPU.",
    )  # fmt: skip
    add("--jobs", metavar="N", type=whole(1), help="Processes that work side by side. Default: one a core.")
    add(
        "--max-nodes", metavar="N", type=whole(1), default=200,
        help="No mutant gets more nodes, or than 30 more than its seed if that has more. Default: 200.",
    )  # fmt: skip
    add(
        "--every", metavar="N", type=whole(1), default=16,
        help="Targets that seldom tell more run on one program in so many, and whenever others disagree. Default: 16.",
    )  # fmt: skip
    add(
        "--timeout", metavar="SECONDS", type=positive, default=10.0,
        help="What one target may take with one program. Default: 10.",
    )  # fmt: skip
    add(
        "--memory", metavar="MIB", type=whole(1),
        help=f"What one worker may take beyond its framework. Default: {FUZZ_MEMORY}, and more for large weights.",
    )  # fmt: skip
    add(
        "--reduce", metavar="SECONDS", type=positive, default=20.0,
        help="How long making one finding small may take. Default: 20.",
    )  # fmt: skip
