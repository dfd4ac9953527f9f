"""Strips from a component's message what differs between programs that fail alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cache
from typing import TYPE_CHECKING

from onnx import defs

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

DATA_DEPENDENT = re.compile(
    r"(?i)(?<!tuple index )(?<!list index )out of (?:data )?(?:bounds?|range)|index \S+ is out|indices element"
    r"|division by zero|ZeroDivisionError|divide by zero|zero-size array"
    r"|empty (?:tensor|sequence|set|reduction|input|list)"
    r"|singular|not positive definite|overflow|must be (?:non-?negative|positive)|float (?:NaN|infinity) to integer"
    r"|invalid value encountered|iteration|reduction (?:axis|over)|can't reduce"
)
"""Messages about element values: on other inputs the same program would be accepted, and ONNX often leaves it open."""

_LENGTH = 240

_TYPES = re.compile(
    r"(?:tensor|seq|optional|map)\(.*\)|(?:u?int|b?float|complex)\d+\w*|bool|string|double|float|(?:numpy|torch)\.\w+"
)


@cache
def operators() -> frozenset[str]:
    """Names of ONNX's operators."""
    return frozenset(schema.name for schema in defs.get_all_schemas())


_CLASS = re.compile(r"\(operator '(\w+?)(?:_\d+)?'\)")
"""How ONNX's reference evaluator names its class for a version of an operator; a value may bear the same name."""


def _unquoted(match: re.Match[str]) -> str:
    """Operators (with or without a version) and types stay, other quoted words are names."""
    quote, inner = match.groups()
    base = re.sub(r"_\d+$", "", inner)
    if base in operators():
        inner = base
    elif _TYPES.fullmatch(inner) is None and inner != "_":
        inner = "_"
    return f"{quote}{inner}{quote}"


_STEPS: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "#"),
    # TensorFlow numbers the functions that it traces.
    (re.compile(r"\{\{function_node __inference_[^}]*\}\}"), "{{function_node _}}"),
    # Paths, with or without a line number.
    (
        re.compile(
            r"(?:[A-Za-z]:)?(?:\.{0,2}/)[\w.+\-/ ]*?[\w+\-]+\.\w{1,5}(?:\.\d+)*(?::\d+|, line \d+|\(\d+\))?"
            r"(?=$|[\s:'\")\],])"
        ),
        "PATH",
    ),
    # The C++ function that follows a path in ONNXRuntime's messages.
    (re.compile(r"PATH [\w:<>,&*~ ]+\((?:[^()]|\([^()]*\))*\)(?: const)?(?: \[with [^\]]*\])?"), "PATH"),
    (re.compile(r"\b[\w\-]+\.(?:cc|cpp|cu|h|hpp|py|so)(?::\d+)?\b"), "PATH"),
    (re.compile(r"\b[Ll]ine:? \d+\b"), "line #"),
    (re.compile(r"(?i)(\bname:? ?)(['\"]?)[^'\"()\s]+\2"), r"\1_"),
    (re.compile(r"([Nn]ode ?\()[^()]*(\))"), r"\1_\2"),
    (re.compile(r"(\bshape )\(\)"), r"\1[#]"),
    # An activation is an attribute's value, though operators have the same names.
    (re.compile(r"(\bactivation function )'\w+'"), r"\1'_'"),
    (re.compile(r"(['\"`])([^'\"`\n]{0,120})\1"), _unquoted),
    (re.compile(r"\b([A-Za-z]\w*?)_\d+\b"), r"\1_#"),
    (re.compile(r"\b\d+(?:x\d+)+\b"), "#"),
    (re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?![\w])"), "#"),
    (re.compile(r"#(?:\s*,\s*#)+,?"), "#"),
    (re.compile(r"[\[{(]\s*#,?\s*[\]})]"), "[#]"),
    (re.compile(r"\s+"), " "),
)


def normalise_message(text: str, names: Collection[str] = ()) -> str:
    """Strip what differs from program to program: addresses, paths, line numbers, names, shapes and other numbers.

    Operator types, dtypes and the names of errors stay.

    Args:
        text: a message; only its first line that says something counts.
        names: names of the program's nodes and values.
    """
    text = text.replace("\0", " ")  # databases keep none in a text
    text = next((line.strip() for line in text.splitlines() if line.strip()), "")
    text = _CLASS.sub(lambda m: f"(operator {m[1]})" if m[1] in operators() else m[0], text)
    for name in sorted({n for n in names if n in text}, key=lambda n: (-len(n), n)):
        # Words of a letter or two stand in any sentence, and an operator's name may be a value's as well.
        if name not in operators() and (len(name) > 2 or not name.isalpha()):
            text = re.sub(rf"(?<![\w.]){re.escape(name)}(?!\w)", "_", text)
    for pattern, new in _STEPS:
        text = pattern.sub(new, text)
    return text.strip(" .:")[:_LENGTH]


def names_of(program: Program) -> set[str]:
    """Names of all nodes and values, those in subgraphs too.

    Returns:
        What ``normalise_message`` takes out of an error message: names of inputs, initializers, nodes and their
        outputs, never an empty one.
    """
    names: set[str] = set()
    for graph in program.model.graphs():
        names.update(v.name for v in graph.inputs if v.name)
        names.update(graph.initializers)
        for node in graph:
            names.update(n for n in (node.name, *(o.name for o in node.outputs)) if n)
    return names
