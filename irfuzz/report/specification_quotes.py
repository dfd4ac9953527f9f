"""Quotes the sections of ONNX's specification that say what a small model computes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import onnx
from onnx import defs

from irfuzz.errors import UsageError
from irfuzz.shipped_folders import ops_dir
from irfuzz.spec import with_trait

PAGE = "https://onnx.ai/onnx/operators/onnx__{}.html"
MOST = 3
"""Operators whose sections are named, and quotations of each."""

_QUOTE = re.compile(r'"(?P<text>[^"\n]{8,300})" \((?P<op>\w+)-(?P<since>\d+)(?:, (?P<part>[^)]*))?\)')
_SENTENCE = re.compile(r"(?<=[.:])\s")


@dataclass(frozen=True, slots=True)
class SpecSection:
    """Where an operator is specified.

    Attributes:
        name: operator and version, ``MaxPool-12``.
        link: page of ONNX's documentation.
        quotes: what is said there of what the model uses.
    """

    name: str
    link: str
    quotes: tuple[str, ...]


def sections_of(model: onnx.ModelProto) -> list[SpecSection]:
    """The sections of a model's operators, those that carry values alone left out if there are others.

    At most ``MOST`` operators are named, in the order of the model's nodes, each with a few quotations about it and the
    attributes that are set. Operators of other domains, and those that ONNX does not know at the model's opset, are
    left out.
    """
    opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0)
    nodes = [n for n in model.graph.node if n.domain in ("", "ai.onnx")]
    plain = with_trait("transparent") | with_trait("incidental") | with_trait("shape_only")
    chosen = [n for n in nodes if n.op_type not in plain] or nodes
    by_op: dict[str, set[str]] = {}
    for node in chosen:
        by_op.setdefault(node.op_type, set()).update(a.name for a in node.attribute)
    return [s for op, attributes in list(by_op.items())[:MOST] for s in _section(op, opset, attributes)]


def _section(op: str, opset: int, attributes: set[str]) -> Iterator[SpecSection]:
    try:
        schema = defs.get_schema(op, opset, "")
    except defs.SchemaError:
        return
    said = [
        f"{part}: {_short(schema.attributes[part].description)}"
        for part in sorted(attributes)
        if part in schema.attributes
    ]
    noted = [
        f"{part}: {text}" if part else text
        for text, since, part in _noted(op)
        if since <= schema.since_version and (not part or part in attributes or part in ("description", "inputs"))
    ]
    about = _short(re.sub(r"\s+", " ", schema.doc or "").strip())
    quotes = [q for q in dict.fromkeys([about, *noted, *said]) if q]
    yield SpecSection(f"{op}-{schema.since_version}", PAGE.format(op), tuple(quotes[: MOST + len(said)]))


def _short(text: str) -> str:
    """The first sentence."""
    flat = " ".join(text.split())
    return _SENTENCE.split(flat, maxsplit=1)[0][:300] if flat else ""


@cache
def _noted(op: str) -> tuple[tuple[str, int, str], ...]:
    """What ``ops/`` quotes of an operator's specification: text, version and the part that it is about."""
    try:
        lines = (ops_dir() / "ai.onnx" / f"{op}.toml").read_text().splitlines()
    except (OSError, UsageError):
        return ()
    comments = [line.strip() for line in lines if line.strip().startswith("#")]
    found = [m for line in comments for m in _QUOTE.finditer(line) if m["op"] == op]
    return tuple((m["text"], int(m["since"]), m["part"] or "") for m in found)
