"""The recognised subgraphs of the pattern files: typed shapes, nodes, constants and who fuses each."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import onnx_ir as ir

from irfuzz.errors import SpecError
from irfuzz.spec.constraints.expression import Expression, parse

FOLDER = Path(__file__).resolve().parent

TYPES: dict[str, ir.DataType] = {
    "float": ir.DataType.FLOAT,
    "double": ir.DataType.DOUBLE,
    "float16": ir.DataType.FLOAT16,
    "int4": ir.DataType.INT4,
    "int8": ir.DataType.INT8,
    "int16": ir.DataType.INT16,
    "int32": ir.DataType.INT32,
    "int64": ir.DataType.INT64,
    "uint8": ir.DataType.UINT8,
    "uint16": ir.DataType.UINT16,
    "uint32": ir.DataType.UINT32,
    "uint64": ir.DataType.UINT64,
    "bool": ir.DataType.BOOL,
}
"""Element types by the names that pattern files use; ``T`` stands for the type of the whole pattern."""

PERMUTATIONS = ("swap", "reverse", "last", "first", "identity")
"""Words for permutations of any rank: the last two axes swapped, all reversed, axis 1 to the end, the last to 1."""

FILLS = ("normal", "positive", "small", "zeros", "ones", "integers", "mask")
"""Elements that are drawn: normal, 0.5 to 1.5, 0.01 to 0.1, zeros, ones, integers from -3 to 3, zeros and ones."""

_NODE = re.compile(r"(?P<outputs>\w+(?: *, *\w+)*) *= *(?P<op>[A-Z]\w*)\((?P<inputs>.*?)\)(?P<attrs>(?: +\w+=\S+)*)")
_NUMBER = re.compile(r"(?P<number>-?(?:\d+(?:\.\d*)?(?:e-?\d+)?|inf))(?::(?P<type>\w+))?")
_NAME = re.compile(r"[a-z]\w*")
_DTYPE = re.compile(r"T|" + "|".join(TYPES))
_KEYS = {"name", "fused_by", "x", "also", "types", "nodes", "constants", "sizes"}


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a tensor in terms of names; ``star`` stands for any number of leading sizes.

    Attributes:
        star: name of the leading sizes, empty if there are none.
        sizes: the rest.
    """

    star: str
    sizes: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Number:
    """A scalar constant; its type is that of the pattern if ``type`` is empty."""

    value: float
    type: str


@dataclass(frozen=True, slots=True)
class Numbers:
    """A constant list of 64-bit integers."""

    items: tuple[Expression, ...]


