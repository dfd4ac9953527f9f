"""Reads the files ``ops/DOMAIN/OP.toml`` and builds the overlay of each operator version from their tables."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import onnx_ir as ir

from irfuzz.errors import SpecError
from irfuzz.spec.constraints.dimension_patterns import parse_pattern
from irfuzz.spec.constraints.expression import Expression, parse
from irfuzz.spec.operator_spec import GeneratorCall, Numerics, Overlay, Patterns, UndefinedBehaviour, ValueDomain
from irfuzz.spec.operator_traits import build_traits
from irfuzz.spec.sampling.parameter_generators import parse_generate

_TOP = frozenset({
    "op", "domain", "doc", "since", "parameters", "dims", "attrs", "values", "sizes", "shapes", "require", "prefer",
    "open", "inputs", "outputs", "results", "schema", "numerics", "undefined", "portable", "sampled", "traits",
    "version",
})  # fmt: skip
_VERSIONED = _TOP - {"op", "domain", "version", "portable", "schema", "traits"}
_DOMAIN = frozenset({
    "one_of", "pick", "range", "each", "len", "value", "generate", "dtype_of", "absent", "when", "omit", "exact",
    "integer_range", "at_least", "at_most", "invalid",
})  # fmt: skip
_KINDS = ("exact", "elementwise", "reduction", "transcendental", "quantised")


class OverlayFile:
    """A parsed file: its tables, and the merge of them for one operator version.

    Attributes:
        path: the file. Errors name it with the folder of its domain.
        domain: of the folder that the file lies in, else (``in_domain`` is ``None``) of its key ``domain``.
    """

    def __init__(self, path: Path, in_domain: str | None = None) -> None:
        self.path = path
        self.name = path.name if in_domain is None else f"{path.parent.name}/{path.name}"
        try:
            self.tables: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as e:
            raise SpecError(f"{self.name}: {e}") from None
        _known(self.tables, _TOP, self.name)
        self.op = _text(self.tables, "op", self.name)
        self.domain = plain_domain(self.tables.get("domain", in_domain or ""))
        if in_domain is not None and self.domain != in_domain:
            raise SpecError(f"{self.name}: domain is {self.domain!r}, but the folder's name says {path.parent.name!r}")
        self.doc = _text(self.tables, "doc", self.name)
        self.traits = build_traits(self.tables, self.name)
        if self.op != path.stem:
            raise SpecError(f"{self.name}: op is {self.op!r}, but the file's name says {path.stem!r}")
        versions = self.tables.get("version", [])
        if not isinstance(versions, list) or not all(
            isinstance(v, dict) and isinstance(v.get("since"), int) for v in versions
        ):
            raise SpecError(f"{self.name}: [[version]] tables need an integer 'since'")
        self.versions: list[dict[str, Any]] = versions
        for v in versions:
            _known(v, _VERSIONED, f"{self.name}: version {v['since']}")
        since = [v["since"] for v in versions]
        if since != sorted(set(since)):
            raise SpecError(f"{self.name}: [[version]] tables must stand in rising order of 'since', got {since}")
        self.since = int(self.tables.get("since", 1))
        if since and since[0] < self.since:
            raise SpecError(f"{self.name}: version {since[0]} is below the file's since = {self.since}")

    def tables_for(self, version: int) -> dict[str, Any] | None:
        """The file's common tables with those of the last ``[[version]]`` at or below ``version`` merged over them.

        ``False`` there removes a key of the common tables, unless the key is a truth value itself. ``schema`` is left
        out.

        Returns:
            ``None`` if the file says nothing of so early a version.
        """
        if version < self.since:
            return None
        common = {k: v for k, v in self.tables.items() if k not in ("version", "schema")}
        chosen: dict[str, Any] = {}
        for v in self.versions:
            if v["since"] <= version:
                chosen = v
        return _merge(common, {k: v for k, v in chosen.items() if k != "since"})


def overlay_files(folder: Path, domain: str | None) -> Iterator[OverlayFile]:
    """The overlays of a domain in a folder, by name: ``DOMAIN/OP.toml``, and ``OP.toml`` beside it with its ``domain``.

    Args:
        folder: of overlays.
        domain: ``None``: those that lie in no folder of a domain, whatever theirs is.
    """
    for path in sorted(folder.glob("*.toml")):
        file = OverlayFile(path)
        if domain is None or file.domain == domain:
            yield file
    if domain is not None:
        for path in sorted((folder / (domain or DEFAULT)).glob("*.toml")):
            yield OverlayFile(path, domain)


DEFAULT = "ai.onnx"
"""The name of ONNX's own domain, which models and the registry leave empty."""


