"""What an operator takes and gives: stated by onnx, a file exported from a runtime, or the operator's TOML file."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import onnx
import onnx.defs
import onnx_ir as ir

from irfuzz.errors import SpecError
from irfuzz.spec.operator_spec import AttrSpec, FormalParameter

EXPORT_VERSION = 1
"""Version of the format of ``schemas.json``."""

UNBOUNDED = 2**31 - 1
"""Most inputs of an operator whose last input is variadic."""

_OPTIONS = {"Single": "single", "Optional": "optional", "Variadic": "variadic"}


@dataclass(frozen=True, slots=True)
class Signature:
    """The formal part of one version of an operator.

    Attributes:
        variables: names of its type variables.
        attrs: by name, without the domains of their values.
    """

    op: str
    domain: str
    since: int
    deprecated: bool
    inputs: tuple[FormalParameter, ...]
    outputs: tuple[FormalParameter, ...]
    min_inputs: int
    max_inputs: int
    variables: frozenset[str]
    attrs: Mapping[str, AttrSpec]


Stated: TypeAlias = "onnx.defs.OpSchema | Signature"
"""A schema of onnx, of which a signature is made when it is asked for, or a signature."""


@functools.cache
def onnx_schemas() -> Mapping[str, Mapping[str, Mapping[int, Stated]]]:
    """The schemas of the installed onnx by domain, operator and version (``since_version``), read once."""
    found: dict[str, dict[str, dict[int, Stated]]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        found.setdefault(schema.domain, {}).setdefault(schema.name, {})[schema.since_version] = schema
    return found


def signature_of(stated: Stated) -> Signature:
    """The signature of a schema of onnx; a signature is given back as it is."""
    if isinstance(stated, Signature):
        return stated
    schema: Any = stated
    return Signature(
        op=schema.name,
        domain=schema.domain,
        since=schema.since_version,
        deprecated=schema.deprecated,
        inputs=tuple(_of_onnx(i) for i in schema.inputs),
        outputs=tuple(_of_onnx(o) for o in schema.outputs),
        min_inputs=schema.min_input,
        max_inputs=schema.max_input,
        variables=frozenset(t.type_param_str for t in schema.type_constraints),
        attrs={n: AttrSpec(n, a.type.name, a.required, _default(a)) for n, a in schema.attributes.items()},
    )


def names_in(versions: Iterable[Stated], kind: str) -> frozenset[str]:
    """Names of the ``inputs``, ``outputs`` or ``attributes`` of some versions; quicker than by ``signature_of``.

    Args:
        versions: schemas or signatures.
        kind: one of the three words.
    """
    if kind == "attributes":
        return frozenset(n for s in versions for n in (s.attrs if isinstance(s, Signature) else s.attributes))
    return frozenset(formal.name for stated in versions for formal in getattr(stated, kind))


def exported(path: Path, domain: str) -> dict[str, dict[int, Stated]]:
    """Signatures of a domain from a file ``schemas.json`` (``tests/spec/export_schemas.py``), by operator and version.

    Args:
        path: the file.
        domain: must be the one that the file names.

    Raises:
        SpecError: it cannot be read, or is of another format or domain.
    """
    where = f"{path.parent.name}/{path.name}"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise SpecError(f"{where}: {error}") from None
    got = (data.get("format"), data.get("domain")) if isinstance(data, dict) else None
    if got != (EXPORT_VERSION, domain):
        raise SpecError(f"{where}: expected format {EXPORT_VERSION} of domain {domain!r}, got {got}; export it again")
    found: dict[str, dict[int, Stated]] = {}
    for table in data["operators"]:
        signature = of_table(table["op"], domain, table, f"{where}: {table['op']}")
        found.setdefault(signature.op, {})[signature.since] = signature
    return found


def of_table(op: str, domain: str, table: Mapping[str, Any], where: str) -> Signature:
    """A signature from a table ``[schema]``, or an operator of a ``schemas.json``.

    Raises:
        SpecError: a key is unknown, an input or output has no name or type, or a type is none of ONNX's.
    """
    for key in table:
        if key not in _KEYS:
            raise SpecError(f"{where}: unknown key {key!r}; known are {', '.join(sorted(_KEYS))}")
    types: Mapping[str, list[str]] = table.get("types", {})
    inputs, outputs = (
        tuple(_formal(f, types, f"{where}.{key}[{i}]") for i, f in enumerate(table.get(key, ())))
        for key in ("inputs", "outputs")
    )
    if not outputs:
        raise SpecError(f"{where}: an operator has at least one output")
    variadic = bool(inputs) and inputs[-1].option == "variadic"
    required = [i for i, f in enumerate(inputs) if f.option == "single"]
    least = len(inputs) - 1 + max(inputs[-1].least, 0) if variadic else max(required, default=-1) + 1
    return Signature(
        op=op,
        domain=domain,
        since=int(table.get("since", 1)),
        deprecated=bool(table.get("deprecated", False)),
        inputs=inputs,
        outputs=outputs,
        min_inputs=int(table.get("min_inputs", least)),
        max_inputs=UNBOUNDED if variadic else len(inputs),
        variables=frozenset(types),
        attrs={n: _attribute(n, a, f"{where}.attributes.{n}") for n, a in table.get("attributes", {}).items()},
    )


_KEYS = frozenset({"op", "since", "deprecated", "inputs", "outputs", "types", "attributes", "min_inputs", "kernels"})


def _formal(table: Any, types: Mapping[str, list[str]], where: str) -> FormalParameter:
    if not isinstance(table, dict) or not {"name", "type"} <= table.keys() <= {
        "name",
        "type",
        "option",
        "each_own",
        "least",
    }:
        raise SpecError(f"{where}: expected a table such as {{ name = 'X', type = 'T' }}, got {table!r}")
    option = table.get("option", "single")
    if option not in _OPTIONS.values():
        raise SpecError(f"{where}: option: expected one of {', '.join(_OPTIONS.values())}, got {option!r}")
    kind = table["type"]
    return _made(
        table["name"],
        option,
        frozenset(types.get(kind, [kind])),
        kind,
        not table.get("each_own"),
        int(table.get("least", 1)),
        where,
    )


def _of_onnx(f: Any) -> FormalParameter:
    types = frozenset(cast("set[str]", f.types))
    return _made(f.name, _OPTIONS[f.option.name], types, f.type_str, f.is_homogeneous, f.min_arity, "")


def _made(
    name: str, option: str, types: frozenset[str], variable: str, homogeneous: bool, least: int, where: str
) -> FormalParameter:
    found = [m for t in types if (m := _TENSORS.fullmatch(t))]
    try:
        dtypes = frozenset(ir.DataType[m["dtype"].upper()] for m in found)
    except KeyError as error:
        raise SpecError(f"{where}: {error.args[0].lower()!r} is not an element type of ONNX") from None
    kinds = frozenset(m["outer"].partition("(")[0] or "tensor" for m in found)
    return FormalParameter(name, option, types, variable, dtypes, homogeneous, least, kinds)


_TENSORS = re.compile(r"(?P<outer>(?:(?:optional|seq)\()*)tensor\((?P<dtype>\w+)\)+")
"""A dense tensor, a sequence of them, or an optional of either."""


def _attribute(name: str, table: Any, where: str) -> AttrSpec:
    if not isinstance(table, dict) or table.get("type") not in _ATTRIBUTES:
        raise SpecError(f"{where}: expected a table such as {{ type = 'FLOAT', default = 1.0 }}, got {table!r}")
    default = table.get("default")
    default = tuple(default) if isinstance(default, list) else default
    return AttrSpec(name, table["type"], bool(table.get("required", False)), default)


_ATTRIBUTES = frozenset(kind.name for kind in ir.AttributeType) - {"UNDEFINED"}


def _default(attribute: Any) -> Any:
    if not attribute.default_value.name:
        return None
    value = onnx.helper.get_attribute_value(attribute.default_value)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list):
        return tuple(v.decode() if isinstance(v, bytes) else v for v in value)
    return value
