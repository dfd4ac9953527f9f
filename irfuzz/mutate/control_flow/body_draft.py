"""A body in the making: nodes are built and inferred in the main graph, and taken out when it is finished."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram
from irfuzz.facts import Fact, TensorFact
from irfuzz.ir.fact_type_conversion import declare, undeclare
from irfuzz.ir.serialization.checked_tensors import SparseTensor
from irfuzz.ir.serialization.preserved_unsupported_fields import FREE_INITIALIZERS
from irfuzz.ir.subgraphs import Mapping, copy_nodes, copy_value, hint_of
from irfuzz.ir.value import fact_of, new_value
from irfuzz.mutate.editing.convex_regions import same_type
from irfuzz.mutate.editing.drawn_constant_limit import drawable
from irfuzz.mutate.editing.node_inserter import Inserter

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

CAPTURED, OWN, NODES = "captured", "own", "nodes"
"""Where a body has its constants: outside, as initializers of its own, or as Constant nodes."""


class BodyDraft:
    """Nodes that will be a body. What is not taken back belongs to the main graph until ``close``.

    Args:
        program: it is edited.
        before: node of the main graph in front of which the body's owner will stand; ``None``: at the end.
    """

    def __init__(self, program: Program, before: ir.Node | None) -> None:
        self.program = program
        self.before = before
        self.inserter = Inserter(program, before)
        self.inputs: list[ir.Value] = []
        self._mark = set(program.graph)

    def input(self, hint: str, fact: TensorFact, *, whole: bool = True) -> ir.Value:
        """A new input of the body, behind those that were added before.

        Args:
            hint: what its name begins with.
            fact: its type and shape.
            whole: its declaration says the shape as well as the element type.
        """
        value = new_value(self.program.fresh(hint), fact=fact)
        _declare(value, fact, whole=whole)
        self.inputs.append(value)
        return value

    def copy(self, nodes: Sequence[ir.Node], mapping: Mapping) -> None:
        """Add copies of main-graph nodes, under new names and without declarations of what they compute.

        Args:
            nodes: in topological order.
            mapping: what copies read in place of outer values; what stands for each copied value is added to it.
        """
        copies = copy_nodes(nodes, mapping, self.program.fresh)
        for node in copies:
            for value in node.outputs:
                undeclare(value)
        self.program.put_in(copies, self.before)

    def close(self, outputs: Sequence[ir.Value], *, constants: str = CAPTURED, whole: bool = True) -> ir.Graph:
        """Take the nodes out of the main graph.

        Args:
            outputs: of the body, in order; what is not computed in it, or given twice, goes through an Identity.
            constants: one of ``CAPTURED``, ``OWN`` and ``NODES``.
            whole: the outputs' declarations say their shapes, and not only their element types.
        """
        program = self.program
        own = {v for n in program.graph if n not in self._mark for v in n.outputs}
        results: list[ir.Value] = []
        for value in outputs:
            passed = value not in own or value in results
            results.append(self.inserter.value("Identity", value) if passed else value)
        nodes = [n for n in program.graph if n not in self._mark]
        program.take_out(nodes)
        initializers: list[ir.Value] = []
        if constants != CAPTURED:
            initializers = _own_constants(program, nodes, as_nodes=constants == NODES)
        for value in results:
            fact = fact_of(value)
            if isinstance(fact, TensorFact):
                _declare(value, fact, whole=whole)
        return ir.Graph(self.inputs, results, nodes=nodes, initializers=initializers, name=program.fresh("body"))


def _declare(value: ir.Value, fact: TensorFact, *, whole: bool) -> None:
    declare(value, fact if whole else TensorFact(fact.dtype, None))


def _own_constants(program: Program, nodes: list[ir.Node], *, as_nodes: bool) -> list[ir.Value]:
    """Copies of the initializers that nodes read, which read the copies then; as Constant nodes in front of them."""
    program.model.ir_version = max(program.model.ir_version, FREE_INITIALIZERS)
    copies: dict[ir.Value, ir.Value] = {}
    made: list[ir.Node] = []
    for node in nodes:
        for index, value in enumerate(node.inputs):
            if value is None or not is_plain_constant(program, value):
                continue
            if value not in copies:
                twin = copy_value(value, program.fresh(hint_of(value)))
                copies[value] = twin
                if as_nodes:
                    made.append(constant_node(program, twin))
            node.replace_input_with(index, copies[value])
    if as_nodes:
        nodes[:0] = made
        return []
    return list(copies.values())


def is_plain_constant(program: Program, value: ir.Value) -> bool:
    """True for an initializer of the main graph that no input overrides, and that is no sparse tensor; false for what a
    Constant node gives.
    """
    return (
        value.is_initializer()
        and not value.is_graph_input()
        and program.graph.initializers.get(value.name or "") is value
        and value.const_value is not None
        and not isinstance(value.const_value, SparseTensor)
    )


def constant_node(program: Program, value: ir.Value) -> ir.Node:
    """A detached Constant node that computes a value which belongs to nothing yet.

    Args:
        program: gives the node a name that is free.
        value: whose tensor the node gets as its attribute ``value``; the value holds none any more.
    """
    tensor = value.const_value
    assert tensor is not None
    value.const_value = None
    attr = ir.Attr("value", ir.AttributeType.TENSOR, tensor)
    return ir.Node("", "Constant", (), [attr], outputs=[value], name=program.fresh("Constant_node"))


def control_node(
    program: Program,
    op: str,
    inputs: Sequence[ir.Value | None],
    outputs: int,
    attributes: Sequence[ir.Attr],
    before: ir.Node | None,
) -> ir.Node:
    """A finished If, Loop or Scan, inferred, in front of ``before``; its results have names of their own and no
    readers.

    Args:
        program: it is edited.
        op: ``If``, ``Loop`` or ``Scan``.
        inputs: what it reads, ``None`` for what is omitted.
        outputs: how many results it has.
        attributes: its bodies, and what else it needs.
        before: a node of the main graph; ``None``: at the end.

    Raises:
        InvalidProgram: a body is ill-typed.
    """
    made = [new_value(program.fresh(op)) for _ in range(outputs)]
    node = ir.Node("", op, inputs, attributes, outputs=made, name=program.fresh(f"{op}_node"))
    program.put_in([node], before)
    return node


def require_types(op: str, values: Sequence[ir.Value], wanted: Sequence[Fact]) -> None:
    """Raise ``InvalidProgram`` unless values have the types and shapes that their readers had before.

    Args:
        op: what computes them, for the message.
        values: what replaces something.
        wanted: for each value the fact of what it replaces, of which element type and shape must be equal.
    """
    for value, fact in zip(values, wanted, strict=True):
        found = fact_of(value)
        if not same_type(found, fact):
            raise InvalidProgram(f"{op} gives {found} where {fact} was")


def require_no_less(program: Program, before: Sequence[tuple[str | None, Fact]]) -> None:
    """Raise ``InvalidProgram`` unless the graph's outputs have the shapes that they had, or more exact ones.

    Args:
        program: after the edit.
        before: name and fact of each output from before it, in order; what was of unknown rank is not compared.
    """
    for value, (name, fact) in zip(program.graph.outputs, before, strict=True):
        found = program.fact(value)
        if isinstance(fact, TensorFact) and fact.shape is not None:
            shape = found.shape if isinstance(found, TensorFact) else None
            if shape is None or any(b is not None and a is None for a, b in zip(shape, fact.shape, strict=True)):
                raise InvalidProgram(f"output {name} becomes {found} where {fact} was")


def stand_in(inserter: Inserter, fact: TensorFact, choices: Choices) -> ir.Value:
    """A constant of a static type, with drawn elements: three times in ten zeros, else integers from 0 to 3, booleans,
    or normally distributed floats.

    Args:
        inserter: in whose program it is stored.
        fact: all of whose sizes are numbers.
        choices: draw the elements.

    Raises:
        InvalidProgram: there are more elements than ``drawable`` allows.
    """
    assert fact.static_shape is not None
    shape = drawable(fact.static_shape)
    rng = np.random.default_rng(choices.seed())
    kind = fact.dtype.numpy()
    if choices.boolean(0.3):
        array = np.zeros(shape, kind)
    elif fact.dtype is ir.DataType.BOOL:
        array = rng.integers(0, 2, shape).astype(np.bool_)
    elif fact.dtype.is_integer():
        array = rng.integers(0, 4, shape).astype(kind)
    else:
        array = rng.standard_normal(shape).astype(kind)
    return inserter.constant(np.asarray(array, kind), "other")
