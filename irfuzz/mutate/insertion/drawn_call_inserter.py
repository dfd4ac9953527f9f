"""Inserts a drawn call that reads a value, and lets others read its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.mutate.editing.call_inputs import materialise
from irfuzz.mutate.editing.layer_rewiring import dims_of, largest, splice_in
from irfuzz.mutate.editing.mutation_sites import node_after, tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import runs
from irfuzz.mutate.editing.value_adaptation import adapt, guarded, why_not, within
from irfuzz.mutate.insertion.data_dependent_size_fixing import close, draw_closing
from irfuzz.mutate.insertion.layer_sampling import DrawnLayer, draw_behind, draw_free, is_cast, layers
from irfuzz.mutate.model_interface.import_domain import domains_drawn
from irfuzz.mutate.mutator_protocol import Skipped
from irfuzz.spec import with_trait

if TYPE_CHECKING:
    from irfuzz.choices import Choices
    from irfuzz.facts import TensorFact
    from irfuzz.ir.program import Program
    from irfuzz.mutate.mutator_context import Context
    from irfuzz.spec import OpSpec, Specs

TRIES = 4
"""Operators that are tried for one layer."""

JOINS = ("Add", "Mul", "Max", "Min", "Sub", "And", "Or", "Xor")
"""Operators that merge two values of one type and shape."""

_BEHIND = 0.75


@dataclass(frozen=True, slots=True)
class Grower:
    """Puts layers behind one place of a program.

    Attributes:
        context: specs and novelty.
        inserter: where new nodes go.
        choices: every draw.
        limit: most elements of a new value.
    """

    context: Context
    inserter: Inserter
    choices: Choices
    limit: int

    def layer(
        self, value: ir.Value, choose: Callable[[Sequence[OpSpec]], OpSpec], target: TensorFact | None = None
    ) -> ir.Value | None:
        """The result of a new layer that reads the value, adapted if needed; ``None`` if no call was found.

        Args:
            value: a dense tensor all of whose sizes are known or have names.
            choose: one of the operators.
            target: what it must be possible to adapt the result to.
        """
        fact = self.inserter.fact(value)
        others = domains_drawn(self.inserter.program, self.context.specs)
        specs = layers(self.context.specs, self.inserter.opset, fact.dtype, others)
        for _ in range(TRIES if specs else 0):
            spec = choose(specs)
            layer = None
            if self.choices.boolean(_BEHIND):
                layer = draw_behind(self.context, self.choices, self.inserter.opset, spec, fact, self.limit)
            layer = layer or draw_free(self.context, self.choices, self.inserter.opset, spec, fact, self.limit)
            if layer is not None and layer.position is not None:
                result = self.place(value, layer, target)
                if result is not None:
                    return result
        return None

    def place(self, value: ir.Value, layer: DrawnLayer, target: TensorFact | None = None) -> ir.Value | None:
        """Insert a drawn call that reads the value; its first output, with known sizes.

        Args:
            value: adapted to what the call reads.
            layer: what was drawn.
            target: a type and shape to which it must be possible to adapt the result, if any.

        Returns:
            ``None`` if that cannot be; then nothing was inserted.
        """
        specs, inserter, choices = self.context.specs, self.inserter, self.choices
        op = layer.spec.op
        closing = draw_closing(specs, inserter.opset, layer.outputs[0], choices, sizes_only=op in with_trait("random"))
        if closing is None or (target is not None and why_not(specs, inserter.opset, closing.fact, target) is not None):
            return None
        return close(inserter, call_on(specs, inserter, value, layer, choices).outputs[0], closing)

    def join(self, first: ir.Value, second: ir.Value) -> ir.Value | None:
        """Both as one value of the first one's type and shape, through Add, Mul or another of ``JOINS``; the second is
        adapted. ``None`` if they cannot be, and then nothing was inserted.
        """
        specs, opset = self.context.specs, self.inserter.opset
        fact, other = self.inserter.fact(first), self.inserter.fact(second)
        ops = [op for op in JOINS if runs(specs, op, opset, fact.dtype)]
        if not ops or why_not(specs, opset, other, fact) is not None:
            return None
        op = self.choices.pick(ops)
        return self.inserter.value(op, first, adapt(specs, self.inserter, second, fact, self.choices))


def call_on(specs: Specs, inserter: Inserter, value: ir.Value, layer: DrawnLayer, choices: Choices) -> ir.Node:
    """Insert a drawn call, which reads the value adapted to it, if it reads one.

    Args:
        specs: operator specs.
        inserter: at a place behind the value.
        value: adapted to type, shape and range of ``layer.given``.
        layer: what was drawn.
        choices: draw the way of adapting, and the other inputs.
    """
    given: dict[int, ir.Value] = {}
    if layer.position is not None and layer.given is not None:
        taken = adapt(specs, inserter, value, replace(layer.given, low=None, high=None), choices)
        taken = within(inserter, taken, layer.given.low, layer.given.high)
        if is_cast(layer.spec, layer.outputs):
            taken = guarded(inserter, taken, layer.outputs[0].dtype)
        given[layer.position] = taken
    return call_layer(inserter, layer, given, choices)


def call_layer(inserter: Inserter, layer: DrawnLayer, given: dict[int, ir.Value], choices: Choices) -> ir.Node:
    """Insert a drawn call on given inputs, by position and read as they are; the others are made
    (``call_inputs.materialise``). The new node is given back.
    """
    inputs = materialise(inserter.program, inserter, layer.spec.op, layer.call, given, choices)
    return inserter.node(layer.spec.op, inputs, layer.call.attrs, layer.call.outputs, layer.spec.domain)


def grower_behind(context: Context, program: Program, value: ir.Value, choices: Choices) -> Grower | Skipped:
    """What grows layers behind a value of known or named sizes, in front of everything that reads it; ``Skipped`` if a
    size has no name.
    """
    if dims_of([tensor_fact(program, value)]) is None:
        return Skipped("a size that has no name")
    return Grower(context, Inserter(program, node_after(program, value)), choices, largest(program))


def finish(program: Program, grower: Grower, value: ir.Value, result: ir.Value) -> str:
    """Let the value's readers read the result if it can be adapted, else make it an output.

    The program is edited and pruned.

    Returns:
        Which of them, as the end of a sentence: ``taking its place`` or ``as an output``.
    """
    specs, inserter = grower.context.specs, grower.inserter
    fact: TensorFact = inserter.fact(value)
    if why_not(specs, inserter.opset, inserter.fact(result), fact) is None:
        splice_in(program, specs, inserter, value, result, grower.choices)
        return "taking its place"
    program.add_output(result)
    program.prune()
    return "as an output"
