"""Text that a terminal may show: what comes from models and components is cleaned of what a terminal would act on."""

from __future__ import annotations


def one_line(message: object) -> str:
    """The first line of a message, without what a terminal would act on: characters that are not printable become
    spaces.
    """
    lines = str(message).strip().splitlines() or [""]
    return "".join(c if c.isprintable() else " " for c in lines[0])


def printable(text: str) -> str:
    """A report without what a terminal would act on: names in it come from models.

    Line breaks stay, and other characters that are not printable become spaces.
    """
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)
