"""The space of what calls of operators can cover, one for each opset from 13 on (COMET, equations 1 to 3)."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irfuzz.errors import InternalError, UsageError
from irfuzz.generate.synthesis_steps.covered_features import spelled
from irfuzz.spec.operator_registry import Specs
from irfuzz.spec.operator_spec import AttrSpec, FormalParameter, OpSpec, ValueDomain

SCHEMA = 2
OLDEST = 13
"""The oldest opset that has a space."""

SHAPES = 5
"""n_shape: so many different shapes of an operator's input count (section 3.2.1)."""

VALUES = 5
"""sigma: so many values of a numeric parameter count (section 3.2.2)."""

RANKS = range(6)
"""Ranks that count, where the operator takes them."""

INPUT = "input:"
"""Before the name of an input that is a parameter."""

SPACES = Path(__file__).with_name("spaces.json")
"""The spaces as they were fixed before any search: for each operator a row for each of its versions."""

LEFT_OUT_KINDS: Mapping[str, str] = {
    "GRAPH": "a body counts by the nodes in it",
    "SPARSE_TENSOR": "no program has sparse constants: most components refuse all of them",
}
"""Why attributes of a kind are no parameters."""


def left_out(specs: Specs) -> dict[str, str]:
    """Operators of ONNX's default domain that are in no space, each with the reason; every other one is in it.

    They are those with the trait ``no_coverage``, and those that ONNX had withdrawn at opset 13.

    Args:
        specs: of all operators.

    Returns:
        Reason by name, in alphabetical order.
    """
    found = dict(specs.trait("no_coverage"))
    for op in {spec.op for spec in specs.all("")}:
        spec = specs.get(op, OLDEST)
        if spec is not None and spec.deprecated:
            found[op] = f"ONNX withdrew it at opset {spec.since}"
    return dict(sorted(found.items()))


