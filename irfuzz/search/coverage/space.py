"""Everything that calls of operators can cover (COMET, equations 1 to 3)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irfuzz.errors import InternalError
from irfuzz.generate.features import spelled
from irfuzz.spec.registry import Specs
from irfuzz.spec.types import AttrSpec, Domain, Formal, OpSpec

SCHEMA = 1
OPSET = 17
SHAPES = 5
"""n_shape: so many different shapes of an operator's input count (section 3.2.1)."""

VALUES = 5
"""sigma: so many values of a numeric parameter count (section 3.2.2)."""

RANKS = range(6)
"""Ranks that count, where the operator takes them."""

INPUT = "input:"
"""Before the name of an input that is a parameter."""

SPACE = Path(__file__).with_name(f"opset{OPSET}.json")
"""The space as it was fixed before any search."""


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
        opset: of the default domain.
        operators: by name.
        sequences: pairs of producer and consumer that types and ranks allow.
    """

    opset: int
    operators: Mapping[str, OperatorSpace]
    sequences: frozenset[tuple[str, str]]

    def totals(self) -> dict[str, int]:
        """Sizes, pooled over the operators."""
        inputs = sum(len(o.dtypes) + len(o.ranks) + o.shapes for o in self.operators.values())
        parameters = sum(
            v if isinstance(v, int) else len(v) for o in self.operators.values() for v in o.parameters.values()
        )
        return {"input": inputs, "parameter": parameters, "sequence": len(self.sequences)}

    def to_json(self) -> str:
        """One operator a line, so that changes can be read."""
        lines = [
            f"  {json.dumps(name)}: " + json.dumps({
                "dtypes": o.dtypes, "ranks": o.ranks, "shapes": o.shapes, "parameters": dict(o.parameters),
                "takes": o.takes, "gives": o.gives,
            })
            for name, o in self.operators.items()
        ]  # fmt: skip
        return f'{{"schema": {SCHEMA}, "opset": {self.opset}, "operators": {{\n' + ",\n".join(lines) + "\n}}\n"


def compute(specs: Specs, opset: int = OPSET) -> Space:
    """The space of all operators of which calls are drawn at an opset."""
    operators = {spec.op: _operator(spec) for spec in (*specs.overlaid(opset), *specs.nested(opset)) if not spec.domain}
    operators = dict(sorted(operators.items()))
    return Space(opset, operators, _pairs(operators))


def load(path: Path = SPACE) -> Space:
    """The space as it was fixed.

    Raises:
        InternalError: the file is not of this version.
    """
    content = json.loads(path.read_text(encoding="utf-8"))
    if content.get("schema") != SCHEMA:
        raise InternalError(f"{path.name}: schema is {content.get('schema')!r}; expected {SCHEMA}")
    operators = {name: _read(entry) for name, entry in content["operators"].items()}
    return Space(content["opset"], operators, _pairs(operators))


def _read(entry: Mapping[str, Any]) -> OperatorSpace:
    parameters = {n: v if isinstance(v, int) else tuple(v) for n, v in entry["parameters"].items()}
    takes, gives = ((tuple(entry[key][0]), tuple(entry[key][1])) for key in ("takes", "gives"))
    return OperatorSpace(tuple(entry["dtypes"]), tuple(entry["ranks"]), entry["shapes"], parameters, takes, gives)


def _pairs(operators: Mapping[str, OperatorSpace]) -> frozenset[tuple[str, str]]:
    """Pairs of which the first gives a type and a rank that the second takes (equation 3)."""
    return frozenset(
        (first, second)
        for first, a in operators.items()
        for second, b in operators.items()
        if set(a.gives[0]) & set(b.takes[0]) and set(a.gives[1]) & set(b.takes[1])
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


def _ranks(spec: OpSpec, formal: Formal) -> tuple[int, ...]:
    patterns = () if spec.overlay is None else spec.overlay.patterns.get(formal.name, ())
    if not patterns:
        return tuple(RANKS)
    return tuple(r for r in RANKS if any(p.fits(r) for _, p in patterns))


def _attribute(attr: AttrSpec) -> tuple[str, ...] | int:
    """The values of an attribute that count; none of graphs and types."""
    if attr.type not in ("INT", "INTS", "FLOAT", "FLOATS", "STRING", "TENSOR"):
        return ()
    domain = attr.domain
    if domain is not None and domain.dtype_of:
        return VALUES
    known = None if domain is None else _listed(domain)
    if known is not None and attr.type in ("INT", "STRING", "FLOAT"):
        return known
    return VALUES if attr.type != "STRING" else ()


def _listed(domain: Domain) -> tuple[str, ...] | None:
    values = domain.one_of if domain.one_of is not None else domain.pick
    return None if values is None else tuple(sorted({spelled(v) for v in values}))
