"""ONNX's schemas and the overlays of ``ops/`` enter, one ``OpSpec`` for each operator version leaves."""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import onnx
import onnx.defs
import onnx_ir as ir

from irfuzz.errors import SpecError
from irfuzz.resources import ops_dir
from irfuzz.spec.overlay import (
    OverlayFile,
    build_domain,
    build_numerics,
    build_overlay,
    build_portable,
    build_undefined,
    overlay_files,
)
from irfuzz.spec.traits import CONTRIBUTED, TRAITS
from irfuzz.spec.types import AttrSpec, Domain, Formal, OpSpec, Overlay


class Specs:
    """All operators of the installed onnx, with the overlays of one folder.

    Overlays are read at once and compiled when first asked for.
    """

    def __init__(self, folder: Path | None) -> None:
        self._files: dict[tuple[str, str], OverlayFile] = {}
        for file in overlay_files(folder) if folder else ():
            self._files[file.domain, file.op] = file
        self._schemas: dict[tuple[str, str], dict[int, Any]] = {}
        for schema in onnx.defs.get_all_schemas_with_history():
            self._schemas.setdefault((schema.domain, schema.name), {})[schema.since_version] = schema
        self._versions = {key: sorted(found) for key, found in self._schemas.items()}
        for (domain, op), file in self._files.items():
            if (domain, op) not in self._schemas:
                raise SpecError(f"{file.name}: onnx {onnx.__version__} has no operator {domain or 'ai.onnx'}.{op}")
            for version in file.versions:
                if version["since"] not in self._schemas[domain, op]:
                    raise SpecError(
                        f"{file.name}: {op} has no version {version['since']}; it has {self._versions[domain, op]}"
                    )
            _check_names(file, [self._schemas[domain, op][v] for v in self._versions[domain, op] if v >= file.since])
        self._traits: dict[str, dict[str, Any]] = {n: dict.fromkeys(CONTRIBUTED.get(n, ()), True) for n in TRAITS}
        for (_, op), file in self._files.items():
            for name, value in file.traits.items():
                self._traits[name][op] = value
        self._specs: dict[tuple[str, str, int], OpSpec] = {}
        self._applying: dict[tuple[str, int, str], OpSpec | None] = {}

    def get(self, op: str, opset: int, domain: str = "") -> OpSpec | None:
        """The version of ``op`` that applies at ``opset`` of its domain; ``None`` where onnx knows none."""
        key = (op, opset, domain)
        try:
            return self._applying[key]
        except KeyError:
            domain = "" if domain == "ai.onnx" else domain
            versions = self._versions.get((domain, op), ())
            i = bisect_right(versions, opset)
            spec = self.version(op, versions[i - 1], domain) if i else None
            if versions:  # names of other operators come from models, without end
                self._applying[key] = spec
            return spec

    def version(self, op: str, since: int, domain: str = "") -> OpSpec:
        """The spec of one operator version. Raises ``KeyError`` where it does not exist."""
        key = (domain, op, since)
        spec = self._specs.get(key)
        if spec is None:
            spec = self._specs[key] = _build(self._schemas[domain, op][since], self._files.get((domain, op)))
        return spec

    def overlaid(self, opset: int) -> tuple[OpSpec, ...]:
        """Operators on dense tensors with an overlay at ``opset``, by name: those of which calls are drawn."""
        return tuple(spec for spec in self._sampled(opset) if spec.is_dense)

    def nested(self, opset: int) -> tuple[OpSpec, ...]:
        """The same for those that take or give nothing but sequences or optionals somewhere."""
        return tuple(spec for spec in self._sampled(opset) if not spec.is_dense)

    def _sampled(self, opset: int) -> Iterator[OpSpec]:
        for domain, op in sorted(self._files):
            spec = self.get(op, opset, domain)
            if spec is not None and spec.is_sampled:
                yield spec

    def all(self) -> Iterator[OpSpec]:
        """Every version of every operator, by domain, name and version."""
        for domain, op in sorted(self._versions):
            for since in self._versions[domain, op]:
                yield self.version(op, since, domain)

    def trait(self, name: str) -> Mapping[str, Any]:
        """The operators of any domain that have a trait, and the value that each gives it.

        Raises:
            KeyError: no trait is called so.
        """
        return self._traits[name]

    def versions(self, op: str, domain: str = "") -> tuple[int, ...]:
        """The versions of an operator, rising; empty where onnx knows none."""
        return tuple(self._versions.get((domain, op), ()))


@functools.cache
def load_specs() -> Specs:
    """The specs of the installed onnx and the shipped overlays.

    Raises:
        SpecError: a file under ``ops/`` is wrong.
        InternalError: the installation lacks ``ops/``.
    """
    return Specs(ops_dir())


def has_trait(node: ir.Node | onnx.NodeProto, name: str) -> bool:
    """Whether the shipped overlays give a node's operator a trait, whatever its domain is.

    Raises:
        KeyError: no trait is called so.
    """
    return node.op_type in trait_values(name)


@functools.cache
def with_trait(name: str) -> frozenset[str]:
    """The operators that have a trait, to be joined with others or asked often. Raises ``KeyError`` as above."""
    return frozenset(trait_values(name))


@functools.cache
def trait_values(name: str) -> Mapping[str, Any]:
    """The operators that have a trait, and the value that each gives it. Raises ``KeyError`` as above."""
    return MappingProxyType(load_specs().trait(name))


def names_input(name: str, op: str, index: int) -> bool:
    """Whether a trait of an operator lists an input; an empty list names all. Raises ``KeyError`` as above."""
    positions = trait_values(name).get(op)
    return positions is not None and (not positions or index in positions)


