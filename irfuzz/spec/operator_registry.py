"""Finds operators by domain, operator and version; signatures and overlays are joined into one ``OpSpec`` each."""

from __future__ import annotations

import functools
import os
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import onnx
import onnx_ir as ir

from irfuzz.errors import SpecError, UsageError
from irfuzz.shipped_folders import ops_dir
from irfuzz.spec.constraints.attribute_value_type_check import check_domain
from irfuzz.spec.operator_signatures import Signature, Stated, exported, names_in, of_table, onnx_schemas, signature_of
from irfuzz.spec.operator_spec import AttrSpec, OpSpec, Overlay, ValueDomain, full_name
from irfuzz.spec.operator_traits import RUNTIME, TRAITS
from irfuzz.spec.overlay_reader import (
    OverlayFile,
    build_domain,
    build_numerics,
    build_overlay,
    build_portable,
    build_undefined,
    overlay_files,
    plain_domain,
)

FOLDERS = "IRFUZZ_OPS"
"""Environment variable with folders of overlays of one's own, separated as in ``PATH``."""

SCHEMAS = "schemas.json"
"""File of a domain's folder with the schemas that a runtime has and onnx lacks."""


class _Table:
    """One domain: its overlay files, and what is stated of each version of its operators.

    Raises:
        SpecError: a file is wrong, contradicts a schema, or is of an operator without one.
    """

    def __init__(self, domain: str, folders: tuple[Path, ...]) -> None:
        self.files: dict[str, OverlayFile] = {}
        stated: dict[str, Mapping[int, Stated]] = dict(onnx_schemas().get(domain, {}))
        for folder in folders:
            for file in overlay_files(folder, domain):
                self.files[file.op] = file
            if (path := folder / domain / SCHEMAS).is_file() and domain:
                stated.update(exported(path, domain))
        for op, file in self.files.items():
            if (own := file.tables.get("schema")) is not None:
                stated[op] = _own(file, own, stated)
            elif op not in stated:
                raise SpecError(
                    f"{file.name}: onnx {onnx.__version__} has no operator {domain or 'ai.onnx'}.{op}; "
                    "state what it takes and gives in a table [schema]"
                )
        self.stated: Mapping[str, Mapping[int, Stated]] = stated
        self.versions = {op: sorted(found) for op, found in stated.items()}
        for op, file in self.files.items():
            for version in file.versions:
                if version["since"] not in stated[op]:
                    raise SpecError(f"{file.name}: {op} has no version {version['since']}; it has {self.versions[op]}")
            _check_names(file, [stated[op][v] for v in self.versions[op] if v >= file.since])


