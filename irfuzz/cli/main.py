"""Words of the command line enter, an exit code leaves: 0 well, 1 findings, 2 bad input, 3 our own fault."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from irfuzz import __version__
from irfuzz.cli import fuzz, mutate, ops, replay, targets
from irfuzz.errors import InternalError, IrfuzzError

BAD_INPUT = 2
INTERNAL = 3

app = typer.Typer(
    name="irfuzz",
    help="Find bugs in the software that runs neural networks.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (fuzz, mutate, replay, ops, targets):
    app.command(name=command.NAME, epilog=command.EXAMPLES)(command.run)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"irfuzz {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    pass


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: the words after ``irfuzz``; those of the process where omitted.

    Returns:
        The exit code.
    """
    try:
        code = app(args=None if argv is None else list(argv), standalone_mode=False)
    except typer.TyperException as error:
        print(f"irfuzz: error: {error.format_message()}", file=sys.stderr)
        return BAD_INPUT
    except (typer.Abort, KeyboardInterrupt):
        print("irfuzz: stopped", file=sys.stderr)
        return 130
    except InternalError as error:
        print(f"irfuzz: internal error: {error}", file=sys.stderr)
        return INTERNAL
    except IrfuzzError as error:
        print(f"irfuzz: error: {error}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has gone; nothing is left to say
        return 0
    except Exception:
        print("irfuzz: internal error; please report it with the lines below", file=sys.stderr)
        traceback.print_exc()
        return INTERNAL
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    sys.exit(main())
