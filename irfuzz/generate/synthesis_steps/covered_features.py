"""The layer inputs, parameters and sequences that a program covers (COMET, section 3.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import onnx_ir as ir

from irfuzz.facts import tensors_in
from irfuzz.ir.subgraphs import nodes_within
from irfuzz.ir.value import fact_of

if TYPE_CHECKING:
    from irfuzz.ir.program_view import ProgramView
    from irfuzz.spec import Specs

Feature: TypeAlias = tuple[str, ...]
"""``("dtype", op, name)``, ``("rank", op, n)``, ``("shape", op, sizes)``, ``("parameter", op, name, value)``,
``("data", op, name, value)`` (a tensor attribute) or ``("sequence", producer, consumer)``."""

MOST: dict[str, int] = {"shape": 5, "data": 5}
"""Of these kinds any five features of an operator (and attribute) are enough: n_shape and sigma of the paper."""

_LARGEST = 64
"""Elements of a parameter that are compared."""

DEFAULT = frozenset({"", "ai.onnx"})


@dataclass(frozen=True, slots=True)
class WantedFeatures:
    """What a smaller program has to cover.

    Attributes:
        named: features each of which is wanted.
        several: by operator (and attribute), features of which some are wanted, and how many.
    """

    named: frozenset[Feature]
    several: dict[Feature, tuple[frozenset[Feature], int]]

    def missing(self, covered: set[Feature]) -> list[Feature]:
        """Features that are not covered, sorted; of those of which some are enough, as many as are wanting."""
        found = [f for f in self.named if f not in covered]
        for these, enough in self.several.values():
            lacking = enough - len(these & covered)
            if lacking > 0:
                found += sorted(these - covered)[:lacking]
        return sorted(found)

    @property
    def size(self) -> int:
        """How many features are wanted; of those of which some are enough, only so many count."""
        return len(self.named) + sum(enough for _, enough in self.several.values())


def wanted_of(found: Iterable[Feature]) -> WantedFeatures:
    """What covers as much as a program with these features does: every feature, but of shapes and tensor attributes no
    more than five an operator or attribute (n_shape and sigma of the paper).
    """
    named: set[Feature] = set()
    several: dict[Feature, set[Feature]] = {}
    for feature in found:
        if feature[0] in MOST:
            several.setdefault(feature[:-1], set()).add(feature)
        else:
            named.add(feature)
    return WantedFeatures(
        frozenset(named), {key: (frozenset(of), min(len(of), MOST[key[0]])) for key, of in sorted(several.items())}
    )


def features_of(program: ProgramView, specs: Specs, nodes: Iterable[ir.Node] | None = None) -> set[Feature]:
    """All features of some nodes and their bodies (default: the whole main graph), those of ONNX's own operators only.

    Args:
        program: it gives constants and the opset.
        specs: operator specs, for defaults of attributes and inputs that are parameters.
        nodes: in place of the main graph's.
    """
    found: set[Feature] = set()
    for node in program.graph if nodes is None else nodes:
        for each in (node, *nodes_within(node)):
            if each.domain in DEFAULT:
                found.update(_own(program, specs, each))
                found.update(_fed(each))
    return found


def own_features(program: ProgramView, specs: Specs, node: ir.Node) -> set[Feature]:
    """Features of a node of the main graph and its bodies, but for the sequences that what feeds it gives."""
    found = set(_own(program, specs, node)) if node.domain in DEFAULT else set[Feature]()
    return found | features_of(program, specs, nodes_within(node))


def counts(found: Iterable[Feature]) -> dict[str, int]:
    """How many features there are of each of COMET's criteria: ``input`` (types, ranks and shapes), ``parameter`` and
    ``sequence``. Repeats count.
    """
    kinds = Counter(f[0] for f in found)
    inputs = kinds["dtype"] + kinds["rank"] + kinds["shape"]
    return {"input": inputs, "parameter": kinds["parameter"] + kinds["data"], "sequence": kinds["sequence"]}


def _fed(node: ir.Node) -> Iterator[Feature]:
    for value in node.inputs:
        producer = None if value is None else value.producer()
        if producer is not None and producer.domain in DEFAULT:
            yield "sequence", producer.op_type, node.op_type


def _own(program: ProgramView, specs: Specs, node: ir.Node) -> Iterator[Feature]:
    op = node.op_type
    data = node.inputs[0] if node.inputs else None
    fact = None if data is None else tensors_in(fact_of(data))
    if fact is not None:
        yield "dtype", op, fact.dtype.name
        if fact.shape is not None:
            yield "rank", op, str(len(fact.shape))
            # Names tell no shapes apart.
            yield "shape", op, repr(tuple(size if isinstance(size, int) else None for size in fact.shape))
    spec = specs.get(op, program.opset)
    given = node.attributes
    for name, attr in given.items():
        if attr.is_ref() or attr.type in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS):
            continue
        yield "data" if attr.type is ir.AttributeType.TENSOR else "parameter", op, name, spelled_attribute(attr)
    if spec is None:
        return
    for name, attr in spec.attrs.items():
        if name not in given and attr.default is not None:
            yield "parameter", op, name, spelled(attr.default)
    overlay = spec.overlay
    for position, value in enumerate(node.inputs):
        formal = spec.formal(position)
        if not position or value is None or formal is None or overlay is None:
            continue
        # Axes, shapes, paddings: inputs that are parameters (COMET's layers have them as arguments).
        domain = overlay.values.get(formal.name)
        text = spelled_input(program, value) if domain is not None and domain.exact else None
        if text is not None:
            yield "parameter", op, f"input:{formal.name}", text


def spelled_attribute(attr: ir.Attr) -> str:
    """An attribute's value as it is compared; of a tensor the first elements. It is no reference and no graph."""
    if attr.type is ir.AttributeType.TENSOR:
        return spelled(attr.as_tensor().numpy().reshape(-1)[:_LARGEST].tolist())
    return spelled(attr.value)


def spelled_input(program: ProgramView, value: ir.Value) -> str | None:
    """A constant input as it is compared; ``None`` if it is none, or has more elements than are compared."""
    array = program.const_array(value)
    return None if array is None or array.size > _LARGEST else spelled(array.reshape(-1).tolist())


def spelled(value: Any) -> str:
    """A parameter's value as text, as it is compared: floats with six digits, lists element by element, bytes
    as UTF-8.
    """
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(spelled, value)) + "]"
    return str(value)
