"""Cuts a range of nodes out of a program, as a program of their own with the values of one run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper, numpy_helper

from irfuzz.errors import InvalidProgram
from irfuzz.execute.run_types import Value
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.ir.serialization.weightless_message import attach, detach
from irfuzz.ir.value import is_constant

if TYPE_CHECKING:
    from collections.abc import Sequence

PARAMETERS = 64
"""Integers of at most so many elements whose values do not depend on the inputs stay constants: sizes, axes, pads."""


class Cutter:
    """Cuts one program at the values that one run gave.

    Args:
        program: stays as it is.
        known: values by name: the inputs that were fed, and what the run computed.
        open_sizes: inputs of what is cut have no other sizes than the program knows before it runs; without this they
            have those of the values.
    """

    def __init__(self, program: Program, known: Mapping[str, Value], *, open_sizes: bool = False) -> None:
        self._program = program
        self._known = known
        self._open_sizes = open_sizes
        self._model, self._weights = detach(program)
        graph = self._model.graph
        self.nodes: tuple[onnx.NodeProto, ...] = tuple(graph.node)
        self._initializers = {t.name: t for t in graph.initializer}
        self._constants = {n.output[0]: n for n in graph.node if is_constant(n)}
        self._readers: dict[str, set[int]] = {}
        for place, node in enumerate(self.nodes):
            for name in _reads(node):
                self._readers.setdefault(name, set()).add(place)
        self._outputs = {o.name for o in graph.output}

    def cut(self, first: int, end: int) -> tuple[Program, dict[str, Value]]:
        """The nodes from ``first`` to before ``end``, with inputs that have the known values.

        Values that nobody outside reads are no outputs, so that what is fused stays fused.

        Raises:
            InvalidProgram: a value at the border is unknown or no tensor.
        """
        nodes = self.nodes[first:end]
        made = {o for n in nodes for o in n.output if o}
        names = dict.fromkeys(name for n in nodes for name in _reads(n) if name not in made)
        graph = onnx.GraphProto(name="cut")
        feeds: dict[str, Value] = {}
        for name in names:
            if name in self._constants:
                graph.node.append(self._constants[name])
            elif name in self._initializers and name not in self._known:
                graph.initializer.append(self._initializers[name])
            else:
                fact, value = self._border(name)
                if fact.known and value.dtype.kind in "iub" and value.size <= PARAMETERS:
                    graph.initializer.append(numpy_helper.from_array(value, name))
                else:
                    shape = fact.shape if self._open_sizes else value.shape
                    graph.input.append(helper.make_tensor_value_info(name, int(fact.dtype), shape))
                    feeds[name] = value
        graph.node.extend(nodes)
        graph.output.extend(self._info(name) for name in self._read_outside(nodes, first, end))
        if not graph.output:
            raise InvalidProgram("nothing reads what it computes")
        model = onnx.ModelProto(ir_version=self._model.ir_version, graph=graph)
        model.opset_import.extend(self._model.opset_import)
        model.functions.extend(self._model.functions)
        return attach(model, self._weights), feeds

    def leaves_sizes_open(self) -> bool:
        """Whether the size of a tensor that a node reads is known only when the program runs."""
        facts = (self._program.fact(value) for value in map(self._program.value, self._readers) if value is not None)
        return any(isinstance(fact, TensorFact) and not fact.is_static for fact in facts)

    def _read_outside(self, nodes: Sequence[onnx.NodeProto], first: int, end: int) -> Iterator[str]:
        inside = set(range(first, end))
        for name in [o for n in nodes for o in n.output if o]:
            if name in self._outputs or self._readers.get(name, set()) - inside:
                yield name

    def _border(self, name: str) -> tuple[TensorFact, np.ndarray]:
        value = self._program.value(name)
        fact = None if value is None else self._program.fact(value)
        known = self._known.get(name)
        if not isinstance(fact, TensorFact):
            raise InvalidProgram(f"{name!r} is no tensor")
        if not isinstance(known, np.ndarray):
            raise InvalidProgram(f"the value of {name!r} was not read")
        return fact, known

    def _info(self, name: str) -> onnx.ValueInfoProto:
        value = self._program.value(name)
        fact = None if value is None else self._program.fact(value)
        if not isinstance(fact, TensorFact):
            raise InvalidProgram(f"{name!r} is no tensor")
        return helper.make_tensor_value_info(name, int(fact.dtype), None)


def _reads(node: onnx.NodeProto) -> Iterator[str]:
    """Names that a node and its bodies read from outside of them."""
    yield from (i for i in node.input if i)
    for attribute in node.attribute:
        for body in [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else list(attribute.graphs):
            own = {v.name for v in body.input} | {t.name for t in body.initializer}
            own |= {o for n in body.node for o in n.output}
            yield from (name for n in body.node for name in _reads(n) if name not in own)
            yield from (o.name for o in body.output if o.name not in own)