class Specs:
    """All operators that are known: of the installed onnx, of ``schemas.json`` files, and of overlays with a schema.

    A domain is read when it is first asked for, and a version of an operator compiled then.

    Args:
        folders: each with ``DOMAIN/OP.toml``, ``DOMAIN/schemas.json`` and, of any domain, ``OP.toml``; a later one
            replaces the files of an earlier one.
    """

    def __init__(self, *folders: Path) -> None:
        self._folders = folders
        self._tables: dict[str, _Table] = {}
        self._specs: dict[tuple[str, str, int], OpSpec] = {}
        self._applying: dict[tuple[str, int, str], OpSpec | None] = {}
        self._table("")

    def _table(self, domain: str) -> _Table:
        table = self._tables.get(domain)
        if table is None:
            table = self._tables[domain] = _Table(domain, self._folders)
        return table

    def get(self, op: str, opset: int, domain: str = "") -> OpSpec | None:
        """The version of ``op`` that applies at ``opset`` of its domain; ``None`` if nobody states one.

        Args:
            op: operator type.
            opset: version of the domain that a model imports: the newest operator version up to it applies.
            domain: ``""`` or ``"ai.onnx"`` for the default one.

        Returns:
            The spec, also of a version that is deprecated.
        """
        key = (op, opset, domain)
        try:
            return self._applying[key]
        except KeyError:
            domain = plain_domain(domain)
            if domain not in self.domains:
                return None  # names come from models, without end
            versions = self._table(domain).versions.get(op, ())
            i = bisect_right(versions, opset)
            spec = self.version(op, versions[i - 1], domain) if i else None
            if versions:
                self._applying[key] = spec
            return spec

    def version(self, op: str, since: int, domain: str = "") -> OpSpec:
        """The spec of one operator version, compiled at the first call.

        Args:
            op: operator type.
            since: the very version, as ``versions`` lists it.
            domain: ``""`` for the default one.

        Raises:
            KeyError: it does not exist.
        """
        key = (domain, op, since)
        spec = self._specs.get(key)
        if spec is None:
            table = self._table(domain)
            spec = self._specs[key] = _build(signature_of(table.stated[op][since]), table.files.get(op))
        return spec

    @functools.cached_property
    def domains(self) -> tuple[str, ...]:
        """All domains with an operator, the default one (``""``) first, the others by name."""
        own = {file.domain for folder in self._folders for file in overlay_files(folder, None)}
        folders = {plain_domain(p.name) for folder in self._folders for p in folder.iterdir() if p.is_dir()}
        return tuple(sorted({*onnx_schemas(), *own, *folders}))

    def newest(self, domain: str) -> int:
        """The newest version of a domain: of its operators, or of ONNX's opset.

        Args:
            domain: ``""`` for ONNX's; the opset is that of the installed onnx.
        """
        if not domain:
            return onnx.defs.onnx_opset_version()
        return max(versions[-1] for versions in self._table(domain).versions.values())

    def overlaid(self, opset: int, domain: str = "") -> tuple[OpSpec, ...]:
        """Operators on dense tensors with an overlay at ``opset``, by name: those of which calls are drawn.

        Args:
            opset: version of the domain.
            domain: ``""`` for the default one.
        """
        return tuple(spec for spec in self._sampled(opset, domain) if spec.is_dense)

    def nested(self, opset: int, domain: str = "") -> tuple[OpSpec, ...]:
        """The same as ``overlaid`` for those that take or give nothing but sequences or optionals somewhere."""
        return tuple(spec for spec in self._sampled(opset, domain) if not spec.is_dense)

    def _sampled(self, opset: int, domain: str) -> Iterator[OpSpec]:
        for op in sorted(self._table(domain).files):
            spec = self.get(op, opset, domain)
            if spec is not None and spec.is_sampled:
                yield spec

    def all(self, domain: str | None = None) -> Iterator[OpSpec]:
        """Every version of every operator, by domain, name and version; of one domain only if it is given."""
        for one in self.domains if domain is None else (plain_domain(domain),):
            versions = self._table(one).versions
            for op in sorted(versions):
                for since in versions[op]:
                    yield self.version(op, since, one)

    def trait(self, name: str, domain: str = "") -> Mapping[str, Any]:
        """The operators of a domain that have a trait, and the value that each gives it.

        Raises:
            KeyError: no trait is called so.
        """
        if name not in TRAITS:
            raise KeyError(name)
        domain = plain_domain(domain)
        files = self._table(domain).files if domain in self.domains else {}
        return {op: file.traits[name] for op, file in files.items() if name in file.traits}

    def versions(self, op: str, domain: str = "") -> tuple[int, ...]:
        """The versions of an operator, rising; empty if nobody states one. Deprecated ones are among them."""
        return tuple(self._table(domain).versions.get(op, ())) if domain in self.domains else ()


@functools.cache
def load_specs() -> Specs:
    """The specs of the installed onnx, the shipped overlays and those in the folders that ``IRFUZZ_OPS`` names.

    Raises:
        SpecError: a file under ``ops/`` is wrong.
        UsageError: ``IRFUZZ_OPS`` names no folder.
        InternalError: the installation lacks ``ops/``.
    """
    own = [Path(name) for name in os.environ.get(FOLDERS, "").split(os.pathsep) if name]
    for folder in own:
        if not folder.is_dir():
            raise UsageError(f"{FOLDERS}: expected folders of TOML files, got {str(folder)!r}, which is none")
    return Specs(ops_dir(), *own)


def has_trait(node: ir.Node | onnx.NodeProto, name: str) -> bool:
    """Whether overlays give a node's operator a trait.

    Args:
        node: of either IR; its domain counts.
        name: of the trait, one of ``TRAITS``.

    Raises:
        KeyError: no trait is called so.
    """
    return node.op_type in trait_values(name, node.domain)


@functools.cache
def with_trait(name: str) -> frozenset[str]:
    """The operators that have a trait, to be joined with others or asked often.

    Those of the default domain, and of onnxruntime's if they are called otherwise.

    Args:
        name: of the trait.

    Raises:
        KeyError: no trait is called so.
    """
    others = (op for op in trait_values(name, RUNTIME) if not load_specs().versions(op))
    return frozenset(trait_values(name)).union(others)


@functools.lru_cache(maxsize=1024)
def trait_values(name: str, domain: str = "") -> Mapping[str, Any]:
    """The operators of a domain that have a trait, with its values; read only.

    Args:
        name: of the trait.
        domain: ``""`` for the default one.

    Raises:
        KeyError: no trait is called so.
    """
    return MappingProxyType(load_specs().trait(name, domain))


