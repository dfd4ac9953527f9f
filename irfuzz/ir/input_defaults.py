"""Inputs that a caller may leave out: an initializer of the same name is their default (ONNX IR.md, "Graphs")."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx_ir as ir

    from irfuzz.ir.program import Program


def required_inputs(graph: ir.Graph) -> list[ir.Value]:
    """The inputs without a default, in the graph's order: what every caller has to give."""
    return [value for value in graph.inputs if value.name not in graph.initializers]


def freeze_defaults(program: Program) -> int:
    """Make constants of the inputs that have a default, and infer anew; the program is changed.

    Returns:
        How many there were. Below IR version 4 there are none: what is listed among the inputs there is a constant
        (``irfuzz.ir.serialization.preserved_unsupported_fields.lists_initializers``).
    """
    graph = program.graph
    kept = required_inputs(graph)
    count = len(graph.inputs) - len(kept)
    if count:
        graph.inputs[:] = kept
        # The constructor drops what was cached of names, digest and values.
        type(program).__init__(program, program.model, program.residue, program.parents)
        program.infer()
    return count


def at_defaults(program: Program) -> Program:
    """The program as it runs when no default is overridden; itself if there is none.

    Whoever draws inputs, or asks what a model computes, leaves defaults at what they are: then they are constants, and
    the shapes and axes among them say how large everything else is.
    """
    if len(required_inputs(program.graph)) == len(program.graph.inputs):
        return program
    copy = program.clone()
    freeze_defaults(copy)
    return copy
