"""Runs a command and returns its exit code: 0 well, 1 findings, 2 bad input, 3 an error of irfuzz itself."""

from __future__ import annotations

import argparse
import difflib
import errno
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Protocol, cast

from irfuzz import __version__
from irfuzz.cli.commands import (
    analyze,
    check,
    conform,
    corpus,
    coverage,
    env,
    equiv,
    evolve,
    export,
    findings,
    fuzz,
    generate,
    init,
    mutate,
    ops,
    reduce,
    replay,
    report,
    seeds,
    synthesize,
    targets,
)
from irfuzz.cli.fleet_commands import agent, fleet
from irfuzz.cli.interrupt_handling import STOPPED, obeying
from irfuzz.cli.model_reading_and_output_checks import nothing_left_behind
from irfuzz.cli.parser import Parser, parse
from irfuzz.cli.progress_display import quiet
from irfuzz.cli.shell_completion import FLAG, completion
from irfuzz.errors import InternalError, IrfuzzError, SpecError, UsageError
from irfuzz.process_limits import on_files, on_memory, too_low
from irfuzz.report.terminal_text_cleaning import one_line

BAD_INPUT = 2
INTERNAL = 3

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""Errors of writing that are the machine's, not ours."""


class CommandModule(Protocol):
    """A module of this folder.

    Attributes:
        NAME: how it is called.
        ABOUT: what it does; the first sentence stands in the list of commands.
        EXAMPLES: for the end of its help.
    """

    NAME: str
    ABOUT: str
    EXAMPLES: str

    def arguments(self, parser: Parser) -> None:
        """Declare arguments and flags of the command on the parser; ``--quiet`` is added by ``main``."""
        ...

    def run(self, args: argparse.Namespace) -> int:
        """Do it; the exit code is 0 if all is well and 1 if something was found, and bad input is raised as
        ``UsageError``.
        """
        ...


_MODULES = (
    fuzz,
    agent,
    fleet,
    init,
    reduce,
    findings,
    report,
    mutate,
    replay,
    check,
    conform,
    equiv,
    analyze,
    evolve,
    coverage,
    corpus,
    generate,
    synthesize,
    export,
    ops,
    targets,
    env,
    seeds,
)
COMMANDS = tuple(cast("CommandModule", module) for module in _MODULES)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, and print what goes wrong on standard error instead of raising it.

    Args:
        argv: the words after ``irfuzz``; those of the process if omitted.

    Returns:
        The exit code: that of the command, ``BAD_INPUT``, ``INTERNAL``, or ``STOPPED`` after Ctrl-C.
    """
    try:
        code = _run(sys.argv[1:] if argv is None else list(argv))
        if sys.stdout is not None:  # it is None where the caller closed it
            sys.stdout.flush()
    except SystemExit as ended:  # argparse has printed the help
        return ended.code if isinstance(ended.code, int) else 0
    except KeyboardInterrupt as stopped:
        _say(f"stopped: {stopped}" if str(stopped) else "stopped")
        return STOPPED
    except InternalError as error:
        _say(f"internal error: {one_line(error)}")
        return INTERNAL
    except SpecError as error:
        # The caller's own files are wrong more likely than those that are shipped.
        if "IRFUZZ_OPS" in os.environ:
            _say(f"error: IRFUZZ_OPS: {one_line(error)}")
        else:
            _say(f"error: {one_line(error)} (a file that irfuzz ships is damaged: install it again)")
        return BAD_INPUT
    except IrfuzzError as error:
        _say(f"error: {one_line(error)}{on_files(str(error))}")
        return BAD_INPUT
    except BrokenPipeError:
        _drop_stdout()  # whoever read our output has gone
        return 0
    except OSError as error:
        if error.errno not in NO_ROOM:
            _say("internal error; please report it with the lines below")
            traceback.print_exc()
            return INTERNAL
        text = f"{error.filename or 'the output'}: cannot be written: {error.strerror}"
        _say(f"error: {text}{on_files(text)}")
        _drop_stdout()
        return BAD_INPUT
    except Exception as error:  # noqa: BLE001 - the last resort: say whose fault it is, and end with the right code
        if isinstance(error, MemoryError) and (limits := on_memory()):
            _say(f"error: out of memory{limits}")
            return BAD_INPUT
        _say("internal error; please report it with the lines below")
        traceback.print_exc()
        return INTERNAL
    return code


def _run(words: list[str]) -> int:
    if words and words[0] == "--version":
        print(f"irfuzz {__version__}")
        return 0
    if not words or words[0] in ("-h", "--help"):
        print(_overview(), file=sys.stdout if words else sys.stderr)
        return 0 if words else BAD_INPUT
    if words[0] == FLAG:
        print(completion(words[1:], COMMANDS))
        return 0
    by_name = {command.NAME: command for command in COMMANDS}
    command = by_name.get(words[0])
    if command is None:
        near = difflib.get_close_matches(words[0], by_name, 1)
        hint = f"did you mean {near[0]}?" if near else f"expected {', '.join(by_name)}"
        what = "flag" if words[0].startswith("-") else "command"
        raise UsageError(f"unknown {what} {words[0]!r}: {hint}; see `irfuzz --help`")
    parser = Parser(command.NAME, command.ABOUT, command.EXAMPLES)
    command.arguments(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="Print no progress.")
    args = parse(parser, words[1:])
    if short := too_low():
        raise UsageError(short)
    with obeying(), quiet(silent=args.quiet), nothing_left_behind():
        return command.run(args)


def _overview() -> str:
    lines = [
        "usage: irfuzz COMMAND ...",
        "",
        "Find bugs in the software that runs neural networks.",
        "",
        "commands:",
        *(f"  {command.NAME:<11}{command.ABOUT.splitlines()[0]}" for command in COMMANDS),
        "",
        "options:",
        "  -h, --help  Show this text; `irfuzz COMMAND --help` shows a command's.",
        "  --version   Print the version.",
        "  --print-completion SHELL  Print what bash, zsh or tcsh reads to complete commands and flags.",
        "",
        "examples:",
        "  irfuzz fuzz seeds --time 10m --out findings",
        "  irfuzz mutate model.onnx -o mutants -n 20",
    ]
    return "\n".join(lines)


def _drop_stdout() -> None:
    """See that the interpreter does not complain when it flushes at its end."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(text: str) -> None:
    print(f"irfuzz: {text}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
