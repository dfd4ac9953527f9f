"""Conditions on single nodes by which rules of known issues distinguish causes with the same operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx_ir as ir

from irfuzz.errors import SpecError
from irfuzz.execute.run_types import Value
from irfuzz.facts import TensorFact, tensors_in
from irfuzz.frontends.toml_file_reading import is_list
from irfuzz.ir.program import Program
from irfuzz.ir.subgraphs import bodies_of, captures_of, nodes_within
from irfuzz.ir.value import fact_of
from irfuzz.spec import load_specs
from irfuzz.spec.constraints.expression import Env, Expression, parse

MOST_ELEMENTS = 4096
"""Of larger tensors conditions know no elements."""


@dataclass(frozen=True, slots=True)
class NodeCondition:
    """What some node of an operator is like.

    Attributes:
        ops: any of these, with their domain and a dot if that is not ONNX's own.
        condition: in the language of ``ops/`` (docs/operators.md).
    """

    ops: tuple[str, ...]
    condition: Expression

    def holds(self, nodes: Sequence[KnownNode]) -> bool:
        """Whether it is certain of one of the nodes.

        Args:
            nodes: of a program; those of other operators do not count.

        Returns:
            False also if too little is known of the nodes to say so.
        """
        return any(node.op in self.ops and self.condition.holds(node.names()) is True for node in nodes)


@dataclass(frozen=True, slots=True)
class KnownNode:
    """A node and what is known of what it reads.

    Attributes:
        node: of a program.
        opset: version of its domain.
        inside: it stands in a body or in a function.
        fed: values of graph inputs, by name.
        defaults: attributes of the function that it calls that have some.
    """

    node: ir.Node
    opset: int
    inside: bool
    fed: Mapping[str, Value] = field(default_factory=dict[str, Value])
    defaults: frozenset[str] = frozenset()

    @property
    def op(self) -> str:
        """The operator as rules spell it."""
        domain = self.node.domain
        return self.node.op_type if domain in ("", "ai.onnx") else f"{domain}.{self.node.op_type}"

    def names(self) -> Env:
        """What a condition can ask for.

        Attributes (with their defaults), the elements of inputs that are constants or fed, both by name; ``shape``,
        ``rank``, ``dtype`` and ``has`` of inputs; ``opset``; ``outputs``: for each output whether it is named;
        ``inside``: whether it stands in a body or function; ``inputs``: how many it has; ``X_from``: the operator that
        makes the input X, ``initializer`` for what is stored and empty for what is fed; ``X_uses``: how often nodes of
        the same graph read the input X; ``captured_initializers`` that its bodies read; ``left_to_defaults``:
        attributes of the function that it calls, which it does not give.
        """
        node = self.node
        named = [bool(v.name) for v in node.outputs]
        captured = {v for body in bodies_of(node) for v in captures_of(body) if v.is_initializer()}
        found: dict[str, Any] = {
            "opset": self.opset,
            "inside": self.inside,
            "inputs": len(node.inputs),
            "outputs": tuple(named),
            "captured_initializers": len(captured),
            "left_to_defaults": len(self.defaults - set(node.attributes)),
        }
        spec = load_specs().get(node.op_type, self.opset, node.domain)
        if spec is not None:
            found |= {a.name: _plain(a.default) for a in spec.attrs.values() if a.default is not None}
            found |= {f"has:{a}": False for a in spec.attrs}
            found |= {f"has:{formal.name}": False for formal in spec.inputs}
        for name, attr in node.attributes.items():
            found |= {f"has:{name}": True, **({} if attr.is_ref() else {name: _plain(attr.value)})}
        formals = () if spec is None else spec.inputs
        for index, value in enumerate(node.inputs):
            if value is not None and formals:
                formal = formals[min(index, len(formals) - 1)]
                self._describe(formal.name, value, found, several=formal.option == "variadic")
        return found

    def _describe(self, name: str, value: ir.Value, found: dict[str, Any], *, several: bool) -> None:
        """An input; of a variadic one there are the shapes of all, and the first tells the rest."""
        producer = value.producer()
        found[f"has:{name}"] = True
        found.setdefault(
            f"{name}_from", ("initializer" if value.is_initializer() else "") if producer is None else producer.op_type
        )
        found.setdefault(f"{name}_uses", len(value.uses()))
        fact = tensors_in(fact_of(value))
        if fact is None:
            return
        found.setdefault(f"dtype:{name}", fact.dtype.name.lower())
        if fact.shape is not None:
            sizes = tuple(d if isinstance(d, int) else None for d in fact.shape)
            found[f"shape:{name}"] = (*found.get(f"shape:{name}", ()), sizes) if several else sizes
            found.setdefault(f"rank:{name}", len(sizes))
        elements = self._elements(value, fact)
        if elements is not None:
            found.setdefault(name, elements)

    def _elements(self, value: ir.Value, fact: TensorFact) -> tuple[Any, ...] | None:
        """A tensor's elements, if it is a small constant or fed."""
        fed = self.fed.get(value.name or "") if value.is_graph_input() else None
        if isinstance(fed, np.ndarray):
            return tuple(fed.ravel().tolist()) if fed.size <= MOST_ELEMENTS else None
        if fact.value is not None:
            return tuple(None if isinstance(v, str) and fact.dtype != ir.DataType.STRING else v for v in fact.value)
        constant = value.const_value
        if constant is None or constant.size > MOST_ELEMENTS:
            return None
        return tuple(constant.numpy().ravel().tolist())