@dataclass(frozen=True, slots=True)
class OperatorSpace:
    """What calls of one operator can cover.

    Attributes:
        dtypes: names of the element types that its first tensor input may have, by ONNX's schema.
        ranks: of that input.
        shapes: how many different shapes of it count; 0 without inputs.
        parameters: for each attribute and parameter input the values that count: a list if they are known, else
            how many.
        inputs: names of element types and ranks that any input takes, and what the outputs give: for pairs.
    """

    dtypes: tuple[str, ...]
    ranks: tuple[int, ...]
    shapes: int
    parameters: Mapping[str, tuple[str, ...] | int]
    takes: tuple[tuple[str, ...], tuple[int, ...]]
    gives: tuple[tuple[str, ...], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Space:
    """The space of an opset.

    Attributes:
        opset: of the default domain. Calls of older opsets count by the operator's name and what they have in common.
        operators: by name.
        sequences: pairs of producer and consumer that types and ranks allow.
    """

    opset: int
    operators: Mapping[str, OperatorSpace]
    sequences: frozenset[tuple[str, str]]

    def totals(self) -> dict[str, int]:
        """How many features each criterion has, pooled over the operators: by ``input``, ``parameter`` and
        ``sequence``.
        """
        inputs = sum(len(o.dtypes) + len(o.ranks) + o.shapes for o in self.operators.values())
        parameters = sum(
            v if isinstance(v, int) else len(v) for o in self.operators.values() for v in o.parameters.values()
        )
        return {"input": inputs, "parameter": parameters, "sequence": len(self.sequences)}


def compute(specs: Specs, opset: int) -> Space:
    """The space of an opset as the specs have it: of all operators but those that are left out.

    ``load`` gives the spaces as they were fixed; this is computed anew.

    Args:
        specs: of all operators.
        opset: of the default domain; operators that are newer are not in it.
    """
    found = ((op, specs.get(op, opset)) for op in _names(specs))
    operators = {op: _operator(spec) for op, spec in found if spec is not None}
    return Space(opset, operators, _pairs(operators))


def spelled_out(specs: Specs) -> str:
    """The text of ``spaces.json``: one line for each version of an operator that some space needs.

    Those are the version in force at opset 13, if there is one, and all newer ones. It is returned and not written.

    Args:
        specs: of all operators.
    """
    newest = specs.newest("")
    lines: list[str] = []
    for op in _names(specs):
        first = max((v for v in specs.versions(op) if v <= OLDEST), default=0)
        rows = [
            f"    {json.dumps(str(since))}: {json.dumps(_row(_operator(specs.version(op, since))))}"
            for since in specs.versions(op)
            if since >= first
        ]
        lines.append(f"  {json.dumps(op)}: {{\n" + ",\n".join(rows) + "\n  }")
    return f'{{"schema": {SCHEMA}, "newest": {newest}, "operators": {{\n' + ",\n".join(lines) + "\n}}\n"


@functools.cache
def load(opset: int | None = None) -> Space:
    """The space of an opset as it was fixed; of the newest one if none is given.

    The result is kept for later calls and must not be edited.

    Args:
        opset: of the default domain, from 13 to the newest in the file.

    Raises:
        UsageError: there is none of that opset.
        InternalError: the file is not of this version.
    """
    content = _content()
    newest: int = content["newest"]
    opset = newest if opset is None else opset
    if not OLDEST <= opset <= newest:
        raise UsageError(f"opset {opset}: expected {OLDEST} to {newest}")
    operators: dict[str, OperatorSpace] = {}
    for op, rows in content["operators"].items():
        since = max((int(v) for v in rows if int(v) <= opset), default=None)
        if since is not None:
            operators[op] = _read(rows[str(since)])
    return Space(opset, operators, _pairs(operators))


@functools.cache
def _content() -> dict[str, Any]:
    content = json.loads(SPACES.read_text(encoding="utf-8"))
    if content.get("schema") != SCHEMA:
        raise InternalError(f"{SPACES.name}: schema is {content.get('schema')!r}; expected {SCHEMA}")
    return content


def _names(specs: Specs) -> Iterator[str]:
    """Operators of ONNX's own domain that are not left out, by name."""
    return iter(sorted({spec.op for spec in specs.all("")} - set(left_out(specs))))


def _row(o: OperatorSpace) -> dict[str, Any]:
    return {
        "dtypes": o.dtypes, "ranks": o.ranks, "shapes": o.shapes, "parameters": dict(o.parameters),
        "takes": o.takes, "gives": o.gives,
    }  # fmt: skip


def _read(entry: Mapping[str, Any]) -> OperatorSpace:
    parameters = {n: v if isinstance(v, int) else tuple(v) for n, v in entry["parameters"].items()}
    takes, gives = ((tuple(entry[key][0]), tuple(entry[key][1])) for key in ("takes", "gives"))
    return OperatorSpace(tuple(entry["dtypes"]), tuple(entry["ranks"]), entry["shapes"], parameters, takes, gives)


def _pairs(operators: Mapping[str, OperatorSpace]) -> frozenset[tuple[str, str]]:
    """Pairs of which the first gives a type and a rank that the second takes (equation 3)."""
    given = [(op, *map(set, o.gives)) for op, o in operators.items()]
    taken = [(op, *map(frozenset, o.takes)) for op, o in operators.items()]
    return frozenset(
        (first, second)
        for first, gives, ranks in given
        for second, takes, fits in taken
        if not gives.isdisjoint(takes) and not ranks.isdisjoint(fits)
    )


def _operator(spec: OpSpec) -> OperatorSpace:
    data = spec.inputs[0] if spec.inputs else None
    ranks = () if data is None else _ranks(spec, data)
    parameters: dict[str, tuple[str, ...] | int] = {}
    for name, attr in sorted(spec.attrs.items()):
        values = _attribute(attr)
        if values:
            parameters[name] = values
    overlay = spec.overlay
    for formal in spec.inputs[1:]:
        # Axes, shapes, paddings: inputs that are parameters (COMET's layers have them as arguments).
        domain = None if overlay is None else overlay.values.get(formal.name)
        if domain is not None and domain.exact:
            parameters[f"{INPUT}{formal.name}"] = VALUES
    taken = sorted({d.name for f in spec.inputs for d in f.dtypes})
    met = sorted({r for f in spec.inputs for r in _ranks(spec, f)})
    given = sorted({d.name for f in spec.outputs for d in f.dtypes})
    return OperatorSpace(
        dtypes=() if data is None else tuple(sorted(d.name for d in data.dtypes)),
        ranks=ranks,
        shapes=0 if data is None else SHAPES,
        parameters=parameters,
        takes=(tuple(taken), tuple(met)),
        # What rank comes out is not said by any spec: what the operator takes, or anything where that is fixed.
        gives=(tuple(given), tuple(RANKS)),
    )


def _ranks(spec: OpSpec, formal: FormalParameter) -> tuple[int, ...]:
    patterns = () if spec.overlay is None else spec.overlay.patterns.get(formal.name, ())
    if not patterns:
        return tuple(RANKS)
    return tuple(r for r in RANKS if any(p.fits(r) for _, p in patterns))


def _attribute(attr: AttrSpec) -> tuple[str, ...] | int:
    """The values of an attribute that count; none of a kind that is left out."""
    if attr.type in LEFT_OUT_KINDS:
        return ()
    domain = attr.domain
    if domain is not None and domain.dtype_of:
        return VALUES
    known = None if domain is None else _listed(domain)
    if known is not None and attr.type in ("INT", "STRING", "FLOAT"):
        return known
    return VALUES


def _listed(domain: ValueDomain) -> tuple[str, ...] | None:
    values = domain.one_of if domain.one_of is not None else domain.pick
    return None if values is None else tuple(sorted({spelled(v) for v in values}))
