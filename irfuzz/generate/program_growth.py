"""Grows a program from nothing: adds layers behind values and in front of inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.mutation_sites import is_exact_input, tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.value_adaptation import adapt, why_not
from irfuzz.mutate.insertion.data_dependent_size_fixing import close, draw_closing
from irfuzz.mutate.insertion.drawn_call_inserter import Grower, call_layer
from irfuzz.mutate.insertion.layer_sampling import DrawnLayer, draw_behind, draw_free, is_cast, layers, predict_call
from irfuzz.mutate.model_interface.import_domain import domains_drawn, version_beside
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Skipped
from irfuzz.spec import sample_call, split_name

if TYPE_CHECKING:
    from irfuzz.spec import OpSpec

IR_VERSIONS = {13: 7, 17: 8, 18: 8, 21: 10}
"""Opsets that programs are generated for, each with the IR version that came with it or before it."""

ELEMENTS = 1 << 12
"""Most elements of a value."""

TRIES = 5
"""Operators that are tried for one layer."""

_BEHIND = 0.7
_SECOND_OUTPUT = 0.3
"""How often an output beside the first one is an output of the program, where nobody reads it."""

_D = ir.DataType
_TYPES = (_D.FLOAT,) * 6 + (_D.INT64, _D.DOUBLE, _D.INT32, _D.FLOAT16, _D.BOOL, _D.UINT8, _D.INT8)


class Growth:
    """A program in the making.

    Args:
        context: specs, and what was seen before.
        choices: every draw.
        opset: of the default domain.
        ops: the only operators that layers are drawn of, ``None`` for all.
        domains: others whose operators are drawn, too, besides those that ``ops`` name.
    """

    def __init__(
        self, context: Context, choices: Choices, opset: int, ops: frozenset[str] | None, domains: Sequence[str] = ()
    ) -> None:
        self.context = context
        self.choices = choices
        self.ops = ops
        self.program = _nothing(opset).clone()
        for domain in sorted({*domains, *(split_name(op)[0] for op in ops or ())} - {""}):
            self.program.use_domain(domain, version_beside(context.specs, domain, opset))
        self._domains = domains_drawn(self.program, context.specs)
        self._grower = Grower(context, Inserter(self.program, None), choices, ELEMENTS)

    @property
    def size(self) -> int:
        """How many nodes the main graph has, those that adapt and merge values included."""
        return len(self.program.graph)

    def input(self, fact: TensorFact | None = None) -> ir.Value:
        """A new input of the program, without a reader.

        Args:
            fact: its type and shape; ``None`` draws an element type, floats most often, a rank from 0 to 5 and sizes
                from 1 to 5.
        """
        if fact is None:
            rank = self.choices.weighted(range(6), (1, 2, 3, 3, 4, 1))
            fact = TensorFact(self.choices.pick(_TYPES), tuple(self.choices.integer(1, 5) for _ in range(rank)))
        return self.program.add_input(fact, "x")

    def behind(self, value: ir.Value, *, fitted: bool) -> ir.Value | None:
        """The result of a new layer that reads a value (forward insertion); ``None`` if no call was found.

        Args:
            value: a dense tensor of known sizes.
            fitted: the value may be cast and reshaped to fit, and sizes that depend on elements are closed.
        """
        fact = tensor_fact(self.program, value).without_value()
        for spec in self._drawn(layers(self.context.specs, self.program.opset, fact.dtype, self._domains)):
            layer = None
            if self.choices.boolean(_BEHIND) or not fitted:
                layer = draw_behind(self.context, self.choices, self.program.opset, spec, fact, ELEMENTS)
            if layer is None and fitted:
                layer = draw_free(self.context, self.choices, self.program.opset, spec, fact, ELEMENTS)
            if layer is None or layer.position is None:
                continue
            if fitted:
                result = self._grower.place(value, layer)
                if result is not None:
                    return result
            elif layer.given == fact and not is_cast(spec, layer.outputs):
                result = self._called(layer, {layer.position: value})
                if result is not None:
                    return result
        return None

    def alone(self) -> ir.Value | None:
        """The first output of a new layer, each of whose inputs is a constant, a value there is, or a new input;
        ``None`` if no call was found. The shape or size stands for what is random.
        """
        specs, opset = self.context.specs, self.program.opset
        usual = dict.fromkeys(s for d in dict.fromkeys(_TYPES) for s in layers(specs, opset, d, self._domains))
        for spec in self._drawn(tuple(usual)):
            call = sample_call(spec, {}, self.choices, seen=self.context.drawn, max_elements=ELEMENTS // 4)
            if call is None:
                continue
            plans = [None if p is None else p.fact for p in call.inputs]
            outputs = predict_call(specs, opset, spec, plans, call, ELEMENTS)
            if isinstance(outputs, Skipped) or is_cast(spec, outputs):
                continue
            open_inputs = [
                i for i, p in enumerate(call.inputs)
                if p is not None and not p.is_parameter and p.value is None and p.low is None and p.high is None
                and p.fact.dtype is not _D.STRING
            ]  # fmt: skip
            given: dict[int, ir.Value] = {}
            for position in open_inputs:
                plan = call.inputs[position]
                assert plan is not None
                if not is_exact_input(spec.op, position, plan.fact.dtype) and self.choices.boolean(0.7):
                    given[position] = self.input(TensorFact(plan.fact.dtype, plan.fact.shape))
            result = self._called(DrawnLayer(spec, call, None, None, outputs), given)
            if result is not None:
                return result
        return None

    def before(self, value: ir.Value) -> bool:
        """Put a new layer in front of an input of the program, which is then computed (backward insertion).

        Args:
            value: a graph input that something reads, a dense tensor.

        Returns:
            Whether a layer was put in. The layer reads a new input; the old one goes unless it is still read.
        """
        program, specs = self.program, self.context.specs
        wanted = tensor_fact(program, value)
        first = next(iter(program.graph), None)
        inserter = Inserter(program, first)
        grower = Grower(self.context, inserter, self.choices, ELEMENTS)
        source = TensorFact(wanted.dtype, wanted.shape) if self.choices.boolean(0.7) else None
        for spec in self._drawn(layers(specs, program.opset, wanted.dtype, self._domains)):
            fact = source or TensorFact(wanted.dtype, tuple(self.choices.integer(1, 4) for _ in wanted.shape or ()))
            layer = draw_behind(self.context, self.choices, program.opset, spec, fact, ELEMENTS)
            if layer is None or layer.given is None or layer.position is None or layer.given.dtype is not fact.dtype:
                continue
            made = layer.outputs[0]
            alike = (made.dtype, made.shape) == (wanted.dtype, wanted.shape)
            if not alike and (self.ops is not None or why_not(specs, program.opset, made, wanted) is not None):
                continue
            if self.ops is not None and (layer.given.low is not None or layer.given.high is not None):
                continue
            if self.ops is not None and "random" in spec.traits:
                continue  # what hides its values would have to be adapted
            new = self.input(fact)
            result = grower.place(new, layer)
            if result is None or why_not(specs, program.opset, inserter.fact(result), wanted) is not None:
                continue
            program.replace_uses(value, adapt(specs, inserter, result, wanted, self.choices))
            if not value.uses():
                program.graph.inputs.remove(value)
                program.forget(value)
            return True
        return False

    def join(self, first: ir.Value, second: ir.Value) -> ir.Value:
        """Both merged by arithmetic, the second one adapted to the first one's type and shape; the first as it is if
        that cannot be.
        """
        return self._grower.join(first, second) or first

    def adapted(self, value: ir.Value, wanted: TensorFact) -> ir.Value:
        """The value in another type or shape, through inserted nodes; itself if that cannot be, or if it fits already.

        Args:
            value: a dense tensor.
            wanted: element type and sizes; ranges and known elements do not count.
        """
        specs, inserter = self.context.specs, self._grower.inserter
        wanted = replace(wanted.without_value(), low=None, high=None)
        if why_not(specs, inserter.opset, inserter.fact(value), wanted) is not None:
            return value
        return adapt(specs, inserter, value, wanted, self.choices)

    def finish(self) -> Program:
        """The program, whose outputs are all values that nobody reads; of second and later outputs of a node only some
        are. Inputs that nobody reads are removed.
        """
        program = self.program
        graph = program.graph
        for node in graph:
            for index, value in enumerate(node.outputs):
                fact = program.tensor(value)
                if value.uses() or not value.name or fact is None or fact.shape is None:
                    continue
                if not index or self.choices.boolean(_SECOND_OUTPUT):
                    program.add_output(value)
        program.prune()
        for value in [v for v in graph.inputs if not v.uses() and not v.is_graph_output()]:
            graph.inputs.remove(value)
            program.forget(value)
        return program

    def _drawn(self, specs: Sequence[OpSpec]) -> list[OpSpec]:
        """Operators to try for one layer, rarely used ones first."""
        allowed = [s for s in specs if self.ops is None or s.name in self.ops]
        return [
            self.context.prefer(self.choices, allowed, lambda spec: ("operator", spec.name))
            for _ in range(TRIES if allowed else 0)
        ]

    def _called(self, layer: DrawnLayer, given: dict[int, ir.Value]) -> ir.Value | None:
        """The first output of a new call; its shape or size if its elements are random, ``None`` without those."""
        inserter, closing = self._grower.inserter, None
        if "random" in layer.spec.traits:
            closing = draw_closing(self.context.specs, inserter.opset, layer.outputs[0], self.choices, sizes_only=True)
            if closing is None:
                return None
        result = call_layer(inserter, layer, given, self.choices).outputs[0]
        return result if closing is None else close(inserter, result, closing)


@cache
def _nothing(opset: int) -> Program:
    graph = ir.Graph([], [], nodes=[], name="generated", opset_imports={"": opset})
    return Program.from_model(ir.Model(graph, ir_version=IR_VERSIONS[opset]))