Operand: TypeAlias = str | Number | Numbers | None
"""What a node reads: a named value or constant, a literal, or nothing."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute and the ways to write it that are all recognised.

    Each way is a number, a text, a list of expressions, or one of ``PERMUTATIONS``.
    """

    name: str
    ways: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """A node; its outputs are named."""

    op: str
    inputs: tuple[Operand, ...]
    outputs: tuple[str, ...]
    attrs: tuple[Attribute, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant with drawn or given elements.

    Attributes:
        shapes: any of which is recognised.
        fill: one of ``FILLS``, empty if there is a ``value``.
        value: the same number everywhere.
        type: of its elements; ``T`` for the pattern's.
    """

    shapes: tuple[Shape, ...]
    fill: str
    value: float
    type: str


@dataclass(frozen=True, slots=True)
class SubgraphPattern:
    """A subgraph that some optimiser recognises.

    Attributes:
        name: unique.
        fused_by: who recognises it, by the name of the pass or rule.
        shapes: what ``x``, the value that enters it, may look like.
        also: shapes of further computed values that it reads, by name.
        types: element types with which it is recognised.
        sizes: smallest and largest number to draw for a size, by name.
        nodes: in order; the last one's first output is the result.
        constants: by name.
    """

    name: str
    fused_by: tuple[str, ...]
    shapes: tuple[Shape, ...]
    also: Mapping[str, Shape]
    types: tuple[ir.DataType, ...]
    sizes: Mapping[str, tuple[int, int]]
    nodes: tuple[Node, ...]
    constants: Mapping[str, Constant]


@cache
def patterns() -> tuple[SubgraphPattern, ...]:
    """Every shipped pattern, by file and place in it; the files are read once a process.

    Raises:
        SpecError: a file is malformed, or two patterns have the same name.
    """
    found = [p for path in sorted(FOLDER.glob("*.toml")) for p in read(path.read_text(encoding="utf-8"), path.name)]
    names = [p.name for p in found]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise SpecError(f"patterns: two are called {twice[0]!r}")
    return tuple(found)


def read(text: str, where: str) -> list[SubgraphPattern]:
    """The patterns of one file, in its order, from its text in TOML; error messages name the file by the second
    argument.

    Raises:
        SpecError: the message names the file, the pattern and the key.
    """
    return [_pattern(entry, where) for entry in tomllib.loads(text)["pattern"]]


def _pattern(entry: Mapping[str, Any], where: str) -> SubgraphPattern:
    where = f"{where}: {entry.get('name')}"
    unknown = set(entry) - _KEYS
    if unknown or not {"name", "fused_by", "x", "nodes"} <= set(entry):
        raise SpecError(f"{where}: expected the keys {sorted(_KEYS)}, got {sorted(entry)}")
    nodes = tuple(_node(line, where) for line in entry["nodes"])
    also = {name: _shape(text, where) for name, text in entry.get("also", {}).items()}
    constants = {name: _constant(c, f"{where}: {name}") for name, c in entry.get("constants", {}).items()}
    known = {"x", *also, *constants}
    for node in nodes:
        for operand in node.inputs:
            if isinstance(operand, str) and operand not in known:
                raise SpecError(f"{where}: {node.op} reads {operand!r}, which nothing before it gives")
        known.update(node.outputs)
    return SubgraphPattern(
        entry["name"],
        tuple(entry["fused_by"]),
        tuple(_shape(text, where) for text in entry["x"]),
        also,
        tuple(TYPES[name] for name in entry.get("types", ["float"])),
        {name: (low, high) for name, (low, high) in entry.get("sizes", {}).items()},
        nodes,
        constants,
    )


def _constant(entry: Mapping[str, Any], where: str) -> Constant:
    fill = entry.get("fill", "" if "value" in entry else "normal")
    if fill and fill not in FILLS:
        raise SpecError(f"{where}: expected fill to be one of {FILLS}, got {fill!r}")
    shapes = tuple(_shape(text, where) for text in entry["shape"].split("|"))
    return Constant(shapes, fill, float(entry.get("value", 0.0)), _type(entry.get("type", "T"), where))


def _type(name: str, where: str) -> str:
    if not _DTYPE.fullmatch(name):
        raise SpecError(f"{where}: unknown element type {name!r}; known: T, {', '.join(TYPES)}")
    return name


def _shape(text: str, where: str) -> Shape:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    star = parts.pop(0)[1:] if parts and parts[0].startswith("*") else ""
    return Shape(star, tuple(parse(part, where) for part in parts))


def _node(line: str, where: str) -> Node:
    found = _NODE.fullmatch(line)
    if found is None:
        raise SpecError(f"{where}: expected 'y = Op(x, ...) name=value', got {line!r}")
    outputs = tuple(name.strip() for name in found["outputs"].split(","))
    inputs = tuple(_operand(part, where) for part in _split(found["inputs"]))
    attrs = tuple(_attribute(part, where) for part in found["attrs"].split())
    return Node(found["op"], inputs, outputs, attrs)


def _split(text: str) -> list[str]:
    """Cut at the commas that stand outside of brackets."""
    parts, depth, start = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign in "[(") - (sign in "])")
        if sign == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    rest = text[start:].strip()
    return [*parts, rest] if rest else parts


def _operand(text: str, where: str) -> Operand:
    if text == "-":
        return None
    if text.startswith("["):
        return Numbers(_list(text, where))
    number = _NUMBER.fullmatch(text)
    if number is not None:
        return Number(float(number["number"]), _type(number["type"] or "T", where))
    if not _NAME.fullmatch(text):
        raise SpecError(f"{where}: expected a name, a number, a list or '-', got {text!r}")
    return text


def _list(text: str, where: str) -> tuple[Expression, ...]:
    return tuple(parse(part, where) for part in _split(text.strip()[1:-1]))


def _attribute(text: str, where: str) -> Attribute:
    name, _, ways = text.partition("=")
    return Attribute(name, tuple(_way(way, where) for way in ways.split("|")))


def _way(text: str, where: str) -> Any:
    if text.startswith("["):
        return _list(text, where)
    if text.startswith('"'):
        return text.strip('"')
    if text in PERMUTATIONS or _DTYPE.fullmatch(text):
        return text
    return float(text) if re.fullmatch(r"-?\d*\.\d*(e-?\d+)?|-?\d+e-?\d+", text) else parse(text, where)