def known_nodes(
    program: Program, nodes: Sequence[ir.Node] | None = None, fed: Mapping[str, Value] | None = None
) -> list[KnownNode]:
    """Nodes of a program with those of their bodies; those of its functions, too, if none are chosen.

    Args:
        program: that holds them.
        nodes: those chosen; all of the main graph if ``None``.
        fed: values of graph inputs by name, for conditions on elements.
    """
    opsets = program.model.opset_imports
    found = list(_deep(program.nodes() if nodes is None else nodes, opsets, fed or {}))
    functions = program.model.functions
    for index, one in enumerate(found):
        called = functions.get(one.node.op_identifier())
        if called is not None:
            given = frozenset(name for name, attr in called.attributes.items() if attr.value is not None)
            found[index] = replace(one, defaults=given)
    if nodes is None:
        for function in functions.values():
            own = {**opsets, **function.opset_imports}
            found += [KnownNode(n, own.get(_domain(n), 0), inside=True) for n in function.all_nodes()]
    return found


def _deep(nodes: Sequence[ir.Node], opsets: Mapping[str, int], fed: Mapping[str, Value]) -> Iterator[KnownNode]:
    for node in nodes:
        yield KnownNode(node, opsets.get(_domain(node), 0), inside=False, fed=fed)
        for inner in nodes_within(node):
            yield KnownNode(inner, opsets.get(_domain(inner), 0), inside=True)


def _domain(node: ir.Node) -> str:
    return "" if node.domain == "ai.onnx" else node.domain


def node_condition(text: str, where: str) -> NodeCondition:
    """Read ``MaxPool: auto_pad == 'SAME_UPPER'``.

    Args:
        text: operators, with slashes between them, a colon, and a condition in the language of ``ops/``.
        where: the place that errors name.

    Raises:
        SpecError: it is not of that form, or no condition of the language.
    """
    op, colon, condition = text.partition(":")
    ops = tuple(name.strip() for name in op.split("/"))
    if not colon or not all(name.replace(".", "").replace("_", "").isalnum() for name in ops):
        raise SpecError(f"{where}: expected OPERATOR: CONDITION, or OPERATOR/OPERATOR: CONDITION, got {text!r}")
    return NodeCondition(ops, parse(condition.strip(), where))


def _plain(value: Any) -> Any:
    """An attribute's value as the language has it."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return tuple(map(_plain, value)) if is_list(value) else value