def names_input(name: str, op: str, index: int) -> bool:
    """Whether a trait of an operator lists an input; an empty list names all.

    Args:
        name: of a trait that takes a list of positions.
        op: of the default domain; false if it does not have the trait.
        index: position of the input.

    Raises:
        KeyError: no trait is called so.
    """
    positions = trait_values(name).get(op)
    return positions is not None and (not positions or index in positions)


@functools.cache
def in_order(name: str) -> tuple[str, ...]:
    """The operators of the default domain that have a trait, by the number that they give it, the least first.

    Raises:
        KeyError: no trait is called so.
    """
    return tuple(sorted(trait_values(name), key=trait_values(name).__getitem__))


def _own(file: OverlayFile, table: Any, stated: Mapping[str, Any]) -> dict[int, Stated]:
    """What an overlay itself states of its operator."""
    where = f"{file.name}: schema"
    if file.op in stated:
        raise SpecError(f"{where}: {file.domain or 'ai.onnx'}.{file.op} has a schema already; leave the table out")
    if not isinstance(table, dict):
        raise SpecError(f"{where}: expected a table, got {table!r}")
    signature = of_table(file.op, file.domain, {"since": file.since, **table}, where)
    return {signature.since: signature}


def _check_names(file: OverlayFile, versions: list[Stated]) -> None:
    """Names in a file's tables must exist in at least one version of the operator."""
    known = {kind: names_in(versions, kind) for kind in ("inputs", "attributes")}
    for tables in [file.tables, *file.versions]:
        if "results" in tables:
            known["outputs"] = names_in(versions, "outputs")
        for key, kind in _NAMED.items():
            for name in tables.get(key, {}):
                if name not in known[kind]:
                    has = ", ".join(sorted(known[kind]))
                    raise SpecError(f"{file.name}: {key}.{name}: {file.op} has no such name; it has {has}")
        for name in tables.get("parameters", []) or []:
            if name not in known["inputs"]:
                raise SpecError(f"{file.name}: parameters: {file.op} has no input {name!r}")


_NAMED = {"dims": "inputs", "values": "inputs", "attrs": "attributes", "shapes": "inputs", "results": "outputs"}
"""Tables of an overlay whose keys are names of its operator."""


def _build(signature: Signature, file: OverlayFile | None) -> OpSpec:
    type_vars: dict[str, frozenset[ir.DataType]] = {}
    for f in (*signature.inputs, *signature.outputs):
        if f.type_str in signature.variables and (f.homogeneous or f.option != "variadic"):
            type_vars.setdefault(f.type_str, f.dtypes)
    common: dict[str, Any] = {
        "op": signature.op,
        "domain": signature.domain,
        "name": full_name(signature.domain, signature.op),
        "since": signature.since,
        "deprecated": signature.deprecated,
        "inputs": signature.inputs,
        "outputs": signature.outputs,
        "min_inputs": signature.min_inputs,
        "max_inputs": signature.max_inputs,
        "type_vars": type_vars,
        "traits": file.traits if file else {},
    }
    tables = file.tables_for(signature.since) if file else None
    domains: dict[str, ValueDomain] = {}
    if file is None or tables is None:
        return OpSpec(**common, attrs=_attributes(signature, domains))
    where = f"{file.name} (version {signature.since})"
    for name, table in tables.get("attrs", {}).items():
        if name in signature.attrs:
            domains[name] = build_domain(table, f"{where}: attrs.{name}")
            check_domain(domains[name], signature.attrs[name].type, f"{where}: attrs.{name}")
    names = {i.name for i in signature.inputs}
    constants: dict[str, ValueDomain] = {}
    for key in ("attrs", "values"):
        for name, table in tables.get(key, {}).items():
            if name not in signature.attrs and name not in names and "absent" in table:
                constants[name] = build_domain({"absent": table["absent"]}, f"{where}: {key}.{name}")
    for key, known in (("dims", names), ("values", names), ("results", {o.name for o in signature.outputs})):
        tables[key] = {k: v for k, v in tables.get(key, {}).items() if k in known}
    overlay = build_overlay(file, tables, signature.since, constants)
    attrs = _attributes(signature, domains)
    portable, excepted = build_portable(tables, signature.since, where)
    if "schema" in file.tables and not portable:  # who states the types of an operator means those that run
        portable = {variable: tuple(sorted(dtypes)) for variable, dtypes in type_vars.items()}
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


def _attributes(signature: Signature, domains: Mapping[str, ValueDomain]) -> dict[str, AttrSpec]:
    # the schema's order is alphabetical; the overlay's comes first because sampling follows it
    order = [*domains, *(n for n in sorted(signature.attrs) if n not in domains)]
    return {n: replace(signature.attrs[n], domain=domains.get(n)) for n in order}


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
