"""What onnx's checker asks of a call at each version of a domain, as plain tables."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import onnx
from onnx.defs import OpSchema

from irfuzz.spec import load_specs

ONNX = ("", "ai.onnx")
"""Names of the default domain."""

DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview.training", "ai.onnx.preview")
"""Domains with schemas; the first has most of them."""


@dataclass(frozen=True, slots=True)
class CheckerFormal:
    """A formal input or output: its types as ONNX writes them, and what it is called."""

    name: str
    types: tuple[str, ...]
    variable: str
    optional: bool


@dataclass(frozen=True, slots=True)
class CheckerAttribute:
    """A formal attribute; ``words`` are strings that mean something in it."""

    name: str
    type: int
    required: bool
    default: onnx.AttributeProto | None
    words: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckerSchema:
    """What a call of an operator looks like."""

    domain: str
    op: str
    since: int
    inputs: tuple[CheckerFormal, ...]
    outputs: tuple[CheckerFormal, ...]
    least_inputs: int
    most_inputs: int
    least_outputs: int
    most_outputs: int
    attrs: dict[str, CheckerAttribute]
    deprecated: bool


def refused(node: onnx.NodeProto, schema: CheckerSchema | None) -> bool:
    """Whether onnx's checker refuses a call: counts of inputs and outputs, names and types of attributes.

    Args:
        node: the call; only read.
        schema: that holds at the version that the model imports; ``None``, or a deprecated one, refuses every call.

    Returns:
        False says nothing of types and shapes of inputs, at which the checker does not look.
    """
    if schema is None or schema.deprecated:
        return True
    if not schema.least_inputs <= len(node.input) <= schema.most_inputs:
        return True
    if not schema.least_outputs <= len(node.output) <= schema.most_outputs:
        return True
    given = {attr.name: attr.type for attr in node.attribute}
    if any(name not in schema.attrs or schema.attrs[name].type != kind for name, kind in given.items()):
        return True
    if any(attr.required and name not in given for name, attr in schema.attrs.items()):
        return True
    return any(
        not name and not schema.inputs[min(at, len(schema.inputs) - 1)].optional for at, name in enumerate(node.input)
    )


def schema_of(domain: str, op: str, version: int) -> CheckerSchema | None:
    """The schema that holds at a version of its domain.

    Args:
        domain: ``ai.onnx`` and the empty name are the same.
        op: the operator.
        version: that a model imports.

    Returns:
        The newest of at most that version; ``None`` if onnx does not know the operator, or not yet.
    """
    found = _history().get(("" if domain in ONNX else domain, op))
    if found is None:
        return None
    at = bisect_right([since for since, _ in found], version) - 1
    return _schema(found[at][1]) if at >= 0 else None


@cache
def callable_at(domain: str, version: int) -> tuple[str, ...]:
    """Operators that a model may call at a version of a domain, by name.

    Args:
        domain: the empty name stands for ONNX's own operators.
        version: deprecated operators, and those that came later, are left out.
    """
    names = sorted(op for where, op in _history() if where == domain)
    return tuple(op for op in names if (found := schema_of(domain, op, version)) is not None and not found.deprecated)


@cache
def newest(domain: str) -> int:
    """The last version of a domain that onnx knows.

    Of a domain other than ONNX's own it is the last that changed an operator.
    """
    return int(onnx.defs.onnx_opset_version() if domain in ONNX else max(steps(domain)))


@cache
def steps(domain: str) -> tuple[int, ...]:
    """Versions at which an operator of a domain changes, each once for every operator that does, ascending.

    The version before each change and the newest one are among them. A version at which much changes occurs often, so
    that a draw favours it.
    """
    found = [since for (where, _), rows in _history().items() if where == domain for since, _ in rows]
    last = newest(domain) if domain in ONNX else max(found)
    # The last version before a change is where the old rules still hold.
    return tuple(sorted([*found, *(since - 1 for since in found if since > 1), last]))


@cache
def _history() -> dict[tuple[str, str], list[tuple[int, OpSchema]]]:
    table: dict[tuple[str, str], list[tuple[int, OpSchema]]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain in DOMAINS:
            table.setdefault((schema.domain, schema.name), []).append((schema.since_version, schema))
    for rows in table.values():
        rows.sort(key=lambda row: row[0])
        assert all(a[0] < b[0] for a, b in pairwise(rows))
    return table


_made: dict[tuple[str, str, int], CheckerSchema] = {}


def _schema(schema: OpSchema) -> CheckerSchema:
    key = (schema.domain, schema.name, schema.since_version)
    made = _made.get(key)
    if made is None:
        made = _made[key] = CheckerSchema(
            *key,
            tuple(_slot(formal) for formal in schema.inputs),
            tuple(_slot(formal) for formal in schema.outputs),
            schema.min_input,
            schema.max_input,
            schema.min_output,
            schema.max_output,
            {name: _attr(schema, name) for name in schema.attributes},
            schema.deprecated,
        )
    return made


def _slot(formal: Any) -> CheckerFormal:
    optional = formal.option == OpSchema.FormalParameterOption.Optional
    return CheckerFormal(formal.name, tuple(sorted(formal.types)), formal.type_str, optional)


def _attr(schema: OpSchema, name: str) -> CheckerAttribute:
    formal: Any = schema.attributes[name]
    default = formal.default_value if formal.default_value.name else None
    kind = int(formal.type.value)
    words: tuple[bytes, ...] = ()
    if formal.type.name in ("STRING", "STRINGS"):
        spec = load_specs().get(schema.name, max(schema.since_version, 1), schema.domain)
        domain = spec.attrs[name].domain if spec is not None and name in spec.attrs else None
        known = (domain.one_of or domain.pick or ()) if domain is not None else ()
        words = tuple(word.encode() for word in known if isinstance(word, str))
    return CheckerAttribute(name, kind, formal.required, default, words)
