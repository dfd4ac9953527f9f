"""Where the elements of a value go: its users, the inputs of bodies and functions, and the outputs of bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import onnx_ir as ir

from irfuzz.ir.program import Program
from irfuzz.ir.subgraphs import bodies_of
from irfuzz.spec import has_trait, trait_values


class Flow:
    """Follows values forward through one program, breadth first.

    Args:
        program: it must not be edited meanwhile.
    """

    def __init__(self, program: Program) -> None:
        self._functions = program.model.functions
        self._leaves: dict[ir.Value, list[ir.Value]] = {}
        nodes = [*program.nodes(), *(n for graph in program.model.graph.subgraphs() for n in graph)]
        for node in nodes:
            first = trait_values("body_outputs_from").get(node.op_type, 0)
            for body in bodies_of(node):
                for given, out in zip(body.outputs[first:], node.outputs, strict=False):
                    self._leaves.setdefault(given, []).append(out)

    def calls(
        self, value: ir.Value, passes: Callable[[ir.Node, int], bool], most: int
    ) -> Iterator[tuple[ir.Node, int]]:
        """Nodes that read a value, with the position at which they do, then those that read what these pass on.

        Args:
            value: the one to begin with.
            passes: whether the outputs of a node are followed, for a value that it reads at a position.
            most: calls that are given.
        """
        queue, seen = [value], {value}
        while queue and most > 0:
            current = queue.pop(0)
            found = list(self._leaves.get(current, ()))
            for node, index in current.uses():
                if has_trait(node, "shape_only"):
                    continue  # what is made of sizes is not made of elements
                entered = self._entered(node, index)
                if not entered:
                    most -= 1
                    yield node, index
                found += entered
                if not any(True for _ in bodies_of(node)) and passes(node, index):
                    found += node.outputs
            queue += [v for v in found if v not in seen]
            seen.update(found)

    def _entered(self, node: ir.Node, index: int) -> list[ir.Value]:
        """The inputs of bodies and functions that a node passes its input to."""
        function = self._functions.get(node.op_identifier())
        if function is not None:
            return [function.inputs[index]] if index < len(function.inputs) else []
        if not has_trait(node, "iterates") or index < trait_values("body_inputs_from").get(node.op_type, 0):
            return []
        return [body.inputs[index] for body in bodies_of(node) if index < len(body.inputs)]