def plain_domain(domain: str) -> str:
    """A domain as the registry and models write it: the default one, ``ai.onnx``, is empty."""
    return "" if domain == DEFAULT else domain


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(base)
    for key, value in over.items():
        if value is False and key not in ("exact", "sampled"):
            out.pop(key, None)
        elif isinstance(value, dict) and isinstance(out.get(key), dict):
            # a domain is replaced as a whole: merging {range} with {one_of} would say something nobody wrote
            out[key] = dict(value) if set(value) & _DOMAIN else _merge(out[key], value)
        else:
            out[key] = value
    return out


def _known(table: Mapping[str, Any], keys: frozenset[str], where: str) -> None:
    for key in table:
        if key not in keys:
            raise SpecError(f"{where}: unknown key {key!r}; known are {', '.join(sorted(keys))}")


def _text(table: Mapping[str, Any], key: str, where: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise SpecError(f"{where}: {key} must be a text that is not empty, got {value!r}")
    return value


def _table(tables: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    value = tables.get(key, {})
    if not isinstance(value, dict):
        raise SpecError(f"{where}: {key} must be a table, got {value!r}")
    return value


def build_overlay(
    file: OverlayFile, tables: Mapping[str, Any], version: int, constants: Mapping[str, ValueDomain]
) -> Overlay:
    """The overlay of one version from its merged tables.

    Args:
        file: that they come from.
        tables: as ``tables_for`` merges them.
        version: of the operator.
        constants: values of attributes and inputs that other versions have.

    Raises:
        SpecError: a table has an unknown key, or a text in it is not in the language.
    """
    where = f"{file.name} (version {version})"
    patterns = {k: _patterns(v, f"{where}: dims.{k}") for k, v in _table(tables, "dims", where).items()}
    require = _table(tables, "require", where)
    _known(require, frozenset({"rules"}), f"{where}: require")
    prefer = _table(tables, "prefer", where)
    _known(prefer, frozenset({"rules", "usual", "elements"}), f"{where}: prefer")
    inputs = _table(tables, "inputs", where)
    _known(inputs, frozenset({"least", "most", "present"}), f"{where}: inputs")
    preferred = _rules(prefer, f"{where}: prefer")
    if "elements" in prefer:
        # an output should hold something, if it may, and not more than was asked for (the sampler sets both ends)
        text = f"min_elements <= ({prefer['elements']}) <= max_elements"
        preferred.append(parse(text, f"{where}: prefer.elements"))
    outputs = tables.get("outputs")
    return Overlay(
        doc=_text(tables, "doc", where),
        since=version,
        patterns=patterns,
        sizes={k: build_domain(v, f"{where}: sizes.{k}") for k, v in _table(tables, "sizes", where).items()},
        values={k: build_domain(v, f"{where}: values.{k}") for k, v in _table(tables, "values", where).items()},
        constants=constants,
        rules=tuple((e.text, e) for e in _rules(require, f"{where}: require")),
        prefer=tuple(preferred),
        usual=tuple(_rules(prefer, f"{where}: prefer", "usual")),
        shapes={k: parse_generate(v, f"{where}: shapes.{k}") for k, v in _table(tables, "shapes", where).items()},
        results={k: _patterns(v, f"{where}: results.{k}") for k, v in _table(tables, "results", where).items()},
        outputs=None if outputs is None else parse(str(outputs), f"{where}: outputs"),
        counts=(int(inputs.get("least", 1)), int(inputs.get("most", 4))),
        present={k: float(v) for k, v in _table(inputs, "present", where).items()},
        source=file.path,
        sampled=bool(tables.get("sampled", True)),
        open=_open(tables.get("open", []), where),
    )


def _open(value: Any, where: str) -> frozenset[str]:
    """Rules that are open. A rule that only some versions have may stand for all of them."""
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise SpecError(f"{where}: open must be a list of rules, got {value!r}")
    return frozenset(value)


def _rules(table: Mapping[str, Any], where: str, key: str = "rules") -> list[Expression]:
    rules = table.get(key, [])
    if not isinstance(rules, list):
        raise SpecError(f"{where}.{key} must be a list of expressions, got {rules!r}")
    return [parse(rule, f"{where}.{key}[{i}]") for i, rule in enumerate(rules)]


def _patterns(value: Any, where: str) -> Patterns:
    if isinstance(value, str):
        return ((None, parse_pattern(value, where)),)
    if isinstance(value, list):
        return tuple((None, parse_pattern(v, where)) for v in value)
    if isinstance(value, dict):
        return tuple((parse(k, where), parse_pattern(v, where)) for k, v in value.items())
    raise SpecError(f"{where}: expected a pattern, a list of patterns or a table of condition = pattern, got {value!r}")


def build_domain(table: Any, where: str) -> ValueDomain:
    """A domain from its table, such as ``{ range = [1, 8], omit = 0.5 }``, as TOML gives it.

    Numbers stand for expressions, too. Messages begin with the place that is given: the file and key.

    Raises:
        SpecError: it is no table, has an unknown key, or an expression is not in the language.
    """
    if not isinstance(table, dict):
        raise SpecError(f"{where}: expected a table such as {{ range = [1, 8] }}, got {table!r}")
    _known(table, _DOMAIN, where)
    names: set[str] = set()

    def expression(key: str) -> Expression | None:
        value = table.get(key)
        if value is None:
            return None
        return parse(_literal(value), f"{where}.{key}")

    def bounds(key: str) -> tuple[Expression, Expression] | None:
        value = table.get(key)
        if value is None:
            return None
        if not isinstance(value, list) or len(value) != 2:
            raise SpecError(f"{where}.{key}: expected [smallest, largest], got {value!r}")
        low, high = (parse(_literal(v), f"{where}.{key}") for v in value)
        names.update(low.names | high.names)
        return low, high

    each: Any = None
    each_is_range = False
    if "each" in table:
        value = table["each"]
        if isinstance(value, dict) and list(value) == ["one_of"]:
            each = tuple(value["one_of"])
        else:
            each = bounds("each")
            each_is_range = True
    length = expression("len")
    when = expression("when")
    value = expression("value")
    generate = parse_generate(table["generate"], f"{where}.generate") if "generate" in table else None
    for e in (length, when, value, *(generate.arguments if generate else ())):
        if e is not None:
            names.update(e.names)
    return ValueDomain(
        one_of=_tuple(table, "one_of", where),
        pick=_tuple(table, "pick", where),
        bounds=bounds("range"),
        each=each,
        each_is_range=each_is_range,
        length=length,
        value=value,
        generate=generate,
        dtype_of=str(table.get("dtype_of", "")),
        absent=expression("absent"),
        when=when,
        omit=float(table.get("omit", 0.35)),
        exact=bool(table.get("exact", False))
        or each is not None
        or generate is not None
        or value is not None
        or "pick" in table,
        integer_bounds=bounds("integer_range"),
        at_least=expression("at_least"),
        at_most=expression("at_most"),
        invalid=tuple(tuple(v) if isinstance(v, list) else v for v in table.get("invalid", ())),
        names=frozenset(n for n in names if n != "i"),
    )


def _literal(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _tuple(table: Mapping[str, Any], key: str, where: str) -> tuple[Any, ...] | None:
    value = table.get(key)
    if value is None:
        return None
    if not isinstance(value, list) or not value:
        raise SpecError(f"{where}.{key}: expected a list that is not empty, got {value!r}")
    return tuple(tuple(v) if isinstance(v, list) else v for v in value)


def build_numerics(tables: Mapping[str, Any], where: str) -> Numerics | None:
    """The ``[numerics]`` table among those of one version; ``None`` if there is none.

    Messages begin with the place that is given: the file and version.

    Raises:
        SpecError: it has an unknown key or kind.
    """
    table = _table(tables, "numerics", where)
    if not table:
        return None
    _known(table, frozenset({"kind", "terms", "hazards"}), f"{where}: numerics")
    kind = _text(table, "kind", f"{where}: numerics")
    if kind not in _KINDS:
        raise SpecError(f"{where}: numerics.kind: expected one of {', '.join(_KINDS)}, got {kind!r}")
    terms = table.get("terms")
    parsed = None if terms is None else parse(_literal(terms), f"{where}: numerics.terms")
    return Numerics(kind, parsed, tuple(table.get("hazards", ())))


def build_undefined(tables: Mapping[str, Any], where: str) -> tuple[UndefinedBehaviour, ...]:
    """The ``[undefined]`` table: a name, and why it is open (or ``{ why, when, test }``).

    Without one the result is empty. Messages begin with the place that is given: the file and version.

    Raises:
        SpecError: an entry is neither, or its ``when`` is not in the language.
    """
    out: list[UndefinedBehaviour] = []
    for name, value in _table(tables, "undefined", where).items():
        key = f"{where}: undefined.{name}"
        if isinstance(value, str):
            out.append(UndefinedBehaviour(name, value))
        elif isinstance(value, dict):
            _known(value, frozenset({"why", "when", "test"}), key)
            when = None if "when" not in value else parse(value["when"], f"{key}.when")
            test = _text(value, "test", key) if "test" in value else ""
            out.append(UndefinedBehaviour(name, _text(value, "why", key), when, test))
        else:
            raise SpecError(f"{key}: expected a text or a table with why, when and test, got {value!r}")
    return tuple(out)


def dtype_named(name: Any, where: str) -> ir.DataType:
    """The element type ``"float"`` and the like, as ONNX spells them in ``tensor(float)``; case does not count.

    Messages begin with the place that is given: the file and key.

    Raises:
        SpecError: ONNX has no such type.
    """
    try:
        return ir.DataType[str(name).upper()]
    except KeyError:
        raise SpecError(f"{where}: {name!r} is not an element type of ONNX") from None


def build_portable(
    tables: Mapping[str, Any], version: int, where: str
) -> tuple[dict[str, tuple[ir.DataType, ...]], tuple[dict[str, ir.DataType], ...]]:
    """The measured ``[portable]`` entry of one version: types by type variable, and combinations that do not run.

    Both are empty without an entry for it. Messages begin with the place that is given: the file and version.

    Raises:
        SpecError: an entry is no table or names no element type.
    """
    entry = _table(tables, "portable", where).get(str(version), {})
    key = f"{where}: portable.{version}"
    if not isinstance(entry, dict):
        raise SpecError(f"{key}: expected a table, got {entry!r}")
    types = {
        var: tuple(dtype_named(n, f"{key}.{var}") for n in names) for var, names in entry.items() if var != "except"
    }
    excepted = tuple(
        {v: dtype_named(n, f"{key}.except") for v, n in combo.items()} for combo in entry.get("except", [])
    )
    return types, excepted


__all__ = [
    "GeneratorCall",
    "OverlayFile",
    "build_domain",
    "build_numerics",
    "build_overlay",
    "build_portable",
    "build_undefined",
    "dtype_named",
    "overlay_files",
    "plain_domain",
]
