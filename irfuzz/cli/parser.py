"""Parses the words of a command line; a wrong flag gives one line that names it and says why."""

from __future__ import annotations

import argparse
import contextlib
import errno
import math
import os
import re
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import NoReturn

from irfuzz.errors import UsageError

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Parser(argparse.ArgumentParser):
    """A parser of one command that raises instead of printing and ending the process.

    Args:
        name: of the command; empty for the program itself.
        about: what it does.
        examples: printed below the options as they are.

    Attributes:
        several: flags that may be followed by more than one word, and what such a word looks like; a model may follow
            them.
        project_table: name of the table in which a project writes flags of the command down; empty if it cannot.
        instead_of: flags that, if they are typed, take the place of others that a project has written down.
    """

    def __init__(self, name: str, about: str, examples: str = "") -> None:
        super().__init__(
            prog=f"irfuzz {name}".strip(),
            description=about,
            epilog=examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            add_help=False,
        )
        self.several: dict[str, re.Pattern[str]] = {}
        self.project_table = ""
        self.instead_of: dict[str, tuple[str, ...]] = {}
        self.add_argument("-h", "--help", action="help", help="Show this text.")

    def by_long_name(self) -> dict[str, argparse.Action]:
        """The flags by their long names, without the dashes, and arguments that may be left out; ``--help`` is none."""
        names = {name: action for action in self._actions for name in action.option_strings if name.startswith("--")}
        optional = {action.dest: action for action in self._actions if action.nargs == "*"}
        return {name.removeprefix("--"): action for name, action in names.items() if name != "--help"} | optional

    def of_type(self, kind: Callable[[str], object]) -> list[argparse.Action]:
        """Flags and arguments whose words a function reads.

        Args:
            kind: the function, such as ``place``.
        """
        return [action for action in self._actions if action.type is kind]

    def error(self, message: str) -> NoReturn:
        """Complain about the words of a command line, with the command whose help tells more.

        Args:
            message: in the words of ``argparse``; ``argument`` in front of a flag is left out.

        Raises:
            UsageError: always.
        """
        flag = re.sub(r"^argument ", "", message)
        raise UsageError(f"{flag}; see `{self.prog} --help`")


def whole(least: int) -> Callable[[str], int]:
    """The type of a flag that takes a whole number, from ``least`` to 2**62; ``argparse`` tells what is wrong with any
    other word.
    """

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"expected a whole number of at least {least}, got {text!r}")
        if number > 1 << 62:
            raise argparse.ArgumentTypeError(f"expected a whole number of at most {1 << 62}, got {text!r}")
        return number

    return read


def positive(text: str) -> float:
    """The type of a flag that takes a number above 0, such as one of seconds; infinity and NaN are refused.

    Raises:
        argparse.ArgumentTypeError: it is no such number.
    """
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {text!r}")
    return number


def share(text: str) -> float:
    """The type of a flag that takes a share, a number from 0 to 1, both included.

    Raises:
        argparse.ArgumentTypeError: it is no such number.
    """
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 1, got {text!r}")
    return number


def duration(text: str) -> float:
    """The type of a flag that takes a time: seconds of ``90``, ``90s``, ``10m``, ``1h30m``, or ``1.5d``.

    Raises:
        argparse.ArgumentTypeError: it is no time, or none at all.
    """
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd]?)", text.strip())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        raise argparse.ArgumentTypeError(f"expected a time such as 90s, 10m or 1h30m, got {text!r}")
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"expected more than no time, got {text!r}")
    return seconds


def names(text: str) -> tuple[str, ...]:
    """The type of a flag that takes names: those in ``a,b,c``. Spaces around them and empty ones are left out.

    Raises:
        argparse.ArgumentTypeError: there is no name.
    """
    found = tuple(name.strip() for name in text.split(",") if name.strip())
    if not found:
        raise argparse.ArgumentTypeError(f"expected names separated by commas, got {text!r}")
    return found


def place(text: str) -> Path:
    """The type of a flag or argument that names a file or folder; nothing at all is not the current folder.

    Raises:
        argparse.ArgumentTypeError: there can be no file of that name on this system.
    """
    if not text:
        raise argparse.ArgumentTypeError("expected a path, got ''")
    try:
        os.lstat(text)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise argparse.ArgumentTypeError(f"{text[:40]}...: {error.strerror}") from None
    except ValueError as error:  # a null character, which a file of settings may have
        raise argparse.ArgumentTypeError(f"{text[:40]!r}: {error}") from None
    return Path(text)


@contextlib.contextmanager
def as_flags(*names: str, **words: str) -> Generator[None]:
    """Have messages about arguments of a call begin with the flags that gave them.

    Args:
        names: of arguments whose flags have the same name.
        words: for others, what stands in the place of the argument's name.

    Raises:
        UsageError: what was raised inside, with those words.
    """
    flags = {**{name: f"--{name}" for name in names}, **words}
    try:
        yield
    except UsageError as error:
        name, colon, why = str(error).partition(": ")
        if colon and name in flags:
            raise UsageError(f"{flags[name]}: {why}") from None
        raise


def parse(parser: Parser, words: Sequence[str]) -> argparse.Namespace:
    """The values of a command's words; flags may stand between arguments.

    What a project has written down (``project_flags``) counts for flags that are not among the words.

    Raises:
        UsageError: a flag or argument is unknown, missing or wrong, here or in the project's file.
        SystemExit: help was asked for and printed.
    """
    if not parser.project_table or {"-h", "--help"} & {*words}:
        return parser.parse_intermixed_args(_one_each(parser, words))
    from irfuzz.cli.flags_from_toml import read_project_flags

    project = read_project_flags(parser.project_table, parser.by_long_name(), Path.cwd())
    typed = {word.partition("=")[0] for word in words}
    beaten = {other for flag, others in parser.instead_of.items() if flag in typed for other in others}
    values = {name: value for name, value in project.values.items() if name not in beaten}
    repeated = {name: value for name, value in values.items() if isinstance(value, list)}
    parser.set_defaults(**{name: value for name, value in values.items() if name not in repeated})
    args = parser.parse_intermixed_args(_one_each(parser, words))
    for name, value in repeated.items():  # those of the words take the place of the file's, and do not join them
        setattr(args, name, getattr(args, name) or value)
    args.project_flags = project
    return args


def _one_each(parser: Parser, words: Sequence[str]) -> list[str]:
    """The words with a flag before each of its values: ``--size H=1 W=2`` is ``--size H=1 --size W=2``."""
    found: list[str] = []
    flag = ""
    for word in words:
        if word in parser.several:
            flag = word
        elif flag and found[-1] != flag:
            if parser.several[flag].fullmatch(word):
                found.append(flag)
            else:
                flag = ""
        found.append(word)
    return found