@functools.cache
def in_order(name: str) -> tuple[str, ...]:
    """The operators that have a trait, by the number that they give it. Raises ``KeyError`` as above."""
    return tuple(sorted(with_trait(name), key=trait_values(name).__getitem__))


def _check_names(file: OverlayFile, schemas: list[Any]) -> None:
    """Names in a file's tables must exist in at least one version of the operator."""
    inputs = {i.name for s in schemas for i in s.inputs}
    attrs = {a for s in schemas for a in s.attributes}
    for tables in [file.tables, *file.versions]:
        for key, known in (("dims", inputs), ("values", inputs), ("attrs", attrs), ("shapes", inputs)):
            for name in tables.get(key, {}):
                if name not in known:
                    raise SpecError(
                        f"{file.name}: {key}.{name}: {file.op} has no such name; it has {', '.join(sorted(known))}"
                    )
        for name in tables.get("parameters", []) or []:
            if name not in inputs:
                raise SpecError(f"{file.name}: parameters: {file.op} has no input {name!r}")


def _formal(f: Any) -> Formal:
    types = frozenset(cast("set[str]", f.types))
    found = [m for t in types if (m := _TENSORS.fullmatch(t))]
    dtypes = frozenset(ir.DataType[m["dtype"].upper()] for m in found)
    kinds = frozenset(m["outer"].partition("(")[0] or "tensor" for m in found)
    option = {"Single": "single", "Optional": "optional", "Variadic": "variadic"}[f.option.name]
    return Formal(f.name, option, types, f.type_str, dtypes, f.is_homogeneous, f.min_arity, kinds)


_TENSORS = re.compile(r"(?P<outer>(?:(?:optional|seq)\()*)tensor\((?P<dtype>\w+)\)+")
"""A dense tensor, a sequence of them, or an optional of either."""


def _default(attribute: Any) -> Any:
    if not attribute.default_value.name:
        return None
    value = onnx.helper.get_attribute_value(attribute.default_value)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list):
        return tuple(v.decode() if isinstance(v, bytes) else v for v in value)
    return value


def _build(schema: Any, file: OverlayFile | None) -> OpSpec:
    inputs = tuple(_formal(i) for i in schema.inputs)
    outputs = tuple(_formal(o) for o in schema.outputs)
    variables = {t.type_param_str for t in schema.type_constraints}
    type_vars: dict[str, frozenset[ir.DataType]] = {}
    for f in (*inputs, *outputs):
        if f.type_str in variables and (f.homogeneous or f.option != "variadic"):
            type_vars.setdefault(f.type_str, f.dtypes)
    common: dict[str, Any] = {
        "op": schema.name,
        "domain": schema.domain,
        "since": schema.since_version,
        "deprecated": schema.deprecated,
        "inputs": inputs,
        "outputs": outputs,
        "min_inputs": schema.min_input,
        "max_inputs": schema.max_input,
        "type_vars": type_vars,
        "traits": file.traits if file else {},
    }
    tables = file.tables_for(schema.since_version) if file else None
    domains: dict[str, Domain] = {}
    if file is None or tables is None:
        return OpSpec(**common, attrs=_attributes(schema, domains))
    where = f"{file.name} (version {schema.since_version})"
    for name, table in tables.get("attrs", {}).items():
        if name in schema.attributes:
            domains[name] = build_domain(table, f"{where}: attrs.{name}")
    names = {i.name for i in inputs}
    constants: dict[str, Domain] = {}
    for key in ("attrs", "values"):
        for name, table in tables.get(key, {}).items():
            if name not in schema.attributes and name not in names and "absent" in table:
                constants[name] = build_domain({"absent": table["absent"]}, f"{where}: {key}.{name}")
    tables["dims"] = {k: v for k, v in tables.get("dims", {}).items() if k in names}
    tables["values"] = {k: v for k, v in tables.get("values", {}).items() if k in names}
    overlay = build_overlay(file, tables, schema.since_version, constants)
    attrs = _attributes(schema, domains)
    portable, excepted = build_portable(tables, schema.since_version, where)
    _check_namespace(overlay, attrs, names, type_vars, where)
    return OpSpec(
        **common,
        attrs=attrs,
        overlay=overlay,
        numerics=build_numerics(tables, where),
        undefined=build_undefined(tables, where),
        parameters=tuple(n for n in tables.get("parameters", []) if n in names),
        portable=portable,
        portable_except=excepted,
    )


def _attributes(schema: Any, domains: Mapping[str, Domain]) -> dict[str, AttrSpec]:
    # the schema's order is alphabetical; the overlay's comes first because sampling follows it
    order = [*domains, *(n for n in sorted(schema.attributes) if n not in domains)]
    return {
        n: AttrSpec(
            n,
            schema.attributes[n].type.name,
            schema.attributes[n].required,
            _default(schema.attributes[n]),
            domains.get(n),
        )
        for n in order
    }


def _check_namespace(
    overlay: Overlay, attrs: Mapping[str, Any], inputs: set[str], types: Mapping[str, Any], where: str
) -> None:
    """Attributes, sizes, known input values and type variables share one namespace in expressions."""
    sizes = {n for alternatives in overlay.patterns.values() for _, p in alternatives for n in p.binds}
    spread = _clash({"an input": inputs, "a type variable": set(types)})
    spread = (
        spread
        or _clash({"a size": sizes, "an input": inputs})
        or _clash({"a size": sizes, "a type variable": set(types)})
    )
    spread = spread or _clash({"an attribute": set(attrs), "an input": inputs})
    if spread:
        raise SpecError(f"{where}: {spread}")


def _clash(groups: dict[str, set[str]]) -> str:
    (a, left), (b, right) = groups.items()
    both = sorted(left & right)
    return f"{both[0]!r} is {a} and {b}; rename the size" if both else ""
