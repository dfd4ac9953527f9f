"""What can be asked of a program: its nodes, values, names and constants; nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx_ir as ir

from irfuzz.facts import Fact, TensorFact
from irfuzz.ir.digest import digest
from irfuzz.ir.evaluation.constant_values import folded
from irfuzz.ir.fact_type_conversion import meaningful_names
from irfuzz.ir.fast_mapping_access import entries
from irfuzz.ir.inference.call_output_types import schema_of
from irfuzz.ir.inference.graph_facts import Inference, tensor_of
from irfuzz.ir.serialization import serde
from irfuzz.ir.subgraphs import nodes_within
from irfuzz.ir.value import fact_of


class ProgramView:
    """An ONNX model with a fact for every value, as ``Program`` has it, without what edits it."""

    __slots__ = (
        "_digest",
        "_names",
        "_owners",
        "_values",
        "asked",
        "domains",
        "inference",
        "model",
        "parents",
        "residue",
        "touched",
    )

    def __init__(
        self,
        model: ir.Model,
        residue: serde.Residue,
        parents: tuple[str, ...] = (),
        size_names: frozenset[str] | None = None,
    ) -> None:
        self.model = model
        self.residue = residue
        self.parents = parents
        names = meaningful_names(model.graph) if size_names is None else size_names
        self.inference = Inference(_opsets(model), model.functions, names)
        self.touched: set[ir.Node] = set()
        self.asked: dict[object, Any] = {}
        self.domains: frozenset[str] = frozenset()
        self._digest: str | None = None
        self._names: set[str] | None = None
        self._values: dict[str, ir.Value] | None = None
        self._owners: dict[ir.Node, ir.Node] | None = None

    @property
    def graph(self) -> ir.Graph:
        """The main graph."""
        return self.model.graph

    @property
    def opset(self) -> int:
        """Version of the default domain that the model imports; 1 if it imports none."""
        return self.inference.opset("")

    @property
    def digest(self) -> str:
        """Canonical digest: equal for programs that differ only in inner names and node order.

        It is a SHA-256 in hexadecimal, computed once and again after an edit (``irfuzz.ir.digest``).
        """
        if self._digest is None:
            self._digest = digest(self.model, self.residue)
        return self._digest

    def fact(self, value: ir.Value) -> Fact:
        """What is known of a value, also inside of a body; ``UNTYPED`` if nothing is."""
        return fact_of(value)

    def tensor(self, value: ir.Value | None) -> TensorFact | None:
        """The fact of a value if it is a dense tensor.

        ``None`` if it is a sequence or the like, and for ``None``, an omitted input.
        """
        fact = None if value is None else fact_of(value)
        return fact if isinstance(fact, TensorFact) else None

    def nodes(self) -> list[ir.Node]:
        """Nodes of the main graph in topological order, in a new list, so that the graph may be edited meanwhile."""
        return list(self.graph)

    def site_of(self, node: ir.Node) -> str:
        """The name under which ``node()`` finds a node again, in clones too: that of its first output that has one."""
        return next(o.name for o in node.outputs if o.name)

    def node(self, site: str) -> ir.Node | None:
        """The main-graph node that produces the value ``site``.

        ``None`` if there is no such value, or it is an input or initializer.
        """
        value = self.value(site)
        return None if value is None else value.producer()

    def value(self, name: str) -> ir.Value | None:
        """The main-graph value of that name; ``None`` if there is none. Values inside of bodies are not found."""
        values = self._values
        return (self._by_name() if values is None else values).get(name)

    def _by_name(self) -> dict[str, ir.Value]:
        """Every main-graph value that has a name."""
        if self._values is None:
            self._values = {v.name: v for v in self.values() if v.name}
        return self._values

    def values(self) -> Iterator[ir.Value]:
        """Inputs, initializers and node outputs of the main graph, each once and in this order.

        Outputs that a node leaves out are among them, without a name.
        """
        graph = self.graph
        yield from graph.inputs
        for value in entries(graph.initializers).values():
            if not value.is_graph_input():
                yield value
        for node in graph:
            yield from node.outputs

    def attrs(self, node: ir.Node) -> dict[str, Any]:
        """A node's attributes as Python values (tensors as onnx-ir tensors, subgraphs as graphs).

        Those that refer to an attribute of a function are left out; defaults of those that are not stated are not
        filled in.
        """
        return {name: attr.value for name, attr in entries(node.attributes).items() if not attr.is_ref()}

    def constant_of(self, value: ir.Value | None) -> ir.TensorProtocol | None:
        """The tensor that the model stores of a constant (initializer that no input overrides, or Constant node).

        ``None`` for every other value, also for one that is computed from constants alone.
        """
        if value is None:
            return None
        if value.const_value is not None and value.is_initializer() and not value.is_graph_input():
            return value.const_value
        producer = value.producer()
        return None if producer is None else tensor_of(producer)

    def const_array(self, value: ir.Value | None) -> np.ndarray | None:
        """The elements of a constant value, stored or computed from such (``folded``); do not write to the array.

        ``None`` for every other value, and for ``None``.
        """
        if value is None:
            return None
        tensor = self.constant_of(value)
        return folded(self, value) if tensor is None else tensor.numpy()

    def positions(self) -> dict[ir.Node, int]:
        """Place of every main-graph node in topological order, from 0 on; counted anew at each call."""
        return {node: index for index, node in enumerate(self.graph)}

    def ancestors(self, value: ir.Value) -> set[ir.Node]:
        """Every main-graph node that ``value`` depends on, its producer included.

        What a node's bodies read from outside counts as read by the node. Empty for inputs and initializers.
        """
        found: set[ir.Node] = set()
        todo = [value.producer()]
        while todo:
            node = todo.pop()
            if node is None or node in found or node.graph is not self.graph:
                continue
            found.add(node)
            todo.extend(v.producer() for v in node.inputs if v is not None)
            todo.extend(v.producer() for v in self._captured(node))
        return found

    def fresh(self, hint: str) -> str:
        """A name that no value or node of the model has; depends on the model's content only.

        It is ``hint``, an underscore and the lowest number that is free, and counts as taken from then on.
        """
        names = self._all_names()
        index = 0
        while (name := f"{hint}_{index}") in names:
            index += 1
        names.add(name)
        return name

    def _all_names(self) -> set[str]:
        if self._names is None:
            names: set[str] = set()
            # Names inside of functions are their own, but some runtimes mix them up with those around a call.
            functions = [g for f in self.model.functions.values() for g in (f.graph, *f.subgraphs())]
            for graph in (*self.model.graphs(), *functions):
                for value in graph.inputs:
                    names.add(value.name or "")
                names.update(graph.initializers)
                for node in graph:
                    names.add(node.name or "")
                    names.update(o.name or "" for o in node.outputs)
            self._names = names
        return self._names

    def owner(self, node: ir.Node) -> ir.Node:
        """The main-graph node that a node is, or stands inside of, however deep.

        Raises:
            KeyError: the node stands in no body of the main graph.
        """
        if node.graph is self.graph:
            return node
        if self._owners is None:
            self._owners = {}
            for outer in self.graph:
                for inner in nodes_within(outer):
                    self._owners[inner] = outer
        return self._owners[node]

    def _captured(self, node: ir.Node) -> list[ir.Value]:
        """Main-graph values that a node's subgraphs read."""
        return [v for n in nodes_within(node) for v in n.inputs if v is not None and v.graph is self.graph]


def _opsets(model: ir.Model) -> dict[str, int]:
    return {("" if domain == "ai.onnx" else domain): version for domain, version in model.opset_imports.items()}


def known_operator(program: ProgramView, node: ir.Node) -> bool:
    """True if a node is an operator of the default domain that ONNX knows at the program's opset.

    It is false for operators that are deprecated there.
    """
    return node.domain in ("", "ai.onnx") and schema_of(node.op_type, program.opset) is not None
