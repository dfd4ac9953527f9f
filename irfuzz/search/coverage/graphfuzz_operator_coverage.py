"""GraphFuzz's operator-level counts of programs (Luo et al., ICSE 2021)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import onnx_ir as ir

from irfuzz.facts import tensors_in
from irfuzz.generate.synthesis_steps.covered_features import DEFAULT, spelled, spelled_attribute
from irfuzz.ir.program_view import ProgramView
from irfuzz.ir.value import fact_of
from irfuzz.spec.operator_registry import load_specs


class OperatorLevel:
    """How many different operator types, in and out degrees of each, edges between two, and calls there are.

    A call is an operator with the shapes of its inputs and the values of its attributes ("shapes and parameters"). None
    of these has a fixed space.
    """

    def __init__(self) -> None:
        self._specs = load_specs()
        self._operators: set[str] = set()
        self._degrees: set[tuple[str, str, int]] = set()
        self._edges: set[tuple[str, str]] = set()
        self._calls: set[int] = set()
        self._others: Counter[str] = Counter()

    def add(self, program: ProgramView) -> None:
        """Count a program, bodies included.

        Args:
            program: its nodes of ONNX's default domain are counted for all criteria, those of others by their domain
                only.
        """
        for graph in program.model.graphs():
            for node in graph:
                if node.domain in DEFAULT:
                    self._node(program, node)
                else:
                    self._others[node.domain] += 1

    def counts(self) -> dict[str, int]:
        """How many different ones were seen, by criterion.

        The criteria are ``operator types``, ``input degrees``, ``output degrees``, ``single edges`` (producer and
        consumer), and ``shapes and parameters`` (calls).
        """
        return {
            "operator types": len(self._operators),
            "input degrees": sum(kind == "in" for kind, _, _ in self._degrees),
            "output degrees": sum(kind == "out" for kind, _, _ in self._degrees),
            "single edges": len(self._edges),
            "shapes and parameters": len(self._calls),
        }

    def other_domains(self) -> dict[str, int]:
        """How many nodes are of domains other than ONNX's default one, by domain: they are not counted."""
        return dict(sorted(self._others.items()))

    def _node(self, program: ProgramView, node: ir.Node) -> None:
        op = node.op_type
        self._operators.add(op)
        self._degrees.add(("in", op, sum(v is not None for v in node.inputs)))
        self._degrees.add(("out", op, sum(len(v.uses()) for v in node.outputs)))
        for value in node.inputs:
            producer = None if value is None else value.producer()
            if producer is not None and producer.domain in DEFAULT:
                self._edges.add((producer.op_type, op))
        shapes = tuple(_shape(value) for value in node.inputs)
        # The call as a hash: a corpus may have millions of them.
        self._calls.add(hash((op, shapes, tuple(sorted(self._attributes(program, node))))))

    def _attributes(self, program: ProgramView, node: ir.Node) -> Iterator[tuple[str, str]]:
        given = node.attributes
        for name, attr in given.items():
            if attr.is_ref() or attr.type in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS):
                continue
            yield name, spelled_attribute(attr)
        spec = self._specs.get(node.op_type, program.opset)
        for name, attr in () if spec is None else spec.attrs.items():
            if name not in given and attr.default is not None:
                yield name, spelled(attr.default)


def _shape(value: ir.Value | None) -> tuple[int | None, ...] | None:
    """Sizes of a tensor input; names of unknown ones tell nothing apart."""
    fact = None if value is None else tensors_in(fact_of(value))
    if fact is None or fact.shape is None:
        return None
    return tuple(size if isinstance(size, int) else None for size in fact.shape)
