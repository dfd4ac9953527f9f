"""A component's message enters, what is left of it in every other program that fails alike leaves."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from typing import TYPE_CHECKING

from onnx import defs

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

_LENGTH = 200

_STEPS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "#"),
    # Paths with or without a line number, and the C++ function that follows one in ONNXRuntime's messages.
    (
        re.compile(
            r"(?:[A-Za-z]:)?(?:\.{0,2}/)[\w.+\-/ ]*?[\w+\-]+\.\w{1,5}(?::\d+|, line \d+|\(\d+\))?(?=$|[\s:'\")\],])"
        ),
        "PATH",
    ),
    (re.compile(r"\b[\w\-]+\.(?:cc|cpp|cu|h|hpp|py|so)(?::\d+)?\b"), "PATH"),
    (re.compile(r"\b[Ll]ine:? \d+\b"), "line #"),
    (re.compile(r"(?i)(\bname:? ?)(['\"]?)[^'\"()\s]+\2"), r"\1_"),
    (re.compile(r"(Node ?\()[^()]*(\))"), r"\1_\2"),
    # Quoted names, unless they are an operator or a type.
    (re.compile(r"(['\"`])([^'\"`\n]{1,120})\1"), ""),
    (re.compile(r"\b([A-Za-z]\w*?)_\d+\b"), r"\1_#"),
    (re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?![\w])"), "#"),
    (re.compile(r"[\[{(]\s*#?(?:\s*,\s*#?)*\s*[\]})]"), "[#]"),
    (re.compile(r"#(?:\s*[,x]\s*#)+"), "#"),
    (re.compile(r"\s+"), " "),
)

_TYPES = re.compile(r"(?:tensor|seq|optional|map)\(.*\)|(?:u?int|b?float|complex)\d+\w*|bool|string|double|float")


def normalise_message(text: str, names: Collection[str] = ()) -> str:
    """Strip what differs from program to program: addresses, paths, line numbers, names, shapes and other numbers.

    Operator types, dtypes and the names of errors stay.

    Args:
        text: a message; only its first line that says something counts.
        names: names of the program's nodes and values.
    """
    text = next((line.strip() for line in text.splitlines() if line.strip()), "")
    for name in sorted({n for n in names if n in text}, key=lambda n: (-len(n), n)):
        if name not in operators() and (len(name) > 2 or not name.isalpha()):
            text = re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w])", "_", text)
    for pattern, new in _STEPS:
        text = pattern.sub(new, text) if new or "['\\\"`]" not in pattern.pattern else pattern.sub(_unquoted, text)
    return text.strip(" .:")[:_LENGTH]


def _unquoted(match: re.Match[str]) -> str:
    inner = match.group(2)
    keep = inner in operators() or _TYPES.fullmatch(inner) is not None or inner == "_"
    return f"{match.group(1)}{inner if keep else '_'}{match.group(1)}"


def names_of(program: Program) -> set[str]:
    """Names of all nodes and values, those in subgraphs too."""
    names: set[str] = set()
    for graph in program.model.graphs():
        names.update(v.name for v in graph.inputs if v.name)
        names.update(graph.initializers)
        for node in graph:
            names.update(n for n in (node.name, *(o.name for o in node.outputs)) if n)
    return names


@cache
def operators() -> frozenset[str]:
    """Names of ONNX's operators."""
    return frozenset(schema.name for schema in defs.get_all_schemas())
