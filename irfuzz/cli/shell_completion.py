"""Writes what a shell reads to complete commands, flags and files of ``irfuzz``, by the library shtab."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from irfuzz.cli.parser import Parser, place
from irfuzz.errors import UsageError

if TYPE_CHECKING:
    from irfuzz.cli.main import CommandModule

FLAG = "--print-completion"

SHELLS = ("bash", "zsh", "tcsh")


def completion(words: Sequence[str], commands: Sequence[CommandModule]) -> str:
    """The script of a shell.

    Args:
        words: behind ``FLAG``: the name of the shell.
        commands: that are completed.

    Raises:
        UsageError: there is no such shell, or shtab is not installed.
    """
    if len(words) != 1 or words[0] not in SHELLS:
        raise UsageError(f"{FLAG}: expected one of {', '.join(SHELLS)}, got {' '.join(words) or 'nothing'}")
    try:
        import shtab
    except ImportError:
        raise UsageError(f"{FLAG}: shtab is not installed; pip install 'irfuzz[completion]'") from None
    return shtab.complete(_whole(commands, shtab.FILE), shell=words[0])


def _whole(commands: Sequence[CommandModule], files: Mapping[str, object]) -> argparse.ArgumentParser:
    """One parser of all commands, which parses nothing; places are completed as files."""
    whole = argparse.ArgumentParser(prog="irfuzz")
    whole.add_argument("--version", action="store_true", help="Print the version.")
    whole.add_argument(FLAG, choices=SHELLS, help="Print what a shell reads to complete commands.")
    parts = whole.add_subparsers()
    for command in commands:
        own = Parser(command.NAME, command.ABOUT, command.EXAMPLES)
        command.arguments(own)
        own.add_argument("-q", "--quiet", action="store_true", help="Print no progress.")
        about = command.ABOUT.partition(".")[0].replace("\n", " ")
        for action in own.of_type(place):
            action.complete = files  # type: ignore[attr-defined]
        parts.add_parser(command.NAME, parents=[own], add_help=False, help=f"{about}.")
    return whole
